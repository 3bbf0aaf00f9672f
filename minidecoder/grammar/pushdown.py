"""A grammar as an automaton over bytes: rules → stacks behind the `Automaton` protocol.

States are numbers of interned sets of stacks. Nobody keeps a state alive but who holds it, so a text of any
length costs what its matchers keep; a bounded cache remembers the moves made last.

Left out: tokens (`pushdown_index`), and the text of the grammar (`prepare`). Cost: a step is a handful of
frames; nothing recurses, at any depth of nesting.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any, Final, Protocol

from minidecoder.automaton import DEAD, State
from minidecoder.errors import UsageError
from minidecoder.grammar.rule_machines import Local, RuleMachines
from minidecoder.grammar.stacks import MAX_DEPTH, StackMachine, Stacks
from minidecoder.tokens.cache import ByteLimitedCache

__all__ = ["PushdownAutomaton"]

_MOVES_BYTES: Final = 4_000_000
_NAMED: Final = 2  # tops in the name of a state
_MOVE_BYTES: Final = 400  # what one remembered move keeps alive, roughly


class Words(Protocol):
    """How a grammar or a schema speaks of its rules."""

    def name(self, rule: Hashable) -> str:
        """What people call the rule."""

    def expected(self, locals_: Iterable[Local]) -> tuple[Any, ...]:
        """What may be read next in any of these, and where that is written: objects with `rule`, `text` and
        `where`, or `line` and `column`."""


class PushdownAutomaton:
    """The automaton that begins in the local `start`. `words`: what people call its places; `reach`: the
    longest token in bytes, which bounds what a mask can see."""

    def __init__(
        self, machines: RuleMachines, start: Local, words: Words, reach: int, max_depth: int = MAX_DEPTH
    ) -> None:
        self.machines = machines
        self.words = words
        self.notes: tuple[str, ...] = ()
        self.stacks = StackMachine(machines, start, reach, max_depth)
        self._moves: ByteLimitedCache[tuple[int, int], Stacks] = ByteLimitedCache(
            _MOVES_BYTES, lambda _: _MOVE_BYTES
        )
        # subtle: a number keeps nothing alive, so the set that a call returns the number of is held until
        # the next call in the same thread.
        self._latest = threading.local()

    @property
    def start(self) -> State:
        return self.stacks.start.number

    def at(self, state: State) -> Stacks:
        """The set of stacks with this number. `UsageError` where nobody holds it any more."""
        found = self.stacks.find(state)
        if found is None:
            raise UsageError(f"state {state} is none of this automaton, or is no longer held")
        return found

    def step(self, state: State, byte: int) -> State:
        self._latest.stacks = stacks = self.move(self.at(state), byte)
        return stacks.number

    def move(self, stacks: Stacks, byte: int) -> Stacks:
        """`step` on the sets themselves."""
        return self._moves.get((stacks.number, byte), lambda: self.stacks.step(stacks, byte))

    def run(self, state: State, data: bytes) -> State:
        """The state after all of `data`."""
        stacks = self.at(state)
        for byte in data:
            stacks = self.move(stacks, byte)
            if stacks.number == DEAD:
                break
        self._latest.stacks = stacks
        return stacks.number

    def is_accepting(self, state: State) -> bool:
        return self.at(state).ends

    def mask_key(self, state: State) -> int:
        return self.at(state).canonical.number

    def live_bytes(self, state: State) -> list[int]:
        live: set[int] = set()
        for local, times, _ in self.at(state):
            row = self.machines.row[local]
            columns = {k for k, target in enumerate(row) if self._is_live(times, Local(target))}
            live.update(byte for byte, k in enumerate(self.machines.column[local]) if k in columns)
        return sorted(live)

    def _is_live(self, times: int, target: Local) -> bool:
        return bool(target) and self.machines.moved(times, target) is not None

    def hold(self, state: State) -> Stacks:
        return self.at(state)

    def __contains__(self, state: object) -> bool:
        is_number = isinstance(state, Integral) and not isinstance(state, bool)
        return is_number and self.stacks.find(int(state)) is not None  # type: ignore[call-overload]

    def name(self, state: State) -> str:
        """The tops of the stacks: `string:s2`, or `ws:s0|value:s0|…` where several are open."""
        if state == DEAD:
            return "dead"
        tops = [self.local_name(local) for local, _, _ in self.at(state)]
        return "|".join(tops if len(tops) <= _NAMED else [*tops[:_NAMED], "…"]) or "end"

    def local_name(self, local: Local) -> str:
        """Rule and state of its machine: `string:s2`; `b0` inside a character."""
        machine = self.machines.machines[self.machines.machine[local]]
        rule = self.words.name(machine.rule)
        return f"{rule}:{machine.bytes_.name(State(machine.state(local)))}"

    def expected(self, state: State) -> tuple[Any, ...]:
        """What may be read next, as the grammar or the schema says it (`Words.expected`)."""
        # A string that is as long as it may be reads nothing more, whatever its machine could.
        return self.words.expected(
            local
            for local, times, _ in self.at(state)
            if any(self._is_live(times, Local(target)) for target in self.machines.row[local])
        )

    def open_rules(self, state: State) -> tuple[str, ...]:
        """One stack, from the root to the top, as rules that are open: `("root:s1", "array:s2", "value:s3")`.
        Where there are several, the first; empty where the text is complete."""
        frames, names = self.at(state).frames, []
        while frames:
            local, times, below = frames[0]
            if local in self.machines.loops:
                names.append(f"× {times + 1}")
            else:
                names.append(self.local_name(local))
            frames = below.frames
        return tuple(reversed(names))

    @property
    def nbytes(self) -> int:
        return _MOVES_BYTES + 100 * len(self.machines) + sum(m.bytes_.nbytes for m in self.machines.machines)
