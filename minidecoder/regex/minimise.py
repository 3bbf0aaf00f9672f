"""Which states of a deterministic automaton are equivalent, by Hopcroft's algorithm (1971).

Two states are equivalent if no text tells them apart. The blocks start as {accepting, not} and
are split until every state of a block goes, under every class, to the same block. Working on the
smaller half of each split gives O(K Q log Q).

Left out: renumbering, which `dfa.minimise` does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minidecoder.regex.limits import Limits

__all__ = ["equivalence_classes"]


def equivalence_classes(
    table: NDArray[np.int32], accepting: NDArray[np.bool_], limits: Limits | None = None
) -> list[int]:
    """The block of each state. `table`: int32 (Q, K), complete; `accepting`: bool (Q,).

    Raises `ConstraintTooLargeError` where the time of `limits` is used up.
    """
    return _Partition(table, accepting.tolist()).refine(limits)


class _Partition:
    def __init__(self, table: NDArray[np.int32], accepting: Sequence[bool]) -> None:
        self.inverse = [_inverse(column) for column in table.T.tolist()]
        self.block_of = [int(flag) for flag in accepting]
        self.blocks: list[set[int]] = [set(), set()]
        for state, block in enumerate(self.block_of):
            self.blocks[block].add(state)
        self.pending = {0, 1}

    def refine(self, limits: Limits | None) -> list[int]:
        while self.pending:
            if limits is not None:
                limits.check_time()
            splitter = tuple(self.blocks[self.pending.pop()])
            for sources in self.inverse:
                before = [source for state in splitter for source in sources.get(state, ())]
                self._split_by(before)
        return self.block_of

    def _split_by(self, before: Sequence[int]) -> None:
        """Split every block of which only a part is in `before`."""
        touched: dict[int, list[int]] = defaultdict(list)
        for state in before:
            touched[self.block_of[state]].append(state)
        for block, part in touched.items():
            if len(part) < len(self.blocks[block]):
                self._cut(block, part)

    def _cut(self, block: int, part: Sequence[int]) -> None:
        new = len(self.blocks)
        self.blocks[block].difference_update(part)
        self.blocks.append(set(part))
        for state in part:
            self.block_of[state] = new
        # subtle: a block still waiting must have both halves wait; else the smaller is enough.
        smaller = new if len(part) <= len(self.blocks[block]) else block
        self.pending.add(new if block in self.pending else smaller)


def _inverse(column: Sequence[int]) -> dict[int, list[int]]:
    sources: dict[int, list[int]] = defaultdict(list)
    for source, target in enumerate(column):
        sources[target].append(source)
    return sources
