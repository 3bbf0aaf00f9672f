"""Members of a language: the shortest, all in order, counted, drawn."""

from __future__ import annotations

import random
import re
from itertools import islice, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.errors import UnsatisfiableConstraintError, UsageError
from minidecoder.regex.charset import ANY, category, single
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import determinise
from minidecoder.regex.members import count_members, members, random_member, representative, shortest
from minidecoder.regex.nfa import build_nfa
from minidecoder.regex.syntax import parse
from tests.strategies import patterns, texts_up_to

PRICE = r"[0-9]+\.[0-9]{2}"
NOTHING = r"[^\x00-\U0010ffff]"


def over_ab1(pattern: str) -> str:
    """The pattern with its open sets closed to the alphabet a, b, 1."""
    sets = {".": "[ab1]", "[^a]": "[b1]", r"\d": "1", r"\w": "[1ab]"}
    for piece, closed in sets.items():
        pattern = pattern.replace(piece, closed)
    return pattern


@settings(max_examples=80)
@given(patterns())
def test_a_shortest_member_is_a_member_and_none_is_shorter(pattern: str) -> None:
    dfa = compile_dfa(pattern)
    text = shortest(dfa)
    assert re.fullmatch(pattern, text)
    assert all(count_members(dfa, length) == 0 for length in range(len(text)))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (PRICE, "0.00"), ("a*", ""), (r"\w+", "0"), ("[^0-9]", "A"), (".", "0"), ("[!a]", "a"), (r"\s", " "),
        ("b|a|\n", "a"), (r"[^\x00-\x7f]", "¡"), ("x{5000}", "x" * 5000), ("ab|c", "c"),
    ],
)  # fmt: skip
def test_the_shortest_member_is_one_that_people_can_read(pattern: str, text: str) -> None:
    assert shortest(compile_dfa(pattern)) == text


@settings(max_examples=80)
@given(patterns("ab1"))
def test_all_members_come_in_order_of_length_then_code_point(pattern: str) -> None:
    # Over a closed alphabet the members are what a search through all texts finds, in that order.
    pattern = over_ab1(pattern)
    found = takewhile(lambda text: len(text) <= 4, members(compile_dfa(pattern)))
    assert list(found) == [text for text in texts_up_to(4, "1ab") if re.fullmatch(pattern, text)]


def test_members_end_where_the_language_ends() -> None:
    assert list(members(compile_dfa("a{0,2}|b"))) == ["", "a", "b", "aa"]
    assert list(members(compile_dfa(NOTHING))) == []
    assert list(members(compile_dfa("a*"), 0)) == []
    assert [len(text) for text in members(compile_dfa("(a{3000})?"))] == [0, 3000]


def test_one_member_per_class_shows_the_shapes() -> None:
    assert list(members(compile_dfa(PRICE), 3, one_per_class=True)) == ["0.00", "00.00", "000.00"]
    assert list(members(compile_dfa("(yes|no)!?"), one_per_class=True)) == ["no", "no!", "yes", "yes!"]


def test_members_of_a_machine_with_states_that_never_end_are_found_all_the_same() -> None:
    subset = determinise(build_nfa(parse(f"a(b|c*{NOTHING})")))
    assert list(members(subset)) == ["ab"]
    assert shortest(subset) == "ab"
    assert random_member(subset, random.Random(0)) == "ab"


def test_a_negative_limit_or_length_is_refused() -> None:
    dfa = compile_dfa("a")
    with pytest.raises(UsageError, match="limit"):
        members(dfa, -1)
    with pytest.raises(UsageError, match="length"):
        count_members(dfa, -1)
    with pytest.raises(UsageError, match="mean_length"):
        random_member(dfa, random.Random(0), mean_length=0)


@settings(max_examples=60)
@given(patterns("ab1"))
def test_counts_are_the_lengths_of_the_lists(pattern: str) -> None:
    dfa = compile_dfa(pattern.replace(".", "[ab]").replace("[^a]", "[1b]").replace("\\", "1|"))
    listed = [text for text in members(dfa, 300) if len(text) <= 3]
    if len(listed) < 300:
        assert [count_members(dfa, n) for n in range(4)] == [
            sum(len(t) == n for t in listed) for n in range(4)
        ]


def test_counts_are_exact_however_large() -> None:
    assert count_members(compile_dfa(PRICE), 4) == 1000
    assert count_members(compile_dfa("[0-9]*"), 100) == 10**100
    assert count_members(compile_dfa(r"[\x00-\U0010ffff]"), 1) == 0x110000 - 2048
    assert count_members(compile_dfa("a"), 2) == 0


@settings(max_examples=100)
@given(patterns(), st.integers(0, 2**32))
def test_a_random_member_is_a_member(pattern: str, seed: int) -> None:
    text = random_member(compile_dfa(pattern), random.Random(seed))
    assert re.fullmatch(pattern, text), text
    text.encode()  # no surrogates


def test_random_members_reach_every_class_every_length_and_all_of_utf8() -> None:
    draw = random.Random(1)
    texts = [random_member(compile_dfa("(a|b.|[^ab]){0,3}"), draw, mean_length=2) for _ in range(600)]
    assert {len(text) for text in texts} >= {0, 1, 2, 3, 4, 5, 6}
    assert {len(char.encode()) for text in texts for char in text} == {1, 2, 3, 4}
    # Three classes: b, the line break, and all the rest.
    assert {char for text in texts for char in text} >= {"b", "\n"}


def test_a_random_member_of_an_endless_language_is_about_as_long_as_asked() -> None:
    draw, dfa = random.Random(2), compile_dfa("(ab)*")
    lengths = [len(random_member(dfa, draw, mean_length=50)) for _ in range(300)]
    assert 35 < sum(lengths) / 300 < 65
    assert len(random_member(compile_dfa("a{300}b*"), draw, mean_length=1)) >= 300


def test_the_same_seed_gives_the_same_member() -> None:
    dfa = compile_dfa(r"\w+@\w+\.(com|org)")
    first, again = (random_member(dfa, random.Random(7)) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("ask", [shortest, lambda dfa: random_member(dfa, random.Random(0))])
def test_an_empty_language_has_no_member_to_give(ask) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnsatisfiableConstraintError, match="empty"):
        ask(compile_dfa(NOTHING))


def test_a_class_is_shown_by_a_character_that_people_can_read() -> None:
    shown = [
        representative(ranges) for ranges in (ANY, category("s"), category("D"), single("\x00"), single("😀"))
    ]
    assert shown == ["0", " ", "A", "\x00", "😀"]


def test_members_are_made_one_by_one() -> None:
    assert len(list(islice(members(compile_dfa(r"[\s\S]{50}")), 5))) == 5
