"""A run that does not move: a table as text, and the machine with the same table beneath as one SVG.

It is what remains of the player where there is no widget: on a code host, in an exported page, in a mail.

Left out: the tokens that were not drawn (`player`, `plots`). Cost: a line a step, at most `ROWS` in the SVG.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from minidecoder.lens.labels import show_text
from minidecoder.lens.trace import Trace, TraceStep
from minidecoder.viz.plots import percent
from minidecoder.viz.theme import MONO, SANS, palette

__all__ = ["still_svg", "still_text"]

ROWS: Final = 12
_COLOURS: Final = palette("light")
_LINE: Final = 28
_LABEL: Final = 16  # characters of a token shown
_MONO_PX: Final = 9.1  # the width of a character at 15 px


def still_text(trace: Trace) -> str:
    """The run as a table: step, state, token, state after, and what the mask did."""
    steps = enumerate(trace.steps, start=1)
    rows = [("step", "state", "token", "after", "mask"), *(_cells(trace, step, n) for n, step in steps)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([_heading(trace), *map(str.rstrip, lines)])


def still_svg(trace: Trace, machine_svg: str = "") -> str:
    """The same as one picture, on white paper, under the machine as `graph.draw` gave it ("": none)."""
    width, height = _size(machine_svg)
    steps = trace.steps[:ROWS]
    lines = [_text(20, 0, _heading(trace), "ink", MONO)]
    lines += [_row(_cells(trace, step, n), step, n) for n, step in enumerate(steps, start=1)]
    if len(trace.steps) > ROWS:
        lines.append(_text(56, ROWS + 1, f"and {len(trace.steps) - ROWS} more steps", "muted", SANS))
    width, whole = max(width, 820), height + _LINE * (len(lines) + 1)
    size = f'width="{width}" height="{whole}" viewBox="0 0 {width} {whole}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'role="img" aria-label="{escape(_heading(trace))}">'
        f'<rect width="100%" height="100%" fill="{_COLOURS.paper}"/>{machine_svg}'
        f'<g transform="translate(0 {height + _LINE})" font-size="15">{"".join(lines)}</g></svg>'
    )


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _heading(trace: Trace) -> str:
    return f"{trace.pattern or 'no constraint'}  →  {show_text(trace.text)}"


def _cells(trace: Trace, step: TraceStep, number: int) -> tuple[str, str, str, str, str]:
    kept = f"mass kept {percent(step.feasible_mass)}" if step.feasible_mass is not None else "model not asked"
    overruled = " · favourite ✕ blocked" if step.favourite_blocked else ""
    mask = f"allowed {step.allowed_count:,} of {trace.vocabulary_size:,} · {kept}{overruled}"
    label = step.label if len(step.label) <= _LABEL else step.label[: _LABEL - 1] + "…"
    return str(number), step.state or "–", label, step.state_after or "–", mask


def _row(cells: tuple[str, ...], step: TraceStep, line: int) -> str:
    number, before, token, after, mask = cells
    top = line * _LINE - 17
    token = token.removeprefix("■ ")
    block = max(len(token) * _MONO_PX + 12, 22)
    sign = (
        f'<rect x="104" y="{line * _LINE - 10}" width="9" height="9" fill="{_COLOURS.eos}"/>'
        if step.is_eos
        else ""
    )
    return "".join(
        [
            _text(20, line, number, "muted", SANS),
            _text(56, line, before, "ink", SANS),
            f'<rect x="118" y="{top}" width="{block:.0f}" height="24" fill="{_COLOURS.strip}"/>',
            sign,
            _text(124, line, token, "eos" if step.is_eos else "ink", MONO),
            _text(300, line, f"→ {after}", "ink", SANS),
            _text(370, line, mask, "dead" if step.favourite_blocked else "muted", SANS),
        ]
    )


def _text(x: int, line: int, text: str, role: str, family: str) -> str:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    fill = getattr(_COLOURS, role)
    return f'<text x="{x}" y="{line * _LINE}" font-family="{family}" fill="{fill}">{escape(shown)}</text>'
