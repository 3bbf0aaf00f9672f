"""What a mask costs by each road, from measured times: the naive walk, the trie, the token classes.

    cost_ladder({"naive": 0.41, "trie": 0.012, "token classes": 3e-5}, references={"one forward pass": 0.055})

Times differ by powers of ten, so the axis is logarithmic and says so, and marks are dots, as a bar would need
a zero. Left out: measuring (`cli.bench`). Cost: one figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import check_type, real_number
from minidecoder.viz.chart import lay_out, plotly_objects, shown
from minidecoder.viz.theme import Palette, ThemeName, palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["cost_ladder", "duration"]

_ROW_PX: Final = 52


def duration(seconds: float) -> str:
    """Three digits at most, in the unit that fits.

    >>> duration(0.41), duration(0.0032), duration(3e-5), duration(2e-9), duration(12.0)
    ('410 ms', '3.2 ms', '30 µs', '2 ns', '12 s')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.9995:
            return f"{_three(seconds * factor)} {unit}"
    return f"{_three(seconds * 1e9)} ns"


def _three(number: float) -> str:
    return f"{number:,.0f}" if number >= 99.5 else f"{float(f'{number:.2g}'):g}"


def cost_ladder(
    seconds: Mapping[str, float],
    *,
    references: Mapping[str, float] | None = None,
    title: str | None = None,
    theme: ThemeName = "light",
) -> go.Figure:
    """A dot for each road, in the order given: `seconds` a mask, by name. `references`: other times to
    compare with, as dotted lines. Raises `UsageError` for none, and for times that are not above 0."""
    go, colours = plotly_objects(), palette(theme)
    times, lines = _checked(seconds, "seconds"), _checked(references or {}, "references")
    if not times:
        raise UsageError("seconds is empty: a ladder has at least one rung, such as {'naive': 0.41}")
    low = math.floor(math.log10(min([*times.values(), *lines.values()])))
    high = math.ceil(math.log10(max([*times.values(), *lines.values()])) + 1e-9)
    figure = go.Figure(_rungs(go, times, high + 0.1 * max(high - low, 1), colours))
    lay_out(
        figure,
        title or _finding(times),
        "seconds a mask, on a logarithmic axis",
        _ROW_PX * len(times),
        colours,
    )
    for name, time in times.items():
        _add_rung(figure, list(times).index(name), low, time, colours)
    for number, (name, time) in enumerate(lines.items()):
        _add_reference(figure, name, time, number, colours)
    powers = list(range(low, high + 1))
    figure.update_layout(
        height=figure.layout.height + 24 * len(lines) + 20, margin={"t": 90 + 24 * len(lines)}
    )
    figure.update_xaxes(
        range=[low, high + 0.6 * max(high - low, 1)],
        tickvals=powers,
        ticktext=[duration(10.0**power) for power in powers],
        tickfont={"size": 13, "color": colours.muted},
        gridcolor=colours.strip,
        zeroline=False,
    )
    rows = list(range(len(times)))
    figure.update_yaxes(tickvals=rows, ticktext=[shown(name, 30) for name in times], automargin=True)
    figure.update_yaxes(range=[len(times) - 0.5, -0.5], showgrid=False, zeroline=False, ticklabelstandoff=8)
    return figure


def _checked(times: Mapping[str, float], name: str) -> dict[str, float]:
    check_type(times, Mapping, name, "{'naive': 0.41, 'trie': 0.012}")
    found = {str(key): real_number(value, f"{name}[{key!r:.40}]") for key, value in times.items()}
    for key, value in found.items():
        if not 0 < value < math.inf:
            raise UsageError(f"{name}[{key!r:.40}]={value}: a time is above 0 and finite, in seconds")
    return found


def _rungs(go: Any, times: dict[str, float], words_at: float, colours: Palette) -> list[Any]:
    """The dots, and to the right of them all, where no line crosses, what they say."""
    slowest = max(times.values())
    words = [
        f"<b>{duration(time)}</b>" + (f" · {_times(slowest / time)} faster" if time < slowest / 1.05 else "")
        for time in times.values()
    ]
    rows = list(range(len(times)))
    dots = go.Scatter(
        mode="markers",
        x=[math.log10(time) for time in times.values()],
        y=rows,
        marker={"size": 16, "color": colours.live},
        hoverinfo="skip",
    )
    said = go.Scatter(
        mode="text",
        x=[words_at] * len(times),
        y=rows,
        text=words,
        textposition="middle right",
        textfont={"size": 15},
        hoverinfo="skip",
    )
    return [dots, said]


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,g} ×" if ratio < 1e6 else f"{ratio:.1e} ×"


def _add_rung(figure: go.Figure, row: int, low: int, time: float, colours: Palette) -> None:
    line = {"color": colours.resting, "width": 6}
    figure.add_shape(type="line", x0=low, x1=math.log10(time), y0=row, y1=row, line=line, layer="below")


def _add_reference(figure: go.Figure, name: str, time: float, number: int, colours: Palette) -> None:
    figure.add_vline(x=math.log10(time), line={"color": colours.muted, "width": 2, "dash": "dot"})
    figure.add_annotation(
        x=math.log10(time),
        y=1,
        yref="paper",
        yanchor="bottom",
        yshift=2 + 22 * number,
        text=f"{shown(name, 40)}: {duration(time)}",
        font={"size": 13, "color": colours.muted},
        showarrow=False,
    )


def _finding(times: dict[str, float]) -> str:
    fast, slow = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
    ratio = times[slow] / times[fast]
    if ratio < 1.05:
        return f"{shown(fast)} takes {duration(times[fast])} a mask"
    return f"{shown(fast)}: {_times(ratio)} faster than {shown(slow)}"
