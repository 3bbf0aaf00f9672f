"""One sweep per frame instead of one per stack: what a token does before it leaves a frame.

Most tokens begin and end inside the rule on top of the stack, whatever lies below: they are decided once
per local and shared by every stack with that top (XGrammar's context-independent tokens; Dong et al., 2024).
The others return to the frame below somewhere inside the token. So a sweep of the trie from a frame gives

    the tokens that it allows · the nodes of the trie at which it returns

and the frame below is swept from those nodes on, and so on down until nothing returns. A `}` at depth 1,000
needs two such sweeps. Sets of stacks over an empty bottom serve as the states of these sweeps, and counters
that are far from their bounds are one state. Left out: whole stacks (`pushdown_index`). Cost: about ten array
operations per level of the trie, and a closure for each move (set of stacks, byte) that a sweep first makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.grammar.rule_machines import Local
from minidecoder.grammar.stacks import Frame, StackMachine, Stacks
from minidecoder.tokens.bitmask import Bitmask, pack
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.sweep import Level, ManyStarts, Starts, States, sweep, tokens_reached
from minidecoder.tokens.trie import Trie

__all__ = ["RelativeSweeps", "Swept"]

_MOST_ROWS: Final = 32_000  # 1 KB each; past this the table is begun anew
_CACHE_BYTES: Final = 64_000_000
_UNKNOWN: Final = -1  # a move that no sweep has met so far

Nodes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Swept:
    """`allowed`: the tokens that end inside the frame or exactly where it returns, None where there are
    none; `returns`: the nodes at which it returns, None where it does not."""

    allowed: Bitmask | None
    returns: Starts | None

    @property
    def nbytes(self) -> int:
        """Bytes of the row and the nodes."""
        return 200 + sum(part.nbytes for part in (self.allowed, self.returns) if part is not None)


class RelativeSweeps:
    """The sweeps of one grammar over one vocabulary, made when first asked for and kept."""

    def __init__(self, machine: StackMachine, trie: Trie) -> None:
        self.machine = machine
        self.trie = trie
        self._swept: ByteLimitedCache[tuple[int, Starts | None], Swept] = ByteLimitedCache(
            _CACHE_BYTES, lambda swept: swept.nbytes
        )
        self._starts: ByteLimitedCache[bytes, Starts] = ByteLimitedCache(
            _CACHE_BYTES, lambda starts: 2 * starts.nbytes
        )
        self._targets: dict[Local, Nodes] = {}
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._number: dict[Stacks, int] = {self.machine.dead: 0}
        self._sets: list[Stacks] = [self.machine.dead]
        self._rows = np.zeros((64, 256), dtype=np.intp)
        self._rows[1:] = _UNKNOWN
        self._ends = np.zeros(64, dtype=np.bool_)
        self._bare: dict[tuple[Local, int], Stacks] = {}
        self._resumed: dict[tuple[Local, int], Stacks] = {}
        self._closed: dict[tuple[Frame, ...], int] = {(): 0}

    @property
    def rows(self) -> int:
        """How many sets of stacks the sweeps have met: the measure of what a grammar costs."""
        return len(self._sets)

    def inside(self, frame: Frame) -> Swept:
        """What tokens do that begin by reading a byte in the local of `frame`."""
        top = frame[:2]
        if top not in self._bare:
            self._bare[top] = self.machine.make([(*top, self.machine.bottom)], ends=False)
        return self._sweep(self._bare[top], None)

    def after_return(self, frame: Frame, starts: Starts) -> tuple[Swept, bool]:
        """What tokens do that return to `frame` at the nodes `starts`, and go on from there; and whether
        they may return from it at once."""
        top = frame[:2]
        if top not in self._resumed:
            back = self.machine.returned(*top, self.machine.bottom)
            self._resumed[top] = self.machine.close([back]).canonical
        closed = self._resumed[top]
        return self._sweep(closed, starts), closed.ends

    def _sweep(self, stacks: Stacks, starts: Starts | None) -> Swept:
        return self._swept.get((stacks.number, starts), lambda: self._make(stacks, starts))

    def _make(self, stacks: Stacks, starts: Starts | None) -> Swept:
        if len(self._sets) > _MOST_ROWS:
            self._forget_rows()
            self._swept.clear()
        state = State(self._index(stacks))
        levels = list(starts.sweep(state, self._step) if starts else sweep(self.trie, state, self._step))
        if not levels:
            return Swept(None, None)
        alive = np.ones(len(self._sets), dtype=np.bool_)
        alive[0] = False
        allowed = pack(tokens_reached(self.trie, levels, alive))
        return Swept(allowed, self._returns(levels))

    def _returns(self, levels: list[Level]) -> Starts | None:
        """The nodes at which something has returned."""
        if any(isinstance(nodes, slice) for nodes, _ in levels):
            among = np.zeros(len(self.trie), dtype=np.bool_)
            for nodes, states in levels:
                among[nodes] = self._ends.take(states)
            return ManyStarts(self.trie, among) if among.any() else None
        found = [nodes[self._ends.take(states)] for nodes, states in levels if not isinstance(nodes, slice)]
        distinct = _distinct(np.concatenate(found))
        if not len(distinct):
            return None
        return self._starts.get(distinct.tobytes(), lambda: Starts(self.trie, distinct))

    # -- the table of moves ---------------------------------------------------------------------

    def _index(self, stacks: Stacks) -> int:
        number = self._number.get(stacks)
        if number is None:
            number = self._number[stacks] = len(self._sets)
            self._sets.append(stacks)
            if number == len(self._rows):
                self._rows = np.concatenate([self._rows, np.full_like(self._rows, _UNKNOWN)])
                self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)])
            self._ends[number] = stacks.ends
            if not stacks.frames:
                self._rows[number] = 0
        return number

    def _step(self, states: States, bytes_: NDArray[np.uint8]) -> States:
        cells = states * 256 + bytes_
        after = self._rows.ravel().take(cells, mode="clip")
        if len(after) and after.min() == _UNKNOWN:
            for cell in _distinct(cells[after == _UNKNOWN]).tolist():
                if self._rows[cell >> 8, cell & 255] == _UNKNOWN:
                    self._fill(cell >> 8, cell & 255)
            after = self._rows.ravel().take(cells, mode="clip")
        return np.asarray(after, dtype=np.intp)

    def _fill(self, state: int, byte: int) -> None:
        """One move of a set, and those of all bytes that no frame of it tells from this one."""
        moved = []
        same = np.ones(256, dtype=np.bool_)
        for local, times, below in self._sets[state]:
            targets = self._targets_of(local)
            target = Local(int(targets[byte]))
            same &= targets == target
            if target and (after := self.machine.machines.moved(times, target)) is not None:
                moved.append((target, after, below))
        frames = tuple(moved)
        after_byte = self._closed.get(frames)
        if after_byte is None:
            after_byte = self._closed[frames] = self._index(self.machine.close(frames).canonical)
        self._rows[state, same] = after_byte

    def _targets_of(self, local: Local) -> Nodes:
        """intp (256,): where each byte leads."""
        if local not in self._targets:
            row, column = self.machine.machines.row[local], self.machine.machines.column[local]
            self._targets[local] = np.fromiter(map(row.__getitem__, column), dtype=np.intp, count=256)
        return self._targets[local]


def _distinct(numbers: Nodes) -> Nodes:
    """Each number once, ascending. Many times faster than `np.unique`, which hashes."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
