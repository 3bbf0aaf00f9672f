"""Inline flags: `(?i)` at the start of a pattern, `(?s-i:…)` for a group.

Five of them change what a pattern means: i (ignore case), m (^ and $ at lines), s (dot matches
newline), x (spaces and comments), a (ASCII classes). `u` is the default and switches `a` off.

Left out: `L`, which `re` refuses for text too. Cost: O(1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from minidecoder.regex.cursor import Cursor

__all__ = ["Flags", "read_flags"]

_NAMES: Final = {"i": "ignore_case", "m": "multi_line", "s": "dot_all", "x": "verbose", "a": "ascii_only"}
_LETTERS: Final = frozenset("imsxauL")
_TYPES: Final = frozenset("auL")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags in force at some place of a pattern."""

    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii_only: bool = False

    def changed(self, on: str, off: str = "") -> Flags:
        """With the letters of `on` set and those of `off` not; `u` unsets `a`."""
        values = {_NAMES[letter]: True for letter in on if letter in _NAMES}
        values |= {_NAMES[letter]: False for letter in off}
        if "u" in on:
            values["ascii_only"] = False
        return replace(self, **values)


def read_flags(cursor: Cursor, start: int) -> tuple[str, str, bool]:
    """Read the letters after `(?` up to `)` or `:`: (switched on, switched off, whether a group follows)."""
    on = "".join(_letters(cursor, start, ")-:"))
    if any(on.count(letter) for letter in "L"):
        cursor.fail("the flag L is for bytes patterns", start)
    if len(set(on) & _TYPES) > 1:
        cursor.fail("the flags a and u exclude each other", start)
    ending = cursor.take()
    if ending != "-":
        return on, "", ending == ":"
    off = "".join(_letters(cursor, start, ":"))
    if not off:
        cursor.fail("a flag is missing after -", start)
    if set(off) & _TYPES:
        cursor.fail("the flags a, u and L cannot be switched off", start)
    if set(on) & set(off):
        cursor.fail("a flag is switched on and off", start)
    cursor.take()
    return on, off, True


def _letters(cursor: Cursor, start: int, endings: str) -> list[str]:
    letters = []
    while not any(cursor.ahead(ending) for ending in endings):
        if cursor.at >= len(cursor.pattern):
            cursor.fail(f"missing one of {' '.join(endings)} after the flags", start)
        letter = cursor.take()
        if letter not in _LETTERS:
            fault = f"unknown flag {letter!r}" if letter.isalpha() else f"missing {' or '.join(endings)}"
            cursor.fail(fault, cursor.at - 1)
        letters.append(letter)
    return letters
