"""The one protocol below a matcher: a deterministic machine that reads bytes.

A regular expression compiles to a table with one row per state; a grammar or a schema is a lazy
machine whose states are made when first reached. Everything above this file sees only
`Automaton`, so a mask, a matcher and a picture work for all of them alike.

`State` and `TokenId` are both integers and mixing them is the classic bug of this field, hence
two NewTypes. Left out: how states are made (`regex`), and tokens (`tokens`).
"""

from __future__ import annotations

from typing import Final, NewType, Protocol, runtime_checkable

__all__ = ["DEAD", "Automaton", "State", "TokenId", "walk"]

State = NewType("State", int)
TokenId = NewType("TokenId", int)

DEAD: Final = State(0)
"""The state from which nothing can match. Every automaton gives it the number 0."""


@runtime_checkable
class Automaton(Protocol):
    """A deterministic automaton over bytes. Implementations are immutable or lock their growth."""

    @property
    def start(self) -> State:
        """The state before the first byte; `DEAD` where the language is empty."""

    def step(self, state: State, byte: int) -> State:
        """The state after `byte` (0..255); `DEAD` where no member of the language goes on so."""

    def is_accepting(self, state: State) -> bool:
        """Whether the bytes read so far are a whole member of the language."""

    def name(self, state: State) -> str:
        """`s0`, `s1`, … between characters, `b0`, `b1`, … inside a code point, `dead`."""

    def mask_key(self, state: State) -> int:
        """States with the same key allow the same tokens, so they may share one mask."""

    def live_bytes(self, state: State) -> list[int]:
        """The bytes after which something can still match, ascending."""

    def hold(self, state: State) -> object:
        """What keeps `state` meaningful as long as it is kept: a lazy machine may forget states that
        nobody holds. None where states are for ever."""

    def __contains__(self, state: object) -> bool:
        """Whether `state` is one of this machine's, `DEAD` included."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tables, for caches that are limited by bytes."""


def walk(automaton: Automaton, state: State, data: bytes) -> list[State]:
    """The states after each byte of `data`; stops early, with `DEAD` last, where a byte dies."""
    path: list[State] = []
    for byte in data:
        state = automaton.step(state, byte)
        path.append(state)
        if state == DEAD:
            break
    return path
