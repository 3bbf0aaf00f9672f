"""The stack machine against the language itself: brute force over short texts, bytes and tokens."""

from __future__ import annotations

import gc
import json
import threading
from random import Random

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.grammar import bodies
from minidecoder.grammar.compiler import compile_pushdown
from minidecoder.grammar.pushdown_index import PushdownIndex
from minidecoder.tokens.sweep import ManyStarts, Starts
from tests.random_grammars import Expression, grammars, language, text_of

TOKENS = [
    "</s>",
    "a",
    "b",
    "c",
    "é",
    b"\xc3",
    b"\xa9",
    "ab",
    "ba",
    "aab",
    "bb",
    "cab",
    "éa",
    b"a\xc3",
    b"\xa9b",
]
VOCABULARY = md.Vocabulary.from_tokens(TOKENS, eos=0)
BYTES = md.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos=256)
JSON = r"""
root   ::= ws value ws
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array  ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws     ::= [ \t\n\r]*
"""


def constraint_of(text: str, vocabulary: md.Vocabulary = BYTES, **options: int) -> Constraint:
    index = compile_pushdown(text, vocabulary, **options)  # type: ignore[arg-type]
    return Constraint(text, vocabulary, index.automaton, index)


def accepts(constraint: Constraint, text: str | bytes) -> bool:
    matcher = constraint.matcher()
    return matcher.accept_string(text) and matcher.is_accepting


class Walker:
    """Every text up to a length, each with the state that it reaches."""

    def __init__(self, index: PushdownIndex) -> None:
        self.index = index
        self.machine = index.automaton
        self.held: list[object] = [self.machine.hold(self.machine.start)]

    def step(self, state: State, data: bytes) -> State:
        for byte in data:
            state = self.machine.step(state, byte)
            if state == DEAD:
                break
            self.held.append(self.machine.hold(state))
        return state

    def states(self, longest: int) -> dict[str, State]:
        reached, frontier = {"": self.machine.start}, [""]
        for text in frontier:
            for char in "abcé" if len(text) < longest else "":
                state = self.step(reached[text], char.encode())
                if state != DEAD:
                    reached[text + char] = state
                    frontier.append(text + char)
        return reached


@settings(max_examples=150)
@given(grammars(), st.sampled_from([0, 32]))
def test_bytes_tokens_and_the_language_agree(rules: tuple[Expression, ...], written_out: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_WRITTEN_OUT", written_out)  # 0: every bounded repetition counts
        try:
            check_a_grammar(rules)
        except md.ConstraintTooLargeError:
            reject()  # calls within counted calls, exponentially ambiguous: refused at a limit, and says so


def check_a_grammar(rules: tuple[Expression, ...]) -> None:
    texts = language(rules, 4)
    try:
        walker = Walker(compile_pushdown(text_of(rules), VOCABULARY))
    except md.UnsatisfiableConstraintError:
        assert not texts
        return
    reached = walker.states(4)
    assert {text for text, state in reached.items() if walker.machine.is_accepting(state)} == texts
    assert {text[:n] for text in texts for n in range(len(text) + 1)} <= set(reached)
    for text, state in reached.items():
        if len(text) <= 2:
            expected = [
                walker.step(state, data) != DEAD if data else False for data in VOCABULARY.token_bytes
            ]
            assert walker.index.allowed(state).tolist() == expected
            if not walker.machine.is_accepting(state):
                assert walker.machine.expected(state), "something is missing, and the grammar says what"


def test_a_mask_of_json_equals_a_walk_of_every_token() -> None:
    pieces = [
        '{"',
        '"}',
        '":',
        ' "',
        '",',
        "[[",
        "]]",
        "]}",
        "}]",
        "12",
        "1.",
        "true",
        "tru",
        "}}}",
        '"],"',
        "ab\\",
        "\\u00",
        "é",
        " \n",
    ]
    vocabulary = md.Vocabulary.from_tokens(["</s>", *map(chr, range(32, 127)), *pieces], eos=0)
    constraint = constraint_of(JSON, vocabulary)
    for text in [
        "",
        "{",
        '{"a',
        '{"a"',
        '{"a": [1',
        '{"a": [[[1.5, "b',
        '[{"x": {"y": []',
        "[1]",
        "-0.5e",
        "  [ ",
    ]:
        matcher = constraint.matcher()
        assert matcher.accept_string(text)
        expected = []
        for token_id in range(1, len(vocabulary)):
            if matcher.accept_string(vocabulary.token_bytes[token_id]):
                expected.append(token_id)
                matcher.rollback(1)
        expected = [0, *expected] if matcher.is_accepting else expected
        assert matcher.allowed_token_ids().tolist() == expected, text


WORDS = r"""
root  ::= item ("," item)* "."
item  ::= name | "(" item? ")" " "{0,30} | "[" short ";" item "]"
name  ::= [a-z ]*
short ::= [a-z ]{2,9}
"""


@pytest.mark.parametrize("written_out", [0, 32])
def test_masks_of_a_large_vocabulary_equal_a_walk_of_every_token(
    written_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "_WRITTEN_OUT", written_out)
    random = Random(7)
    made = {"".join(random.choices("aabcde ,.()[];", k=random.randint(1, 6))) for _ in range(4_000)}
    made |= {"".join(random.choices("abc ", k=random.randint(7, 40))) for _ in range(300)}
    vocabulary = md.Vocabulary.from_tokens(["</s>", *sorted(made)], eos=0)
    constraint = constraint_of(WORDS, vocabulary)
    index = constraint.index
    assert isinstance(index, PushdownIndex)
    kinds = set()
    for text in [
        "",
        "a",
        "(",
        "(ab",
        "(ab)",
        "(()) ",
        "ab, c",
        "[",
        "[ab",
        "[abcdeabc",
        "[ab;(a",
        "((((b)",
        "a,",
    ]:
        matcher = constraint.matcher()
        assert matcher.accept_string(text)
        walked = []
        for token_id in range(1, len(vocabulary)):
            if matcher.accept_string(vocabulary.token_bytes[token_id]):
                walked.append(token_id)
                matcher.rollback(1)
        assert np.flatnonzero(index.allowed(matcher.state)).tolist() == walked, text
        for frame in index.automaton.at(matcher.state):
            kinds.add(type(index.sweeps.inside(frame).returns))
    assert kinds >= {Starts, ManyStarts}, "the test has met every way to keep the nodes of a return"


def test_the_same_top_of_stack_allows_different_tokens() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *map(chr, range(32, 127)), '"}', '"]'], eos=0)
    constraint = constraint_of(JSON, vocabulary)
    inside_object, inside_array = constraint.matcher(), constraint.matcher()
    assert inside_object.accept_string('{"k": "ab')
    assert inside_array.accept_string('["ab')
    brace, bracket = len(vocabulary) - 2, len(vocabulary) - 1
    assert (inside_object.is_allowed(brace), inside_object.is_allowed(bracket)) == (True, False)
    assert (inside_array.is_allowed(brace), inside_array.is_allowed(bracket)) == (False, True)
    index = constraint.index
    assert isinstance(index, PushdownIndex)
    splits = [index.split(m.state) for m in (inside_object, inside_array)]
    assert (splits[0].allowed == splits[1].allowed).all(), "decided once, whatever lies below"
    assert all(split.dependent[[brace, bracket]].all() for split in splits)
    assert not any((split.allowed & split.dependent).any() for split in splits)


