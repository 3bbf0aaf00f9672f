"""Stacks: the states of a grammar. A state is a set of stacks, interned, with shared tails.

A frame is (local, count, what lies below), and what lies below is again a set of stacks, so a thousand
open brackets are a thousand small objects of which each step makes one or two. Equal sets are one object:
two ways to the same place are one state, and going back is keeping the old object.

`Stacks.ends` says that the set holds the empty stack: the text may end here. Sets on top are closed: every
call is entered and every return taken, so that each frame left can read a byte. Sets below are return
points, not yet entered. Left out: masks (`relative`). Cost: a step is a handful of frames in practice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from threading import RLock
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from minidecoder.automaton import State
from minidecoder.errors import ConstraintTooLargeError
from minidecoder.grammar.rule_machines import Local, RuleMachines

__all__ = ["MAX_DEPTH", "Frame", "StackMachine", "Stacks"]

MAX_DEPTH: Final = 10_000
_MOST_FRAMES: Final = 10_000  # of one closure; a grammar that needs more is hopelessly ambiguous

Frame: TypeAlias = "tuple[Local, int, Stacks]"
"""(local, how often a loop has been through, what lies below)."""


class Stacks:
    """A set of stacks. Compared by identity: `StackMachine` never makes two equal ones.

    `canonical`: the same set with every counter that is far from its bounds moved to one place; both allow
    the same tokens.
    """

    __slots__ = ("__weakref__", "canonical", "depth", "ends", "frames", "number")

    def __init__(self, number: State, frames: tuple[Frame, ...], ends: bool) -> None:
        self.number = number
        self.frames = frames
        self.ends = ends
        self.depth: int = 1 + max([below.depth for _, _, below in frames], default=-1)
        self.canonical: Stacks = self

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)


class StackMachine:
    """Makes the sets of stacks of one grammar, and the moves between them.

    `start`: where the whole text begins; `reach`: the length of the longest token, in bytes: a counter whose
    bound is farther away is as good as one without. Nothing is remembered here but what somebody holds.
    """

    def __init__(self, machines: RuleMachines, start: Local, reach: int, max_depth: int = MAX_DEPTH) -> None:
        self.machines = machines
        self.reach = reach
        self.max_depth = max_depth
        self.lock = RLock()
        self._numbers = count(0)
        self._known: WeakValueDictionary[tuple[object, ...], Stacks] = WeakValueDictionary()
        self._by_number: WeakValueDictionary[int, Stacks] = WeakValueDictionary()
        self.dead = self.make((), ends=False)  # number 0, which is DEAD
        self.bottom = self.make((), ends=True)  # the empty stack alone: the whole text was read
        self.start = self.close([(start, 0, self.bottom)])

    # -- making sets ----------------------------------------------------------------------------

    def make(self, frames: Iterable[Frame], *, ends: bool) -> Stacks:
        """The one object for this set. Raises `ConstraintTooLargeError` where it is nested too deep."""
        ordered = tuple(frames)
        if len(ordered) > 1:
            ordered = tuple(sorted(ordered, key=_frame_key))
        key = (ends, *[(local, times, below.number) for local, times, below in ordered])
        return self._known.get(key) or self._made(key, ordered, ends)

    def _made(self, key: tuple[object, ...], frames: tuple[Frame, ...], ends: bool) -> Stacks:
        with self.lock:
            known = self._known.get(key)  # again: another thread may have been faster
            if known is None:
                known = Stacks(State(next(self._numbers)), frames, ends)
                if known.depth > self.max_depth:
                    raise ConstraintTooLargeError(
                        f"the text is nested more than {self.max_depth:,} deep", "max_depth"
                    )
                known.canonical = self._canonical(known)
                # subtle: `make` reads _known without the lock, so a set is whole before it is there.
                self._by_number[known.number] = known
                self._known[key] = known
        return known

    def find(self, state: int) -> Stacks | None:
        """The set with this number, if anybody holds it."""
        return self._by_number.get(state)

    def push(self, local: Local, times: int, below: Stacks) -> Stacks:
        """`below` with a return point on it; `below` itself where there is nothing left to do."""
        return below if self.machines.only_returns(local) else self.make(((local, times, below),), ends=False)

    def _canonical(self, stacks: Stacks) -> Stacks:
        near, reach = self.machines.near, self.reach
        frames, same = set[Frame](), True
        for local, times, below in stacks.frames:
            as_good = near(local, times, reach) if times else 0  # 0 is near 0, and most frames count nothing
            same = same and as_good == times and below.canonical is below
            frames.add((local, as_good, below.canonical))
        return stacks if same else self.make(frames, ends=stacks.ends)

    # -- moving ---------------------------------------------------------------------------------

    def step(self, stacks: Stacks, byte: int) -> Stacks:
        """The set after one byte; `dead` where no stack can read it."""
        row, column = self.machines.row, self.machines.column
        moved = []
        for local, times, below in stacks.frames:
            target = Local(row[local][column[local][byte]])
            if target and (after := self.machines.moved(times, target)) is not None:
                moved.append((target, after, below))
        return self.close(moved) if moved else self.dead

    def close(self, frames: Iterable[Frame]) -> Stacks:
        """The set in which every call of `frames` is entered and every return taken."""
        pending = list(frames)
        if len(pending) == 1 and self.machines.is_plain[pending[0][0]]:
            return self.make(pending, ends=False)
        with self.lock:  # a rule may be compiled on the way
            return self._closed(pending)

    def _closed(self, pending: list[Frame]) -> Stacks:
        machines, kept, ends = self.machines, defaultdict[tuple[Local, int], list[Stacks]](list), False
        reads, is_plain, calls = machines.reads, machines.is_plain, machines.calls
        seen = set[Frame]()
        while pending:
            frame = pending.pop()
            if frame in seen:
                continue
            seen.add(frame)
            local, times, below = frame
            if local in machines.unopened:
                machines.open(local)
            if reads[local]:
                kept[local, times].append(below)
            if is_plain[local]:
                continue
            if calls[local] or local in machines.loops:
                self._enter(frame, pending)
            if machines.may_return(local, times):
                ends |= below.ends
                pending.extend([self.returned(*f) for f in below.frames])
            if len(seen) > _MOST_FRAMES:
                raise ConstraintTooLargeError(
                    f"the grammar is so ambiguous that {_MOST_FRAMES:,} stacks are open at once"
                )
        return self.make([(*top, self._joined(below)) for top, below in kept.items()], ends=ends)

    def _enter(self, frame: Frame, pending: list[Frame]) -> None:
        """Add the frames in which the callees of this one begin."""
        local, times, below = frame
        for begin, going_on in self.machines.calls[local]:
            pending.append((begin, 0, self.push(going_on, 0, below)))
        loop = self.machines.loops.get(local)
        if loop is not None and (loop.most is None or times < loop.most):
            # After the last copy there is nothing left to count: its return goes below the loop.
            is_last = loop.most is not None and times + 1 == loop.most
            pending.append((loop.body, 0, below if is_last else self.push(local, times, below)))

    def returned(self, local: Local, times: int, below: Stacks) -> Frame:
        """A return point as it is once its callee has returned: a loop counts one more."""
        loop = self.machines.loops.get(local)
        if loop is None:
            return local, times, below
        return local, min(times + 1, loop.least) if loop.most is None else times + 1, below

    def _joined(self, sets: list[Stacks]) -> Stacks:
        if len(sets) == 1:
            return sets[0]
        return self.make({f for s in sets for f in s}, ends=any(s.ends for s in sets))


def _frame_key(frame: Frame) -> tuple[int, int, int]:
    local, times, below = frame
    return local, times, below.number
