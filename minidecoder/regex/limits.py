"""How large and how slow a compile may get: one budget that all of its steps share.

A short pattern can ask for an astronomical machine: `((a{1,100}){1,100}){1,100}` has a million
characters, `(a|b)*a(a|b){40}` has 2^41 states. Each step counts what it makes and looks at the clock,
and the one that passes a limit raises `ConstraintTooLargeError` with the limit's name.

Left out: the memory of masks and indexes, which have limits of their own. Cost: O(1) a check.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import Final

from minidecoder.errors import ConstraintTooLargeError, UsageError

__all__ = ["MAX_STATES", "TIMEOUT_S", "Limits", "until"]

MAX_STATES: Final = 100_000
TIMEOUT_S: Final = 10.0

_NFA_STATES: Final = 4  # for each state allowed: Thompson's construction spends about two on a character
_CELLS: Final = 25_000_000  # 100 MB
_BYTE_STATES: Final = 3  # for each state allowed: a character of many bytes has states inside
_GIVEN_UP: ContextVar[Event | None] = ContextVar("_GIVEN_UP", default=None)


@contextmanager
def until(given_up: Event) -> Iterator[None]:
    """Inside, a compile of this thread also ends when another thread sets the event."""
    token = _GIVEN_UP.set(given_up)
    try:
        yield
    finally:
        _GIVEN_UP.reset(token)


class Limits:
    """The budget of one compile; the clock runs from its creation."""

    def __init__(self, max_states: int = MAX_STATES, timeout_s: float = TIMEOUT_S) -> None:
        if max_states < 1 or not timeout_s > 0:
            raise UsageError(f"max_states={max_states}, timeout_s={timeout_s}: both must be more than 0")
        self.max_states = max_states
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s
        self._given_up = _GIVEN_UP.get()

    def restart(self) -> None:
        """Begin the clock anew, for a part of the work that is put off until it is needed."""
        self._end = time.monotonic() + self.timeout_s
        self._given_up = _GIVEN_UP.get()  # who began it may have ended long ago

    def check_time(self) -> None:
        """Raise if the time is used up, or nobody waits for the result any more."""
        if self._given_up is not None and self._given_up.is_set():
            raise ConstraintTooLargeError("compiling was given up", "timeout_s")
        if time.monotonic() > self._end:
            raise ConstraintTooLargeError(f"compiling took longer than {self.timeout_s:g} s", "timeout_s")

    def check_states(self, states: int) -> None:
        """Raise if the machine over characters has too many states."""
        if states > self.max_states:
            raise ConstraintTooLargeError(
                f"the pattern needs more than {self.max_states:,} states", "max_states"
            )

    def check_cells(self, states: int, columns: int) -> None:
        """Raise if the table of the machine has too many cells to be kept."""
        if states * columns > _CELLS:
            text = f"{states:,} states over {columns:,} classes of characters are too large a table"
            raise ConstraintTooLargeError(text)

    def check_nfa_states(self, states: int) -> None:
        """Raise if the pattern, with its repetitions written out, is too long."""
        if states > _NFA_STATES * self.max_states:
            text = f"with its repetitions written out, the pattern takes over {states - 1:,} NFA states"
            raise ConstraintTooLargeError(text, "max_states")

    def check_byte_states(self, states: int) -> None:
        """Raise if the machine over bytes has too many states."""
        if states > _BYTE_STATES * self.max_states:
            text = f"over bytes, the pattern needs more than {states - 1:,} states"
            raise ConstraintTooLargeError(text, "max_states")
