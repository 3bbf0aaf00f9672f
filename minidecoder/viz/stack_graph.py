"""A grammar's state as pictures: the stack of open rules as a column of frames, and one rule as a machine.

    draw_stack(matcher)                          draw_stack(step.stack, before=previous.stack)
    draw(rule_machine(constraint.automaton, "value"))

The innermost rule is on top and live, the root at the bottom. Of a deep stack the middle is left out and
counted. With `before`, frames that were not there then have a bold ring, and a line says how many went.

Left out: several stacks at once, of which the first is drawn. Cost: one call of graphviz, some 15 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from minidecoder.automaton import State
from minidecoder.decoding.matcher import Matcher
from minidecoder.errors import UsageError
from minidecoder.grammar.pushdown import PushdownAutomaton
from minidecoder.grammar.rule_machines import FIRST_SYMBOL
from minidecoder.lens.labels import show_ranges
from minidecoder.lens.trace import MachineState
from minidecoder.viz.diagram import Arc, Diagram, merged
from minidecoder.viz.drawing import Drawing
from minidecoder.viz.layout import render
from minidecoder.viz.placed import Point, cells, cut, printable, quoted
from minidecoder.viz.theme import Palette, ThemeName, palette
from minidecoder.viz.tidy import tidy

__all__ = ["draw_stack", "rule_machine"]

MOST_FRAMES: Final = 12
_OUTER: Final = 3  # frames kept at the bottom of a deep stack
_WIDTH, _HEIGHT, _STEP = 260, 30, 34
_LONGEST_RULE: Final = 20


def draw_stack(
    stack: Matcher | Sequence[str], *, before: Sequence[str] = (), theme: ThemeName = "light"
) -> Drawing:
    """The open rules, from the root to the innermost: of a matcher over a grammar, or as
    `automaton.open_rules(state)` and a trace's `step.stack` give them. `before`: an earlier stack.

    Raises `UsageError` for anything else, `MissingDependencyError` where nothing can draw.
    """
    frames, earlier = _frames(stack), _frames(before)
    source = _stack_source(frames, earlier, palette(theme))
    titles = {f"frame-{i}": printable(frame) for i, frame in enumerate(frames)}
    innermost = frames[-1] if frames else "none: the text is complete"
    description = f"Stack of {len(frames):,} open rules. Innermost: {printable(innermost)}."
    return Drawing(tidy(render(source), description, titles), _stack_text(frames), source)


def _frames(stack: Matcher | Sequence[str]) -> tuple[str, ...]:
    if isinstance(stack, Matcher):
        automaton = stack.constraint.automaton
        if not isinstance(automaton, PushdownAutomaton):
            raise UsageError("this matcher has no stack: its machine is finite, and draw() shows it")
        return automaton.open_rules(stack.state)
    if (
        isinstance(stack, str)
        or not isinstance(stack, Sequence)
        or not all(isinstance(f, str) for f in stack)
    ):
        raise UsageError(f"a stack is a matcher or names such as ('root:s1', 'value:s0'), not {stack!r:.60}")
    return tuple(stack)


def _stack_text(frames: Sequence[str]) -> str:
    lines = [f"{'●' if i == len(frames) - 1 else '│'} {frame}" for i, frame in enumerate(frames)]
    return "\n".join(reversed(lines)) or "(empty: the text is complete)"


def _stack_source(frames: Sequence[str], before: Sequence[str], colours: Palette) -> str:
    same = 0
    while same < min(len(frames), len(before)) and frames[same] == before[same]:
        same += 1
    lines = [
        f'bgcolor="{colours.paper}" pad=0.2',
        "node [fontname=Helvetica fontsize=15 shape=box fixedsize=true]",
    ]
    rows = list(_rows(len(frames)))
    for row, number in enumerate(rows):
        y = row * _STEP
        if number is None:
            hidden = len(frames) - len(rows) + 1
            lines.append(_words("gap", Point(0, y), f"… {hidden:,} more …", colours.muted))
        else:
            is_new = bool(before) and number >= same
            lines += _frame(number, frames[number], y, number == len(frames) - 1, is_new, colours)
    if not frames:
        lines.append(_words("empty", Point(0, 0), "empty: the text is complete", colours.muted))
    top = max(len(rows), 1) * _STEP
    lines.append(
        _words("caption", Point(0, top - 4), _caption(len(frames), len(before), same), colours.muted)
    )
    if frames:
        lines.append(_words("root", Point(0, -_STEP + 6), "the root", colours.muted))
    return "digraph {\n" + "\n".join(lines) + "\n}\n"


def _rows(count: int) -> Iterator[int | None]:
    """The frames drawn, from the bottom; None stands for those in the middle of a deep stack."""
    if count <= MOST_FRAMES:
        yield from range(count)
        return
    yield from range(_OUTER)
    yield None
    yield from range(count - (MOST_FRAMES - _OUTER - 1), count)


def _frame(number: int, frame: str, y: int, is_top: bool, is_new: bool, colours: Palette) -> list[str]:
    rule, _, state = frame.rpartition(":") if ":" in frame else (frame, "", "")
    fill, ink = (colours.live, colours.paper) if is_top else (colours.panel, colours.ink)
    ring = colours.live if is_top or is_new else colours.muted
    classes = " ".join(["frame", *["live"] * is_top, *["pushed"] * is_new])
    box = f'style=filled fillcolor="{fill}" color="{ring}" penwidth={3 if is_new else 1.5} label=""'
    size = f"width={_WIDTH / 72:.3f} height={_HEIGHT / 72:.3f}"
    name = cut(rule, _LONGEST_RULE)
    left = Point(-_WIDTH / 2 + 10 + 4.2 * cells(name), y)
    return [
        f'f{number} [id="frame-{number}" class="{classes}" pos="0,{y}" {size} {box}]',
        _words(f"r{number}", left, name, ink, "fontname=Courier fontsize=14"),
        _words(f"s{number}", Point(_WIDTH / 2 - 22, y), cut(state, 6), ink if is_top else colours.muted),
    ]


def _words(node: str, at: Point, text: str, colour: str, font: str = "fontsize=13") -> str:
    look = f'shape=none label={quoted(text)} fontcolor="{colour}" width=0.1 height=0.1 {font}'
    return f'{node} [pos="{at.x:.1f},{at.y:.1f}" {look}]'


def _caption(count: int, before: int, same: int) -> str:
    if not before:
        return f"{count:,} open rule{'' if count == 1 else 's'}, the innermost on top"
    gone = before - same
    return f"{gone:,} frame{'' if gone == 1 else 's'} gone, {count - same:,} new"


def rule_machine(automaton: PushdownAutomaton, rule: str) -> Diagram:
    """The machine of one rule of a grammar, by the rule's name: edges read characters or call rules.

    Raises `UsageError` where no stack has entered such a rule yet, or for what is no stack automaton.
    """
    if not isinstance(automaton, PushdownAutomaton):
        raise UsageError(f"rule_machine takes a grammar's automaton, not a {type(automaton).__name__}")
    machines, names = automaton.machines, automaton.words.name
    drawn = [m for m in machines.machines if m.characters is not None]  # not those that came as machines
    found = next((m for m in drawn if names(m.rule) == rule), None)
    if found is None:
        known = ", ".join(cut(names(m.rule), 30) for m in drawn[:12])
        raise UsageError(f"no rule {rule!r:.40} has been entered; those that were: {known}")
    dfa, arcs = found.characters, list[Arc]()
    assert dfa is not None
    for source, ranges, target in dfa.edges():
        read = tuple((low, min(high, FIRST_SYMBOL - 1)) for low, high in ranges if low < FIRST_SYMBOL)
        if read:
            arcs.append(Arc(dfa.name(source), dfa.name(target), show_ranges(read)))
    for number in range(1, len(dfa) + 1):
        for callee, back in machines.calls[found.before + number]:
            called = machines.unopened.get(callee)
            if called is None and callee not in machines.loops:
                called = machines.machines[machines.machine[callee]].rule
            label = f"↓ {cut(names(called), 20)}" if called is not None else "↓ repeated"
            arcs.append(Arc(dfa.name(State(number)), dfa.name(State(back - found.before)), label, "calls"))
    states = tuple(
        MachineState(dfa.name(State(q)), dfa.is_accepting(State(q))) for q in range(1, len(dfa) + 1)
    )
    note = "↓ calls a rule: its frame is pushed, read to its end, and popped"
    numbers = {q: state.name for q, state in enumerate(states, start=1)}
    has_calls = any(arc.kind == "calls" for arc in arcs)
    return Diagram(
        states, merged(arcs), dfa.name(dfa.start), f"Rule {rule}", note if has_calls else "", numbers
    )
