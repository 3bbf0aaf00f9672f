"""Where the states of a machine stand: graphviz computes, left to right; without it, a simple order.

`place` gives each state a point in a box. Edges are drawn by `mobjects` between these points.
Left out: edge routes. Cost: one call of `dot`, some 15 ms.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence

from minidecoder.lens.trace import Machine

__all__ = ["place"]

Points = dict[str, tuple[float, float]]


def place(machine: Machine, width: float, height: float) -> Points:
    """State name → (x, y), the whole at most `width` x `height` around the origin, evenly scaled."""
    points = _by_graphviz(machine) if shutil.which("dot") else _by_distance(machine)
    xs, ys = _spread([x for x, _ in points.values()]), _spread([y for _, y in points.values()])
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = min(width / wide if wide else height, height / high if high else width / max(wide, 1))
    return {name: (x * scale, y * scale) for name, x, y in zip(points, xs, ys, strict=True)}


def _spread(values: Sequence[float]) -> list[float]:
    middle = (min(values) + max(values)) / 2
    return [value - middle for value in values]


def _by_graphviz(machine: Machine) -> Points:
    # No labels: they would only make the gaps uneven. Names are quoted as JSON strings, which DOT reads.
    lines = [f"{json.dumps(edge.source)} -> {json.dumps(edge.target)};" for edge in machine.edges]
    lines += [f"{json.dumps(state.name)};" for state in machine.states]
    head = "digraph { rankdir=LR; ranksep=1; node [shape=circle, fixedsize=true, width=0.6];"
    command = ["dot", "-Tjson0"]
    drawn = subprocess.run(
        command, input="\n".join([head, *lines, "}"]), capture_output=True, text=True, check=True, timeout=20
    )
    nodes = json.loads(drawn.stdout)["objects"]
    at = {node["name"]: tuple(map(float, node["pos"].split(","))) for node in nodes}
    return {state.name: (at[state.name][0], at[state.name][1]) for state in machine.states}


def _by_distance(machine: Machine) -> Points:
    """Columns by distance from the start, states of one column below each other."""
    column = {machine.states[0].name: 0}
    for name in (frontier := [machine.states[0].name]):  # grows while it is read: breadth-first
        for edge in machine.edges:
            if edge.source == name and edge.target not in column:
                column[edge.target] = column[name] + 1
                frontier.append(edge.target)
    rows = {
        name: sum(column[other] == c for other in list(column)[:k])
        for k, (name, c) in enumerate(column.items())
    }
    return {name: (float(c), -float(rows[name])) for name, c in column.items()}
