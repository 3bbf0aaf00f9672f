r"""What a string, a class or a count of a grammar says: escapes to code points, ranges, bounds.

Escapes are those of llama.cpp, `\n \r \t \\ \" \[ \] \-`, `\xHH`, `\uHHHH`, `\UHHHHHHHH`, and those that
XGrammar adds, `\a \b \f \v \e \0 \' \? \/ \^`; any other is an error. `\xE9` is the character é in both, not
a byte. In a class `-` first or last is itself; `[^]` is any character and `[]` matches nothing, as in
XGrammar (llama.cpp takes both for the empty text). A surrogate is no character: 😀 is `\U0001F600`.

Left out: where words begin and end (`gbnf_lexer`). Cost: O(length of the word).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from minidecoder.grammar.gbnf_lexer import Token, syntax_error
from minidecoder.regex.charset import Ranges, make_ranges, negate

__all__ = ["MOST_COPIES", "bounds", "class_ranges", "string_text"]

MOST_COPIES: Final = 2**32 - 2
"""The largest number that a count may name; the regular expressions of the package have the same."""

_ESCAPE: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_MEMBER: Final = re.compile(rf"{_ESCAPE.pattern}|.")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SIMPLE: Final = {
    **{letter: ord(letter) for letter in "\\\"[]-'?/^"},
    **{letter: ord(char) for letter, char in zip("nrtabfve0", "\n\r\t\a\b\f\v\x1b\0", strict=True)},
}
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_COUNT: Final = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*([0-9]+)?\s*)?\}")


class _Member(NamedTuple):
    """A character of a class: where it is written, its code point, whether by an escape."""

    place: int
    code: int
    escaped: bool


def string_text(source: str, token: Token) -> str:
    """The text that a quoted string stands for."""
    start, end = token.place + 1, token.place + len(token.text) - 1
    raw = _SURROGATE.search(source, start, end)
    if raw is not None:
        _check_not_surrogate(source, raw.start(), ord(raw.group()))

    def character(escape: re.Match[str]) -> str:
        place = start + escape.start()
        code = _code(source, place, escape.group())
        _check_not_surrogate(source, place, code)
        return chr(code)

    return _ESCAPE.sub(character, source[start:end])


def class_ranges(source: str, token: Token) -> Ranges:
    """The set that a class in brackets stands for."""
    members = []
    for found in _MEMBER.finditer(source, token.place + 1, token.place + len(token.text) - 1):
        code = _code(source, found.start(), found.group())
        members.append(_Member(found.start(), code, found.group()[0] == "\\"))
    negated = bool(members) and members[0].code == ord("^") and not members[0].escaped
    ranges = make_ranges(_pairs(source, members[negated:]))
    return negate(ranges) if negated else ranges


def _pairs(source: str, members: list[_Member]) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(members):
        low = high = members[at]
        # subtle: in "[a-]" the dash is last and so itself; in "[a\-z]" it is escaped and so itself.
        if at + 2 < len(members) and members[at + 1].code == ord("-") and not members[at + 1].escaped:
            high = members[at + 2]
            at += 2
        if high.code < low.code:
            raise syntax_error(source, low.place, "this range runs backwards, its ends must change places")
        _check_not_surrogate(source, low.place, low.code, high.code)
        yield low.code, high.code
        at += 1


def _code(source: str, place: int, written: str) -> int:
    """The code point of a character or an escape."""
    if written[0] != "\\":
        return ord(written)
    letter, digits = written[1], written[2:]
    if letter in _HEX_DIGITS:
        if not digits:
            needed = _HEX_DIGITS[letter]
            raise syntax_error(source, place, f"\\{letter} needs {needed} hexadecimal digits")
        if int(digits, 16) > 0x10FFFF:
            raise syntax_error(source, place, f"{written} is beyond the last character, \\U0010FFFF")
        return int(digits, 16)
    if letter not in _SIMPLE:
        remedy = "; a digit is [0-9], a letter [A-Za-z]" if letter in "dDsSwW" else ""
        raise syntax_error(source, place, f"there is no escape {written}{remedy}")
    return _SIMPLE[letter]


def _check_not_surrogate(source: str, place: int, low: int, high: int | None = None) -> None:
    """Refuse a character, or a range, of surrogates alone; a wider range may run across them."""
    if low >= 0xD800 and (low if high is None else high) <= 0xDFFF:
        remedy = "write the whole character (\\U0001F600 for 😀)"
        raise syntax_error(source, place, f"U+{low:04X} is a surrogate, half of a UTF-16 pair: {remedy}")


def bounds(source: str, token: Token) -> tuple[int, int | None]:
    """(least, most) of `*`, `+`, `?` or a count in braces; `most` is None where there is no limit."""
    if token.kind == "sign":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token.text]
    found = _COUNT.fullmatch(token.text)
    if found is None:
        raise syntax_error(source, token.place, "a count is {3}, {3,} or {3,5}; at most five is {0,5}")
    low, comma, high = found.groups()
    least = _number(low)
    most = least if comma is None else None if high is None else _number(high)
    if max(least, most or 0) > MOST_COPIES:
        raise syntax_error(source, token.place, f"a count may be {MOST_COPIES:,} at most")
    if most is not None and most < least:
        raise syntax_error(source, token.place, f"at least {least} and at most {most} copies cannot be")
    return least, most


def _number(digits: str) -> int:
    # subtle: Python refuses to read an int of 5,000 digits; twelve that count are too many already.
    return int(digits.lstrip("0")[:12] or 0)
