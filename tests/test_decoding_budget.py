"""Finishing in time: how many tokens a state needs, against brute force; and runs that are never cut."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minidecoder as md
from minidecoder.decoding import distances, witness
from minidecoder.decoding.budget import NEVER, Budget, make_budget, token_targets
from minidecoder.decoding.constraint import Constraint
from minidecoder.models.toy import TableModel, UniformModel
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes
from minidecoder.tokens.bitmask import Bitmask, pack, unpack
from minidecoder.tokens.naive_index import IndexTable, naive_index
from minidecoder.tokens.token_classes import build_token_classes
from minidecoder.tokens.token_index import AdaptiveIndex, build_index

LETTERS = "abc"
patterns = st.sampled_from(
    [
        r"a",
        r"a*",
        r"(ab|c)+",
        r"abcabc|cc",
        r"a{3,9}b?",
        r"(a|b)*abb",
        r"(abc){2,4}",
        r"c|b(a|bc)*a",
        r"[ab]{7}",
    ]
)
vocabularies = st.lists(st.text(LETTERS, min_size=1, max_size=4), max_size=8).map(
    lambda extra: md.Vocabulary.from_tokens(["</s>", *LETTERS, *dict.fromkeys(extra)], eos=0)
)


def brute_force(table: IndexTable, accepting: set[md.State], banned: frozenset[int]) -> dict[md.State, int]:
    """Tokens to the end of every state: try one more token until nothing gets shorter."""
    needed = {state: 1 if state in accepting else NEVER for state in table}
    for _ in table:
        for state, row in table.items():
            ways = [needed[target] + 1 for token, target in row.items() if token not in banned]
            needed[state] = min([needed[state], *ways])
    return needed


def all_states(constraint: Constraint) -> range:
    return range(1, len(constraint.automaton.table))  # type: ignore[attr-defined]


@given(patterns, vocabularies, st.sets(st.integers(1, 3), max_size=2))
def test_the_three_searches_agree_with_brute_force(
    pattern: str, vocabulary: md.Vocabulary, bans: set[int]
) -> None:
    constraint = md.compile_regex(pattern, vocabulary)
    dfa, banned = lower_to_bytes(compile_dfa(pattern)), frozenset(bans)
    states = [md.State(q) for q in all_states(constraint)]
    accepting = {q for q in states if dfa.is_accepting(q)}
    expected = brute_force(naive_index(dfa, states, vocabulary), accepting, banned)
    classes = build_token_classes(dfa, vocabulary)
    assert classes is not None
    swept = distances.by_sweeps(dfa, vocabulary, banned)
    assert swept is not None
    bytes_alone = distances.by_single_bytes(dfa, vocabulary, banned)
    witnesses = witness.Witnesses(dfa, vocabulary, banned)
    for state, needed in expected.items():
        assert distances.by_classes(dfa, vocabulary, banned, classes)[state] == swept[state] == needed
        assert bytes_alone[state] >= needed
        assert witnesses.needed(state) >= needed


class ByteMachine:
    """A byte DFA seen through the protocol alone: what a lazy machine looks like from above."""

    def __init__(self, pattern: str) -> None:
        self._dfa = lower_to_bytes(compile_dfa(pattern))
        self.start = self._dfa.start
        self.nbytes = 0
        for name in ("step", "is_accepting", "name", "mask_key", "live_bytes", "hold"):
            setattr(self, name, getattr(self._dfa, name))

    def __contains__(self, state: object) -> bool:
        return state in self._dfa


def swept_index(dfa: ByteDFA, vocabulary: md.Vocabulary) -> AdaptiveIndex:
    """An index that never becomes token classes."""
    return build_index(dfa, vocabulary, max_bytes=1)


def lazy(pattern: str, vocabulary: md.Vocabulary) -> Constraint:
    index = swept_index(lower_to_bytes(compile_dfa(pattern)), vocabulary)
    return Constraint(pattern, vocabulary, ByteMachine(pattern), index)  # type: ignore[arg-type]


@given(patterns, vocabularies, st.integers(0, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_a_run_that_can_be_finished_always_is(
    pattern: str, vocabulary: md.Vocabulary, extra: int, seed: int, is_lazy: bool
) -> None:
    constraint = lazy(pattern, vocabulary) if is_lazy else md.compile_regex(pattern, vocabulary)
    needed = make_budget(constraint).needed(constraint.automaton.start)
    logits = np.random.default_rng(seed).normal(size=len(vocabulary)) * 4
    run = md.generate(
        TableModel(len(vocabulary), {}, default=logits.tolist()),
        [],
        constraint=constraint,
        sampling=md.Sampling(seed=seed),
        max_tokens=needed + extra,
        finish_within_budget=True,
    )
    assert (run.finish_reason, run.is_complete) == ("stop", True)
    assert len(run.steps) <= needed + extra
    assert run.budget_is_exact is (not is_lazy)


@given(patterns, vocabularies, st.integers(1, 9))
def test_the_mask_blocks_exactly_what_does_not_fit(
    pattern: str, vocabulary: md.Vocabulary, left: int
) -> None:
    constraint = md.compile_regex(pattern, vocabulary)
    dfa = lower_to_bytes(compile_dfa(pattern))
    states = [md.State(q) for q in all_states(constraint)]
    table = naive_index(dfa, states, vocabulary)
    needed = brute_force(table, {q for q in states if dfa.is_accepting(q)}, frozenset())
    budget = make_budget(constraint)
    for state, row in table.items():
        fits = {token for token, target in row.items() if needed[target] + 1 <= left}
        fits |= {md.TokenId(0)} if dfa.is_accepting(state) else set()
        assert set(np.flatnonzero(unpack(budget.mask(state, left), len(vocabulary))).tolist()) == fits


def test_too_few_tokens_are_refused_before_the_model_is_asked() -> None:
    class Silent(UniformModel):
        def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
            raise AssertionError("the model was asked")

    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "aa"], eos=0)
    constraint = md.compile_regex("a{5}", vocabulary)
    with pytest.raises(
        md.UsageError, match=r"max_tokens=3 is too few.*takes 4 tokens, EOS among.*max_tokens=4"
    ):
        md.stream(Silent(3), [], constraint=constraint, max_tokens=3, finish_within_budget=True)
    run = md.generate(UniformModel(3), [], constraint=constraint, max_tokens=4, finish_within_budget=True)
    assert (run.text, len(run.steps), run.finish_reason) == ("aaaaa", 4, "stop")
    assert [step.allowed_count for step in run.steps] == [2, 1, 1, 1]
    assert [step.tokens_left for step in run.steps] == [4, 3, 2, 1]


def test_a_step_shows_what_the_budget_took_away() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b"], eos=0)
    constraint = md.compile_regex("a|b[ab]{5}", vocabulary)
    run = md.generate(TableModel(3, {}, default=[0, 0, 9]), [], constraint=constraint, max_tokens=4, finish_within_budget=True)  # fmt: skip
    step = run.steps[0]
    assert (run.text, step.favourite, step.favourite_blocked) == ("a", 2, True)
    assert unpack(step.legal, 3).tolist() == [False, True, True]
    assert unpack(step.bitmask, 3).tolist() == [False, True, False]
    assert step.budget is not None
    assert step.state is not None
    assert step.budget.needed(constraint.index.after(step.state, 2)) + 1 == 7 > step.tokens_left
    free = md.generate(TableModel(3, {}, default=[0, 0, 9]), [], constraint=constraint, max_tokens=4)
    assert (free.finish_reason, free.is_complete, free.budget_is_exact) == ("length", False, None)
    assert free.steps[0].legal is free.steps[0].bitmask


def test_a_budget_with_room_to_spare_changes_no_mask() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "aa"], eos=0)
    constraint = md.compile_regex("a{1,9}", vocabulary)
    budget, start = make_budget(constraint), constraint.automaton.start
    assert budget.mask(start, 99) is constraint.bitmask(start)


def test_banned_tokens_take_no_part_in_the_shortest_way() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "aaaa"], eos=0)
    constraint = md.compile_regex("a{8}", vocabulary)
    options = {"constraint": constraint, "finish_within_budget": True, "max_tokens": 9}
    run = md.generate(UniformModel(3), [], sampling=md.Sampling(banned_ids=[2], seed=1), **options)  # type: ignore[arg-type]
    assert run.token_ids == [1] * 8 + [0]
    with pytest.raises(md.UsageError, match="takes 9 tokens"):
        md.generate(UniformModel(3), [], sampling=md.Sampling(banned_ids=[2]), **{**options, "max_tokens": 8})  # type: ignore[arg-type]
    for bans in ([0], [1, 2]):
        with pytest.raises(md.UsageError, match="no way to the end was found, in tokens that are not banned"):
            md.generate(UniformModel(3), [], sampling=md.Sampling(banned_ids=bans), **options)  # type: ignore[arg-type]


def test_a_ban_that_leaves_dead_ends_is_walked_around() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "c"], eos=0)
    constraint = md.compile_regex("a(bc)?|c+", vocabulary)
    for seed in range(40):
        sampling = md.Sampling(banned_ids=[3], seed=seed)
        run = md.generate(UniformModel(4), [], constraint=constraint, sampling=sampling, max_tokens=5, finish_within_budget=True)  # fmt: skip
        assert run.text == "a", "after `ab` only the banned `c` could follow"


def test_endless_white_space_ends_in_time() -> None:
    tokens = ["</s>", "{", "}", " ", "  ", "1", '"a"', ":"]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos=0)
    constraint = md.compile_regex(r'\{\s*"a"\s*:\s*1\s*\}', vocabulary)
    loves_space = TableModel(8, {}, default=[0, 0, 0, 5, 9, 0, 0, 0])
    cut = md.generate(loves_space, [], constraint=constraint, max_tokens=20)
    assert (cut.finish_reason, cut.is_complete) == ("length", False)
    whole = md.generate(loves_space, [], constraint=constraint, max_tokens=20, finish_within_budget=True)
    assert (whole.finish_reason, whole.is_complete, len(whole.steps)) == ("stop", True, 20)


def test_min_tokens_gives_way_to_the_budget() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    constraint = md.compile_regex("a+", vocabulary)
    sampling = md.Sampling(temperature=0, min_tokens=5)
    run = md.generate(TableModel(2, {}, default=[9, 0]), [], constraint=constraint, sampling=sampling, max_tokens=5, finish_within_budget=True)  # fmt: skip
    assert run.token_ids == [1, 1, 1, 1, 0]
    with pytest.raises(md.UsageError, match="min_tokens=5 is more than max_tokens=4"):
        md.generate(UniformModel(2), [], constraint=constraint, sampling=sampling, max_tokens=4)


class Brackets:
    """`[`…`]` nested to any depth, with `x` inside: a machine without a table. State n + 1: depth n."""

    start = md.State(1)
    nbytes = 0
    END = md.State(10**6)

    def step(self, state: md.State, byte: int) -> md.State:
        if byte == ord("[") and state != self.END:
            return md.State(state + 1)
        if byte == ord("x") and 1 < state < self.END:
            return state
        if byte == ord("]") and 1 < state < self.END:
            return self.END if state == 2 else md.State(state - 1)
        return md.DEAD

    def is_accepting(self, state: md.State) -> bool:
        return state == self.END

    def name(self, state: md.State) -> str:
        return f"s{state - 1}"

    def mask_key(self, state: md.State) -> int:
        return state

    def live_bytes(self, state: md.State) -> list[int]:
        return [byte for byte in b"[]x" if self.step(state, byte) != md.DEAD]

    def hold(self, state: md.State) -> object:
        return None

    def __contains__(self, state: object) -> bool:
        return True


class BracketIndex:
    """Walks every token, every time: small vocabularies only."""

    form, nbytes = "brackets", 0

    def __init__(self, vocabulary: md.Vocabulary) -> None:
        self.vocabulary = vocabulary

    def allowed(self, state: md.State) -> NDArray[np.bool_]:
        return np.array([self.after(state, i) != md.DEAD for i in range(len(self.vocabulary))])

    def bitmask(self, state: md.State) -> Bitmask:
        return pack(self.allowed(state))

    def after(self, state: md.State, token_id: int) -> md.State:
        data = self.vocabulary.token_bytes[token_id]
        for byte in data:
            state = Brackets().step(state, byte)
        return state if data else md.DEAD

    def is_alive(self, state: md.State) -> bool:
        return state != md.DEAD


def brackets(tokens: list[str]) -> Constraint:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *tokens], eos=0)
    return Constraint("brackets", vocabulary, Brackets(), BracketIndex(vocabulary))


@pytest.mark.parametrize("tokens", [["[", "]", "x"], ["[", "]", "x", "[[", "]]", "]]]", "x]", "[[["]])
def test_a_machine_without_a_table_finishes_within_a_bound_and_says_that_it_is_one(tokens: list[str]) -> None:
    constraint = brackets(tokens)
    for seed in range(60):
        for max_tokens in (3, 4, 7, 20):
            run = md.generate(
                UniformModel(len(constraint.vocabulary)),
                [],
                constraint=constraint,
                sampling=md.Sampling(seed=seed),
                max_tokens=max_tokens,
                finish_within_budget=True,
            )
            assert (run.finish_reason, run.is_complete, run.budget_is_exact) == ("stop", True, False)


def test_a_model_that_only_opens_brackets_goes_as_deep_as_the_budget_lets_it() -> None:
    constraint = brackets(["[", "]", "x"])
    run = md.generate(TableModel(4, {}, default=[0, 9, 0, 0]), [], constraint=constraint, max_tokens=41, finish_within_budget=True)  # fmt: skip
    assert run.text == "[" * 20 + "]" * 20
    with pytest.raises(md.UsageError, match="is known to take at most 3 tokens"):
        md.generate(UniformModel(4), [], constraint=constraint, max_tokens=2, finish_within_budget=True)


def test_json_of_a_stack_machine_is_closed_in_time() -> None:
    from minidecoder.grammar.compiler import compile_pushdown

    tokens = [
        "</s>",
        *(chr(code) for code in range(32, 127)),
        '{"',
        '":',
        '",',
        '"}',
        "]]",
        "}}",
        "[{",
        "true",
        "null",
    ]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos=0)
    text = r"""
        root   ::= object | array
        value  ::= object | array | string | "true" | "null" | [0-9]+
        object ::= "{" (string ":" value ("," string ":" value)*)? "}"
        array  ::= "[" (value ("," value)*)? "]"
        string ::= "\"" [a-z ]* "\""
    """
    index = compile_pushdown(text, vocabulary)
    constraint = Constraint(text, vocabulary, index.automaton, index)
    opens = [4.0 if token.startswith(("[", "{")) else 0.0 for token in tokens]
    for seed in range(25):
        for max_tokens in (3, 8, 25):
            run = md.generate(
                TableModel(len(tokens), {}, default=opens),
                [],
                constraint=constraint,
                sampling=md.Sampling(seed=seed),
                max_tokens=max_tokens,
                finish_within_budget=True,
            )
            assert (run.finish_reason, run.budget_is_exact) == ("stop", False)
            json.loads(run.text)


def test_where_the_search_gives_up_the_token_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "MOST_STATES", 3)
    constraint = md.compile_regex("ab{30}", md.Vocabulary.from_tokens(["</s>", "a", "b"], eos=0))
    witnesses = witness.Witnesses(constraint.automaton, constraint.vocabulary, frozenset())
    assert witnesses.needed(constraint.automaton.start) == NEVER
    with pytest.raises(md.UsageError, match="no way to the end was found"):
        Budget(constraint, witnesses.needed, is_exact=False).check_start(99)


def test_a_sweep_that_would_take_too_long_becomes_a_bound_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "aaaa"], eos=0)
    dfa = lower_to_bytes(compile_dfa("a{8}b{1,5}"))
    constraint = Constraint("a{8}b{1,5}", vocabulary, dfa, swept_index(dfa, vocabulary))
    exact = make_budget(constraint)
    assert (exact.needed(dfa.start), exact.is_exact) == (4, True)
    monkeypatch.setattr(distances, "MOST_PAIRS", 5)
    bound = make_budget(Constraint("a{8}b{1,5}", vocabulary, dfa, swept_index(dfa, vocabulary)))
    assert (bound.needed(dfa.start), bound.is_exact) == (10, False)
    run = md.generate(
        UniformModel(4), [], constraint=bound._constraint, max_tokens=10, finish_within_budget=True
    )
    assert run.is_complete


def test_targets_of_a_sweep_and_of_token_classes_are_the_same() -> None:
    vocabulary = md.Vocabulary.from_tokens(
        ["</s>", "a", "b", "ab", "bb", "", "<x>"], eos=0, special="<x>", width=9
    )
    pattern = "(ab|b)*b"
    dfa = lower_to_bytes(compile_dfa(pattern))
    classes = build_token_classes(dfa, vocabulary)
    assert classes is not None
    machines = [
        Constraint(pattern, vocabulary, dfa, classes),
        Constraint(pattern, vocabulary, dfa, swept_index(dfa, vocabulary)),
        lazy(pattern, vocabulary),
    ]
    for state in range(1, len(dfa.table)):
        first, *others = (token_targets(machine, md.State(state), []).tolist() for machine in machines)
        assert all(other == first for other in others)


def test_without_a_constraint_there_is_nothing_to_finish() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    with pytest.raises(md.UsageError, match="finish_within_budget=True needs a constraint"):
        md.generate(UniformModel(2), [], vocabulary=vocabulary, finish_within_budget=True)
    with pytest.raises(md.UsageError, match="finish_within_budget must be of type bool, not int"):
        md.generate(UniformModel(2), [], vocabulary=vocabulary, finish_within_budget=1)  # type: ignore[arg-type]
