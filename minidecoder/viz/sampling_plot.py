"""What becomes of one row of logits in every order of the sampling steps: a grid with the broken ones marked.

    sampling_orders(logits, allowed, Sampling(temperature=0.8, top_k=3, top_p=0.9, min_p=0.1))

The place of the mask runs down, the order of the other steps across. An order breaks where a step leaves no
token to draw, and differs where the probabilities at the end are not those of the house's order.

Left out: what a step does (`decoding.logits`). Cost: 120 pipelines over one short row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from minidecoder.decoding.logits import as_logits, softmax
from minidecoder.decoding.sampling import ORDER, Sampler, Sampling
from minidecoder.errors import EmptyMaskError, UsageError
from minidecoder.tokens.bitmask import Bitmask, pack
from minidecoder.tokens.checks import whole_number
from minidecoder.viz.chart import hatched, lay_out, plotly_objects
from minidecoder.viz.theme import MONO, Palette, ThemeName, palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["STEPS", "Outcome", "order_outcomes", "sampling_orders"]

STEPS: Final = ("mask", "temperature", "top_k", "top_p", "min_p")
_LETTER: Final = {"temperature": "T", "top_k": "K", "top_p": "P", "min_p": "m"}
_PLACE: Final = ("first", "second", "third", "fourth", "last")
_SIGN: Final = {"same": "✓", "differs": "≠", "broken": "✕"}
_WIDTH, _ROW_PX = 1000, 46


@dataclass(frozen=True)
class Outcome:
    """`order`: the five steps; `kind`: whether the row ends as in the house's order; `broken_by`: the step
    that left nothing; `chances`: the probabilities at the end, () where broken."""

    order: tuple[str, ...]
    kind: Literal["same", "differs", "broken"]
    broken_by: str
    chances: tuple[float, ...]


def order_outcomes(logits: ArrayLike, allowed: Collection[int], sampling: Sampling) -> tuple[Outcome, ...]:
    """All 120 orders of the five steps on one row. `allowed`: the ids that the mask lets through.

    Raises `UsageError` for ids that the row has not, `ModelError` for what is no row of logits.
    """
    row = as_logits(logits, len(np.atleast_1d(np.asarray(logits))))
    flags = np.zeros(len(row), dtype=np.bool_)
    for token_id in allowed:
        if not 0 <= whole_number(token_id, "an id in allowed") < len(row):
            raise UsageError(f"allowed names token id {token_id}: the row has ids 0 to {len(row) - 1}")
        flags[token_id] = True
    bitmask = pack(flags)
    house = tuple(name for name in ORDER if name in STEPS)
    _, wanted = _run(row, bitmask, sampling, house)
    return tuple(_outcome(row, bitmask, sampling, order, wanted) for order in permutations(STEPS))


def _outcome(
    row: Any, bitmask: Bitmask, sampling: Sampling, order: tuple[str, ...], wanted: tuple[float, ...]
) -> Outcome:
    broken_by, chances = _run(row, bitmask, sampling, order)
    if broken_by:
        return Outcome(order, "broken", broken_by, ())
    is_same = len(wanted) == len(chances) and np.allclose(wanted, chances, atol=1e-9)
    return Outcome(order, "same" if is_same else "differs", "", chances)


def _run(
    row: Any, bitmask: Bitmask, sampling: Sampling, order: tuple[str, ...]
) -> tuple[str, tuple[float, ...]]:
    try:
        drawn = Sampler(sampling, order).draw(row, bitmask)
    except EmptyMaskError as fault:
        return fault.step, ()
    return "", tuple(softmax(drawn.after).tolist())


def sampling_orders(
    logits: ArrayLike,
    allowed: Collection[int],
    sampling: Sampling,
    *,
    title: str | None = None,
    theme: ThemeName = "light",
) -> go.Figure:
    """The grid of all 120 orders. Errors as `order_outcomes`."""
    go, colours = plotly_objects(), palette(theme)
    outcomes = order_outcomes(logits, allowed, sampling)
    columns = list(permutations(_LETTER))
    figure = go.Figure(_grid(go, outcomes, columns, colours))
    key = "T temperature · K top-k · P top-p · m min-p, in order from above · ✓ as it should be"
    key += " · ≠ other probabilities · hatched, ✕: no token left"
    lay_out(figure, title or _finding(outcomes), key, _ROW_PX * 5 + 90, colours, width=_WIDTH)
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(
        tickvals=list(range(len(columns))),
        ticktext=["<br>".join(_LETTER[name] for name in column) for column in columns],
        tickfont={"family": MONO, "size": 14},
        tickangle=0,
        side="bottom",
        range=[-0.5, len(columns) - 0.5],
    )
    figure.update_xaxes(showgrid=False, zeroline=False, ticks="", automargin=True)
    figure.update_yaxes(
        tickvals=list(range(5)),
        ticktext=[f"mask {place}" for place in _PLACE],
        range=[4.5, -0.5],
        automargin=True,
        showgrid=False,
        zeroline=False,
        ticklabelstandoff=8,
    )
    return figure


def _grid(
    go: Any, outcomes: Sequence[Outcome], columns: Sequence[tuple[str, ...]], colours: Palette
) -> list[Any]:
    x = [columns.index(tuple(name for name in outcome.order if name != "mask")) for outcome in outcomes]
    y = [outcome.order.index("mask") for outcome in outcomes]
    kinds = [outcome.kind for outcome in outcomes]
    fill = {"same": colours.live, "differs": colours.resting, "broken": colours.paper}
    ink = {"same": colours.paper, "differs": colours.ink, "broken": colours.dead}
    bars = go.Bar(
        x=x,
        base=[row - 0.43 for row in y],
        y=[0.86] * len(y),
        width=0.9,
        marker={
            "color": [fill[kind] for kind in kinds],
            "pattern": {
                **hatched([kind == "broken" for kind in kinds], colours),
                "size": 9,
                "solidity": 0.12,
            },
            "line": {"width": [1 if kind == "broken" else 0 for kind in kinds], "color": colours.dead},
        },
        hoverinfo="skip",
    )
    words = go.Scatter(
        mode="text",
        x=x,
        y=y,
        text=[f"<b>{_SIGN[kind]}</b>" for kind in kinds],
        textfont={"size": 16, "color": [ink[kind] for kind in kinds]},
        customdata=[[" → ".join(o.order), _said(o)] for o in outcomes],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    )
    return [bars, words]


def _said(outcome: Outcome) -> str:
    if outcome.kind == "broken":
        return f"after {outcome.broken_by} no token is left"
    return "as it should be" if outcome.kind == "same" else "other probabilities"


def _finding(outcomes: Sequence[Outcome]) -> str:
    broken = [outcome for outcome in outcomes if outcome.kind == "broken"]
    if not broken:
        differ = sum(outcome.kind == "differs" for outcome in outcomes)
        return f"On this row no order breaks, and {differ} of {len(outcomes)} draw with other probabilities"
    at = Counter(outcome.order.index("mask") for outcome in broken)
    first = "none" if not at[0] else f"{at[0]}"
    return f"{len(broken)} of {len(outcomes)} orders leave nothing to draw; with the mask first {first} of 24"
