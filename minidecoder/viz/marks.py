"""What a picture of a machine points at: where the text stands, the way of a token, and where it dies.

    live      the state (of an NFA: the states) that the text has reached, filled
    path      the edges that a token takes from there, and the state that it reaches
    died_in   the last living state of a token that dies, with the byte that killed it

Left out: places and looks. Cost: O(length of the path).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_byte
from minidecoder.lens.trace import ByteMove
from minidecoder.viz.diagram import DEAD_NAME, Diagram, Stop, name_of

__all__ = ["Marks", "marks_of"]

_INSIDE: Final = re.compile(r"b\d+")


@dataclass(frozen=True)
class Marks:
    """`inside`: the live state where it lies between two bytes of a character, which no picture shows."""

    live: frozenset[str] = frozenset()
    edges: frozenset[tuple[str, str]] = frozenset()
    reached: str | None = None
    died_in: str | None = None
    died_of: str = ""
    inside: str = ""

    def named(self) -> set[str]:
        """The states that the picture points at."""
        return {*self.live, *filter(None, (self.reached, self.died_in))}


def marks_of(
    diagram: Diagram, live: Stop | Collection[Stop] | None, path: Sequence[Stop], token: bytes | str
) -> Marks:
    """The marks as names. `UsageError` for a live state that the machine has not."""
    names = {state.name for state in diagram.states}
    lives = [name_of(diagram, stop) for stop in _several(live)]
    inside = next((name for name in lives if _INSIDE.fullmatch(name) and name not in names), "")
    known = [name for name in lives if name not in (inside, DEAD_NAME)]
    if unknown := set(known) - names:
        raise UsageError(f"the machine has no state {sorted(unknown)}; it has {_listed(diagram)}")
    stops = [name_of(diagram, stop) for stop in path]
    walked = [*known[:1], *(name for name in stops if name in names)]
    dies = bool(walked and stops and stops[-1] == DEAD_NAME)
    end = walked[-1] if walked else None
    return Marks(
        frozenset(known),
        frozenset(pairwise(walked)),
        None if dies or not stops or end in known else end,
        end if dies else None,
        _fatal_byte(path, token) if dies else "",
        inside,
    )


def _several(live: Stop | Collection[Stop] | None) -> list[Stop]:
    if live is None:
        return []
    # A move is a tuple, and yet one stop.
    is_one = isinstance(live, str | ByteMove) or not isinstance(live, Collection)
    return [live] if is_one else list(live)  # type: ignore[list-item, arg-type]


def _fatal_byte(path: Sequence[Stop], token: bytes | str) -> str:
    last, data = path[-1], token.encode() if isinstance(token, str) else token
    if isinstance(last, ByteMove):
        return show_byte(last.byte)
    return show_byte(data[len(path) - 1]) if 0 < len(path) <= len(data) else ""


def _listed(diagram: Diagram) -> str:
    return f"{diagram.states[0].name} to {diagram.states[-1].name}" if diagram.states else "none"
