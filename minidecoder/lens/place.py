"""One state of a constraint as a person is told of it: its name, what lives there, what may follow.

All that is asked about a state is found out once and kept as long as the place is: a trace asks it for some
thirty tokens a step.

Left out: tokens (`explain`). Cost: O(256) a place; a completion where one is asked for (`completion`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.lens.completion import shortest_completion
from minidecoder.lens.expected import SaysExpected, describe, pieces_of
from minidecoder.lens.labels import show_byte, show_ranges
from minidecoder.lens.verdict import Piece
from minidecoder.regex.charset import make_ranges
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Place", "path_of", "short_name"]

_LONGEST_NAME: Final = 40

_spelled: Final[WeakKeyDictionary[Vocabulary, frozenset[int]]] = WeakKeyDictionary()


class Place:
    """A live `state` of `constraint`. It holds the state, so that a lazy machine does not forget it."""

    def __init__(self, constraint: Constraint, state: State) -> None:
        self.constraint = constraint
        self.state = state
        self._held = constraint.automaton.hold(state)

    @cached_property
    def name(self) -> str:
        return short_name(self.constraint.automaton.name(self.state))

    @cached_property
    def accepting(self) -> bool:
        return self.constraint.automaton.is_accepting(self.state)

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        return tuple(self.constraint.automaton.live_bytes(self.state))

    @cached_property
    def completion(self) -> bytes:
        return shortest_completion(self.constraint, self.state)

    @cached_property
    def expected(self) -> tuple[Piece, ...]:
        """What a grammar says may come next; empty for a machine with a table."""
        machine = self.constraint.automaton
        return pieces_of(machine, self.state) if isinstance(machine, SaysExpected) else ()

    @cached_property
    def stack(self) -> tuple[str, ...]:
        """The open rules, from the root to the innermost; empty for a machine with a table."""
        machine = self.constraint.automaton
        return machine.open_rules(self.state) if isinstance(machine, SaysExpected) else ()

    @cached_property
    def where(self) -> str:
        """`s3`, or for a grammar `array (line 6, column 49)`."""
        return (self._described[0] if self.expected else "") or self.name

    @cached_property
    def follows(self) -> str:
        """What may stand next, and the end where it may come."""
        return self._described[1] if self.expected else self._what_follows()

    @cached_property
    def _described(self) -> tuple[str, str]:
        return describe(self.expected, accepting=self.accepting)

    def _what_follows(self) -> str:
        """The bytes that live, if any token holds one."""
        live = self.live_bytes
        if not _bytes_spelled(self.constraint.vocabulary).intersection(live):
            live = ()
        ascii_ = show_ranges(make_ranges((byte, byte) for byte in live if byte < 0x80))
        others = [_show_run(*run) for run in make_ranges((byte, byte) for byte in live if byte >= 0x80)]
        end = ["the end"] if self.accepting else []
        return " or ".join(filter(None, [" ".join(filter(None, [ascii_, *others])), *end])) or "nothing"


def short_name(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def path_of(
    constraint: Constraint, state: State, data: bytes
) -> tuple[tuple[State, ...], tuple[object, ...]]:
    """The states after each byte, DEAD last where one dies, and what holds them."""
    machine, states, held = constraint.automaton, list[State](), list[object]()
    for byte in data:
        state = machine.step(state, byte)
        states.append(state)
        if state == DEAD:
            break
        held.append(machine.hold(state))
    return tuple(states), tuple(held)


def _bytes_spelled(vocabulary: Vocabulary) -> frozenset[int]:
    """The bytes that stand in some token."""
    if vocabulary not in _spelled:
        _spelled[vocabulary] = frozenset(np.unique(vocabulary.trie.byte[1:]).tolist())
    return _spelled[vocabulary]


def _show_run(low: int, high: int) -> str:
    return show_byte(low) if low == high else f"{show_byte(low)}–{show_byte(high)}"
