"""Where everything stands: graphviz lays out the bare machine, and a chain is put on its line bead by bead.

Nothing of what a picture points at takes part (no live state, no path, no theme), so a machine stands still
while it is stepped through.

Left out: how it looks (`dot_source`), where labels go that touch (`nudging`).
Cost: one layout, some 15 ms; the last 64 are kept (`layout`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from minidecoder.viz.layout import lay_out
from minidecoder.viz.neighbourhood import Chain, Part
from minidecoder.viz.nudging import nudge_labels
from minidecoder.viz.placed import BIG_MARKS, CELL, Line, Placed, Point, cells, quoted, shown_label, straight

__all__ = ["place"]

_PITCH: Final = 14.0  # from bead to bead: under each letter of the text
_LIFT: Final = 14.0  # from a chain's line to the middle of its text
_HEAD, _TAIL = 12, 8  # the edges of a very long chain that are drawn; between them an ellipsis
_GAP: Final = 26.0  # in which all the others lie


@lru_cache(maxsize=16)
def place(part: Part, start: str) -> Placed:
    """Lay out what is drawn; nobody changes what comes back. `MissingDependencyError` where nothing can."""
    layout = _Layout(part, start)
    back = layout.chains_that_lead_back()
    return (layout if not back else _Layout(part, start, back)).placed(back)


class _Layout:
    """What graphviz made of the bare machine. `back`: numbers of chains that lead to the left; their text
    still runs to the right, so the line turns at its end and comes back beneath."""

    def __init__(self, part: Part, start: str, back: frozenset[int] = frozenset()) -> None:
        self.part, self.start = part, start
        self.ids = {name: f"n{i}" for i, name in enumerate(part.nodes)}
        layout = json.loads(lay_out(_source(part, self.ids, start, back)))
        nodes, edges = layout.get("objects", ()), layout.get("edges", ())
        self.points = {node["name"]: _point(node["pos"]) for node in nodes if "pos" in node}
        names = {node["_gvid"]: node["name"] for node in nodes}
        self.lines = {(names[edge["tail"]], names[edge["head"]]): _line(edge) for edge in edges}
        self.size = Point(*(float(number) for number in layout["bb"].split(",")[2:]))

    def chains_that_lead_back(self) -> frozenset[int]:
        ends = (self.points[self.ids[chain[-1].target]] for chain in self.part.chains)
        return frozenset(i for i, end in enumerate(ends) if end.x < self.points[f"c{i}"].x)

    def placed(self, back: frozenset[int]) -> Placed:
        part, ids, lines = self.part, self.ids, self.lines
        placed = Placed(self.size, {name: self.points[ids[name]] for name in part.nodes})
        for arc in part.plain:
            line = lines[ids[arc.source], ids[arc.target]]
            placed.lines[arc.pair] = Line(line.points, line.tip, line.label_at, shown_label(arc))
        for number, chain in enumerate(part.chains):
            middle = f"c{number}"
            into, out = lines[ids[chain[0].source], middle], lines[middle, ids[chain[-1].target]]
            _string_beads(
                placed,
                chain,
                self.points[middle],
                into,
                _turned(out, chain, self.points[middle], number in back),
            )
        self._place_border(placed)
        if self.start in ids:
            placed.start_dot = self.points["start"]
            placed.lines["", self.start] = lines["start", ids[self.start]]
        nudge_labels(placed, {arc.pair for chain in part.chains for arc in chain})
        return placed

    def _place_border(self, placed: Placed) -> None:
        for name, is_onward, count in self.part.more:
            key = (name, "+") if is_onward else ("+", name)
            node, stub = self.ids[name], f"{self.ids[name]}{'o' if is_onward else 'i'}"
            placed.more[key] = self.points[stub], "…" if count == 1 else f"+{count:,}"
            placed.lines[key] = self.lines[(node, stub) if is_onward else (stub, node)]


def _turned(out: Line, chain: Chain, middle: Point, leads_back: bool) -> Line:
    """The way out of a chain that leads back: a turn at its right end, then beneath it to where it leaves."""
    if not leads_back:
        return out
    right, low = Point(middle.x + sum(_pitches(chain)) / 2, middle.y), out.points[0]
    corner = Point(right.x, low.y)
    turn = (right, Point(right.x + 18, right.y), Point(corner.x + 18, corner.y), corner)
    return Line((*turn, *straight(corner, low)[1:], *out.points[1:]), out.tip, None, "")


def _source(part: Part, ids: dict[str, str], start: str, back: frozenset[int]) -> str:
    lines = [
        "rankdir=LR nodesep=0.35 ranksep=0.25 splines=true",
        'node [shape=circle fixedsize=true width=0.62 label=""]',
        "edge [fontname=Courier fontsize=14 arrowsize=0.7]",
    ]
    if start in ids:
        lines += ["start [width=0.1]", f"start -> {ids[start]}"]
    lines += ids.values()
    for arc in part.plain:
        big = " fontsize=22" if arc.label in BIG_MARKS else ""
        lines.append(f"{ids[arc.source]} -> {ids[arc.target]} [label={quoted(shown_label(arc))}{big}]")
    for number, chain in enumerate(part.chains):
        width = sum(_pitches(chain))
        lines.append(f"c{number} [shape=box width={width / 72:.3f} height=0.6]")
        lines.append(f"{ids[chain[0].source]} -> c{number}:w [arrowhead=none weight=20]")
        way_out, weight = ("sw", 1) if number in back else ("e", 20)
        lines.append(f"c{number}:{way_out} -> {ids[chain[-1].target]} [weight={weight}]")
    for name, is_onward, count in part.more:
        node = f"{ids[name]}{'o' if is_onward else 'i'}"
        lines.append(f"{node} [shape=box height=0.25 width={0.2 + 0.12 * len(str(count)):.2f}]")
        lines.append(f"{ids[name]} -> {node} [arrowhead=none]" if is_onward else f"{node} -> {ids[name]}")
    return "digraph {\n" + "\n".join(lines) + "\n}\n"


# -- chains -----------------------------------------------------------------------------------------


def _pitches(chain: Chain) -> list[float]:
    """How long each edge of a chain is drawn: as its label needs; in the middle of a long one, hardly."""
    pitches = [max(_PITCH, CELL * cells(shown_label(arc)) + 6) for arc in chain]
    if len(chain) > _HEAD + _TAIL + 6:
        inner = len(chain) - _HEAD - _TAIL
        pitches[_HEAD:-_TAIL] = [_GAP / inner] * inner
    return pitches


def _string_beads(placed: Placed, chain: Chain, middle: Point, into: Line, out: Line) -> None:
    pitches = _pitches(chain)
    at = Point(middle.x - sum(pitches) / 2, middle.y)
    is_squeezed = len(chain) > _HEAD + _TAIL + 6
    for number, (arc, pitch) in enumerate(zip(chain, pitches, strict=True)):
        following = Point(at.x + pitch, at.y)
        points, tip = straight(at, following), None
        if number == 0:
            points = (*into.points, *straight(into.points[-1], following)[1:])
        if number == len(chain) - 1:
            points, tip = (*straight(at, out.points[0]), *out.points[1:]), out.tip
        label, label_at = shown_label(arc), Point(at.x + pitch / 2, at.y + _LIFT)
        if is_squeezed and _HEAD <= number < len(chain) - _TAIL:
            label = "…" if number == (len(chain) + _HEAD - _TAIL) // 2 else ""
            placed.squeezed.add(arc.target)
        placed.lines[arc.pair] = Line(points, tip, label_at, label)
        if number < len(chain) - 1:
            placed.states[arc.target] = following
            placed.beads.add(arc.target)
        at = following


# -- graphviz's numbers ------------------------------------------------------------------------------


def _point(text: str) -> Point:
    x, y = text.split(",")[:2]
    return Point(float(x), float(y))


def _line(edge: dict[str, Any]) -> Line:
    words = edge["pos"].split()
    ends = {word[0]: _point(word[2:]) for word in words if word[:2] in ("e,", "s,")}
    points = tuple(_point(word) for word in words if word[:2] not in ("e,", "s,"))
    return Line(points, ends.get("e"), _point(edge["lp"]) if "lp" in edge else None, "")