def test_what_the_split_blocks_is_blocked_in_every_stack() -> None:
    vocabulary = md.Vocabulary.from_tokens(
        ["</s>", *map(chr, range(32, 127)), '"}', '"]', "\n", "a\n"], eos=0
    )
    constraint = constraint_of(JSON, vocabulary)
    for text in ['{"k": "ab', '["ab', '"', '[[[["x', '{"a']:
        matcher = constraint.matcher()
        assert matcher.accept_string(text)
        split = constraint.index.split(matcher.state)  # type: ignore[attr-defined]
        allowed = constraint.index.allowed(matcher.state)
        assert not (allowed & ~split.allowed & ~split.dependent).any()
        assert not (~allowed & split.allowed).any()


@pytest.mark.parametrize("depth", [1, 1_000, 9_000])
def test_depth_is_no_recursion(depth: int) -> None:
    constraint = constraint_of(JSON)
    text = "[" * depth + "1" + "]" * depth
    assert accepts(constraint, text)
    assert not accepts(constraint, text[:-1])
    assert not accepts(constraint, text + "]")


def test_a_hundred_thousand_brackets_are_refused_at_the_limit() -> None:
    matcher = constraint_of(JSON).matcher()
    with pytest.raises(md.ConstraintTooLargeError, match="10,000 deep") as caught:
        matcher.accept_string("[" * 100_000)
    assert caught.value.limit == "max_depth"
    assert matcher.steps == 0
    shallow = constraint_of(JSON, max_depth=40).matcher()
    with pytest.raises(md.ConstraintTooLargeError, match="40 deep"):
        shallow.accept_string("[" * 50)


def test_masks_cost_the_same_at_any_depth_and_after_any_length() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *map(chr, range(32, 127)), "]]", '"]', "},", "]}"], eos=0)
    constraint = constraint_of(JSON, vocabulary)
    index, matcher = constraint.index, constraint.matcher()
    assert isinstance(index, PushdownIndex)
    assert matcher.accept_string("[" * 30)
    matcher.allowed_token_ids()
    met = index.sweeps.rows
    assert matcher.accept_string("[" * 1_000)
    matcher.allowed_token_ids()
    assert matcher.accept_string('"abc", ' * 1_000)
    matcher.allowed_token_ids()
    assert matcher.accept_string("[" * 30)
    matcher.allowed_token_ids()
    assert index.sweeps.rows <= met + 20, "a few new tops of stack, none for the depth or the length"


