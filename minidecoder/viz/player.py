"""A run to step through: in a notebook as a widget, elsewhere as one HTML file, by the same module.

    show(run)                              # in JupyterLab; a run or its trace
    save(run, "price.html")                # opens by double-click, without kernel or network

The trace and the drawn machine are sent once; the three `.mjs` files do the rest. Where there is
no widget, the picture and the table of `Player`'s mime bundle remain.

Left out: anything that needs a kernel. Cost: one drawing, and a page of 40 KB plus the trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Protocol

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.lens.trace import Machine, Trace
from minidecoder.viz.graph import draw
from minidecoder.viz.layout import write_file
from minidecoder.viz.plots import top_candidates
from minidecoder.viz.still import still_svg, still_text
from minidecoder.viz.theme import css_variables

__all__ = ["save", "show"]

ROWS: Final = 15
_SAID_BY_CSS: Final = (
    r' (font-family="[^"]*"|fill="[^"]*"|stroke="[^"]*"|stroke-width="1.5"|text-anchor="middle"'
    r'|font-size="14(.00)?")'
)
_HERE: Final = files("minidecoder.viz")


class _HasTrace(Protocol):
    @property
    def trace(self) -> Trace: ...


def show(run: Trace | _HasTrace) -> Any:
    """The player of a run, or of its trace, as a widget, whose keys are ← → Home End, Space, b, f, t and ?.

    Raises `UsageError` for anything without a trace, `MissingDependencyError` where anywidget is not
    installed, or nothing can draw the machine.
    """
    return _player_class()(_trace_of(run))


def save(run: Trace | _HasTrace, path: str | Path) -> Path:
    """Write the player as one self-contained HTML file; its path comes back. `UsageError` if it cannot."""
    return write_file(path, _page(_trace_of(run)).encode())


def _trace_of(run: Trace | _HasTrace) -> Trace:
    trace = getattr(run, "trace", run)
    if not isinstance(trace, Trace):
        raise UsageError(
            f"the player shows what generate() gave back, or its .trace, not a {type(run).__name__}"
        )
    return trace


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
            picture = still_svg(self.trace, _machine_svg(self.trace))
            return {**bundle[0], "image/svg+xml": picture, "text/plain": still_text(self.trace)}, bundle[1]

    return Player


def _recording(trace: Trace) -> dict[str, Any]:
    """What the page needs: of each step only the candidates that get a bar."""
    steps = tuple(replace(step, candidates=tuple(top_candidates(step, ROWS))) for step in trace.steps)
    sent = replace(trace, machine=_visited(trace), steps=steps)  # the picture has the rest of the machine
    # Four digits are more than a bar shows, and as pairs the moves take half: a long run stays under 500 KB.
    data = json.loads(sent.to_json(), parse_float=lambda text: float(f"{float(text):.4g}"))
    for part in (part for step in data["steps"] for part in (step, *step["candidates"])):
        part["path"] = [[move["byte"], move["state"]] for move in part["path"]]
        part.pop("drawn", None)
    return {"trace": data, "svg": _slim(_machine_svg(trace))}


def _slim(svg: str) -> str:
    """The picture without what the style sheet says for all of it: fonts, lines, and one theme's colours."""
    return re.sub(r"<[^>]*>", lambda tag: re.sub(_SAID_BY_CSS, "", tag[0]), svg)


def _machine_svg(trace: Trace) -> str:
    if trace.machine is None:
        return ""
    visited = _visited(trace)
    return draw(trace.machine, keep=[state.name for state in visited.states] if visited else ()).svg


def _visited(trace: Trace) -> Machine | None:
    """The states that the run went through, without their edges."""
    if trace.machine is None:
        return None
    names = {stop for step in trace.steps for stop in (step.state, *(move.state for move in step.path))}
    return Machine(tuple(state for state in trace.machine.states if state.name in names), ())


def _source(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def _module() -> str:
    return "".join(map(_source, ("machine.mjs", "tokens.mjs", "player.mjs")))


def _style() -> str:
    return css_variables(".mdp") + _source("player.css")


def _page(trace: Trace) -> str:
    # subtle: inside a script element only `<` can end it or open a comment; JSON may always write it \u003c.
    data = json.dumps(_recording(trace), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
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
