"""Automata: the textbook's counts, `re` as the oracle, limits that hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from minidecoder.automaton import DEAD
from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import determinise, minimise
from minidecoder.regex.limits import Limits
from minidecoder.regex.nfa import build_nfa
from minidecoder.regex.syntax import parse
from minidecoder.regex.utf8 import lower_to_bytes
from tests.strategies import ALPHABET, OUTSIDER, patterns, texts_up_to

AGE = r'\{"age": (0|[1-9][0-9]*)\}'
PRICE = r"[0-9]+\.[0-9]{2}"


def test_the_age_pattern_has_28_13_and_12_states() -> None:
    nfa = build_nfa(parse(AGE))
    subset = determinise(nfa)
    assert (len(nfa), len(subset), len(minimise(subset))) == (28, 13, 12)
    assert len(compile_dfa(AGE)) == 12


def test_the_thompson_automaton_reads_its_pattern_by_any_road() -> None:
    nfa = build_nfa(parse("a|b*"))
    assert sorted(move for move in nfa.moves() if move[1]) == [(2, ((97, 97),), 3), (6, ((98, 98),), 7)]
    free = {(source, target) for source, label, target in nfa.moves() if label is None}
    assert free == {(0, 2), (3, 1), (0, 4), (4, 6), (4, 5), (7, 6), (7, 5), (5, 1)}
    assert nfa.closure([nfa.start]) == {0, 1, 2, 4, 5, 6}


def test_and_or_and_not_are_operators() -> None:
    a, b = compile_dfa("[ab]*"), compile_dfa(".*b")
    both, either, neither = a & b, a | b, ~a & ~b
    for text in texts_up_to(3, "abc"):
        in_a, in_b = a.accepts(text), b.accepts(text)
        assert both.accepts(text) == (in_a and in_b)
        assert either.accepts(text) == (in_a or in_b)
        assert neither.accepts(text) == (not in_a and not in_b)


def test_too_many_states_inside_characters_are_refused_too() -> None:
    with pytest.raises(ConstraintTooLargeError, match="over bytes"):
        lower_to_bytes(compile_dfa(r"\w{1,40}"), Limits(max_states=2_000))


def test_the_price_machine_is_the_one_in_the_lesson() -> None:
    dfa = compile_dfa(PRICE)
    edges = [(dfa.name(s), ranges, dfa.name(t)) for s, ranges, t in dfa.edges()]
    digits, dot = ((48, 57),), ((46, 46),)
    assert edges == [
        ("s0", digits, "s1"), ("s1", dot, "s2"), ("s1", digits, "s1"), ("s2", digits, "s3"), ("s3", digits, "s4"),
    ]  # fmt: skip
    assert [dfa.is_accepting(dfa.walk(text)[-1]) for text in ("1", "1.", "1.5", "1.50")] == [False] * 3 + [
        True
    ]


def test_a_walk_stops_where_a_character_dies() -> None:
    dfa = compile_dfa(PRICE)
    assert [dfa.name(state) for state in dfa.walk("1.505")] == ["s1", "s2", "s3", "s4", "dead"]
    assert dfa.walk("x1") == [DEAD]
    assert dfa.walk("") == []


@settings(max_examples=150)
@given(patterns())
def test_the_minimal_dfa_accepts_what_re_fullmatch_accepts(pattern: str) -> None:
    dfa, compiled = compile_dfa(pattern), re.compile(pattern)
    for text in texts_up_to(3, ALPHABET + OUTSIDER):
        assert dfa.accepts(text) == (compiled.fullmatch(text) is not None), text


@settings(max_examples=100)
@given(patterns())
def test_textbook_and_quick_subset_construction_lead_to_the_same_machine(pattern: str) -> None:
    nfa = build_nfa(parse(pattern))
    slow, quick = minimise(determinise(nfa)), minimise(determinise(nfa, important_only=True))
    assert slow.table.tolist() == quick.table.tolist()
    assert slow.accepting.tolist() == quick.accepting.tolist()
    assert slow.classes == quick.classes


@settings(max_examples=150)
@given(patterns())
def test_no_two_states_of_the_minimal_machine_are_equivalent(pattern: str) -> None:
    dfa = compile_dfa(pattern)
    # Moore's refinement, round by round: slower than Hopcroft's, and written apart from it.
    block = [int(flag) for flag in dfa.accepting]
    while True:
        signatures = [(block[q], *(block[t] for t in row)) for q, row in enumerate(dfa.table.tolist())]
        numbers = {signature: n for n, signature in enumerate(dict.fromkeys(signatures))}
        refined = [numbers[signature] for signature in signatures]
        if len(numbers) == len(set(block)):
            break
        block = refined
    assert len(numbers) == len(dfa) + 1


def test_an_empty_language_has_no_live_state() -> None:
    dfa = compile_dfa(r"a[^\x00-\U0010ffff]")
    assert len(dfa) == 0
    assert dfa.start == DEAD
    assert not dfa.accepts("a")
    assert not dfa.accepts("")


@pytest.mark.parametrize(
    "pattern", ["((a{1,100}){1,100}){1,100}", "a{999999999}", "(?:){900000000}", "x" * 100_000]
)
def test_a_pattern_that_would_explode_is_refused_with_the_limit_named(pattern: str) -> None:
    with pytest.raises(ConstraintTooLargeError, match="max_states") as caught:
        compile_dfa(pattern)
    assert caught.value.limit == "max_states"


def test_an_exponential_subset_construction_is_refused() -> None:
    with pytest.raises(ConstraintTooLargeError) as caught:
        compile_dfa("(a|b)*a(a|b){40}", limits=Limits(max_states=2_000))
    assert caught.value.limit == "max_states"
    with pytest.raises(ConstraintTooLargeError) as caught:
        compile_dfa("(a|b)*a(a|b){40}", limits=Limits(timeout_s=0.05))
    assert caught.value.limit == "timeout_s"


def test_ten_thousand_alternatives_compile() -> None:
    words = [f"w{number:05d}" for number in range(0, 100_000, 10)]
    dfa = compile_dfa("|".join(words))
    assert dfa.accepts(words[77])
    assert not dfa.accepts("w00001")
