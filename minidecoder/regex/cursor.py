r"""One character or one character set, read at a cursor: escapes, ranges, categories.

The lower half of the pattern parser. `[^a-z\d\n]`, `\x41`, `\N{BULLET}` and `\101` mean what they
mean to Python's `re`; each error carries the position where the construct begins.

Left out: what stands between characters (groups, quantifiers), which `syntax` adds.
Cost: O(length of the construct).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, NoReturn

from minidecoder.errors import RegexSyntaxError
from minidecoder.regex.charset import Ranges, category, make_ranges, negate
from minidecoder.regex.folding import fold

__all__ = ["DIGITS", "Cursor"]

_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
DIGITS: Final = frozenset("0123456789")
_CATEGORIES: Final = frozenset("dDsSwW")
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


class Cursor:
    """A place in a pattern, and the readers that move it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def character_set(self, start: int, *, ignore_case: bool = False, ascii_only: bool = False) -> Ranges:
        """The set whose `[` stands at `start`, already read."""
        negated = self.accept("^")
        literals: list[tuple[int, int]] = []
        categories: list[str] = []
        first = True  # subtle: a ] in first place is a member: "[]a]"
        while first or not self.accept("]"):
            first = False
            item = self._set_item(start)
            if isinstance(item, str):
                categories.append(item)
            else:
                literals.append(item)
        ranges = self.members(make_ranges(literals), categories, ignore_case, ascii_only)
        return negate(ranges) if negated else ranges

    def members(
        self, literals: Ranges, categories: Sequence[str], ignore_case: bool, ascii_only: bool
    ) -> Ranges:
        """What the characters and the categories (by name) of a set match together."""
        pairs = [pair for name in categories for pair in self.category_ranges(name, ascii_only)]
        plain = make_ranges([*literals, *pairs])
        if not ignore_case:
            return plain
        return fold(literals, "".join(f"\\{name}" for name in categories), plain, ascii_only=ascii_only)

    def category_ranges(self, name: str, ascii_only: bool) -> Ranges:
        """The characters of a category that `category` named."""
        return category(name, ascii_only=ascii_only)

    def _set_item(self, start: int) -> tuple[int, int] | str:
        """A member or a range `a-z`, both ends included; or the name of a category."""
        item_at = self.at
        low = self._member(start)
        if not self.ahead("-") or self.ahead("-]"):
            return low if isinstance(low, str) else (low, low)
        self.take()
        high = self._member(start)
        if isinstance(low, str) or isinstance(high, str) or high < low:
            self.fail(f"bad character range {self.pattern[item_at : self.at]}", item_at)
        return low, high

    def _member(self, start: int) -> int | str:
        """A code point, or the name of a category such as `\\d`."""
        if self.at >= len(self.pattern):
            self.fail("missing ], the character set is never closed", start)
        at, char = self.at, self.take()
        if char != "\\":
            return ord(char)
        name = self.category(at)
        return name if name else self.code_point(at, in_set=True)

    def category(self, start: int) -> str:
        """The name of `\\d \\s \\w \\D \\S \\W`, its backslash, at `start`, already read; else `""`."""
        return self.take() if self.pattern[self.at : self.at + 1] in _CATEGORIES else ""

    def code_point(self, start: int, *, in_set: bool) -> int:
        """The character that the escape at `start` stands for, the backslash already read."""
        if self.at >= len(self.pattern):
            self.fail("the pattern ends in a lone backslash", start)
        letter = self.take()
        if letter in _CONTROL:
            return ord(_CONTROL[letter])
        if letter == "b" and in_set:
            return ord("\b")
        if letter in "xuU":
            return self._hex(start, letter)
        if letter == "N":
            return self._named(start)
        if letter in DIGITS:
            return self._octal(start, letter)
        if letter.isascii() and letter.isalpha():
            self.fail(f"bad escape \\{letter}", start)
        return ord(letter)

    def _hex(self, start: int, letter: str) -> int:
        length = {"x": 2, "u": 4, "U": 8}[letter]
        digits = self.take_while(_HEX, length)
        if len(digits) < length:
            self.fail(f"incomplete escape: \\{letter} needs {length} hexadecimal digits", start)
        if int(digits, 16) > 0x10FFFF:
            self.fail(f"\\U{digits} is beyond the last character, \\U0010ffff", start)
        return int(digits, 16)

    def _named(self, start: int) -> int:
        if not self.accept("{"):
            self.fail("missing { after \\N", start)
        name = self.until("}", start, "missing }, the character name is never closed")
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError, UnicodeEncodeError):  # TypeError: a sequence of several characters
            self.fail(f"undefined character name {name!r}", start)

    def _octal(self, start: int, digit: str) -> int:
        if digit not in _OCTAL:
            self.fail(f"bad escape \\{digit}", start)
        value = int(digit + self.take_while(_OCTAL, 2), 8)
        if value > 0o377:
            self.fail("octal escape outside of the range 0-0o377", start)
        return value

    def group_reference(self, start: int) -> int | None:
        r"""The number in `\1`…`\99`, the backslash already read; None where the escape is octal."""
        # subtle: three octal digits are a character even where they could name a group.
        digits = self.pattern[self.at : self.at + 3]
        if digits[:1] not in DIGITS - {"0"} or (len(digits) == 3 and set(digits) <= _OCTAL):
            return None
        return int(self.take_while(DIGITS, 2))

    # -- moving ---------------------------------------------------------------------------------

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1]

    def ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def accept(self, text: str) -> bool:
        found = self.ahead(text)
        self.at += len(text) * found
        return found

    def take_while(self, allowed: frozenset[str], most: int | None = None) -> str:
        start = self.at
        end = len(self.pattern) if most is None else min(len(self.pattern), start + most)
        while self.at < end and self.pattern[self.at] in allowed:
            self.at += 1
        return self.pattern[start : self.at]

    def until(self, closing: str, start: int, message: str) -> str:
        end = self.pattern.find(closing, self.at)
        if end < 0:
            self.fail(message, start)
        text, self.at = self.pattern[self.at : end], end + 1
        return text

    def fail(self, message: str, position: int) -> NoReturn:
        raise RegexSyntaxError(message, self.pattern, position)
