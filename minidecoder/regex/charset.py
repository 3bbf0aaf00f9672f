"""Sets of characters as sorted, disjoint ranges of Unicode scalar values.

`((48, 57),)` is `[0-9]`. Surrogates (U+D800..U+DFFF) are never members: no text that a tokenizer
can spell holds one. `partition` cuts the code points into the classes that a list of sets cannot
tell apart; an automaton over classes has a few dozen columns instead of 1,112,064.

Left out: case folding and Unicode properties. Cost: linear in the number of ranges.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from minidecoder.regex.limits import Limits

__all__ = [
    "ANY",
    "EMPTY",
    "NOT_NEWLINE",
    "Ranges",
    "category",
    "contains",
    "make_ranges",
    "negate",
    "partition",
    "single",
]

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)
EMPTY: Final[Ranges] = ()


def make_ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Sort, merge and cut out the surrogates; pairs are inclusive (low, high)."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(piece for pair in pairs for piece in _without_surrogates(*pair)):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _without_surrogates(low: int, high: int) -> Iterable[tuple[int, int]]:
    first, last = _SURROGATES
    pieces = ((low, min(high, first - 1)), (max(low, last + 1), high))
    return (piece for piece in pieces if piece[0] <= piece[1])


def negate(ranges: Ranges) -> Ranges:
    """Every scalar value that is not in `ranges`."""
    gaps, low = [], 0
    for first, last in ranges:
        gaps.append((low, first - 1))
        low = last + 1
    return make_ranges([*gaps, (low, _LAST)])


def single(char: str) -> Ranges:
    """The set of one character; empty for a lone surrogate."""
    return make_ranges([(ord(char), ord(char))])


ANY: Final = negate(EMPTY)
NOT_NEWLINE: Final = negate(single("\n"))


def contains(ranges: Ranges, code_point: int) -> bool:
    """Whether `code_point` lies in one of the ranges; O(log n)."""
    at = bisect_left(ranges, (code_point + 1,)) - 1
    return at >= 0 and code_point <= ranges[at][1]


@cache
def category(letter: str, *, ascii_only: bool = False) -> Ranges:
    r"""The characters that the running Python's `re` matches with `\d \s \w \D \S \W`."""
    # One search over all of Unicode: 20 ms, and by construction the same tables as `re`.
    everything = np.arange(_LAST + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    found = re.finditer(rf"\{letter}+", everything, re.ASCII if ascii_only else re.NOFLAG)
    return make_ranges((match.start(), match.end() - 1) for match in found)


def partition(
    sets: Sequence[Ranges], limits: Limits | None = None
) -> tuple[tuple[Ranges, ...], dict[Ranges, tuple[int, ...]]]:
    """Cut the code points into classes that no set of `sets` splits.

    Returns (classes, members): `classes[k]` holds the ranges of class k, in the order of their
    smallest character; `members[s]` the classes that make up the set s. Characters in no set
    belong to no class.
    """
    distinct = list(dict.fromkeys(sets))
    cuts = sorted({edge for ranges in distinct for low, high in ranges for edge in (low, high + 1)})
    owners: list[list[int]] = [[] for _ in cuts]  # which sets hold the interval that starts at each cut
    for index, ranges in enumerate(distinct):
        if limits is not None:
            limits.check_time()
        for low, high in ranges:
            for at in range(bisect_left(cuts, low), bisect_left(cuts, high + 1)):
                owners[at].append(index)
    spans: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for low, after, owner in zip(cuts, cuts[1:], owners, strict=False):
        if limits is not None:
            limits.check_time()
        if owner:
            spans.setdefault(tuple(owner), []).append((low, after - 1))
    members: dict[Ranges, list[int]] = {ranges: [] for ranges in distinct}
    for k, owner_ids in enumerate(spans):
        for index in owner_ids:
            members[distinct[index]].append(k)
    classes = tuple(make_ranges(pairs) for pairs in spans.values())
    return classes, {ranges: tuple(ids) for ranges, ids in members.items()}
