"""Rules → one small automaton per rule, over bytes and calls: the tables that the stack machine runs.

A rule is a regular expression in which calls of other rules are characters beyond Unicode, so the regex
package compiles it: `object ::= "{" member ("," member)* "}"` is a minimal machine of five states with edges
for bytes and edges that call `member`. All machines share one numbering of their states, called locals.

A rule is compiled when a stack first enters it: who has a rule for each of a million goals, as JSON Schema
may, pays for those that are met. Left out: stacks (`stacks`), and where rules come from (`bodies`).
Cost: that of the regex package, rule by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NewType, Protocol, TypeAlias

import numpy as np

from minidecoder.regex import tree
from minidecoder.regex.dfa import DFA, compile_tree
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes

__all__ = ["FIRST_SYMBOL", "Body", "Counted", "Counter", "Local", "Loop", "Machine", "Ready", "RuleMachines"]

Local = NewType("Local", int)
"""A state of some rule's machine, or a loop; 0 is none."""

FIRST_SYMBOL: Final = 0x110000
"""One past the last code point: in the machine over characters, calls are "characters" from here on."""


@dataclass(frozen=True)
class Counted:
    """A rule that calls another `least` to `most` times; no upper bound where None. The other must read
    at least one byte."""

    rule: Hashable
    least: int
    most: int | None


class Counter(Protocol):
    """A number beside the state of a `Ready` machine: how many characters a string has so far."""

    def moved(self, times: int, state: int) -> int | None:
        """The number after a byte that leads to `state`; None where the text can no longer be finished."""

    def may_end(self, times: int, state: int) -> bool:
        """Whether the rule may return here."""

    def near(self, times: int, state: int, reach: int) -> int:
        """The number that stands for all that no token of `reach` bytes can tell from `times`."""


@dataclass(frozen=True)
class Ready:
    """A rule that is a machine already, and calls nothing; `counter` counts along where lengths matter."""

    bytes_: ByteDFA
    counter: Counter | None = None


Body: TypeAlias = tree.Node | Counted | Ready


@dataclass(frozen=True)
class Loop:
    """A `Counted` rule as a local: its counter lives in the frame."""

    body: Local
    least: int
    most: int | None


@dataclass(frozen=True)
class Machine:
    """A compiled rule: over characters and calls (None for a `Ready` one), over bytes, and the local before
    its state 1."""

    rule: Hashable
    characters: DFA | None
    bytes_: ByteDFA
    before: int

    def state(self, local: Local) -> int:
        """The machine's own number of a local. The local in which the rule begins is a twin of its start."""
        return local - self.before if local > self.before else int(self.bytes_.start)


