"""The dialect of JSON Schema's patterns, where it differs from `re`."""

from __future__ import annotations

import unicodedata

import pytest

from minidecoder.errors import RegexSyntaxError, UnsupportedFeatureError
from minidecoder.regex.charset import contains
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.properties import property_ranges


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"^\d\w$", ["4a", "0_"], ["٤a", "4é", "4-"]),
        (r"\D\W", ["٤é"], ["4é", "٤a"]),
        (r"\s", [" ", "\u00a0", "\ufeff", "\u2028", "\n"], ["a", "\u180e", "\x1c"]),
        (r"\S", ["a", "\x1c"], [" ", "\ufeff"]),
        (r".", ["a", "\x85", "\v"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"a$", ["a"], ["a\n"]),
        (r"[]|a", ["a"], ["", "]"]),
        (r"[^]", ["a", "\n"], [""]),
        (r"[\b]", ["\b"], ["b"]),
        (r"\cJ\0\x41\u0042\u{1F600}\ud83d\ude00", ["\n\0AB😀😀"], []),
        (r"\/\-", ["/-"], []),
        (r"\ud83d\u0041|b", ["b"], ["A"]),
        (r"\B", [""], ["a"]),
        (r"(?<year>\d{4})", ["2026"], ["26"]),
        (r"a{,2}", ["a{,2}"], ["aa", ""]),
        (r"a{1,2}b{3}c{1,}", ["abbbcc"], ["abb"]),
        (r"\p{Lu}\p{Letter}\P{L}", ["Éé1"], ["éé1", "ÉÉÉ"]),
        (r"[\p{Nd}\-]+", ["٤-4"], ["a"]),
        (r"\p{gc=Sc}", ["€"], ["e"]),
        (r"\bfoo\b", ["foo"], ["fooo"]),
        (r"(?=.*1)[a1]+", ["a1"], ["aa"]),
    ],
)
def test_ecma_means_what_json_schema_means(pattern: str, accepted: list[str], refused: list[str]) -> None:
    dfa = compile_dfa(pattern, dialect="ecma")
    assert all(map(dfa.accepts, accepted))
    assert not any(map(dfa.accepts, refused))


def test_patterns_of_schemas_are_searched_for() -> None:
    dfa = compile_dfa("b+", dialect="ecma", match="search")
    assert dfa.accepts("a\nb\rc")
    assert not dfa.accepts("ac")
    assert compile_dfa("^b", dialect="ecma", match="search").accepts("ba")
    assert not compile_dfa("^b", dialect="ecma", match="search").accepts("ab")


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        (r"\Z", 0), (r"\A", 0), ("(?P<n>a)", 0), ("(?i)a", 0), ("(?#a)", 0), ("a++", 2), (r"\a", 0), (r"\u12", 0), (r"\u{110000}", 0),
        (r"\c1", 0), ("(?<n>a)(?<n>b)", 7), (r"\p{L", 0), ("(", 0), ("[a", 0), (r"\8", 0), (r"a\k<n>", 1),
    ],
)  # fmt: skip
def test_what_is_no_ecma_is_a_syntax_error(pattern: str, position: int) -> None:
    with pytest.raises(RegexSyntaxError) as caught:
        compile_dfa(pattern, dialect="ecma")
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("pattern", "feature"),
    [
        (r"\p{Script=Greek}", "Script=Greek"), (r"a\p{Emoji}", "Emoji"), ("(?<=a)b", "lookbehind"), (r"(a)\1", "back-reference"),
        (r"(?<n>a)\k<n>", "back-reference"),
    ],
)  # fmt: skip
def test_what_ecma_has_and_we_do_not_is_named(pattern: str, feature: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        compile_dfa(pattern, dialect="ecma")
    assert feature in caught.value.feature


def test_properties_are_those_of_unicodedata() -> None:
    for name, test in {
        "Lu": lambda c: c == "Lu", "L": lambda c: c[0] == "L", "LC": lambda c: c in ("Lu", "Ll", "Lt"), "Zs": lambda c: c == "Zs",
        "Assigned": lambda c: c != "Cn", "Any": lambda c: True,
    }.items():  # fmt: skip
        ranges = property_ranges(name)
        assert ranges is not None
        for code_point in range(0, 0x20000, 7):
            expected = test(unicodedata.category(chr(code_point))) and not 0xD800 <= code_point <= 0xDFFF
            assert contains(ranges, code_point) == expected, (name, hex(code_point))
    assert property_ranges("Greek") is None
    assert property_ranges("sc=Grek") is None
