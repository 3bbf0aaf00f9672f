"""The parser against Python's own: same language, same refusals."""

from __future__ import annotations

import re
import warnings

import pytest

from minidecoder.errors import (
    ConstraintTooLargeError,
    RegexSyntaxError,
    UnsupportedFeatureError,
    UsageError,
)
from minidecoder.regex.charset import ANY, category, contains, make_ranges, negate, partition
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.limits import Limits
from minidecoder.regex.syntax import Chars, Choice, Concat, Repeat, parse

A = Chars(((97, 97),))
B = Chars(((98, 98),))


def test_a_pattern_becomes_a_tree() -> None:
    assert parse("a") == A
    assert parse("") == Concat(())
    assert parse("ab|a*") == Choice((Concat((A, B)), Repeat(A, 0, None)))
    assert parse("(a|b){2,3}") == Repeat(Choice((A, B)), 2, 3)
    assert parse("a|") == Choice((A, Concat(())))


def test_groups_and_laziness_do_not_change_the_tree() -> None:
    assert parse("(a)") == parse("(?:a)") == parse("(?P<name>a)") == parse("a(?#a comment)") == A
    assert parse("a+?") == parse("a+")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\n\t\r\f\v\a", "\n\t\r\f\v\a"),
        (r"\x41\u0042\U00000043\103\0\08", "ABCC\0\08"),
        (r"\N{BULLET}\.\*\\", "•.*\\"),
        (r"[]a]", "]"),
        (r"[^]a]", "b"),
        (r"[a-]", "-"),
        (r"[\b]", "\b"),
        (r"[\101\-\]]", "A"),
        (r"[\d\x41-C]", "B"),
        (r"a{,2}", "aa"),
        (r"a{,}", "aaaaa"),
        (r"a{2,}", "aaa"),
        ("a{}", "a{}"),
        ("a{1", "a{1"),
        ("{", "{"),
        ("a{1,2,3}", "a{1,2,3}"),
        ("x{-1}", "x{-1}"),
        ("]}", "]}"),
        ("()*", ""),
        (r"(?#a \) comment)(y)", "y"),
        ("(|a)b", "b"),
        ("(?:a*)*", "aaa"),
    ],
)
def test_the_notation_means_what_it_means_to_re(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern, text), "the test itself must agree with re"
    assert compile_dfa(pattern).accepts(text)
    assert not compile_dfa(pattern).accepts(text + "!")


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("(a", 0), ("a)", 1), ("*a", 0), ("a**", 2), ("a{2}{3}", 4), ("a|*", 2), ("(+)", 1), ("[a", 0), ("[]", 0),
        ("[b-a]", 1), (r"[\d-z]", 1), (r"[a-\d]", 1), (r"\q", 0), ("ab\\", 2), (r"\x4", 0), (r"\u12", 0),
        (r"\U00110000", 0), (r"\N{NO SUCH NAME}", 0), (r"\N", 0), (r"[\8]", 1), (r"\777", 0), (r"\2(a)", 0), (r"(\1)", 1),
        ("a{3,2}", 1), ("a{99999999999}", 1), ("(?<n>a)", 0), ("(?P<1>a)", 0), ("(?P<n>a)(?P<n>b)", 8), ("(?P<n", 0),
        ("(?#a", 0), ("(?", 0), (r"\e", 0),
    ],
)  # fmt: skip
def test_what_re_rejects_is_an_error_with_its_position(pattern: str, position: int) -> None:
    with pytest.raises((re.error, OverflowError)):
        re.compile(pattern)
    with pytest.raises(RegexSyntaxError) as caught:
        parse(pattern)
    assert caught.value.position == position
    caret = str(caught.value).splitlines()[-1]
    assert caret.index("^") - 2 == position


@pytest.mark.parametrize(
    ("pattern", "position", "feature"),
    [
        ("(?<=a)b", 0, "lookbehind"), ("x(?<!a)b", 1, "lookbehind"), (r"(a)\1", 3, "back-reference"),
        ("(?P<n>a)(?P=n)", 8, "back-reference"), ("(?>a)", 0, "atomic"), ("(a)(?(1)b)", 3, "conditional"),
        ("(?P<n>a)?(?(n)b|c)", 9, "conditional"), ("a*+", 1, "possessive"), ("a{2}+", 1, "possessive"),
        (r"(?<=\b|(?<=a))b", 0, "lookbehind"), ("((?=a).)*", 1, "repetition"), ("(?=a)*b", 0, "repetition"), (r"x(?=a)\b.", 1, "look-ahead together"),
    ],
)  # fmt: skip
def test_what_no_automaton_here_can_do_is_named_with_its_position(
    pattern: str, position: int, feature: str
) -> None:
    re.compile(pattern)  # valid for re, so the error must not say "syntax"
    with pytest.raises(UnsupportedFeatureError) as caught:
        compile_dfa(pattern)
    assert caught.value.position == position
    assert feature in caught.value.feature
    assert str(caught.value).splitlines()[-1].index("^") - 2 == position


