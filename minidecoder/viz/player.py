"""A run to step through: in a notebook as a widget, elsewhere as one HTML file, by the same module.

    show(run.trace)                        # in JupyterLab
    save(run.trace, "price.html")          # opens by double-click, without kernel or network

The trace and the drawn machine are sent once; `machine.mjs` and `player.mjs` do the rest. Where there is
no widget, the picture and the table of `Player`'s mime bundle remain.

Left out: anything that needs a kernel. Cost: one drawing, and a page of 40 KB plus the trace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from minidecoder.errors import MissingDependencyError
from minidecoder.lens.trace import Trace
from minidecoder.viz.graph import draw
from minidecoder.viz.plots import top_candidates
from minidecoder.viz.still import still_svg, still_text
from minidecoder.viz.theme import css_variables

__all__ = ["save", "show"]

ROWS: Final = 15
_HERE: Final = files("minidecoder.viz")


def show(trace: Trace) -> Any:
    """The player of a trace as a widget, whose keys are ← → Home End, Space, b and ?.

    Raises `MissingDependencyError` where anywidget is not installed, or nothing can draw the machine.
    """
    return _player_class()(trace)


def save(trace: Trace, path: str | Path) -> Path:
    """Write the player as one self-contained HTML file; its path comes back."""
    path = Path(path)
    path.write_text(_page(trace), encoding="utf-8")
    return path


@cache
def _player_class() -> type[Any]:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingDependencyError("anywidget", "notebooks") from None

    class Player(anywidget.AnyWidget):
        """The player. `recording` is what `player.mjs` reads: {trace, svg}, sent once."""

        _esm = _module()
        _css = _style()
        recording = traitlets.Dict(read_only=True).tag(sync=True)

        def __init__(self, trace: Trace) -> None:
            self.trace = trace
            super().__init__()
            self.set_trait("recording", _recording(trace))

        def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
            bundle = super()._repr_mimebundle_(**kwargs)
            if bundle is None:
                return None
            picture = still_svg(self.trace, self.recording["svg"])
            return {**bundle[0], "image/svg+xml": picture, "text/plain": still_text(self.trace)}, bundle[1]

    return Player


def _recording(trace: Trace) -> dict[str, Any]:
    """What the page needs: of each step only the candidates that get a bar."""
    steps = tuple(replace(step, candidates=tuple(top_candidates(step, ROWS))) for step in trace.steps)
    # Six digits are more than a bar shows, and make the page smaller by a tenth.
    data = json.loads(
        replace(trace, steps=steps).to_json(), parse_float=lambda text: float(f"{float(text):.6g}")
    )
    return {"trace": data, "svg": _machine_svg(trace)}


def _machine_svg(trace: Trace) -> str:
    if trace.machine is None:
        return ""
    names = {state.name for state in trace.machine.states}
    visited = {stop for step in trace.steps for stop in (step.state, *(move.state for move in step.path))}
    return draw(trace.machine, keep=sorted(names.intersection(filter(None, visited)))).svg


def _source(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def _module() -> str:
    return _source("machine.mjs") + _source("player.mjs")


def _style() -> str:
    return css_variables(".mdp") + _source("player.css")


def _page(trace: Trace) -> str:
    # subtle: inside a script element only `<` can end it or open a comment; JSON may always write it \u003c.
    data = json.dumps(_recording(trace), separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": escape(f"{trace.pattern or 'A run'} – minidecoder player"),
        "style": _style(),
        "data": data,
        "module": _module(),
    }
    return _fill(_PAGE, parts)


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """Put the parts in their places; a part that looks like a place stays as it is."""
    pieces = template.split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


# A module from another file cannot be loaded from file://, so it stands inline; the policy forbids all else.
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<title>%%title%%</title>
<style>
body { margin: 0; }
%%style%%
</style>
</head>
<body>
<main id="player"></main>
<script type="application/json" id="recording">%%data%%</script>
<script type="module">
%%module%%
const recording = JSON.parse(document.getElementById("recording").textContent);
render({ model: { get: () => recording }, el: document.getElementById("player") });
document.querySelector(".mdp").focus();
</script>
</body>
</html>
"""