class RuleMachines:
    """The machines of all rules met so far. Lists are indexed by local; entry 0 is "dead" everywhere.

    `row[l][column[l][byte]]`: the local after a byte; `calls[l]`: (local where the callee begins, local to
    go on from when it returns); `loops[l]`: what the local counts, where it is a loop; `machine[l]`: an
    index into `machines`, -1 for a rule that is not yet open. `write` gives the body of a rule.
    """

    def __init__(self, write: Callable[[Hashable], Body], limits: Limits | None = None) -> None:
        self._write = write
        self.limits = limits or Limits()
        self.row: list[Sequence[int]] = []
        self.column: list[Sequence[int]] = []
        self.accepting: list[bool] = []
        self.calls: list[tuple[tuple[Local, Local], ...]] = []
        self.reads: list[bool] = []  # whether some byte leads on
        self.machine: list[int] = []
        self.counter: list[Counter | None] = []
        self.is_plain: list[bool] = []  # reads, and neither calls, returns nor counts: most locals
        self.loops: dict[Local, Loop] = {}
        self.machines: list[Machine] = []
        self.unopened: dict[Local, Hashable] = {}
        self._begins: dict[Hashable, Local] = {}
        self._written: dict[Hashable, Body] = {}
        self._callees: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self._new_local()  # 0

    def __len__(self) -> int:
        return len(self.row) - 1

    # -- for who writes the bodies --------------------------------------------------------------

    def call(self, rule: Hashable) -> tree.Node:
        """A call of `rule`, to stand in a body."""
        if rule not in self._number:
            self._number[rule] = len(self._callees)
            self._callees.append(rule)
        symbol = FIRST_SYMBOL + self._number[rule]
        return tree.Chars(((symbol, symbol),))

    # -- for who runs the machines --------------------------------------------------------------

    def begin(self, rule: Hashable) -> Local:
        """The local in which `rule` begins; the rule itself is compiled by `open`."""
        if rule not in self._begins:
            self._begins[rule] = local = self._new_local()
            self.unopened[local] = rule
        return self._begins[rule]

    def open(self, local: Local) -> None:
        """Compile the rule that begins here. Raises `ConstraintTooLargeError` past a limit."""
        rule = self.unopened[local]
        body = self._written.pop(rule, None) or self._write(rule)
        # A clock of its own: a rule may be met long after the compiling that the limits were made for.
        limits = Limits(self.limits.max_states, self.limits.timeout_s)
        if isinstance(body, Counted):
            self.loops[local] = Loop(self.begin(body.rule), body.least, body.most)
        elif isinstance(body, Ready):
            self._add(local, Machine(rule, None, body.bytes_, len(self.row) - 1), body.counter)
        else:
            characters = compile_tree(body, limits)
            machine = Machine(rule, characters, lower_to_bytes(characters, limits), len(self.row) - 1)
            self._add(local, machine, None)
        del self.unopened[local]
        self.limits.check_states(len(self))

    def write_ahead(self, most: int) -> None:
        """Write the bodies of up to `most` rules that can be called, so that what `write` raises is raised
        now, and not in the middle of a text."""
        for rule in self._callees:  # grows as bodies call further rules
            if most <= 0:
                return
            if rule not in self._written:
                self._written[rule] = body = self._write(rule)
                if isinstance(body, Counted):
                    self.call(body.rule)
                most -= 1

    def open_all(self) -> None:
        """Compile every rule that can be reached."""
        while self.unopened:
            self.limits.check_time()
            self.open(next(iter(self.unopened)))

    def only_returns(self, local: Local) -> bool:
        """Whether nothing is left to do here but to return: such a local need not go on the stack."""
        if self.calls[local] or self.reads[local] or self.counter[local] is not None:
            return False
        return self.accepting[local]

    def moved(self, times: int, target: Local) -> int | None:
        """The number in a frame after a byte that leads to `target`; None where that is dead."""
        counter = self.counter[target]
        if counter is None:
            return 0
        return counter.moved(times, self.machines[self.machine[target]].state(target))

    def may_return(self, local: Local, times: int) -> bool:
        """Whether the rule may end here."""
        loop, counter = self.loops.get(local), self.counter[local]
        if loop is not None:
            return times >= loop.least
        if counter is not None:
            return counter.may_end(times, self.machines[self.machine[local]].state(local))
        return self.accepting[local]

    def near(self, local: Local, times: int, reach: int) -> int:
        """The number that stands for all that no token of `reach` bytes can tell from `times`."""
        loop, counter = self.loops.get(local), self.counter[local]
        if counter is not None:
            return counter.near(times, self.machines[self.machine[local]].state(local), reach)
        if loop is None or (loop.most is not None and loop.most - times <= reach):
            return times
        if loop.least - times > reach:
            return 0
        return loop.least if times >= loop.least else times

    def _add(self, local: Local, machine: Machine, counter: Counter | None) -> None:
        table, many = machine.bytes_.table, len(machine.bytes_.table) - 1
        self.row += np.where(table == 0, 0, table + machine.before)[1:].tolist()
        self.reads += np.asarray(table.any(axis=1))[1:].tolist()
        self.column += [machine.bytes_.byte_class.tolist()] * many
        self.accepting += machine.bytes_.accepting[1:].tolist()
        self.calls += [()] * many
        self.counter += [counter] * many
        self.machine += [len(self.machines)] * many
        self.is_plain += [False] * many
        self.machines.append(machine)
        if machine.characters is not None:
            self._note_calls(machine, machine.characters)
        for new in range(machine.before + 1, len(self.row)):
            self.is_plain[new] = (
                self.reads[new] and counter is None and not self.calls[new] and not self.accepting[new]
            )
        # The rule's first local was given out before: it becomes a twin of the machine's start.
        start = Local(machine.before + machine.bytes_.start)
        lists = (self.row, self.column, self.accepting, self.calls, self.reads, self.counter, self.machine)
        for of in (*lists, self.is_plain):
            of[local] = of[start]  # type: ignore[assignment, call-overload]

    def _note_calls(self, machine: Machine, characters: DFA) -> None:
        for k, ranges in enumerate(characters.classes):
            for low, high in ranges:
                for symbol in range(max(low, FIRST_SYMBOL), high + 1):
                    begin = self.begin(self._callees[symbol - FIRST_SYMBOL])
                    for state in characters.table[:, k].nonzero()[0].tolist():
                        target = Local(machine.before + int(characters.table[state, k]))
                        self.calls[machine.before + state] += ((begin, target),)

    def _new_local(self) -> Local:
        self.row.append((0,))
        self.column.append((0,) * 256)
        self.accepting.append(False)
        self.calls.append(())
        self.reads.append(False)
        self.counter.append(None)
        self.is_plain.append(False)
        self.machine.append(-1)
        return Local(len(self.row) - 1)
