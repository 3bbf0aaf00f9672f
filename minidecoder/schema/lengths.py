"""Sets of lengths: sorted, disjoint intervals of natural numbers, the last one perhaps without an end.

`((2, 5), (9, None))` is 2 to 5, and 9 or more. No two intervals touch, so equal sets are equal tuples.
Left out: sets that are no such union (all even numbers). Cost: linear in the intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = ["ALL", "NONE", "Lengths", "both", "contains", "earlier", "either", "make_lengths", "opposite"]

Lengths: TypeAlias = tuple[tuple[int, int | None], ...]

NONE: Final[Lengths] = ()
ALL: Final[Lengths] = ((0, None),)


def make_lengths(pairs: Iterable[tuple[int, int | None]]) -> Lengths:
    """Sort and merge; what is below 0, and intervals whose end comes before their start, fall away."""
    kept = [(max(low, 0), high) for low, high in pairs if high is None or high >= max(low, 0)]
    merged: list[tuple[int, int | None]] = []
    for low, high in sorted(kept, key=lambda pair: pair[0]):
        last = merged[-1][1] if merged else -2
        if last is None:
            break
        if low > last + 1:
            merged.append((low, high))
        else:
            merged[-1] = (merged[-1][0], None if high is None else max(last, high))
    return tuple(merged)


def either(a: Lengths, b: Lengths) -> Lengths:
    """The lengths in at least one of two sets."""
    return make_lengths([*a, *b])


def opposite(lengths: Lengths) -> Lengths:
    """All other lengths."""
    gaps: list[tuple[int, int | None]] = []
    low: int | None = 0
    for first, last in lengths:
        assert low is not None
        gaps.append((low, first - 1))
        low = None if last is None else last + 1
    return make_lengths(gaps if low is None else [*gaps, (low, None)])


def both(a: Lengths, b: Lengths) -> Lengths:
    """The lengths in both of two sets."""
    if a == ALL or b == ALL:
        return b if a == ALL else a
    return opposite(either(opposite(a), opposite(b)))


def earlier(lengths: Lengths) -> Lengths:
    """The numbers that are one less than a member: 0 falls out."""
    return make_lengths((low - 1, None if high is None else high - 1) for low, high in lengths)


def contains(lengths: Lengths, length: int) -> bool:
    """Whether `length` is in the set; O(log n)."""
    at = bisect_right(lengths, length, key=lambda pair: pair[0]) - 1
    if at < 0:
        return False
    high = lengths[at][1]
    return high is None or length <= high
