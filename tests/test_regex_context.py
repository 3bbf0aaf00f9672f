"""Flags, anchors, word boundaries and look-ahead, with `re.fullmatch` and `re.search` as the judges."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.errors import MiniDecoderError, RegexSyntaxError, UnsupportedFeatureError, UsageError
from minidecoder.regex.charset import contains, make_ranges
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.folding import fold
from tests.strategies import texts_up_to

PIECES = [
    "a", "b", "1", "é", " ", r"\n", "_", "K", "ſ", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", "^", "$", r"\b", r"\B", r"\A", r"\Z",
    "a*", ".*", "b?", "(?=a)", "(?!a)", "(?=.*1)", "(?!.*b)", "(?i:k)", "(?s:.)", "(?m:^)", "(?m:$)", r"(?a:\w)", r"(?a:\b)", "(?i:[^s])",
    "(a|^)", "($|b)", "(?:ab|)", r"(?:\b)*", "(a){2}",
]  # fmt: skip
STARTS = ["", "(?i)", "(?m)", "(?s)", "(?a)", "(?x)", "(?ims)", "(?ai)"]


@settings(max_examples=400)
@given(st.sampled_from(STARTS), st.lists(st.sampled_from(PIECES), min_size=1, max_size=5))
def test_every_pattern_with_context_accepts_what_re_accepts(start: str, pieces: list[str]) -> None:
    pattern = start + "".join(pieces)
    try:
        compiled = re.compile(pattern)
    except re.error:
        with pytest.raises(RegexSyntaxError):
            compile_dfa(pattern)
        return
    try:
        dfa = compile_dfa(pattern)
    except UnsupportedFeatureError:
        return
    for text in texts_up_to(3, "ab1\né s"):
        assert dfa.accepts(text) == (compiled.fullmatch(text) is not None), text


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
def test_search_accepts_the_texts_in_which_re_finds_something(pieces: list[str]) -> None:
    pattern = "".join(pieces)
    try:
        compiled = re.compile(pattern)
        dfa = compile_dfa(pattern, match="search")
    except (re.error, MiniDecoderError):
        return
    for text in texts_up_to(3, "ab1\n "):
        assert dfa.accepts(text) == (compiled.search(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"^ab$", ["ab"], ["xab", "abx", "ab\n"]),
        (r"a$\n", ["a\n"], ["a", "a\n\n"]),
        (r"(?m)a$\n^b", ["a\nb"], ["ab", "a\n"]),
        (r"\bfoo\b.*", ["foo", "foo bar"], ["foobar"]),
        (r"(?=.*[A-Z])(?=.*\d).{4,}", ["aB3d"], ["ab3d", "aBcd", "B3"]),
        (r"(?!admin$).*", ["user", "admins", "adm"], ["admin"]),
        (r"a(?=b)(b|c)d|x", ["abd", "x"], ["acd", "ad"]),
        (r"(a(?!b)|b)[bc]", ["ac", "bb", "bc"], ["ab"]),
        (r"(?!)a|b", ["b"], ["a"]),
        (r"(?i)straße", ["STRAßE", "Straẞe"], ["STRASSE"]),
        (r"(?i)[^k]", ["a", "s"], ["k", "K", "\u212a"]),
        (r"(?x) a b # a comment", ["ab"], ["a b"]),
        (r"(?i:a(?-i:b))", ["ab", "Ab"], ["AB"]),
    ],
)
def test_a_few_that_people_write(pattern: str, accepted: list[str], refused: list[str]) -> None:
    dfa = compile_dfa(pattern)
    for text in accepted:
        assert re.fullmatch(pattern, text)
        assert dfa.accepts(text), text
    for text in refused:
        assert not re.fullmatch(pattern, text)
        assert not dfa.accepts(text), text


@pytest.mark.parametrize("pattern", ["a^b", r"foo\bbar", r"a\Ab", r"\Za", "$a", r"\B\b"])
def test_an_assertion_that_can_never_hold_leaves_nothing(pattern: str) -> None:
    assert len(compile_dfa(pattern)) == 0


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=3), st.sampled_from(["", "d", "W", "s"]), st.booleans())
def test_folding_is_that_of_re_for_every_cased_character(chars: str, letter: str, ascii_only: bool) -> None:
    literals = make_ranges((ord(char), ord(char)) for char in chars)
    if not literals:
        return
    start = "(?ai)" if ascii_only else "(?i)"
    escaped = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in literals)
    compiled = re.compile(f"{start}[{escaped}{chr(92) + letter if letter else ''}]")
    folded = compile_dfa(compiled.pattern).classes[0]
    probes = {*chars, *chars.upper(), *chars.lower(), *"kKſsSİiıIµμßẞǅΣςσ\u212a\u0345ιa1 \u1e9e"}
    for char in probes:
        assert contains(folded, ord(char)) == (compiled.fullmatch(char) is not None), hex(ord(char))


def test_folding_nothing_is_nothing() -> None:
    assert fold((), "", (), ascii_only=False) == ()


def test_anchors_compile_in_a_repetition() -> None:
    assert compile_dfa(r"(?m)(?:^a$\n?){2}").accepts("a\na")
    assert not compile_dfa(r"(?m)(?:^a$\n?){2}").accepts("aa")


@pytest.mark.parametrize("options", [{"dialect": "perl"}, {"match": "prefix"}])
def test_another_dialect_or_match_is_a_usage_error(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="'"):
        compile_dfa("a", **options)  # type: ignore[arg-type]
