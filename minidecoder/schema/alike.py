"""Arrays whose items to come are all asked the same: then a number in a frame is all there is to remember.

`{"items": …, "minItems": 2, "maxItems": 10000}` is such an array from its first item on; one with
`prefixItems` is one behind them; one with `contains` is one once that is satisfied.

Left out: all others, a formula for each place (`bodies`). Cost: O(counts of the formula).
"""

from __future__ import annotations

from minidecoder.schema.branches import Branch
from minidecoder.schema.counts import Positions, counts_of
from minidecoder.schema.formula import TRUE, Formula, Or

__all__ = ["all_alike"]


def all_alike(rest: Formula, ways: list[Branch]) -> tuple[int, int | None] | None:
    """(least, most) of further items after the next one, where each of them is asked the same; else None."""
    counts = counts_of(rest)
    is_flat = not isinstance(rest, Or) and not any(isinstance(p, Or) for p in getattr(rest, "parts", ()))
    if len(ways) != 1 or not is_flat or any(atom.keys != Positions(0, None) for atom in counts):
        return None
    sizes = [atom for atom in counts if atom.goal is TRUE]
    others = [atom for atom in counts if atom.goal is not TRUE]
    if len(sizes) > 1 or any((atom.lo, atom.hi) != (0, 0) for atom in others):
        return None
    if not sizes:
        return (0, None) if ways[0].rest is rest else None
    left = [atom for atom in counts_of(ways[0].rest) if atom.goal is not TRUE]
    if set(left) != set(others):
        return None
    size = sizes[0]
    return max(size.lo - 1, 0), None if size.hi is None else size.hi - 1
