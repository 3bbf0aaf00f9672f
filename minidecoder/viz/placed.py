"""Places, lines and labels: the data between layout and drawing, and how wide a text is.

Units are points, which are pixels in the SVG; y grows upwards, as in graphviz.

Left out: how places are found (`placing`, `nudging`). Cost: none.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from minidecoder.viz.diagram import Arc

__all__ = [
    "BIG_MARKS",
    "CELL",
    "RADIUS",
    "Line",
    "Placed",
    "Point",
    "cells",
    "cut",
    "printable",
    "quoted",
    "shown_label",
    "straight",
]

RADIUS: Final = 0.31 * 72
CELL: Final = 8.4  # the width of a mono character at 14 points
BIG_MARKS: Final = frozenset(".,'`·")  # hardly seen at the size of a letter
_LONGEST: Final = 40


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Line:
    """An edge's way: `points` as graphviz has them (1 + 3n of a spline), `tip` where an arrow ends."""

    points: tuple[Point, ...]
    tip: Point | None
    label_at: Point | None
    label: str

    def pos(self) -> str:
        tip = [f"e,{_text(self.tip)}"] if self.tip else []
        return " ".join([*tip, *map(_text, self.points)])


@dataclass
class Placed:
    """The places. `lines` by pair of states; `("", start)` is the start's arrow; `(name, "+")` and
    `("+", name)` lead to the notes of a border, `more` by the same keys. `size`: width and height of all."""

    size: Point
    states: dict[str, Point] = field(default_factory=dict)
    beads: set[str] = field(default_factory=set)
    squeezed: set[str] = field(default_factory=set)
    lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    more: dict[tuple[str, str], tuple[Point, str]] = field(default_factory=dict)
    start_dot: Point | None = None


def shown_label(arc: Arc) -> str:
    """What is written at an edge: the label, cut where it is very long."""
    return cut(arc.label, _LONGEST)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def cells(text: str) -> int:
    """How many columns of a mono font a text takes: most emoji and Chinese signs take two."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def quoted(text: str) -> str:
    """A DOT string that means exactly `text`: quotes, backslashes and entities are all special inside."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def printable(text: str) -> str:
    """What XML can hold: a name or a label read from a file may have anything in it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def straight(a: Point, b: Point) -> tuple[Point, ...]:
    """A straight line as a spline of one piece."""
    third = Point((b.x - a.x) / 3, (b.y - a.y) / 3)
    return a, Point(a.x + third.x, a.y + third.y), Point(b.x - third.x, b.y - third.y), b


def _text(point: Point) -> str:
    return f"{point.x:.2f},{point.y:.2f}"