@pytest.mark.parametrize(
    ("pattern", "position"), [(r"(?<=a)(", 6), (r"(a)\1)", 5), ("a*+**", 3), ("(?<=a*)b", 0)]
)
def test_a_syntax_error_goes_before_an_unsupported_construct(pattern: str, position: int) -> None:
    with pytest.raises(re.error):
        re.compile(pattern)
    with pytest.raises(RegexSyntaxError) as caught:
        compile_dfa(pattern)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a(?i)", 1), ("(?i", 0), ("(?iz)a", 3), ("(?L)a", 0), ("(?au)a", 0), ("(?-i)a", 4), ("(?i-i:a)", 0), ("(?-a:b)", 0),
        ("(?-:a)", 0), ("(|(?s)a)", 2), ("^*", 1), ("$+", 1), (r"\b?", 2), ("(?P=n)", 0), ("(?(2)a)", 0), ("(?(", 0), ("(?(x)a)", 0),
        ("(?a)(?u)x", 4), ("(b)(?(1)a|b|c)", 3), (r"(?<=(a)\1)", 7), ("a{4294967295}", 1),
    ],
)  # fmt: skip
def test_flags_and_anchors_that_re_rejects_are_syntax_errors(pattern: str, position: int) -> None:
    with pytest.raises((re.error, ValueError, OverflowError)):
        re.compile(pattern)
    with pytest.raises(RegexSyntaxError) as caught:
        parse(pattern)
    assert caught.value.position == position


def test_five_thousand_nested_groups_need_no_python_stack() -> None:
    nested = "(" * 5_000 + "a" + ")" * 5_000
    assert compile_dfa(nested).accepts("a")
    starred = "(?:" * 5_000 + "a" + ")*" * 5_000
    assert compile_dfa(starred).accepts("aaa")


@pytest.mark.parametrize("letter", "dDsSwW")
def test_categories_are_those_of_the_running_python(letter: str) -> None:
    ranges, compiled = category(letter), re.compile(rf"\{letter}")
    for code_point in [*range(0x3000), *range(0x3000, 0x110000, 97)]:
        expected = not 0xD800 <= code_point <= 0xDFFF and compiled.match(chr(code_point)) is not None
        assert contains(ranges, code_point) == expected, hex(code_point)


def test_nested_set_warnings_of_re_are_plain_members_here() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert re.fullmatch("[[a]", "[")
    assert compile_dfa("[[a]").accepts("[")


def test_ranges_merge_and_lose_the_surrogates() -> None:
    assert make_ranges([(5, 7), (1, 2), (3, 4)]) == ((1, 7),)
    assert make_ranges([(0xD7FF, 0xE000)]) == ((0xD7FF, 0xD7FF), (0xE000, 0xE000))
    assert negate(ANY) == ()
    assert negate(negate(((65, 90),))) == ((65, 90),)


def test_partition_never_splits_a_class() -> None:
    digits, low, odd = ((48, 57),), ((48, 52),), ((49, 49), (51, 51))
    classes, members = partition([digits, low, odd])
    assert list(classes) == [
        ((48, 48), (50, 50), (52, 52)), ((49, 49), (51, 51)), ((53, 57),),
    ]  # fmt: skip
    assert members == {digits: (0, 1, 2), low: (0, 1), odd: (1,)}


def test_a_lone_surrogate_matches_nothing() -> None:
    assert len(compile_dfa("\ud800")) == 0
    assert compile_dfa("\ud800|a").accepts("a")


def test_a_count_that_re_allows_is_too_large_not_wrong() -> None:
    re.compile("a{4294967294}")
    with pytest.raises(ConstraintTooLargeError):
        compile_dfa("a{4294967294}")
    assert compile_dfa("a{0000000000000000000000002}").accepts("aa")


@pytest.mark.parametrize("pattern", [None, 1, b"a", ["a"]])
def test_a_pattern_that_is_no_text_is_a_usage_error(pattern: object) -> None:
    with pytest.raises(UsageError, match="str"):
        compile_dfa(pattern)  # type: ignore[arg-type]


def test_the_time_limit_holds_while_a_pattern_is_read() -> None:
    many = "(?i)" + "".join(f"[{chr(0x400 + i)}-{chr(0x2000 + i)}]" for i in range(3_000))
    with pytest.raises(ConstraintTooLargeError) as caught:
        compile_dfa(many, limits=Limits(timeout_s=0.01))
    assert caught.value.limit == "timeout_s"
