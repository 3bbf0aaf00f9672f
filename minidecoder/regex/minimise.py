"""Which states of a deterministic automaton are equivalent, by Hopcroft's algorithm (1971).

Two states are equivalent if no text tells them apart. The blocks start as {accepting, not} and
are split until every state of a block goes, under every class, to the same block. Only live edges
are followed (Valmari and Lehtinen, 2008): a machine of 4,000 states and 3,000 classes has a few
thousand of those, and twelve million into DEAD. O(E log Q) for E live edges.

Left out: renumbering, which `dfa.minimise` does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD
from minidecoder.regex.limits import Limits

__all__ = ["equivalence_classes"]


def equivalence_classes(
    table: NDArray[np.int32], accepting: NDArray[np.bool_], limits: Limits | None = None
) -> list[int]:
    """The block of each state. `table`: int32 (Q+1, K), row 0 all DEAD; `accepting`: bool (Q+1,).

    States from which nothing is accepted share DEAD's block. Raises `ConstraintTooLargeError` where the
    time of `limits` is used up.
    """
    return _Partition(table, accepting).refine(limits)


class _Partition:
    def __init__(self, table: NDArray[np.int32], accepting: NDArray[np.bool_]) -> None:
        self.edges_into = _edges_into(table)
        live = _live_states(self.edges_into, accepting)
        dead = set(range(len(table))) - live
        ends = {state for state in np.flatnonzero(accepting).tolist() if state in live}
        self.blocks = [dead, live - ends, ends]
        self.block_of = [0] * len(table)
        for number, block in enumerate(self.blocks):
            for state in block:
                self.block_of[state] = number
        self.pending = {1, 2}  # never DEAD's block: an edge into it is no edge

    def refine(self, limits: Limits | None) -> list[int]:
        while self.pending:
            if limits is not None:
                limits.check_time()
            before: dict[int, list[int]] = defaultdict(list)
            for state in self.blocks[self.pending.pop()]:
                for k, source in self.edges_into[state]:
                    before[k].append(source)
            for sources in before.values():
                self._split_by(sources)
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


def _edges_into(table: NDArray[np.int32]) -> list[list[tuple[int, int]]]:
    """For each state the (class, source) of the edges that lead into it."""
    into: list[list[tuple[int, int]]] = [[] for _ in range(len(table))]
    sources, classes = np.nonzero(table)
    for source, k, target in zip(
        sources.tolist(), classes.tolist(), table[sources, classes].tolist(), strict=True
    ):
        into[target].append((k, source))
    return into


def _live_states(edges_into: Sequence[Sequence[tuple[int, int]]], accepting: NDArray[np.bool_]) -> set[int]:
    """The states from which something is accepted."""
    live = set(np.flatnonzero(accepting).tolist()) - {DEAD}
    pending = list(live)
    while pending:
        for _, source in edges_into[pending.pop()]:
            if source not in live:
                live.add(source)
                pending.append(source)
    return live
