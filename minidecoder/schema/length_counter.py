"""The length of a string as a number in a frame of the stack machine.

`StringMachine` knows with which counts a state can still be left; here that is the `Counter` which the stack
machine asks. Far from every bound, all counts are one: no token is long enough to tell them apart.

Left out: strings whose length does not matter, which need no counter. Cost: a bisection or two a byte.
"""

from __future__ import annotations

from bisect import bisect_right

from minidecoder.automaton import State
from minidecoder.schema.lengths import contains
from minidecoder.schema.string_machine import StringMachine

__all__ = ["LengthCounter"]


class LengthCounter:
    """Counts the characters of one string (`grammar.rule_machines.Counter`)."""

    def __init__(self, machine: StringMachine) -> None:
        self._machine = machine
        self._bounds = machine.bounds

    def moved(self, times: int, state: int) -> int | None:
        """The count after a byte that leads to `state`: one more where that completes a character."""
        if state <= self._machine.characters:
            times += 1
        return times if contains(self._machine.live[state], times) else None

    def may_end(self, times: int, state: int) -> bool:
        """Whether the closing quote may follow."""
        return self._machine.may_end(State(state), times)

    def near(self, times: int, state: int, reach: int) -> int:
        """The count that stands for all that no token can tell from `times`."""
        at = bisect_right(self._bounds, times)
        low = self._bounds[at - 1] if at else 0
        is_far = at == len(self._bounds) or self._bounds[at] - times > reach
        return low if is_far else times
