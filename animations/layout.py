"""Where a machine stands in a film: as in the lessons and the player, scaled to the box that a film has.

`minidecoder.viz` lays the machine out; here its points become units of the frame, the whole around the
origin. Labels grow and shrink with it, so what does not touch there does not touch here.

Left out: folded chains and surroundings, as a film names every state. Cost: one layout, some 15 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from minidecoder.errors import UsageError
from minidecoder.lens.trace import Machine
from minidecoder.viz.diagram import diagram_of
from minidecoder.viz.neighbourhood import fold, whole
from minidecoder.viz.placed import CELL, RADIUS, Placed, Point, cells
from minidecoder.viz.placing import place

__all__ = ["Layout", "lay_out"]

MIN_SIZE: Final = 18.0  # manim font size: 24 pt on a frame 1080 pixels high
LABEL_POINTS, NAME_POINTS, NARROW_POINTS = 14, 15, 13  # of labels and names in the pictures of `viz`
LARGEST: Final = 0.0235  # units a point: a small machine does not grow beyond a label of 24 points
_HALF_LINE: Final = 8.0  # half the height of a label, in points
_SIZE: Final = 135 / 1.85  # manim's font size 1 is 1.85 pixels high, a unit 135 (1080p)


@dataclass(frozen=True)
class Layout:
    """`placed`: what `minidecoder.viz` computed, in points. `scale`: units of the frame a point."""

    placed: Placed
    scale: float
    middle: Point

    def at(self, point: Point) -> tuple[float, float, float]:
        """A point in units of the frame, as manim takes it."""
        return (point.x - self.middle.x) * self.scale, (point.y - self.middle.y) * self.scale, 0.0

    @property
    def radius(self) -> float:
        return RADIUS * self.scale

    def font_size(self, points: float = LABEL_POINTS) -> float:
        """The font size in manim of a text that is `points` high in the pictures of `viz`."""
        return points * self.scale * _SIZE


def lay_out(machine: Machine, width: float, height: float) -> Layout:
    """The machine in a box of units. Raises `UsageError` where its labels would be smaller than MIN_SIZE,
    and where not every state has a circle with its name."""
    diagram = diagram_of(machine)
    placed = place(whole(fold(diagram), diagram.left_out), diagram.start)
    remedy = "the lessons' draw(machine) and the player show it, a film takes a shorter pattern"
    if placed.beads or diagram.left_out:
        unnamed = len(placed.beads) + diagram.left_out
        raise UsageError(
            f"{unnamed} states of this machine have no circle of their own in a picture: {remedy}"
        )
    low, high = _corners(placed)
    scale = min(LARGEST, width / (high.x - low.x), height / (high.y - low.y))
    layout = Layout(placed, scale, Point((low.x + high.x) / 2, (low.y + high.y) / 2))
    if layout.font_size() < MIN_SIZE:
        wanted = f"{len(diagram.states)} states need {(MIN_SIZE / layout.font_size() - 1):.0%} more room"
        raise UsageError(f"this machine is too large for a film, its {wanted} to be read: {remedy}")
    return layout


def _corners(placed: Placed) -> tuple[Point, Point]:
    points = list(_extent(placed))
    return Point(*(min(p[k] for p in points) for k in (0, 1))), Point(
        *(max(p[k] for p in points) for k in (0, 1))
    )


def _extent(placed: Placed) -> Iterator[Point]:
    """Points that a box around the whole must hold."""
    for at in placed.states.values():
        yield from (Point(at.x - RADIUS, at.y - RADIUS), Point(at.x + RADIUS, at.y + RADIUS))
    for line in placed.lines.values():
        yield from line.points
        if line.label_at:
            (x, y), half = line.label_at, CELL * cells(line.label) / 2
            yield from (Point(x - half, y - _HALF_LINE), Point(x + half, y + _HALF_LINE))
    if placed.start_dot:
        yield placed.start_dot
