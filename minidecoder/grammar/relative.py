"""One sweep per frame instead of one per stack: what a token does before it leaves a frame.

Most tokens begin and end inside the rule on top of the stack, whatever lies below: they are decided once
per local and shared by every stack with that top (XGrammar's context-independent tokens; Dong et al., 2024).
The others return to the frame below somewhere inside the token. So a sweep of the trie from a frame gives

    the tokens that it allows · the nodes of the trie at which it returns

and the frame below is swept from those nodes on, and so on down until nothing returns. A `}` at depth 1,000
needs two such sweeps. Sets of stacks over an empty bottom serve as the states of these sweeps, and counters
that are far from their bounds are one state. Left out: whole stacks (`pushdown_index`). Cost: about ten array
operations per level of the trie, and one row of 256 moves for each set of stacks met.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.grammar.rule_machines import Local
from minidecoder.grammar.stacks import Frame, StackMachine, Stacks
from minidecoder.tokens.bitmask import Bitmask, pack
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.sweep import States, sweep, tokens_reached
from minidecoder.tokens.trie import Trie

__all__ = ["RelativeSweeps", "Swept"]

_MOST_ROWS: Final = 32_000  # 1 KB each; past this the table is begun anew
_CACHE_BYTES: Final = 64_000_000
_FULL: Final = (1 << 256) - 1

Nodes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Swept:
    """`allowed`: the tokens that end inside the frame or exactly where it returns, None where there are
    none; `returns`: the nodes at which it returns, ascending."""

    allowed: Bitmask | None
    returns: Nodes

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return 200 + self.returns.nbytes + (0 if self.allowed is None else self.allowed.nbytes)


class RelativeSweeps:
    """The sweeps of one grammar over one vocabulary, made when first asked for and kept."""

    def __init__(self, machine: StackMachine, trie: Trie) -> None:
        self.machine = machine
        self.trie = trie
        self._swept: ByteLimitedCache[tuple[int, bytes], Swept] = ByteLimitedCache(
            _CACHE_BYTES, lambda swept: swept.nbytes
        )
        self._bits_of_local: dict[Local, list[tuple[Local, int]]] = {}
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._number: dict[Stacks, int] = {self.machine.dead: 0}
        self._sets: list[Stacks] = [self.machine.dead]
        self._rows = np.zeros((64, 256), dtype=np.intp)
        self._has_row = np.zeros(64, dtype=np.bool_)
        self._has_row[0] = True
        self._ends = np.zeros(64, dtype=np.bool_)

    @property
    def rows(self) -> int:
        """How many sets of stacks the sweeps have met: the measure of what a grammar costs."""
        return len(self._sets)

    def inside(self, frame: Frame) -> Swept:
        """What tokens do that begin by reading a byte in the local of `frame`."""
        bare = self.machine.make([(frame[0], frame[1], self.machine.bottom)], ends=False)
        return self._sweep(bare, None)

    def after_return(self, frame: Frame, entries: Nodes) -> Swept:
        """What tokens do that return to `frame` at the nodes `entries`, and go on from there."""
        local, times, _ = frame
        closed = self.machine.close([self.machine.returned(local, times, self.machine.bottom)]).canonical
        swept = self._sweep(closed, entries)
        if not closed.ends:
            return swept
        return Swept(swept.allowed, np.union1d(entries, swept.returns))  # it may return at once

    def _sweep(self, stacks: Stacks, entries: Nodes | None) -> Swept:
        key = (stacks.number, b"" if entries is None else entries.tobytes())
        return self._swept.get(key, lambda: self._make(stacks, entries))

    def _make(self, stacks: Stacks, entries: Nodes | None) -> Swept:
        if len(self._sets) > _MOST_ROWS:
            self._forget_rows()
            self._swept.clear()
        levels = list(sweep(self.trie, State(self._index(stacks)), self._step, entries))
        alive = np.ones(len(self._sets), dtype=np.bool_)
        alive[0] = False
        allowed = pack(tokens_reached(self.trie, levels, alive)) if levels else None
        returns = [np.zeros(0, dtype=np.intp)]
        for nodes, states in levels:
            ends = self._ends.take(states)
            found = np.flatnonzero(ends)
            returns.append(found + nodes.start if isinstance(nodes, slice) else nodes[found])
        return Swept(allowed, np.concatenate(returns))

    # -- the table of moves ---------------------------------------------------------------------

    def _index(self, stacks: Stacks) -> int:
        number = self._number.get(stacks)
        if number is None:
            number = self._number[stacks] = len(self._sets)
            self._sets.append(stacks)
            if number == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
                self._has_row = np.concatenate([self._has_row, np.zeros_like(self._has_row)])
                self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)])
            self._ends[number] = stacks.ends
        return number

    def _step(self, states: States, bytes_: NDArray[np.uint8]) -> States:
        missing = states[~self._has_row.take(states)]
        if len(missing):
            for state in np.unique(missing).tolist():
                self._fill_row(state)
        return np.asarray(self._rows.ravel().take(states * 256 + bytes_, mode="clip"), dtype=np.intp)

    def _fill_row(self, state: int) -> None:
        """All 256 moves of one set, one closure for each group of bytes that no frame tells apart."""
        stacks = self._sets[state]
        groups: dict[tuple[Frame, ...], int] = {(): _FULL}  # the frames after a byte → the bytes, as bits
        for local, times, below in stacks:
            split: dict[tuple[Frame, ...], int] = defaultdict(int)
            for moved, bits in groups.items():
                for target, its_bits in self._moves_of(local):
                    if both := bits & its_bits:
                        after = self.machine.machines.moved(times, target) if target else None
                        split[moved if after is None else (*moved, (target, after, below))] |= both
            groups = split
        row = np.zeros(256, dtype=np.intp)
        for moved, bits in groups.items():
            if moved:
                row[_bytes_in(bits)] = self._index(self.machine.close(moved).canonical)
        self._rows[state] = row
        self._has_row[state] = True

    def _moves_of(self, local: Local) -> list[tuple[Local, int]]:
        """(target, the bytes that lead there, as bits) for each target, 0 included."""
        if local not in self._bits_of_local:
            row, column = self.machine.machines.row[local], self.machine.machines.column[local]
            bits: dict[Local, int] = defaultdict(int)
            for byte in range(256):
                bits[Local(row[column[byte]])] |= 1 << byte
            self._bits_of_local[local] = list(bits.items())
        return self._bits_of_local[local]


def _bytes_in(bits: int) -> Nodes:
    packed = np.frombuffer(bits.to_bytes(32, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little"))
