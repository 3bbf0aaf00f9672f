"""Figures by plotly: what the mask does to a row of logits here, and all the others by their names.

    logits_before_after(step)        bars before and, in front of them, after
    mask_density(constraint)         token_state_map(constraint)
    sampling_orders(logits, ...)     segmentation_tree(text, vocabulary)     cost_ladder(seconds)

A blocked token is told by a cross, a hatched bar and its colour; EOS by its sign; the title is a sentence
that states the finding. `figure.write_image("a.png")` gives a PNG where kaleido and a Chromium are.

Left out: a run in motion (`player`). Cost: one figure of at most 2 x `rows` bars; plotly is imported when
called, which can take seconds the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from minidecoder.errors import UsageError
from minidecoder.lens.trace import Candidate, TraceStep
from minidecoder.viz.chart import add_note, hatched, lay_out, mono, percent, plotly_objects
from minidecoder.viz.chart import shown as literal
from minidecoder.viz.cost_plot import cost_ladder
from minidecoder.viz.mask_plots import mask_density, token_state_map
from minidecoder.viz.sampling_plot import sampling_orders
from minidecoder.viz.segmentation_plot import segmentation_tree
from minidecoder.viz.theme import MONO, SANS, Palette, ThemeName, palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "cost_ladder",
    "finding",
    "logits_before_after",
    "mask_density",
    "percent",
    "sampling_orders",
    "segmentation_tree",
    "token_state_map",
    "top_candidates",
]

_ROW_PX: Final = 30
_KEY: Final = "grey: the model's own probability · blue: after the mask · hatched, ✕: blocked"


def top_candidates(step: TraceStep, rows: int) -> list[Candidate]:
    """The `rows` candidates worth a bar: the likeliest before or after the mask, and always the chosen one.

    They come in the order of the model's own logits, likeliest first.
    """
    ranked = sorted(step.candidates, key=lambda c: (c.token_id != step.token_id, -max(c.before, c.after)))
    kept = {candidate.token_id for candidate in ranked[:rows]}
    return [candidate for candidate in step.candidates if candidate.token_id in kept]


def logits_before_after(
    trace_step: TraceStep,
    *,
    rows: int = 15,
    title: str | None = None,
    vocabulary_size: int | None = None,
    theme: ThemeName = "light",
) -> go.Figure:
    """Bars of the likeliest tokens before (grey) and after (blue) the mask, probabilities at temperature 1.

    `title`: another sentence than the finding. With `vocabulary_size` a last line says how many tokens
    are not shown. Raises `UsageError` for fewer than one row, and for what is no step of a trace.
    """
    if not isinstance(trace_step, TraceStep):
        given = type(trace_step).__name__
        raise UsageError(f"a figure shows one step of a trace, such as run.trace.steps[0], not a {given}")
    if rows < 1:
        raise UsageError(f"rows={rows}: a figure has at least one row")
    go, colours, shown = plotly_objects(), palette(theme), top_candidates(trace_step, rows)
    figure = go.Figure([_before(go, shown, colours), _after(go, shown, colours), _texts(go, shown, colours)])
    _lay_out(figure, title or finding(trace_step), len(shown), colours)
    figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[_name(c, c.token_id == trace_step.token_id, colours) for c in shown],
    )
    if vocabulary_size is not None and vocabulary_size > len(shown):
        add_note(figure, f"and {vocabulary_size - len(shown):,} more tokens", colours)
    return figure


def finding(step: TraceStep) -> str:
    """One sentence: what the mask kept, and whether it overruled the model."""
    if step.feasible_mass is None:
        return "Only the end may follow: the model is not asked"
    if step.state is None:
        return "Without a constraint every token may follow"
    kept = f"The mask keeps {percent(step.feasible_mass)} of the model's probability"
    favourite = next((c for c in step.candidates if c.token_id == step.favourite), None)
    if favourite is None:
        return kept
    label = mono(favourite.label, 16)
    if step.favourite_blocked:
        return f"{kept} and overrules the favourite, {label}"
    return f"{kept}, and the favourite, {label}, is allowed"


def _before(go: Any, shown: Sequence[Candidate], colours: Palette) -> Any:
    return go.Bar(
        name="before the mask",
        orientation="h",
        y=list(range(len(shown))),
        x=[c.before if _was_asked(c) else 0 for c in shown],
        width=0.74,
        marker={
            "color": colours.resting,
            "pattern": hatched([not c.allowed for c in shown], colours),
            "line": {"width": [0 if c.allowed else 1.5 for c in shown], "color": colours.dead},
        },
        customdata=[[literal(c.label, 60), literal(c.why, 200)] for c in shown],
        hovertemplate="%{customdata[0]}: %{x:.1%} before the mask<br>%{customdata[1]}<extra></extra>",
    )


def _after(go: Any, shown: Sequence[Candidate], colours: Palette) -> Any:
    return go.Bar(
        name="after the mask",
        orientation="h",
        y=list(range(len(shown))),
        x=[c.after for c in shown],
        width=0.38,
        marker={"color": colours.live},
        customdata=[[literal(c.label, 60)] for c in shown],
        hovertemplate="%{customdata[0]}: %{x:.1%} after the mask<extra></extra>",
    )


def _texts(go: Any, shown: Sequence[Candidate], colours: Palette) -> Any:
    """The probabilities, written behind the longer bar of each row."""
    return go.Scatter(
        mode="text",
        y=list(range(len(shown))),
        x=[max(c.before, c.after) for c in shown],
        text=[_change(c, colours) for c in shown],
        textposition="middle right",
        textfont={"family": SANS, "size": 14, "color": colours.muted},
        hoverinfo="skip",
    )


def _was_asked(candidate: Candidate) -> bool:
    """Whether a model gave this probability: a forced EOS has none of the model's."""
    return candidate.logit is not None or candidate.before < 1


def _change(candidate: Candidate, colours: Palette) -> str:
    before = literal(percent(candidate.before)) if _was_asked(candidate) else "not asked"
    after = literal(percent(candidate.after)) if candidate.allowed else "✕ blocked"
    colour = colours.live if candidate.allowed else colours.dead
    return f" {before} → <b style='color:{colour}'>{after}</b>"


def _name(candidate: Candidate, drawn: bool, colours: Palette) -> str:
    """A row's label: the token, its cross or EOS colour, and a mark on the one that was drawn."""
    label = literal(candidate.label)
    if not candidate.allowed:
        return f"<span style='color:{colours.dead}'>✕ <s>{label}</s></span>"
    if drawn:
        return f"<b style='color:{colours.live}'>▶ {label}</b>"
    return f"<span style='color:{colours.eos}'>{label}</span>" if candidate.kind == "eos" else label


def _lay_out(figure: go.Figure, title: str, rows: int, colours: Palette) -> None:
    lay_out(figure, title, _KEY, _ROW_PX * rows, colours)
    figure.update_layout(barmode="overlay")
    longest = max(max(bar.x) for bar in figure.data)
    figure.update_xaxes(visible=False, range=[0, 1.35 * longest])
    figure.update_yaxes(
        automargin=True, ticks="", ticklabelstandoff=8, tickfont={"family": MONO, "size": 15}, zeroline=False
    )
    figure.update_yaxes(showgrid=False, range=[rows - 0.5, -0.5])
