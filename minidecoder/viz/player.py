"""A run to step through: in a notebook as a widget, elsewhere as one HTML file, by the same module.

    show(run)                              # in JupyterLab; a run or its trace
    save(run, "price.html")                # opens by double-click, without kernel or network
    show(run, other)                       # two runs side by side; save((run, other), "two.html")

The trace and the drawn machine are sent once; the `.mjs` files do the rest, and give both back as SVG, PNG
and JSON. Where there is no widget, the picture and the table of `Player`'s mime bundle remain.

Left out: anything that needs a kernel. Cost: one drawing, and a page of 80 KB plus the trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.lens.labels import show_bytes
from minidecoder.lens.trace import Candidate, Machine, MachineEdge, Trace, TraceStep
from minidecoder.viz.graph import draw
from minidecoder.viz.layout import write_file
from minidecoder.viz.plots import top_candidates
from minidecoder.viz.still import still_svg, still_text
from minidecoder.viz.theme import css_variables

__all__ = [
    "first_divergence",
    "machine_picture",
    "places_of",
    "player_module",
    "player_style",
    "recording_of",
    "save",
    "show",
    "still_picture",
    "without_style",
]

ROWS: Final = 15
WHOLE_PATH: Final = 20  # a path of fewer moves was surely not cut
_SAID_BY_CSS: Final = (
    r' (font-family="[^"]*"|fill="[^"]*"|stroke="[^"]*"|stroke-width="1.5"|text-anchor="middle"'
    r'|font-size="14(.00)?")'
)
_HERE: Final = files("minidecoder.viz")
_MODULES: Final = ("machine", "tokens", "stack", "search", "page", "views", "exports", "controls", "player")


class _HasTrace(Protocol):
    @property
    def trace(self) -> Trace: ...


_Shown: TypeAlias = Trace | _HasTrace


def show(run: _Shown, other: _Shown | None = None) -> Any:
    """The player of a run, or of its trace, as a widget; `?` tells its keys. With another run, both side by
    side, and where they part.

    Raises `UsageError` for anything without a trace, `MissingDependencyError` where anywidget is not
    installed, or nothing can draw the machine.
    """
    return _player_class()(*_traces_of(run if other is None else (run, other)))


def save(run: _Shown | tuple[_Shown, _Shown], path: str | Path) -> Path:
    """Write the player of a run, or of two, as one self-contained HTML file; its path comes back. Its address
    takes a place: `price.html#step=2`. `UsageError` if it cannot."""
    return write_file(path, _page(_traces_of(run)).encode())


def first_divergence(a: Trace, b: Trace) -> int | None:
    """The first token, from 0, that is not the same in both runs; None where none is. Tokens of two
    vocabularies are compared by their labels."""
    is_one_vocabulary = a.vocabulary_size == b.vocabulary_size
    for index, (one, two) in enumerate(zip(a.steps, b.steps, strict=False)):
        if one.label != two.label or (is_one_vocabulary and one.token_id != two.token_id):
            return index
    shorter, longer = sorted((len(a.steps), len(b.steps)))
    return None if shorter == longer else shorter


def _traces_of(run: _Shown | tuple[_Shown, ...]) -> list[Trace]:
    runs = run if isinstance(run, tuple | list) else (run,)
    if not 1 <= len(runs) <= 2:
        raise UsageError(f"the player shows one run, or two side by side, not {len(runs)}")
    return [_trace_of(one) for one in runs]


def _trace_of(run: _Shown) -> Trace:
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
        """The player. `recording` is what `player.mjs` reads, sent once."""

        _esm = player_module()
        _css = player_style()
        recording = traitlets.Dict(read_only=True).tag(sync=True)

        def __init__(self, *traces: Trace) -> None:
            self.traces = traces
            super().__init__()
            self.set_trait("recording", recording_of(*traces))

        def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
            bundle = super()._repr_mimebundle_(**kwargs)
            if bundle is None:
                return None
            text = "\n\n".join(map(still_text, self.traces))
            return {**bundle[0], "image/svg+xml": still_picture(self.traces), "text/plain": text}, bundle[1]

    return Player


def still_picture(traces: Sequence[Trace]) -> str:
    """The runs as one picture, one beneath the other."""
    pictures = [still_svg(trace, machine_picture(trace)) for trace in traces]
    if len(pictures) == 1:
        return pictures[0]
    sizes = [re.findall(r'(?:width|height)="(\d+)"', picture)[:2] for picture in pictures]
    width, height = max(int(w) for w, _ in sizes), sum(int(h) for _, h in sizes)
    first, second = pictures
    second = second.replace("<svg ", f'<svg y="{sizes[0][1]}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="two runs">{first}{second}</svg>'
    )


def recording_of(trace: Trace, other: Trace | None = None) -> dict[str, Any]:
    """What the page needs: {trace, svg, shown}, and of a second run the same under `other`. `shown`: the
    places of the candidates that get a row; the others are there to be looked for, and for the export."""
    shown = [places_of(step, top_candidates(step, ROWS)) for step in trace.steps]
    recording = {
        "trace": json.loads(trace.to_json()),
        "svg": without_style(machine_picture(trace)),
        "shown": shown,
    }
    if other is not None:
        recording |= {"other": recording_of(other), "divergence": first_divergence(trace, other)}
    return recording


def places_of(step: TraceStep, chosen: Sequence[Candidate]) -> list[int]:
    place = {candidate.token_id: index for index, candidate in enumerate(step.candidates)}
    return [place[candidate.token_id] for candidate in chosen]


def without_style(svg: str) -> str:
    """The picture without what the style sheet says for all of it: fonts, lines, and one theme's colours."""
    return re.sub(r"<[^>]*>", lambda tag: re.sub(_SAID_BY_CSS, "", tag[0]), svg)


