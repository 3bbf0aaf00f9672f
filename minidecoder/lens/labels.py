"""How bytes, characters and sets of characters are printed, the same in every table and picture.

White space is visible (`␣ ⏎ ⇥`), ranges are folded (`0–9`, at most three items before `…`), and a
byte that is no whole character shows as two hex digits in angle brackets (`⟨F0⟩`).

Left out: colours and layout (`viz`). Cost: O(length).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from minidecoder.automaton import TokenId
from minidecoder.regex.charset import ANY, NOT_NEWLINE, Ranges, negate
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["show_byte", "show_bytes", "show_char", "show_ranges", "show_text", "show_token"]

_VISIBLE: Final = {" ": "␣", "\n": "⏎", "\t": "⇥"}
_ITEMS: Final = 3


def show_char(char: str) -> str:
    """One character as a label: itself where it can be seen, a symbol or `\\u00ad` where not."""
    if char in _VISIBLE:
        return _VISIBLE[char]
    return char if char.isprintable() else ascii(char)[1:-1]


def show_text(text: str) -> str:
    """A text with its white space and control characters made visible."""
    return "".join(map(show_char, text))


def show_byte(byte: int) -> str:
    """`a` for 0x61, `⟨F0⟩` for a byte that is no character of its own."""
    return show_char(chr(byte)) if byte < 0x80 else f"⟨{byte:02X}⟩"


def show_bytes(data: bytes) -> str:
    """Whole characters as text, the bytes of a cut character in angle brackets."""
    shown, at = [], 0
    while at < len(data):
        char = _whole_character(data, at)
        shown.append(show_char(char) if char else show_byte(data[at]))
        at += len(char.encode()) if char else 1
    return "".join(shown)


def _whole_character(data: bytes, at: int) -> str:
    """The character that starts at `at`; `""` where the bytes there are not a whole one."""
    lead = data[at]
    length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    try:
        return data[at : at + length].decode()
    except UnicodeDecodeError:
        return ""


def show_token(vocabulary: Vocabulary, token_id: int) -> str:
    """A token as a person reads it: its visible text, `■ <|im_end|>` for EOS, its name for a special id."""
    data = vocabulary.token_bytes[vocabulary.check_id(token_id)]
    if data:
        return show_bytes(data)
    name = vocabulary.text(token_id)
    return f"■ {name}" if TokenId(token_id) in vocabulary.eos_ids else name


def show_ranges(ranges: Ranges, items: int = _ITEMS) -> str:
    """A set of characters as an edge label: `0–9`, `a–z A–Z _`, `any`, `any but "`."""
    if ranges in (ANY, NOT_NEWLINE):
        return "any" if ranges == ANY else "any but ⏎"
    without = negate(ranges)
    if sum(high - low + 1 for low, high in without) < 64 < len(without) + sum(h - lo for lo, h in ranges):
        return "any but " + _fold(without, items)
    return _fold(ranges, items)


def _fold(ranges: Sequence[tuple[int, int]], items: int) -> str:
    """The `items` largest ranges, in their order, so that what matters is not behind the `…`."""
    largest = sorted(ranges, key=lambda pair: pair[0] - pair[1])[:items]
    shown = " ".join(_span(low, high) for low, high in sorted(largest))
    return shown + (" …" if len(ranges) > items else "")


def _span(low: int, high: int) -> str:
    first, last = show_char(chr(low)), show_char(chr(high))
    if low == high:
        return first
    return f"{first} {last}" if high == low + 1 else f"{first}–{last}"
