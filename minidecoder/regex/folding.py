"""Case folding as the running Python's `re` does it: which characters `(?i)` lets a set match.

`re` compares lower-cased characters, with a table of exceptions (`ſ` is `s`, the Kelvin sign is
`k`), and tests categories on the lower-cased character. Rather than copy that table, this asks
`re` itself, about the 2,900 characters that have a case; all others fold to themselves.

Left out: folding between texts of different lengths (`ß`, `SS`), which `re` does not do either.
Cost: about 1 ms a set, kept; the list of cased characters is made once, in 0.4 s.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache, lru_cache
from typing import Final

from minidecoder.regex.charset import Ranges, contains, make_ranges

__all__ = ["fold"]

_LAST: Final = 0x110000


@lru_cache(maxsize=4096)
def fold(literals: Ranges, categories: str, plain: Ranges, *, ascii_only: bool) -> Ranges:
    """The characters that match the set `[literals categories]` under `(?i)`.

    `literals`: what was spelled as characters and ranges; `categories`: escapes such as `\\d\\W`; `plain`:
    the whole set without folding, which stands for every character without case.
    """
    if not categories and not any(_has_case(low, high) for low, high in literals):
        return plain
    members = "".join(f"{_escape(low)}-{_escape(high)}" for low, high in literals) + categories
    if not members:
        return plain
    flags = re.IGNORECASE | (re.ASCII if ascii_only else re.NOFLAG)
    matched = {match[0] for match in re.compile(f"[{members}]", flags).finditer(_cased())}
    changed = [ord(char) for char in _cased() if (char in matched) != contains(plain, ord(char))]
    added = [(point, point) for point in changed if chr(point) in matched]
    removed = [(point, point) for point in changed if chr(point) not in matched]
    return _without(make_ranges([*plain, *added]), make_ranges(removed)) if changed else plain


def _has_case(low: int, high: int) -> bool:
    cased = _cased()
    at = bisect_left(cased, chr(low))
    return at < len(cased) and cased[at] <= chr(high)


def _escape(code_point: int) -> str:
    return f"\\U{code_point:08x}"


@cache
def _cased() -> str:
    """Every character that a change of case changes, and all that such a change leads to."""
    both = (chr(point) for point in range(_LAST) if not 0xD800 <= point <= 0xDFFF)
    changing = {
        char for char in both if char.lower() != char or char.upper() != char or char.casefold() != char
    }
    reached = {piece for char in changing for piece in char.lower() + char.upper() + char.casefold()}
    return "".join(sorted(changing | reached))


def _without(ranges: Ranges, removed: Ranges) -> Ranges:
    pieces = []
    for low, high in ranges:
        for first, last in removed:
            if first > high or last < low:
                continue
            pieces.append((low, first - 1))
            low = last + 1
        pieces.append((low, high))
    return make_ranges(pair for pair in pieces if pair[0] <= pair[1])
