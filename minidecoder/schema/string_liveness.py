"""With how many characters read a state can still be left well: exact, for every state and count.

State q with n characters behind it is live if some text leads from it to a state at which a text of that
length in all may end. Beyond the last bound that is plain reachability. Below, the set of live states
at n follows from that at n + 1, from the top down; between two bounds it soon stays the same, and
the rest is skipped. `^(ab)*$` with exactly 10,000 characters never stays the same: it is live at
every second count, which is kept as it is.

Left out: tokens. Cost: O(Q K) for each count at which something changes; a typed error past a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.limits import Limits
from minidecoder.schema.lengths import ALL, NONE, Lengths, contains, make_lengths

__all__ = ["live_counts"]

_CELLS: Final = 25_000_000  # states times changes that are kept

_Flags = NDArray[np.bool_]


def live_counts(table: NDArray[np.int32], ends: Sequence[Lengths], limits: Limits) -> tuple[Lengths, ...]:
    """For each state the counts at which some continuation ends well.

    `table`: int32 (Q+1, K), row 0 DEAD; from every other state some text leads to one with an end.
    """
    if all(end in (NONE, ALL) for end in ends):
        return (NONE, *[ALL] * (len(ends) - 1))
    changes: list[tuple[int, _Flags]] = []  # (first count of a stretch, the states that are live in it)
    for count, live in _downwards(table, ends, limits):
        if changes and np.array_equal(changes[-1][1], live):
            changes[-1] = (count, live)
        else:
            changes.append((count, live))
        text = "which lengths a pattern can have changes too often below the bound on the length"
        if len(changes) > limits.max_states:
            raise ConstraintTooLargeError(text, "max_states")
        if len(changes) * len(table) > _CELLS:
            raise ConstraintTooLargeError(text)
    return _intervals(changes[::-1])


def _downwards(
    table: NDArray[np.int32], ends: Sequence[Lengths], limits: Limits
) -> Iterator[tuple[int, _Flags]]:
    """(count, the states live at it and up to the count before), from beyond the last bound down to 0."""
    bounds = sorted({edge for end in ends for low, high in end for edge in (low, (high or 0) + 1)} | {0})
    segments = list(zip(bounds, [*bounds[1:], None], strict=True))
    first, _ = segments.pop()
    live = _reaching(table, _ending(ends, first))
    yield first, live
    for low, behind in reversed(segments):
        assert behind is not None
        ending, count = _ending(ends, low), behind
        while count > low:
            limits.check_time()
            before = ending | live[table].any(axis=1)
            count -= 1
            if np.array_equal(before, live):  # and so it goes on down to the next bound
                count = low
            live = before
            yield count, live


def _ending(ends: Sequence[Lengths], count: int) -> _Flags:
    return np.array([contains(end, count) for end in ends])


def _reaching(table: NDArray[np.int32], targets: _Flags) -> _Flags:
    """The states from which a target can be reached, targets themselves among them."""
    before: list[list[int]] = [[] for _ in table]
    for state, row in enumerate(table.tolist()):
        for target in set(row):
            before[target].append(state)
    reach, pending = targets.copy(), np.flatnonzero(targets).tolist()
    while pending:
        for state in before[pending.pop()]:
            if not reach[state]:
                reach[state] = True
                pending.append(state)
    return reach


def _intervals(changes: Sequence[tuple[int, _Flags]]) -> tuple[Lengths, ...]:
    """Stretches in ascending order, as one set of counts for each state."""
    firsts = [count for count, _ in changes]
    lasts: list[int | None] = [*(count - 1 for count in firsts[1:]), None]
    flags = np.array([live for _, live in changes])  # (stretches, states)
    return tuple(
        make_lengths((firsts[n], lasts[n]) for n in np.flatnonzero(flags[:, state]).tolist())
        for state in range(flags.shape[1])
    )
