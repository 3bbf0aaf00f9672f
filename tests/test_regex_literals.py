"""A list of texts becomes the same machine as the alternation of its texts, by a shorter way."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA, compile_tree
from minidecoder.regex.limits import Limits
from minidecoder.regex.literals import dfa_of_texts, literal_texts
from minidecoder.regex.syntax import parse

TEXTS = st.lists(st.text("abé😀", max_size=5), min_size=1, max_size=12)


def same(one: DFA, other: DFA) -> bool:
    return (
        one.classes == other.classes
        and one.table.tolist() == other.table.tolist()
        and one.accepting.tolist() == other.accepting.tolist()
        and one.start == other.start
    )


@given(TEXTS)
def test_the_machine_of_a_list_is_that_of_the_alternation(texts: list[str]) -> None:
    by_nfa = compile_tree(parse("|".join(map(re.escape, texts)), Limits()))
    assert same(dfa_of_texts(texts), by_nfa)


@given(TEXTS, st.text("abé😀", max_size=6))
def test_it_accepts_the_texts_and_nothing_else(texts: list[str], other: str) -> None:
    dfa = dfa_of_texts(texts)
    assert all(dfa.accepts(text) for text in texts)
    assert dfa.accepts(other) == (other in texts)


def test_a_choice_of_literals_is_recognised_and_anything_else_is_not() -> None:
    def texts(pattern: str) -> list[str] | None:
        return literal_texts(parse(pattern, Limits()))

    assert texts("ab|c|") == ["ab", "c", ""]
    assert texts("ab") is None
    assert texts("ab|[cd]") is None
    assert texts("ab|c*") is None
    assert texts("(?i:ab)|c") is None


def test_ten_thousand_texts_share_their_beginnings_and_their_ends() -> None:
    texts = [f"item {n:05d} of the list" for n in range(10_000)]
    dfa = compile_dfa("|".join(texts))
    assert len(dfa) == len("item ") + 5 + len(" of the list") + 1
    assert dfa.accepts("item 09999 of the list")
    assert not dfa.accepts("item 10000 of the list")