def machine_picture(trace: Trace) -> str:
    if trace.machine is None:
        return ""
    stops = {stop for step in trace.steps for stop in (step.state, *(move.state for move in step.path))}
    machine = _with_its_way(trace.machine, trace.steps)
    return draw(machine, keep=[state.name for state in machine.states if state.name in stops]).svg


def _with_its_way(machine: Machine, steps: Sequence[TraceStep]) -> Machine:
    """The machine with the edges that the run took and a trace of a large one had no room for, each with the
    character that was read and `…` for those that were not kept."""
    names = {state.name for state in machine.states}
    known = {(edge.source, edge.target) for edge in machine.edges}
    added: dict[tuple[str, str], MachineEdge] = {}
    for step in steps:
        source, read = step.state, b""
        # subtle: of a long token a trace keeps the first moves and the last, and those two are no neighbours.
        for byte, target in step.path[: None if len(step.path) < WHOLE_PATH else -1]:
            read += bytes([byte])
            if target not in names:  # inside a character
                continue
            pair = (source or "", target)
            if pair[0] in names and pair not in known:
                added.setdefault(pair, MachineEdge(*pair, f"{show_bytes(read)} …"))
            source, read = target, b""
    return replace(machine, edges=(*machine.edges, *added.values())) if added else machine


def _source(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def player_module(*more: str, entry: str = "render") -> str:
    """The player's modules, and `more`, as one, whose export is what anywidget calls."""
    source = "".join(_source(f"{name}.mjs") for name in (*_MODULES, *more))
    return f"{source}\nexport default {{ render: {entry} }};\n"


def player_style() -> str:
    """The style sheet, colours and all."""
    return css_variables(".mdp") + _source("player.css")


def _page(traces: Sequence[Trace]) -> str:
    # subtle: inside a script element only `<` can end it or open a comment; JSON may always write it \u003c.
    recording = json.dumps(recording_of(*traces), separators=(",", ":"), ensure_ascii=False)
    data = recording.replace("<", "\\u003c")
    parts = {
        "title": escape(f"{traces[0].pattern or 'A run'} – minidecoder player"),
        "style": player_style(),
        "data": data,
        "module": player_module(),
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
script-src 'unsafe-inline'; img-src data:">
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
render({ model: { get: () => recording }, el: document.getElementById("player"), address: location });
document.querySelector(".mdp").focus();
</script>
</body>
</html>
"""
