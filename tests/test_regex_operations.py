"""And, or, not on whole languages, and comparisons of two, with `re.fullmatch` as the oracle on short texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from minidecoder.automaton import DEAD, State
from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA, determinise, minimise
from minidecoder.regex.limits import Limits
from minidecoder.regex.nfa import build_nfa
from minidecoder.regex.operations import (
    complement,
    counterexample,
    distinguishing_text,
    equivalent,
    intersect,
    merged_states,
    union,
)
from minidecoder.regex.syntax import parse
from tests.strategies import ALPHABET, OUTSIDER, patterns, texts_up_to

AGE = r'\{"age": (0|[1-9][0-9]*)\}'
NOTHING = r"[^\x00-\U0010ffff]"
TEXTS = list(texts_up_to(3, ALPHABET + OUTSIDER))


def same_table(a: DFA, b: DFA) -> bool:
    return (
        a.classes == b.classes
        and a.table.tolist() == b.table.tolist()
        and a.accepting.tolist() == b.accepting.tolist()
        and a.start == b.start
    )


def is_minimal(dfa: DFA) -> bool:
    """Minimal, breadth-first, DEAD first and classes in order: minimising again changes nothing."""
    lows = [ranges[0][0] for ranges in dfa.classes]
    return same_table(dfa, minimise(dfa)) and not dfa.table[DEAD].any() and lows == sorted(lows)


@settings(max_examples=80)
@given(patterns(), patterns())
def test_and_or_not_agree_with_fullmatch_on_every_short_text(first: str, second: str) -> None:
    a, b = compile_dfa(first), compile_dfa(second)
    both, either, neither = intersect(a, b), union(a, b), complement(a)
    assert all(map(is_minimal, (both, either, neither)))
    one, two = re.compile(first), re.compile(second)
    for text in TEXTS:
        in_a, in_b = one.fullmatch(text) is not None, two.fullmatch(text) is not None
        expected = (in_a and in_b, in_a or in_b, not in_a)
        assert (both.accepts(text), either.accepts(text), neither.accepts(text)) == expected, text


@settings(max_examples=40)
@given(patterns(), patterns())
def test_the_laws_of_sets_hold_table_by_table(first: str, second: str) -> None:
    a, b = compile_dfa(first), compile_dfa(second)
    assert same_table(complement(complement(a)), a)
    assert same_table(complement(intersect(a, b)), union(complement(a), complement(b)))
    assert same_table(intersect(a, b), intersect(b, a))
    assert same_table(union(a, intersect(a, b)), a)
    assert len(intersect(a, complement(a))) == 0
    assert same_table(union(a, complement(a)), compile_dfa(r"[\x00-\U0010ffff]*"))


@settings(max_examples=80)
@given(patterns(), patterns())
def test_a_counterexample_is_a_shortest_text_that_exactly_one_accepts(first: str, second: str) -> None:
    a, b = compile_dfa(first), compile_dfa(second)
    text = counterexample(a, b)
    assert equivalent(a, b) == (text is None) == same_table(a, b)
    shorter = TEXTS if text is None else [other for other in TEXTS if len(other) < len(text)]
    assert all(a.accepts(other) == b.accepts(other) for other in shorter)
    if text is not None:
        assert a.accepts(text) != b.accepts(text)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("(a|b)*", "[ab]*", None),
        ("a|ab", "a(b?)", None),
        ("[0-9]+", r"\d+", "٠"),  # the Arabic zero: `\d` is more than 0 to 9
        ("(0|[1-9][0-9]*)", "[0-9]+", "00"),
        ("a*", "a+", ""),
        (".", r"[\x00-\U0010ffff]", "\n"),
        ("x[^a]", "xa", "x0"),
        (NOTHING, "a{1000}", "a" * 1000),
        ("é😀?", "é", "é😀"),
    ],
)
def test_the_counterexample_is_one_that_people_can_read(first: str, second: str, text: str | None) -> None:
    assert counterexample(compile_dfa(first), compile_dfa(second)) == text


def test_an_empty_language_is_zero_for_or_and_takes_all_in_and() -> None:
    empty, a = compile_dfa(NOTHING), compile_dfa("a+")
    assert same_table(union(empty, a), a)
    assert same_table(intersect(empty, a), empty)
    assert intersect(a, compile_dfa("b+")).start == DEAD
    assert complement(empty).accepts("any\n\x00\U0010ffff")
    assert complement(empty).start == State(1)


def test_the_complement_lives_on_characters_that_the_pattern_never_names() -> None:
    other = complement(compile_dfa("a"))
    assert [other.accepts(text) for text in ("", "a", "é", "aa", "😀")] == [True, False, True, True, True]
    assert not other.accepts("\ud800"), "a lone surrogate is no text"


def test_operations_work_on_machines_that_are_not_minimal() -> None:
    subset = determinise(build_nfa(parse(AGE)))
    minimal = compile_dfa(AGE)
    assert same_table(intersect(subset, subset), minimal)
    assert same_table(complement(complement(subset)), minimal)
    assert equivalent(subset, minimal)


def test_two_machines_of_a_thousand_states_meet_quickly_where_few_pairs_are_reached() -> None:
    a, b = compile_dfa("(a{1000})*"), compile_dfa("(a{999})+|b")
    both = intersect(compile_dfa("a{0,1000}"), compile_dfa("(a|b){1000}"))
    assert both.accepts("a" * 1000)
    assert len(both) == 1001
    with pytest.raises(ConstraintTooLargeError) as caught:
        intersect(a, b, Limits(max_states=5_000))
    assert caught.value.limit == "max_states"
    with pytest.raises(ConstraintTooLargeError) as caught:
        union(a, b, Limits(timeout_s=1e-9))
    assert caught.value.limit == "timeout_s"


def test_comparing_needs_no_limit() -> None:
    a, b = compile_dfa("(a{1000})*"), compile_dfa("(a{999})*")
    assert counterexample(a, b) == "a" * 999, "two thousand steps, not a million"


def test_exactly_one_pair_of_the_age_machine_merges() -> None:
    subset = determinise(build_nfa(parse(AGE)))
    (pair,) = merged_states(subset)
    assert (len(subset), len(pair)) == (13, 2)
    p, q = pair
    assert distinguishing_text(subset, p, q) is None
    # Both stand inside the digits: after 1 and after 12, say. After 0 only } may follow.
    path = subset.walk('{"age": 12')
    assert {path[-2], path[-1]} == {p, q}
    zero = subset.walk('{"age": 0')[-1]
    assert distinguishing_text(subset, zero, p) == "0}"


@settings(max_examples=60)
@given(patterns())
def test_states_merge_exactly_where_no_text_tells_them_apart(pattern: str) -> None:
    subset = determinise(build_nfa(parse(pattern)))
    together = {frozenset((p, q)) for group in merged_states(subset) for p in group for q in group if p != q}
    states = [State(number) for number in range(len(subset.table))][:12]
    for p in states:
        for q in states[p + 1 :]:
            text = distinguishing_text(subset, p, q)
            assert (text is None) == (frozenset((p, q)) in together)
            if text is not None:
                ends = [minimise(DFA(subset.classes, subset.table, subset.accepting, s)) for s in (p, q)]
                assert ends[0].accepts(text) != ends[1].accepts(text)


def test_nothing_merges_in_a_minimal_machine() -> None:
    assert merged_states(compile_dfa(AGE)) == []


def test_a_state_that_can_never_match_merges_with_dead() -> None:
    lost = DFA((((97, 97),),), compile_dfa("a").table[[0, 0, 0]], compile_dfa("a").accepting, State(1))
    assert merged_states(lost)[0][0] == DEAD
