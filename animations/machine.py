"""What films show of a machine: states, arrows, the marker of the live state, an arrow that is missing.

Built from the `Machine` of a trace, standing as `layout` has it: as in the lessons and the player. A state
is a circle, accepting: a double ring; the live one is filled.

Left out: how the marker moves (`film`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from manim import DOWN, RIGHT, Circle, DashedLine, Dot, Polygon, VGroup, VMobject
from numpy.typing import NDArray

from animations.layout import NAME_POINTS, NARROW_POINTS, Layout, lay_out
from animations.mobjects import cross
from animations.style import ACCEPT, BACKGROUND, DEAD, INK, LIVE, MUTED, mono, sans
from minidecoder.lens.trace import Machine
from minidecoder.viz.placed import Line

__all__ = ["Arrow", "Edge", "MachineDrawing", "Marker", "Missing", "StateCircle"]

STATE_RADIUS, NAME_SIZE = 0.5, 24.0
STUB_S: Final = 0.32  # units: the dashed way out, and then the cross
_SIDES: Final = [DOWN, -DOWN, *(np.array([x, y, 0]) for y in (-0.8, 0.8) for x in (0.6, -0.6))]


class StateCircle(VGroup):
    """A state with its name; a double ring where the text may end."""

    def __init__(
        self, name: str, accepting: bool, radius: float = STATE_RADIUS, size: float = NAME_SIZE
    ) -> None:
        color = ACCEPT if accepting else MUTED
        self.ring = Circle(radius, color=color, stroke_width=4, fill_color=BACKGROUND, fill_opacity=1)
        self.inner = Circle(radius * 0.84, color=color, stroke_width=3) if accepting else VGroup()
        self.label = sans(name, size)
        super().__init__(self.ring, self.inner.set_z_index(3), self.label.set_z_index(4))


class Arrow(VGroup):
    """A spline with its head, where there is one."""

    def __init__(self, line: Line, layout: Layout) -> None:
        points = [np.array(layout.at(point)) for point in line.points]
        self.curve = curved(points).set_stroke(MUTED, 4)
        head = VGroup()
        if line.tip:
            tip, neck = np.array(layout.at(line.tip)), points[-1]
            aside = 0.4 * np.array([neck[1] - tip[1], tip[0] - neck[0], 0])
            head = Polygon(tip, neck + aside, neck - aside, color=MUTED, fill_opacity=1, stroke_width=1)
        super().__init__(self.curve, head)


class Edge(VGroup):
    """An arrow with its label. `route`: what a marker follows, from centre to centre."""

    def __init__(self, line: Line, layout: Layout, source: StateCircle, target: StateCircle) -> None:
        self.arrow = Arrow(line, layout)
        self.label = mono(line.label, layout.font_size())
        if line.label_at:
            self.label.move_to(layout.at(line.label_at))
        start, end = source.ring.get_center(), target.ring.get_center()
        points = self.arrow.curve.points
        self.route = curved([*straight(start, points[0]), *joined(points), *straight(points[-1], end)[1:]])
        super().__init__(self.arrow, self.label, self.route.set_stroke(width=0))


class Missing(VGroup):
    """The arrow that is not there: what a dead byte would have needed. `way`: where it would have led."""

    def __init__(self, state: StateCircle, character: str, way: NDArray[np.float64]) -> None:
        start = state.ring.get_center() + (state.ring.width / 2 + 0.04) * way
        stub = DashedLine(start, start + STUB_S * way, color=DEAD, stroke_width=5, dash_length=0.11)
        mark = cross(0.3).move_to(start + (STUB_S + 0.18) * way)
        super().__init__(stub, mark, mono(character, NAME_SIZE, DEAD).next_to(mark, RIGHT, buff=0.14))


class MachineDrawing(VGroup):
    """A machine as its trace recorded it, in a box of `width` x `height` around the origin."""

    def __init__(self, machine: Machine, width: float, height: float) -> None:
        self.layout = lay_out(machine, width, height)
        placed = self.layout.placed
        self.states = {state.name: self._state(state.name, state.accepting) for state in machine.states}
        self.edges = {
            (edge.source, edge.target): Edge(
                placed.lines[edge.source, edge.target],
                self.layout,
                self.states[edge.source],
                self.states[edge.target],
            )
            for edge in machine.edges
        }
        assert placed.start_dot is not None  # a whole machine has its start
        dot = Dot(self.layout.at(placed.start_dot), radius=0.08, color=MUTED)
        self.entry = VGroup(dot, Arrow(placed.lines["", machine.states[0].name], self.layout))
        super().__init__(self.entry, *self.edges.values(), *self.states.values())

    def _state(self, name: str, accepting: bool) -> StateCircle:
        size = self.layout.font_size(NAME_POINTS if len(name) < 4 else NARROW_POINTS)
        state = StateCircle(name, accepting, self.layout.radius, size)
        return state.move_to(self.layout.at(self.layout.placed.states[name]))

    def inked(self, live: str) -> MachineDrawing:
        """The names of all states in ink, but that of the live one, which the marker fills."""
        for name, state in self.states.items():
            state.label.set_color(BACKGROUND if name == live else INK)
        return self

    def missing(self, state: str, character: str) -> Missing:
        """The arrow that is not there, on the side where it touches least: below, if nothing lies there."""
        ways = [Missing(self.states[state], character, way) for way in _SIDES]
        return min(ways, key=self._touched)

    def _touched(self, missing: Missing) -> int:
        left, low = missing.get_corner(DOWN - RIGHT)[:2]
        right, high = missing.get_corner(RIGHT - DOWN)[:2]
        things = [
            edge.label.get_critical_point(np.array([x, 0, 0]))
            for edge in self.edges.values()
            for x in (-1, 0, 1)
        ]
        things += [point for edge in self.edges.values() for point in edge.arrow.curve.points]
        return sum(left - 0.1 < x < right + 0.1 and low - 0.1 < y < high + 0.1 for x, y, _ in things)

    def rest(self) -> None:
        """All edges as they were before a token passed."""
        for edge in self.edges.values():
            edge.arrow.set_color(MUTED)
            edge.label.set_color(INK)


class Marker(Circle):
    """The live state: filled, and it glides along the arrows."""

    def __init__(self, at: StateCircle) -> None:
        super().__init__(0.39 * at.ring.width, color=LIVE, fill_color=LIVE, fill_opacity=1, stroke_width=0)
        self.move_to(at.ring).set_z_index(2)
        self.full = self.width


# -- splines: 1 + 3n points, as graphviz has them; manim repeats the inner ends ---------------------------


def curved(points: Sequence[NDArray[np.float64]]) -> VMobject:
    pieces = [points[k : k + 4] for k in range(0, len(points) - 3, 3)]
    return VMobject().set_points(np.array([point for piece in pieces for point in piece]))


def joined(points: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The inner points of a curve with the ends of its pieces given once, its first one left out."""
    return [point for k, point in enumerate(points) if k % 4]


def straight(start: NDArray[np.float64], end: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [start + share * (end - start) for share in (0, 1 / 3, 2 / 3, 1)]
