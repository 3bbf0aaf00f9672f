"""The masks of a whole machine: how many tokens each state allows, and where each class of tokens leads.

    mask_density(constraint)         a bar a state: allowed of V
    token_state_map(constraint)      rows: classes of tokens that behave alike, columns: states

Left out: a single step (`plots`). Cost: O(V) a state, and one figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_token
from minidecoder.tokens.bitmask import unpack
from minidecoder.viz.chart import MAX_ROWS, add_note, lay_out, percent, plotly_objects, shown
from minidecoder.viz.theme import MONO, Palette, ThemeName, palette
from minidecoder.viz.token_table import TokenTable, states_of, token_table

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["mask_density", "token_state_map"]

_BAR_PX, _CELL_PX = 30, 34
_LOG_FROM: Final = 200  # tokens from which on a linear bar would hide the small ones
_COLUMNS: Final = 12
_NAMED, _LONGEST = 3, 8  # tokens named in a class, and letters of each


def mask_density(
    constraint: Constraint, *, rows: int = MAX_ROWS, title: str | None = None, theme: ThemeName = "light"
) -> go.Figure:
    """A bar for each state between characters: how many tokens, EOS included, its mask lets through. Large
    vocabularies are shown on a logarithmic axis, which says so. `UsageError` for what has no table of states.
    """
    go, colours = plotly_objects(), palette(theme)
    states, size = states_of(constraint), len(constraint.vocabulary)
    counts = [int(unpack(constraint.bitmask(state), size).sum()) for state in states]
    names = [constraint.automaton.name(state) for state in states]
    seen = _at_most(rows, len(states))
    is_log = size >= _LOG_FROM
    figure = go.Figure(_bars(go, counts[:seen], size, is_log, colours))
    key = "tokens allowed" + (", on a logarithmic axis" if is_log else f" of {size:,}")
    lay_out(figure, title or _density_finding(names, counts, size), key, _BAR_PX * seen, colours)
    figure.update_yaxes(tickvals=list(range(seen)), ticktext=names[:seen], range=[seen - 0.5, -0.5])
    figure.update_yaxes(automargin=True, showgrid=False, zeroline=False, ticklabelstandoff=8)
    _count_axis(figure, size, is_log, colours)
    if len(states) > seen:
        add_note(figure, f"and {len(states) - seen:,} more states", colours, down=30 if is_log else 8)
    return figure


def _bars(go: Any, counts: Sequence[int], size: int, is_log: bool, colours: Palette) -> list[Any]:
    lengths = [math.log10(count) if is_log and count else float(count) for count in counts]
    reach = math.log10(size) if is_log else float(size)
    shared: dict[str, Any] = {"orientation": "h", "y": list(range(len(counts))), "hoverinfo": "skip"}
    behind = go.Bar(
        x=[reach] * len(counts), width=0.74, marker={"color": colours.resting, "line": {"width": 0}}, **shared
    )
    front = go.Bar(x=lengths, width=0.38, marker={"color": colours.live, "line": {"width": 0}}, **shared)
    words = go.Scatter(
        mode="text",
        x=[reach] * len(counts),
        y=list(range(len(counts))),
        text=[f" <b>{count:,}</b> · {percent(count / size)}" for count in counts],
        textposition="middle right",
        textfont={"size": 14},
        hoverinfo="skip",
    )
    return [behind, front, words]


def _count_axis(figure: go.Figure, size: int, is_log: bool, colours: Palette) -> None:
    figure.update_layout(barmode="overlay")
    reach = math.log10(size) if is_log else float(size)
    figure.update_xaxes(range=[0, 1.28 * reach], showgrid=False, zeroline=False, visible=is_log)
    if is_log:
        powers = list(range(int(reach) + 1))
        ticks = {"tickvals": powers, "ticktext": [f"{10**power:,}" for power in powers]}
        figure.update_xaxes(**ticks, tickfont={"size": 13, "color": colours.muted})


def _density_finding(names: Sequence[str], counts: Sequence[int], size: int) -> str:
    few, many = (
        min(range(len(counts)), key=counts.__getitem__),
        max(range(len(counts)), key=counts.__getitem__),
    )
    if counts[few] == counts[many]:
        return f"Every state allows {counts[few]:,} of {size:,} tokens"
    least = f"{counts[few]:,} token{'' if counts[few] == 1 else 's'}"
    return f"From {least} in {names[few]} to {counts[many]:,} in {names[many]}, of {size:,}"


# -- tokens × states ------------------------------------------------------------------------------------


def token_state_map(
    constraint: Constraint, *, rows: int = MAX_ROWS, title: str | None = None, theme: ThemeName = "light"
) -> go.Figure:
    """Classes of tokens down, states across: where a class leads, or a cross where it is blocked. Two tokens
    are of one class where they lead to the same state from every state; EOS is none of them, as it leads
    nowhere. `UsageError` for what has no table of states."""
    go, colours = plotly_objects(), palette(theme)
    table = token_table(constraint)
    seen, across = _at_most(rows, len(table.members)), min(_COLUMNS, len(table.states))
    figure = go.Figure(_cells(go, table, seen, across, colours))
    lay_out(
        figure,
        title or _classes_finding(table),
        "the state after a token of the row, from the state of the column · ✕: blocked",
        _CELL_PX * (seen + 1),
        colours,
    )
    figure.update_layout(barmode="overlay", bargap=0, margin={"t": 110}, height=figure.layout.height + 26)
    figure.update_xaxes(tickvals=list(range(across)), ticktext=table.states[:across], side="top")
    figure.update_xaxes(range=[-0.5, across - 0.5], showgrid=False, zeroline=False, ticks="")
    labels = [_members(constraint, members) for members in table.members[:seen]]
    figure.update_yaxes(tickvals=list(range(seen)), ticktext=labels, range=[seen - 0.5, -0.5])
    figure.update_yaxes(
        tickfont={"family": MONO, "size": 14}, automargin=True, showgrid=False, zeroline=False
    )
    hidden = [(len(table.members) - seen, "classes"), (len(table.states) - across, "states")]
    if said := " and ".join(f"{count:,} more {what}" for count, what in hidden if count):
        add_note(figure, f"not shown: {said}", colours)
    return figure


def _cells(go: Any, table: TokenTable, seen: int, across: int, colours: Palette) -> list[Any]:
    """One bar a cell, filled where tokens live, empty with a cross where they die."""
    places = [(row, column) for row in range(seen) for column in range(across)]
    dies = [table.targets[row][column] == "" for row, column in places]
    bars = go.Bar(
        x=[column for _, column in places],
        base=[row - 0.44 for row, _ in places],
        y=[0.88] * len(places),
        width=0.94,
        marker={
            "color": [colours.paper if dead else colours.live for dead in dies],
            "line": {"width": [1 if dead else 0 for dead in dies], "color": colours.resting},
        },
        hoverinfo="skip",
    )
    words = go.Scatter(
        mode="text",
        x=[column for _, column in places],
        y=[row for row, _ in places],
        text=["<b>✕</b>" if dead else table.targets[r][c] for (r, c), dead in zip(places, dies, strict=True)],
        textfont={"size": 14, "color": [colours.dead if dead else colours.paper for dead in dies]},
        hoverinfo="skip",
    )
    return [bars, words]


def _members(constraint: Constraint, members: Sequence[int]) -> str:
    named = [show_token(constraint.vocabulary, token_id) for token_id in members[:_NAMED]]
    words = "  ".join(shown(token, _LONGEST) for token in named)
    return words + (f"  … {len(members):,}" if len(members) > _NAMED else "")


def _classes_finding(table: TokenTable) -> str:
    count, classes = sum(map(len, table.members)), len(table.members)
    ways = "one way" if classes == 1 else f"{classes:,} ways"
    states = "1 state" if len(table.states) == 1 else f"{len(table.states):,} states"
    return f"{count:,} tokens behave in {ways} on {states}"


def _at_most(rows: int, count: int) -> int:
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"rows={rows!r:.40}: a figure has at least one row")
    return min(rows, count)
