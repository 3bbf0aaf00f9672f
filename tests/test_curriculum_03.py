"""Every number that lesson 03 claims, computed."""

from __future__ import annotations

import pytest

import minidecoder as md
from minidecoder.automaton import DEAD, State, walk
from minidecoder.models.toy import TableModel
from minidecoder.tokens import bitmask
from minidecoder.tokens.naive_index import naive_index, reachable_states

LESSON = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]
TEACHING = ["</s>", "{", '"', '{"', "a", "ge", "age", '":', ":", " ", "0", "1", "12", "01", "}", "2}"]
AGE = r'\{"age": (0|[1-9][0-9]*)\}'


@pytest.fixture(scope="module")
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos="</s>"))


@pytest.fixture(scope="module")
def age() -> md.Constraint:
    return md.compile_regex(AGE, md.Vocabulary.from_tokens(TEACHING, eos="</s>"))


def move(constraint: md.Constraint, source: str, token: str) -> str:
    machine = constraint.automaton
    state = State(int(source[1:]) + 1)
    return machine.name(walk(machine, state, token.encode())[-1])


def test_the_lesson_vocabulary_is_in_the_stated_order(price: md.Constraint) -> None:
    assert price.vocabulary.eos_ids == (0,)
    assert price.vocabulary.token_bytes[8] == b"1."


@pytest.mark.parametrize(
    ("source", "token", "target"),
    [("s1", ".5", "s3"), ("s0", "1.", "s2"), ("s2", "50", "s4"), ("s3", "50", "dead")],
)
def test_tokens_jump_over_the_price_machine(
    price: md.Constraint, source: str, token: str, target: str
) -> None:
    assert move(price, source, token) == target
    token_id = LESSON.index(token)
    allowed = price.index.after(State(int(source[1:]) + 1), token_id) != DEAD
    assert allowed == (target != "dead")


def test_12_50_has_three_segmentations_and_all_are_legal(price: md.Constraint) -> None:
    def segmentations(text: str) -> list[list[str]]:
        if not text:
            return [[]]
        return [
            [t, *rest] for t in LESSON[1:] if text.startswith(t) for rest in segmentations(text[len(t) :])
        ]

    found = segmentations("12.50")
    assert sorted("|".join(parts) for parts in found) == ["12|.5|0", "12|.|50", "12|.|5|0"]
    for parts in found:
        matcher = price.matcher()
        assert all(matcher.accept_token(LESSON.index(part)) for part in parts)
        assert matcher.accept_token(0)


def test_the_age_index_is_180_walks_over_12_states_of_which_11_are_reached(age: md.Constraint) -> None:
    states = [State(q) for q in range(1, len(age.characters) + 1)]
    texts = [data for data in age.vocabulary.token_bytes if data]
    assert (len(states), len(texts), len(states) * len(texts)) == (12, 15, 180)
    table = naive_index(age.automaton, states, age.vocabulary)
    reached = [age.automaton.name(state) for state in reachable_states(table, age.automaton.start)]
    assert reached == [f"s{n}" for n in range(12) if n != 4]


@pytest.mark.parametrize(
    ("source", "token", "target"),
    [("s8", "01", "dead"), ("s8", "12", "s10"), ("s8", "2}", "s11"), ("s10", "01", "s10")],
)
def test_moves_of_the_teaching_vocabulary(age: md.Constraint, source: str, token: str, target: str) -> None:
    assert move(age, source, token) == target


def test_the_trace_of_age_12_is_exact(age: md.Constraint) -> None:
    wanted = [3, 6, 7, 9, 12, 14, 0]
    rows = {tuple(wanted[:n]): [9.0 if i == wanted[n] else 0.0 for i in range(16)] for n in range(7)}
    run = md.generate(TableModel(16, rows), [], constraint=age)
    assert run.text == '{"age": 12}'
    bits = [
        "".join(str(int(b)) for b in bitmask.unpack(s.bitmask, 16))
        for s in run.steps
        if s.bitmask is not None
    ]
    seen = [(s.state, mask, s.label, s.state_after) for s, mask in zip(run.trace.steps, bits, strict=True)]
    assert seen == [
        ("s0", "0101000000000000", '{"', "s2"),
        ("s2", "0000101000000000", "age", "s5"),
        ("s5", "0010000100000000", '":', "s7"),
        ("s7", "0000000001000000", "␣", "s8"),
        ("s8", "0000000000111001", "12", "s10"),
        ("s10", "0000000000111111", "}", "s11"),
        ("s11", "1000000000000000", "■ </s>", "s11"),
    ]
