r"""The regular expressions of JSON Schema: ECMA-262 with the flag `u`, as far as it is a language.

What differs from `re`: `\d \w \b` are ASCII, `\s` and `.` follow ECMA's lists of spaces and line ends,
`$` holds at the very end only, `[]` matches nothing and `[^]` anything, `\p{…}`, `\cX`, `\u{…}` and
surrogate pairs are characters, groups are named `(?<n>…)`; there are no `\A \Z`, comments or flags.

Left out, as in `syntax`: lookbehind and back-references. More lenient than the flag `u` where no meaning
is in doubt: a brace or bracket that closes nothing is a character, and so is any escaped punctuation.
Cost: O(length).
"""

from __future__ import annotations

from typing import Final

from minidecoder.regex.charset import ANY, EMPTY, Ranges, category, make_ranges, negate
from minidecoder.regex.cursor import DIGITS
from minidecoder.regex.limits import Limits
from minidecoder.regex.properties import property_ranges
from minidecoder.regex.syntax import Parser
from minidecoder.regex.tree import Assertion, Chars, Node, Place

__all__ = ["parse"]

_LINE_ENDS: Final = make_ranges((point, point) for point in (0x0A, 0x0D, 0x2028, 0x2029))
_SPACE_POINTS: Final = (0x09, 0x0B, 0x0C, 0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF)
_SPACES: Final = make_ranges([*_LINE_ENDS, (0x2000, 0x200A), *((point, point) for point in _SPACE_POINTS)])
_PROPERTIES: Final = "general categories are known; write other sets as ranges"
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def parse(pattern: str, limits: Limits | None = None) -> Node:
    """The syntax tree of an ECMA pattern; `RegexSyntaxError` or `UnsupportedFeatureError` with a position."""
    return _EcmaParser(pattern).parse(limits)


class _EcmaParser(Parser):
    has_possessive = False

    def sign(self, char: str, start: int) -> Node:
        match char:
            case ".":
                return Chars(negate(_LINE_ENDS))
            case "$":
                return Assertion(Place.TEXT_END)
            case _:
                return super().sign(char, start)

    def places(self) -> dict[str, Place]:
        return {"b": Place.ASCII_WORD_EDGE, "B": Place.NO_ECMA_WORD_EDGE}

    def open(self, start: int) -> None:
        if self.ahead("?<=") or self.ahead("?<!") or not self.ahead("?"):
            super().open(start)
        elif self.accept("?<"):
            self.named_group(start)
        elif any(map(self.ahead, ("?:", "?=", "?!"))):
            super().open(start)
        else:
            self.fail(f"unknown extension ({self.pattern[self.at : self.at + 2]}", start)

    def bounds(self, char: str) -> tuple[int, int | None] | None:
        if char == "{" and self.ahead(","):  # {,n} is no quantifier in ECMA
            return None
        return super().bounds(char)

    def character_set(self, start: int, *, ignore_case: bool = False, ascii_only: bool = False) -> Ranges:
        if self.accept("]"):
            return EMPTY
        if self.accept("^]"):
            return ANY
        return super().character_set(start, ignore_case=ignore_case, ascii_only=ascii_only)

    def category(self, start: int) -> str:
        if not self.ahead("p{") and not self.ahead("P{"):
            return super().category(start)
        letter = self.take()
        self.take()
        name = self.until("}", start, "missing }, the property is never closed")
        if property_ranges(name) is None:
            self.refuse(f"the Unicode property {name!r}", _PROPERTIES, start)
        return f"{letter}{{{name}}}"

    def category_ranges(self, name: str, ascii_only: bool) -> Ranges:
        if name[0] in "pP":
            ranges = property_ranges(name[2:-1]) or EMPTY
            return negate(ranges) if name[0] == "P" else ranges
        if name in "sS":
            return negate(_SPACES) if name == "S" else _SPACES
        return category(name, ascii_only=True)

    def group_reference(self, start: int) -> int | None:
        if not self.ahead("k<"):
            return super().group_reference(start) if self.pattern[self.at : self.at + 1] in DIGITS else None
        self.accept("k<")
        name = self.identifier(">", start)
        if name not in self.names:
            self.fail(f"unknown group name {name!r}", start)
        return self.names[name]

    def code_point(self, start: int, *, in_set: bool) -> int:
        following = self.pattern[self.at : self.at + 1]
        if following == "c" and self.pattern[self.at + 1 : self.at + 2].isascii():
            return self._control(start)
        if following == "u":
            return self._unicode(start)
        if following == "0" and self.pattern[self.at + 1 : self.at + 2] not in DIGITS:
            self.take()
            return 0
        if following.isalnum() and following not in "fnrtvx" + "b" * in_set:
            self.fail(f"bad escape \\{following}", start)
        return super().code_point(start, in_set=in_set)

    def _control(self, start: int) -> int:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if not letter.isalpha():
            self.fail("a letter is missing after \\c", start)
        self.at += 2
        return ord(letter) % 32

    def _unicode(self, start: int) -> int:
        """`\\u0041`, `\\u{1F600}`, or the two halves of a surrogate pair."""
        self.take()
        if self.accept("{"):
            digits = self.take_while(_HEX)
            if not self.accept("}") or not digits or int(digits, 16) > 0x10FFFF:
                self.fail("bad escape \\u{", start)
            return int(digits, 16)
        high, behind = self._four(start), self.at
        if 0xD800 <= high <= 0xDBFF and self.accept("\\u") and not self.ahead("{"):
            low = self._four(start)
            if 0xDC00 <= low <= 0xDFFF:
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        self.at = behind  # a half alone: no character that text can hold
        return high

    def _four(self, start: int) -> int:
        digits = self.take_while(_HEX, 4)
        if len(digits) < 4:
            self.fail("incomplete escape: \\u needs 4 hexadecimal digits", start)
        return int(digits, 16)