def test_a_count_is_a_number_in_the_state_and_not_a_copy_of_the_rule() -> None:
    small, large = (constraint_of(f'root ::= "x" ([ab] [cd]){{2,{n}}} "y"') for n in (100, 10_000))
    assert len(small.automaton.machines) == len(large.automaton.machines)  # type: ignore[attr-defined]
    for text, ok in [("x" + "ac" * 2 + "y", True), ("x" + "acbd" * 50 + "y", True), ("xacy", False)]:
        assert accepts(small, text) is ok
        assert accepts(large, text) is ok
    assert not accepts(small, "x" + "ac" * 101 + "y")
    assert accepts(large, "x" + "ac" * 10_000 + "y")
    assert not accepts(large, "x" + "ac" * 10_001 + "y")
    matcher = large.matcher()
    assert matcher.accept_string("x" + "ac" * 500)
    here = large.automaton.mask_key(matcher.state)
    assert matcher.accept_string("ac" * 500)
    assert large.automaton.mask_key(matcher.state) == here, "far from both bounds all counts share one mask"
    assert matcher.accept_string("ac" * 9_000)
    assert large.automaton.mask_key(matcher.state) != here
    assert matcher.allowed_token_ids().tolist() == [ord("y")]


def test_states_are_forgotten_when_nobody_holds_them() -> None:
    constraint = constraint_of(JSON)
    machine, matcher = constraint.automaton, constraint.matcher()
    assert matcher.accept_string("[1, 2")
    kept = matcher.state
    other = constraint.matcher()
    for n in range(3_000):
        other.accept_string(f'[{"[" * (n % 50)}"{n}", ')
        other.reset()
    machine._moves.clear()  # type: ignore[attr-defined]
    gc.collect()
    assert kept in machine
    assert len(machine.stacks._by_number) < 1_000  # type: ignore[attr-defined]
    assert matcher.accept_string("]")
    assert matcher.is_accepting
    assert (2**40) not in machine
    with pytest.raises(md.UsageError, match="no longer held"):
        machine.is_accepting(State(2**40))


def test_going_back_is_keeping_the_old_state() -> None:
    matcher = constraint_of(JSON).matcher()
    before = []
    for char in '{"a": [1, {"b": "c"}]}':
        before.append((matcher.state, matcher.allowed_token_ids().tolist()))
        assert matcher.accept_string(char)
    for state, allowed in reversed(before):
        matcher.rollback(1)
        assert (matcher.state, matcher.allowed_token_ids().tolist()) == (state, allowed)


def test_eight_threads_share_one_grammar() -> None:
    alone = constraint_of(JSON)
    shared = constraint_of(JSON)
    texts = [json.dumps({"k": [n, {"x": "y" * n}], "z": -n / 7}) for n in range(8)]
    wrong: list[str] = []

    def run(text: str) -> None:
        one, other = shared.matcher(), alone.matcher()
        for char in text:
            if not one.accept_string(char) or not other.accept_string(char):
                wrong.append(text)
            if not np.array_equal(one.allowed_token_ids(), expected[text][one.steps - 1]):
                wrong.append(text)

    expected = {}
    for text in texts:
        matcher = alone.matcher()
        rows = []
        for char in text:
            matcher.accept_string(char)
            rows.append(matcher.allowed_token_ids())
        expected[text] = rows
    threads = [threading.Thread(target=run, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_the_vocabulary_cannot_write_is_taken_out_of_the_grammar() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "c"], eos=0)
    constraint = constraint_of('root ::= "a" ("b" x | "c")\nx ::= "d" | "é"', vocabulary)
    matcher = constraint.matcher()
    assert matcher.accept_token(1)
    assert matcher.allowed_token_ids().tolist() == [3], "after b nothing could be written"
    with pytest.raises(md.UnsatisfiableConstraintError, match="'d'"):
        constraint_of('root ::= "a" "d"', vocabulary)


def test_a_very_ambiguous_grammar_answers() -> None:
    constraint = constraint_of('root ::= root root | root root root | "a" | "aa"')
    assert accepts(constraint, "a" * 60)
    assert not accepts(constraint, "a" * 60 + "b")


def test_the_open_rules_are_the_stack_and_the_places_are_those_of_the_text() -> None:
    matcher = constraint_of(JSON).matcher()
    assert matcher.accept_string('{"a": ["x')
    machine = matcher.constraint.automaton
    names = [name.split(":")[0] for name in machine.open_rules(matcher.state)]  # type: ignore[attr-defined]
    assert names[-2:] == ["array", "string"]
    lines = JSON.splitlines()
    for piece in machine.expected(matcher.state):  # type: ignore[attr-defined]
        assert piece.rule == "string"
        assert lines[piece.line - 1][piece.column - 1 :].startswith(piece.text)


def test_no_mask_leads_beyond_the_limit_of_depth() -> None:
    matcher = constraint_of(JSON, max_depth=30).matcher()
    bracket, steps = ord("["), 0
    while matcher.is_allowed(bracket):
        assert matcher.accept_token(bracket)
        steps += 1
    assert 5 < steps < 30
    assert matcher.is_allowed(ord("]"))
    with pytest.raises(md.ConstraintTooLargeError, match="30 deep"):
        matcher.accept_token(bracket)
    assert matcher.steps == steps
