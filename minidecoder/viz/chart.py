"""What every plotly figure here has in common: paper, type, margins, and text that is shown as it is.

Titles are sentences that state the finding; there are no legends, a line beneath the title names the marks.
Left out: the figures themselves. Cost: plotly is imported when called, which can take seconds the first time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any, Final

from minidecoder.errors import MissingDependencyError
from minidecoder.viz.placed import cut
from minidecoder.viz.theme import MONO, SANS, Palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "MAX_ROWS",
    "WIDTH",
    "add_note",
    "hatched",
    "lay_out",
    "mono",
    "percent",
    "plotly_objects",
    "shown",
]

WIDTH: Final = 820
MAX_ROWS: Final = 15
_LONGEST: Final = 22
_MONO_HTML: Final = MONO.replace("'", "")
_TITLE_PX: Final = 9.6  # the mean width of a letter of a title


def plotly_objects() -> Any:
    """`plotly.graph_objects`; `MissingDependencyError` where plotly is not installed."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingDependencyError("plotly", "notebooks") from None
    return go


def shown(text: str, most: int = _LONGEST) -> str:
    """`text` as plotly shows it literally, cut where long: plotly reads HTML, and TeX in dollars."""
    literal = escape(cut(text, most), quote=False).replace("$", "&#36;")
    # A mark that reads from the left on both sides: a token in another script must not turn its row round.
    return f"\u200e{literal}\u200e" if any("\u0590" <= char <= "\u08ff" for char in text) else literal


def mono(text: str, most: int = _LONGEST) -> str:
    """A token or a text within a sentence."""
    return f"<span style='font-family:{_MONO_HTML}'>{shown(text, most)}</span>"


def percent(probability: float) -> str:
    """`31 %`, `0.4 %`, `< 0.1 %`: as exact as a bar needs.

    >>> percent(0.3149), percent(0.004), percent(1e-9), percent(0.0)
    ('31 %', '0.4 %', '< 0.1 %', '0 %')
    """
    if 0 < probability < 0.001:
        return "< 0.1 %"
    digits = 1 if 0 < probability < 0.0095 else 0
    return f"{100 * probability:.{digits}f} %"


def hatched(blocked: Sequence[bool], colours: Palette) -> dict[str, Any]:
    """The pattern of bars of which some are blocked: hatched in the colour of the dead, on paper."""
    return {
        "shape": ["/" if is_blocked else "" for is_blocked in blocked],
        "fgcolor": [colours.dead] * len(blocked),
        "bgcolor": [colours.paper] * len(blocked),
        "size": 7,
        "solidity": 0.3,
    }


def lay_out(
    figure: go.Figure, title: str, key: str, height: int, colours: Palette, *, width: int = WIDTH
) -> None:
    """Paper, type, title and the line beneath it. `height` is that of the marks alone."""
    figure.update_layout(
        showlegend=False,
        width=width,
        height=height + 130,
        margin={"l": 20, "r": 20, "t": 84, "b": 46},
        paper_bgcolor=colours.paper,
        plot_bgcolor=colours.paper,
        font={"family": SANS, "size": 15, "color": colours.ink},
        hoverlabel={"font": {"family": SANS, "size": 14}},
        title={
            "text": title,
            "x": 0,
            "xref": "container",
            "pad": {"l": 20},
            "font": {"size": _title_size(title, width)},
            "subtitle": {"text": key, "font": {"size": 13, "color": colours.muted}},
        },
    )


def _title_size(title: str, width: int) -> int:
    """18, less where the sentence would not fit the width."""
    letters = len(unescape(re.sub(r"<[^>]*>", "", title)))
    return max(13, min(18, int(18 * (width - 40) / (_TITLE_PX * max(letters, 1)))))


def add_note(figure: go.Figure, text: str, colours: Palette, *, down: int = 8) -> None:
    """A line in the lower left corner, `down` pixels beneath the marks: what is not shown."""
    figure.add_annotation(
        text=text,
        font={"size": 13, "color": colours.muted},
        showarrow=False,
        **{
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": 0,
            "xanchor": "left",
            "yanchor": "top",
            "yshift": -down,
        },
    )
