"""Small machines for checks, made from patterns, and how they are written in feedback.

`machine("a*b")` is the same call in a starter file, so what a student reads in the feedback can be
typed into Python as it stands. `edges(automaton)` writes a machine on one line, `walked` a walk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from minidecoder.automaton import DEAD, State, walk
from minidecoder.lens.labels import show_byte, show_ranges
from minidecoder.regex.charset import make_ranges
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes

__all__ = ["edges", "live_states", "machine", "show_machine", "show_state", "typed", "walked"]


@cache
def machine(pattern: str) -> ByteDFA:
    """The byte automaton of a pattern."""
    return lower_to_bytes(compile_dfa(pattern))


def live_states(automaton: ByteDFA) -> list[State]:
    """Every state but DEAD, the start first."""
    return [State(number) for number in range(1, len(automaton) + 1)]


def show_machine(pattern: str) -> str:
    """How a student types the machine."""
    raw = "r" if "\\" in pattern else ""
    return f'machine({raw}"{pattern}")'


def show_state(state: int) -> str:
    """A state as a student's function returns it; DEAD by name, since a bare 0 says little."""
    return "DEAD" if state == DEAD else str(state)


def typed(value: object) -> str:
    """A value as one types it, with double quotes as in the lesson where no quote is in the text."""
    text = repr(value)
    return text if '"' in text or "\\'" in text else text.replace("'", '"')


def edges(automaton: ByteDFA) -> str:
    """`1 –a→ 2, 2 –b→ 2; 2 accepts`: all of a small machine."""
    moves = [
        f"{state} –{_label(group)}→ {target}"
        for state in live_states(automaton)
        for target, group in _targets(automaton, state).items()
    ]
    accepting = [str(state) for state in live_states(automaton) if automaton.is_accepting(state)]
    return f"{', '.join(moves)}; {' and '.join(accepting)} accept{'s' * (len(accepting) == 1)}"


def _targets(automaton: ByteDFA, state: State) -> dict[State, list[int]]:
    targets: dict[State, list[int]] = defaultdict(list)
    for byte in automaton.live_bytes(state):
        targets[automaton.step(state, byte)].append(byte)
    return targets


def _label(group: Sequence[int]) -> str:
    if all(byte < 0x80 for byte in group):
        return show_ranges(make_ranges((byte, byte) for byte in group)).replace(" ", "")
    return show_byte(group[0]) if len(group) == 1 else f"{show_byte(group[0])}–{show_byte(group[-1])}"


def walked(automaton: ByteDFA, state: State, token: bytes) -> str:
    """`2 –.→ 3 –5→ 4`, up to the byte that dies: `4 –5→ 5 –0→ DEAD`."""
    path = walk(automaton, state, token)
    steps = [f"–{show_byte(byte)}→ {show_state(target)}" for byte, target in zip(token, path, strict=False)]
    return " ".join([str(state), *steps])
