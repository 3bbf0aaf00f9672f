"""Labels moved a little, where they would lie on a line, on a circle or on each other.

Graphviz keeps room for each label, but not for those of loops, and lines pass close by. Every label is tried
at a few places around its own; it goes where it touches least. Labels of chains stay above their beads.

Left out: moving anything else. Cost: O(labels x points of lines), a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.viz.placed import CELL, RADIUS, Placed, Point, cells

__all__ = ["nudge_labels"]

_HEIGHT: Final = 15.0
_SHIFTS: Final = [
    (x, y)
    for y in (4, 0, 8, -4, 12, -8, -14, 18, 24, -20, 34, 48)  # first a little up, off its own line
    for x in ((0, 12, -12) if abs(y) < 20 else (0,))
]
_SAMPLES: Final = 12  # points looked at on each piece of a spline


def nudge_labels(placed: Placed, fixed: set[tuple[str, str]]) -> None:
    """Move the labels of all edges but the `fixed` ones, the longest first."""
    lines = _points(placed)
    rings = np.array([at for name, at in placed.states.items() if name not in placed.beads]).reshape(-1, 2)
    taken = [_box(at, label) for at, label in placed.more.values()]
    free: list[tuple[tuple[str, str], Point, str]] = []
    for pair, line in placed.lines.items():
        if line.label_at and pair in fixed:
            taken.append(_box(line.label_at, line.label))
        elif line.label_at and line.label:
            free.append((pair, line.label_at, line.label))
    for pair, at, label in sorted(free, key=lambda item: -len(item[2])):
        best = _best(partial(_touched, label=label, lines=lines, rings=rings, taken=taken), at)
        placed.lines[pair] = replace(placed.lines[pair], label_at=best)
        taken.append(_box(best, label))


def _best(touched: Callable[[Point], float], at: Point) -> Point:
    """The first place that touches nothing, or else the one that touches least."""
    costs: list[tuple[float, Point]] = []
    for x, y in _SHIFTS:
        place = Point(at.x + x, at.y + y)
        costs.append((touched(place), place))
        if costs[-1][0] == 0:
            return place
    return min(costs, key=lambda pair: pair[0])[1]


def _box(at: Point, label: str) -> tuple[float, float, float, float]:
    half = CELL * cells(label) / 2
    return at.x - half, at.x + half, at.y - _HEIGHT / 2, at.y + _HEIGHT / 2


def _touched(
    at: Point,
    label: str,
    lines: NDArray[np.float64],
    rings: NDArray[np.float64],
    taken: Iterable[tuple[float, float, float, float]],
) -> float:
    """How much a label touches here: other labels count most, then circles, then points of lines."""
    left, right, low, high = _box(at, label)
    labels = sum(left < b[1] + 3 and b[0] - 3 < right and low < b[3] and b[2] < high for b in taken)
    dx = np.maximum(np.maximum(left - rings[:, 0], rings[:, 0] - right), 0)
    dy = np.maximum(np.maximum(low - rings[:, 1], rings[:, 1] - high), 0)
    circles = int((np.hypot(dx, dy) < RADIUS + 1).sum())
    x, y = lines[:, 0], lines[:, 1]
    crossed = int(((left < x) & (x < right) & (low < y) & (y < high)).sum())
    return 100.0 * labels + 60.0 * circles + 4.0 * crossed


def _points(placed: Placed) -> NDArray[np.float64]:
    """Points along all lines."""
    t = np.linspace(0, 1, _SAMPLES)[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])  # of a cubic Bézier
    pieces = [
        line.points[i : i + 4] for line in placed.lines.values() for i in range(0, len(line.points) - 3, 3)
    ]
    found = [weights @ np.array(piece) for piece in pieces]
    tips = [line.tip for line in placed.lines.values() if line.tip]
    return np.vstack([*found, np.array(tips).reshape(-1, 2)]) if found else np.zeros((0, 2))
