"""What a picture of a machine is made of: states, labelled edges, and what kind each edge is.

Anything that can be drawn becomes a `Diagram` first: a DFA, the machine of a trace, an NFA with its free
moves, the machine over tokens (`token_graph`), the machine of a grammar's rule (`stack_graph`).

Left out: where things stand (`placing`) and how they look (`dot_source`). Cost: O(states + edges).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Final, Literal

from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_ranges
from minidecoder.lens.trace import ByteMove, Machine, MachineState, draw_machine
from minidecoder.regex.dfa import DFA
from minidecoder.regex.nfa import NFA
from minidecoder.regex.tree import Place

__all__ = ["DEAD_NAME", "Arc", "Diagram", "Stop", "diagram_of", "name_of"]

DEAD_NAME: Final = "dead"
EdgeKind = Literal["reads", "free", "calls", "tokens", "end"]
Stop = str | int | ByteMove
"""A state on a path: its name, its number in a DFA or NFA, or the byte move that led there."""


@dataclass(frozen=True)
class Arc:
    """An edge. `reads` a set of characters; `free`: an ε move; `calls` a rule; `tokens`: a group of them;
    `end`: the end of the text. `title`: the whole label where `label` is a short one."""

    source: str
    target: str
    label: str
    kind: EdgeKind = "reads"
    title: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass(frozen=True)
class Diagram:
    """States and edges; at most one edge for each pair. `start`: its name, "" where none is drawn; `note`:
    what a reader must know of the marks; `numbers`: names by number; `left_out`: states that it does not
    hold; `end`: the state after EOS, where there is one."""

    states: tuple[MachineState, ...]
    edges: tuple[Arc, ...]
    start: str
    what: str = "Automaton"
    note: str = ""
    numbers: Mapping[int, str] = field(default_factory=dict)
    left_out: int = 0
    end: str = ""


def diagram_of(machine: object) -> Diagram:
    """The diagram of whatever can be drawn. `UsageError` for what cannot."""
    if isinstance(machine, Diagram):
        return machine
    if isinstance(machine, Constraint):
        if machine.characters is None:
            remedy = "draw_stack(matcher) shows its stack, token_machine(constraint) its moves"
            raise UsageError(f"a grammar or a schema has no table of states to draw: {remedy}")
        machine = machine.characters
    if isinstance(machine, DFA):
        machine = draw_machine(machine)
    if isinstance(machine, Machine):
        return _of_trace(machine)
    if isinstance(machine, NFA):
        return _of_nfa(machine)
    wanted = "constraint.characters, a Machine, compile_dfa(pattern) or an NFA"
    raise UsageError(f"draw takes {wanted}, not a {type(machine).__name__}")


def _of_trace(machine: Machine) -> Diagram:
    arcs = (Arc(edge.source, edge.target, edge.label) for edge in machine.edges)
    start = machine.states[0].name if machine.states else ""
    numbers = {number: state.name for number, state in enumerate(machine.states, start=1)}
    # subtle: a byte machine numbers the states inside a character after all character states; a machine that
    # was cut has lost its numbers.
    known = {} if machine.left_out else numbers
    return Diagram(machine.states, merged(arcs), start, numbers=known, left_out=machine.left_out)


def _of_nfa(nfa: NFA) -> Diagram:
    states = tuple(MachineState(f"q{n}", n == nfa.accept) for n in range(len(nfa)))
    arcs = []
    for source, reads, target in nfa.moves():
        ends = f"q{source}", f"q{target}"
        if reads is None:
            arcs.append(Arc(*ends, "ε", "free"))
        else:
            # An assertion, such as ^ or \\b, is a place and not a set of characters: nothing is read.
            is_place = isinstance(reads, Place)
            label = reads.value.partition(" ")[0] if isinstance(reads, Place) else show_ranges(reads)
            arcs.append(Arc(*ends, label, "free" if is_place else "reads"))
    note = "dotted: a free move, which reads nothing" if any(arc.kind == "free" for arc in arcs) else ""
    numbers = {n: f"q{n}" for n in range(len(nfa))}
    return Diagram(states, merged(arcs), f"q{nfa.start}", "Nondeterministic automaton", note, numbers)


def merged(arcs: Iterable[Arc]) -> tuple[Arc, ...]:
    """One edge for each pair of states, as pictures and ids want it: labels of several are joined."""
    groups: dict[tuple[str, str], list[Arc]] = defaultdict(list)
    for arc in arcs:
        groups[arc.pair].append(arc)
    return tuple(_joined(group) for group in groups.values())


def _joined(group: list[Arc]) -> Arc:
    if len(group) == 1:
        return group[0]
    kinds = {arc.kind for arc in group}
    labels = list(dict.fromkeys(arc.label for arc in group))
    label = ", ".join(labels[:3]) + (", …" if len(labels) > 3 else "")
    title = ", ".join(dict.fromkeys(arc.title or arc.label for arc in group))
    return Arc(*group[0].pair, label, kinds.pop() if len(kinds) == 1 else "reads", title)


def name_of(diagram: Diagram, stop: Stop) -> str:
    """The name of a state given by name, by number or as a move. `UsageError` for what is no state."""
    if isinstance(stop, ByteMove):
        return stop.state
    if isinstance(stop, str):
        return stop
    if isinstance(stop, bool) or not isinstance(stop, Integral) or stop < 0:
        raise UsageError(f"a state is a name such as 's0' or a number from 0 up, not {stop!r:.60}")
    number = int(stop)
    if number in diagram.numbers:
        return diagram.numbers[number]
    if number == 0:
        return DEAD_NAME
    if not diagram.numbers:
        raise UsageError(f"the states of this machine have names and no numbers, so {number} is none")
    return f"b{number - max(diagram.numbers) - 1}"
