"""What films show of a machine: states, arrows, the marker of the live state, an arrow that is missing.

Built from the `Machine` of a trace, at the places that `layout` computes. A state is a circle,
accepting: a double ring; the live one is filled.

Left out: how the marker moves (`film`), and folded chains: some seven states in a row fit a frame.
"""

from __future__ import annotations

import numpy as np
from manim import (
    LEFT,
    UP,
    ArcBetweenPoints,
    Arrow,
    Circle,
    CurvedArrow,
    DashedLine,
    Dot,
    Line,
    VGroup,
    VMobject,
)
from numpy.typing import NDArray

from animations.layout import place
from animations.mobjects import cross
from animations.style import ACCEPT, BACKGROUND, DEAD, INK, LIVE, MUTED, mono, sans
from minidecoder.lens.trace import Machine, MachineEdge

__all__ = ["Edge", "MachineDrawing", "Marker", "Missing", "StateCircle"]

STATE_RADIUS, LABEL_SIZE = 0.5, 23.0


class StateCircle(VGroup):
    """A state with its name; a double ring where the text may end."""

    def __init__(self, name: str, accepting: bool, radius: float = STATE_RADIUS) -> None:
        color = ACCEPT if accepting else MUTED
        self.ring = Circle(radius, color=color, stroke_width=4, fill_color=BACKGROUND, fill_opacity=1)
        self.inner = Circle(radius * 0.84, color=color, stroke_width=3) if accepting else VGroup()
        self.label = sans(name, LABEL_SIZE)
        super().__init__(self.ring, self.inner.set_z_index(3), self.label.set_z_index(4))


class Edge(VGroup):
    """An arrow with its label. `route`: what a marker follows, from centre to centre."""

    def __init__(self, edge: MachineEdge, source: StateCircle, target: StateCircle, bend: float) -> None:
        start, end, radius = source.get_center(), target.get_center(), source.ring.width / 2
        style = {"color": MUTED, "stroke_width": 4}
        if edge.source == edge.target:
            # The loop hangs below: tokens travel above the machine.
            left, right = (start + radius * _at(angle) for angle in (-115, -65))
            self.arrow: VMobject = CurvedArrow(left, right, angle=1.5 * np.pi, tip_length=0.2, **style)
            middle = self.arrow.get_bottom()
            self.route = VMobject().set_points_smoothly([start, left, middle, right, start])
        elif bend:
            self.route = ArcBetweenPoints(start, end, angle=bend)
            cut = radius / max(self.route.get_arc_length(), 1e-6)
            ends = self.route.point_from_proportion(cut), self.route.point_from_proportion(1 - cut)
            self.arrow = CurvedArrow(*ends, angle=bend * (1 - 2 * cut), tip_length=0.2, **style)
            middle = self.route.point_from_proportion(0.5)
        else:
            self.route = Line(start, end)
            self.arrow = Arrow(start, end, buff=radius + 0.04, tip_length=0.2, **style)
            middle = self.arrow.get_center()
        self.label = mono(edge.label, LABEL_SIZE)
        self.label.move_to(middle + (0.3 if middle[1] >= start[1] else -0.3) * UP)
        super().__init__(self.arrow, self.label, self.route.set_stroke(width=0))


class Missing(VGroup):
    """The arrow that is not there: what a dead byte would have needed."""

    def __init__(self, state: StateCircle, character: str, angle: float) -> None:
        radius, way = state.ring.width / 2, _at(angle)
        start = state.get_center() + (radius + 0.06) * way
        stub = DashedLine(start, start + 0.5 * way, color=DEAD, stroke_width=5, dash_length=0.1)
        mark = cross().move_to(start + 0.66 * way)
        super().__init__(stub, mark, mono(character, LABEL_SIZE, DEAD).next_to(stub, UP, buff=0.12))


class MachineDrawing(VGroup):
    """A machine as its trace recorded it, in a box of `width` x `height`."""

    def __init__(self, machine: Machine, width: float, height: float = 2.0) -> None:
        points = place(machine, width, height)
        self.states = {s.name: StateCircle(s.name, s.accepting) for s in machine.states}
        for name, (x, y) in points.items():
            self.states[name].move_to([x, y, 0])
        self.edges = {(e.source, e.target): self._edge(e, points) for e in machine.edges}
        first = self.states[machine.states[0].name].ring
        dot = Dot(first.get_left() + 0.75 * LEFT, radius=0.08, color=MUTED)
        self.entry = VGroup(dot, Arrow(dot, first, buff=0.04, tip_length=0.2, color=MUTED, stroke_width=4))
        super().__init__(self.entry, *self.edges.values(), *self.states.values())

    def _edge(self, edge: MachineEdge, points: dict[str, tuple[float, float]]) -> Edge:
        ends = np.array(points[edge.source]), np.array(points[edge.target])
        others = [np.array(at) for name, at in points.items() if name not in (edge.source, edge.target)]
        blocked = any(_distance(at, *ends) < STATE_RADIUS * 1.2 for at in others)
        bend = -np.pi / 3 if blocked or points[edge.source][0] > points[edge.target][0] else 0
        return Edge(edge, self.states[edge.source], self.states[edge.target], bend)

    def inked(self, live: str) -> MachineDrawing:
        """The names of all states in ink, but that of the live one, which the marker fills."""
        for name, state in self.states.items():
            state.label.set_color(BACKGROUND if name == live else INK)
        return self

    def missing(self, state: str, character: str) -> Missing:
        """The arrow that is not there: straight on, or aside where another one leaves."""
        leaves = any(source == state != target for source, target in self.edges)
        return Missing(self.states[state], character, -35 if leaves else 0)

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


def _at(degrees: float) -> NDArray[np.float64]:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle), 0])


def _distance(point: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]) -> float:
    """From a point to a line segment."""
    along = end - start
    share = np.clip((point - start) @ along / max(float(along @ along), 1e-9), 0, 1)
    return float(np.linalg.norm(point - start - share * along))
