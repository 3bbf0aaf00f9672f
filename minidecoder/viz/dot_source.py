"""A placed machine as DOT text: shapes, colours and marks, each part with its place, id and classes.

States are equal circles, a double ring accepts, the live state is filled; free moves are dotted, and where a
token dies a cross stands at the end of a dashed way out. No part has its place from here: `placing` gave it.

Left out: what graphviz makes of it (`layout`, `tidy`). Cost: O(what is drawn).
"""

from __future__ import annotations

from typing import Final

from minidecoder.lens.trace import MachineState
from minidecoder.viz.diagram import Arc, Diagram
from minidecoder.viz.marks import Marks
from minidecoder.viz.neighbourhood import Part
from minidecoder.viz.placed import BIG_MARKS, RADIUS, Line, Placed, Point, cut, quoted, straight
from minidecoder.viz.theme import Palette

__all__ = ["dot_source", "edge_id"]

_MARGIN: Final = 18
_STUB: Final = 15  # the dashed way out, and then the cross
_SMALL: Final = "width=0.3 height=0.2"
_NOTE_PX: Final = 6.6  # the mean width of a letter of a note at 13 points


class _Writer:
    """Collects lines; knows the places, the marks and the colours."""

    def __init__(self, placed: Placed, marks: Marks, colours: Palette, end: str) -> None:
        self.placed, self.marks, self.colours, self.end = placed, marks, colours, end
        self.ids = {name: f"n{number}" for number, name in enumerate(placed.states)}
        self.grey = f'color="{colours.muted}" penwidth=1.5'
        self.lines = [
            f'bgcolor="{colours.paper}" pad=0 outputorder=edgesfirst',
            f"node [shape=circle fixedsize=true fontname=Helvetica fontsize=15 {self.grey}]",
            f"edge [fontname=Courier fontsize=14 arrowsize=0.7 {self.grey}]",
        ]

    # -- states -----------------------------------------------------------------------------------

    def state(self, state: MachineState) -> None:
        name, at = state.name, self.placed.states[state.name]
        look = self._bead(name) if name in self.placed.beads else self._circle(state)
        classes = ["state", *(["bead"] if name in self.placed.beads else [])]
        classes += ["accepting"] * state.accepting + ["reached"] * (name == self.marks.reached)
        classes += ["live"] * (name in self.marks.live) + ["died"] * (name == self.marks.died_in)
        ident = f'id={quoted("state-" + name)} class="{" ".join(classes)}"'
        self.lines.append(f"{self.ids[name]} [{_pos(at)} {ident} {look}]")

    def _circle(self, state: MachineState) -> str:
        name, colours = state.name, self.colours
        width = 0.51 if state.accepting else 0.62  # the second ring lies 4 points outside: + 8/72 inches
        size = 15 if len(name) <= 3 else 13 if len(name) == 4 else 12
        look = f"label={quoted(cut(name, 6))} fontsize={size} width={width} "
        ink, ring = colours.ink, colours.accepting if state.accepting else colours.muted
        if name == self.end:
            return f'label="■" fontsize=20 width=0.62 fontcolor="{colours.eos}" color="{colours.eos}"'
        if state.accepting:
            look += "peripheries=2 "
        if name == self.marks.reached:
            ring, look = colours.live, look + "penwidth=3 "
        if name in self.marks.live:
            ring = ring if state.accepting else colours.live
            ink, look = colours.paper, look + f'style=filled fillcolor="{colours.live}" penwidth=3 '
        return f'{look}fontcolor="{ink}" color="{ring}"'

    def _bead(self, name: str) -> str:
        width = 0.02 if name in self.placed.squeezed else 0.1
        if name in self.marks.named():
            width = 0.19
        fill = self.colours.live if name in self.marks.live else self.colours.paper
        ring = self.colours.live if name in {*self.marks.live, self.marks.reached} else self.colours.muted
        return f'label="" width={width} style=filled fillcolor="{fill}" color="{ring}"'

    def bead_names(self) -> dict[str, float]:
        """How far beneath the names of beads go: in turn on two lines, so that neighbours do not touch."""
        beads = [name for name in self.placed.states if name in self.placed.beads]
        return {name: (40.0 if number % 2 else 24.0) for number, name in enumerate(beads)}

    def name_beads(self) -> None:
        for name, drop in self.bead_names().items():
            if name in self.marks.named():
                at = Point(self.placed.states[name].x, self.placed.states[name].y - drop + 5)
                look = f'shape=none label={quoted(name)} fontsize=14 fontcolor="{self.colours.ink}"'
                self.lines.append(
                    f'{self.ids[name]}name [class="bead-name" {_pos(at)} {look} width=0.4 height=0.2]'
                )

    # -- edges ------------------------------------------------------------------------------------

    def edge(self, arc: Arc) -> None:
        line, colours = self.placed.lines[arc.pair], self.colours
        classes = [arc.kind, *(["path"] if arc.pair in self.marks.edges else [])]
        look = (
            f'id={quoted(edge_id(arc))} class="{" ".join(classes)}" {_line(line)} label={quoted(line.label)}'
        )
        look += f' fontcolor="{colours.eos if arc.kind == "end" else colours.ink}"'
        if line.label in BIG_MARKS:
            look += ' fontsize=22 fontname="Courier-Bold"'
        if line.tip is None:
            look += " arrowhead=none"
        if arc.kind == "free":
            look += " style=dotted"
        if arc.kind == "calls":
            look += " style=bold"
        if arc.pair in self.marks.edges:
            look += f' color="{colours.live}" penwidth=3'
        self.lines.append(f"{self.ids[arc.source]} -> {self.ids[arc.target]} [{look}]")

    def start(self, name: str) -> None:
        if self.placed.start_dot is None:
            return
        look = f'shape=point width=0.1 id="start" class="start" fillcolor="{self.colours.muted}"'
        self.lines.append(f"start [{_pos(self.placed.start_dot)} {look}]")
        line = _line(self.placed.lines["", name])
        self.lines.append(f'start -> {self.ids[name]} [id="edge-start" class="start" {line}]')

    def border(self) -> None:
        """At the border of a part: dotted ways on, with the number of states behind them."""
        for number, (key, (at, label)) in enumerate(self.placed.more.items()):
            is_onward = key[1] == "+"
            name = key[0] if is_onward else key[1]
            text = f'shape=none label={quoted(label)} fontsize=13 fontcolor="{self.colours.muted}"'
            self.lines.append(f'm{number} [{_pos(at)} class="more" {text} {_SMALL}]')
            ends = (self.ids[name], f"m{number}") if is_onward else (f"m{number}", self.ids[name])
            head = " arrowhead=none" if is_onward else ""
            line = _line(self.placed.lines[key])
            self.lines.append(f'{ends[0]} -> {ends[1]} [class="more" {line} style=dotted{head}]')

    # -- what lies around ---------------------------------------------------------------------------

    def cross(self) -> None:
        """A dashed way out of the state in which a token dies, to a cross and the byte it died of."""
        if self.marks.died_in not in self.placed.states:
            return
        at, dead = self.placed.states[self.marks.died_in], self.colours.dead
        radius = 6 if self.marks.died_in in self.placed.beads else RADIUS
        across, up = self._free_side(at, radius)
        end = Point(at.x + across * (radius + _STUB), at.y + up * (radius + _STUB))
        sign = Point(end.x + across * 9, end.y + up * 9)
        look = f'shape=none label="✕" fontsize=24 fontcolor="{dead}" width=0.3 height=0.3'
        self.lines.append(f'dead [id="dead" class="dead" {_pos(sign)} {look}]')
        begin = Point(at.x + across * radius, at.y + up * radius)
        way = f'pos="{Line(straight(begin, end), None, None, "").pos()}"'
        stub = f'{way} style=dashed arrowhead=none color="{dead}" penwidth=2.5'
        self.lines.append(f'{self.ids[self.marks.died_in]} -> dead [id="edge-dead" class="dead" {stub}]')
        if self.marks.died_of:
            beside = Point(sign.x + 16 + 4.2 * len(self.marks.died_of), sign.y)
            byte = (
                f'shape=none label={quoted(self.marks.died_of)} fontname=Courier fontcolor="{dead}" {_SMALL}'
            )
            self.lines.append(f'deadbyte [class="dead" {_pos(beside)} {byte}]')

    def _free_side(self, at: Point, radius: float) -> tuple[float, float]:
        """The direction in which a cross touches least: down, if nothing lies there."""
        sides = [(0.0, -1.0), (0.0, 1.0), (0.6, -0.8), (-0.6, -0.8), (0.6, 0.8), (-0.6, 0.8)]
        states, lines = list(self.placed.states.values()), self.placed.lines.values()
        things = [*states, *(line.label_at for line in lines if line.label_at)]
        things += [point for line in lines for point in line.points]

        def touched(side: tuple[float, float]) -> int:
            reach = radius + _STUB + 8
            x, y = at.x + side[0] * reach, at.y + side[1] * reach
            rings = sum(
                abs(s.x - x) < RADIUS + 10 and abs(s.y - y) < RADIUS + 8 for s in self.placed.states.values()
            )
            return 3 * rings + sum(abs(p.x - x) < 14 and abs(p.y - y) < 14 for p in things)

        return min(sides, key=touched)

    def _crosses_above(self, height: float) -> list[float]:
        """How high the crosses go that would stand above the highest states, whether or not one is drawn."""
        reach = RADIUS + _STUB + 18
        high = [at for at in self.placed.states.values() if at.y + reach > height]
        return [at.y + reach for at in high if self._free_side(at, RADIUS)[1] > 0]

    def frame(self, note: str) -> None:
        """Two corners that nobody sees, so that a mark never changes the size; the note in the lower left."""
        width, height = self.placed.size
        low = -_MARGIN - 26 - (22 if note else 0)
        labels = [line.label_at for line in self.placed.lines.values() if line.label_at]
        top = max([height, *(at.y + 8 for at in labels), *self._crosses_above(height)]) + _MARGIN
        right = max(width + _MARGIN, _NOTE_PX * len(note) + _MARGIN)
        for name, at in (("corner0", Point(-_MARGIN, low)), ("corner1", Point(right, top))):
            self.lines.append(f"{name} [shape=point width=0.01 style=invis {_pos(at)}]")
        if note:
            text = f'label={quoted(note)} fontsize=13 fontcolor="{self.colours.muted}"'
            at = Point(_NOTE_PX * len(note) / 2, low + 10)
            self.lines.append(f'note [class="note" shape=none {text} width=0.1 height=0.1 {_pos(at)}]')


def dot_source(
    diagram: Diagram, part: Part, placed: Placed, marks: Marks, note: str, colours: Palette
) -> tuple[str, dict[str, float]]:
    """The DOT text, and how far beneath each bead its name goes."""
    writer = _Writer(placed, marks, colours, diagram.end)
    writer.start(diagram.start)
    for state in diagram.states:
        if state.name in placed.states:
            writer.state(state)
    for arc in (*part.plain, *(arc for chain in part.chains for arc in chain)):
        writer.edge(arc)
    writer.border()
    writer.name_beads()
    writer.cross()
    writer.frame(note)
    return "digraph {\n" + "\n".join(writer.lines) + "\n}\n", writer.bead_names()


def edge_id(arc: Arc) -> str:
    return f"edge-{arc.source}-{arc.target}"


def _pos(at: Point) -> str:
    return f'pos="{at.x:.2f},{at.y:.2f}"'


def _line(line: Line) -> str:
    label = f' lp="{line.label_at.x:.2f},{line.label_at.y:.2f}"' if line.label_at else ""
    return f'pos="{line.pos()}"{label}'
