"""Bugs that users of other decoders reported about regular expressions, none of which may happen here.

Each case names the report it was distilled from. A constraint either is the exact language, checked with
whole strings, or a typed error at an exact place; a pattern that nothing matches is refused when compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

import minidecoder as md
from minidecoder.regex.compiler import compile_dfa
from minidecoder.tokens import bitmask

BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)


@dataclass(frozen=True)
class Report:
    """A pattern, and whole strings that it does and does not match."""

    source: str
    why: str
    pattern: str
    accepts: tuple[str, ...]
    rejects: tuple[str, ...]
    dialect: str = "python"


LANGUAGES = [
    Report("dottxt-ai/outlines-core@a5e0010", "leftmost-first priority lost the longer alternative", "a|ab", ("a", "ab"), ("", "b", "abb")),
    Report("dottxt-ai/outlines#995", "redundant anchors were refused", "^ab$", ("ab",), ("xab", "abx", "ab\n", "")),
    Report("mlc-ai/xgrammar#184", "escapes inside a class", r"[\]\-\\^]+", ("]", "-", "\\", "^", r"]-\^"), ("a", "", "[")),
    Report("vllm-project/vllm#45118", "2^13 states from a short pattern", "(a|b)*a(a|b){12}", ("a" + "b" * 12, "ba" + "a" * 12), ("b" * 13, "a" * 12)),
    Report("guidance-ai/llguidance#158", r"\d and \w are ASCII in a schema", r"^\d\w$", ("4a", "0_", "99"), ("٤a", "4é", "4-"), "ecma"),
    Report("openclaw/openclaw#107939", "the dot stops at a line end", ".*", ("abc", "", "é😀", "a\rb", "a\u2028b"), ("a\nb", "\n")),
    Report("openclaw/openclaw#107939", "the flag s lets it pass", "(?s).*", ("abc", "a\nb", ""), ()),
    Report("dottxt-ai/outlines#725", "emoji only as single tokens", "[😀-🙏]+", ("😨", "😀😍"), ("a", "", "🚀", "😀a")),
    Report("mlc-ai/xgrammar#673", "an empty alternative", "a||b", ("", "a", "b"), ("ab", "aa", "|")),
    Report("MegaIng/interegular#15", "a lazy quantifier is the same language", r"/\*.*?\*/", ("/**/", "/* a */", "/**/*/"), ("/*", "/* a", "*/")),
    Report("dottxt-ai/outlines#1118", "a look-ahead was dropped", r"(\[T\] \{\}|(?!\[T\]).*)", ("[T] {}", "hello", "", "x[T]"), ("[T]", "[T] {}, more")),
    Report("mlc-ai/xgrammar#904", "a complement across UTF-8 lengths", "[^\x00-߿]", ("ࠀ", "€", "😀"), ("a", "é", "߿", "")),
    Report("mlc-ai/xgrammar#339", "nested counts", "((ab?){2,3},){2,3}", ("aba,aba,", "aab,abaa,aaa,"), ("aba,", "a,aa,", "aaaa,aa,")),
    Report("guidance-ai/llguidance#147", "an escaped newline arrived as two characters", r"^(A\nB|C\nD)$", ("A\nB", "C\nD"), (r"A\nB", "A B", "A\n")),
    Report("mlc-ai/xgrammar#693", r"\S lost the opening bracket", r"\S", ("[", "]", "a", "é"), (" ", "\t", "\n", "", "ab")),
    Report("vllm-project/vllm#15210", "a NUL ended the pattern", "[\x00-⹿]+", ("a", "é", "⹿"), ("\u3000", "", "a\u3000")),
    Report("vllm-project/vllm (backend_xgrammar.py)", "a NUL reached native code", "a\x00b", ("a\x00b",), ("a", "ab")),
    Report("guidance-ai/llguidance#2", "one alternative is a prefix of another", "(a|abq|c)(bQ)?", ("a", "abq", "c", "abQ", "abqbQ", "cbQ"), ("ab", "abqb", "abqQ", "")),
    Report("mlc-ai/xgrammar#750", "a property in a schema's pattern", r"\p{L}+", ("héllo", "Ж"), ("1", "", "a1", "p{L}"), "ecma"),
]  # fmt: skip


@pytest.mark.parametrize("report", LANGUAGES, ids=lambda report: report.source)
def test_the_language_is_exact(report: Report) -> None:
    dfa = compile_dfa(report.pattern, dialect=report.dialect)  # type: ignore[arg-type]
    constraint = md.compile_regex(report.pattern, BYTES, dialect=report.dialect)  # type: ignore[arg-type]
    for text in (*report.accepts, *report.rejects):
        expected = text in report.accepts
        assert dfa.accepts(text) == expected, text
        matcher = constraint.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting) == expected, text
        if report.dialect == "python":
            assert (re.fullmatch(report.pattern, text) is not None) == expected, "the case itself"


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("mlc-ai/xgrammar#765: an anchor that never holds", "a^b"),
        ("mlc-ai/xgrammar#765: a boundary inside a word", r"foo\bbar"),
        ("mlc-ai/xgrammar#750: lone surrogates have no UTF-8", r"[\uD800-\uDFFF]"),
    ],
)
def test_a_pattern_that_nothing_matches_is_refused(source: str, pattern: str) -> None:
    with pytest.raises(md.UnsatisfiableConstraintError, match="no text at all"):
        md.compile_regex(pattern, BYTES)


@pytest.mark.parametrize(
    ("source", "pattern", "position"),
    [
        ("vllm-project/vllm#19270: a doubled quantifier", "foo**", 4),
        ("mlc-ai/xgrammar#183: least above most", "a{3,1}", 1),
        ("vllm-project/vllm#17313: a group that is never closed", "(ab", 0),
        ("mlc-ai/xgrammar#750: re has no properties", r"\p{L}+", 0),
    ],
)
def test_an_invalid_pattern_is_an_error_at_its_place(source: str, pattern: str, position: int) -> None:
    with pytest.raises(md.RegexSyntaxError) as caught:
        md.compile_regex(pattern, BYTES)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("source", "pattern", "position", "feature", "remedy"),
    [
        (
            "dottxt-ai/outlines#456: a lookbehind in a string",
            r'".*?(?<!\\)(\\\\)*?"',
            4,
            "lookbehind",
            "before",
        ),
        ("mlc-ai/xgrammar#184: a++ has a meaning of its own", "a++b", 1, "possessive", "backtracking"),
    ],
)
def test_what_is_not_compiled_is_named_with_a_way_out(
    source: str, pattern: str, position: int, feature: str, remedy: str
) -> None:
    with pytest.raises(md.UnsupportedFeatureError) as caught:
        md.compile_regex(pattern, BYTES)
    assert caught.value.position == position
    assert feature in caught.value.feature
    assert remedy in caught.value.remedy


def test_after_ab_both_letters_may_follow() -> None:
    """guidance-ai/llguidance#2: the longer alternative must not be forced."""
    matcher = md.compile_regex("(a|abq|c)(bQ)?", BYTES).matcher()
    assert matcher.accept_string("ab")
    assert matcher.allowed_token_ids().tolist() == [ord("Q"), ord("q")]


def test_with_an_empty_alternative_the_end_is_allowed_at_once() -> None:
    """mlc-ai/xgrammar#673."""
    assert bitmask.is_set(md.compile_regex("a||b", BYTES).matcher().bitmask(), 256)


def test_the_bytes_of_a_surrogate_are_never_allowed() -> None:
    """mlc-ai/xgrammar#750: ED A0 80 is no character."""
    matcher = md.compile_regex(r"(.|\n)*", BYTES).matcher()
    assert matcher.accept_string(b"\xed")
    assert max(matcher.allowed_token_ids()) == 0x9F
