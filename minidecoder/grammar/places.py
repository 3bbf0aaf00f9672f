"""Where in the text of the grammar one stands: what may be read next, and the line that says so.

A minimal machine has forgotten the text it came from. So for a local, a shortest way into it is walked once
more through the automaton of the rule before it was made deterministic, where every edge still is a piece
of the text. Where several pieces of text behave alike, one of them is named.

Left out: sentences about tokens (`lens.explain`). Cost: one small automaton per rule asked about, then kept.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from minidecoder.grammar.bodies import GrammarBodies
from minidecoder.grammar.rule_machines import Counted, Local, Ready
from minidecoder.grammar.rules import CharClass, Expr, Literal
from minidecoder.regex.charset import contains
from minidecoder.regex.dfa import DFA
from minidecoder.regex.nfa import NFA, build_nfa
from minidecoder.regex.tree import Chars, Node

__all__ = ["Expected", "Places"]

_CLASS: Final = re.compile(r"\[(?:\\.|[^\]\\])*\]|\.", re.DOTALL)


@dataclass(frozen=True)
class Expected:
    """A piece of the grammar that may be read next: `text` as it is written, of a literal what is left of it;
    `rule`, `line` and `column` (from 1) say where it stands."""

    rule: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.rule}, line {self.line}, column {self.column})"


class Places:
    """The places of one grammar's locals, and the names of its rules."""

    def __init__(self, bodies: GrammarBodies) -> None:
        self._bodies = bodies
        self._machines = bodies.machines
        self._automata: dict[int, tuple[NFA, dict[int, tuple[Expr, int]]]] = {}
        self._expected: dict[Local, tuple[Expected, ...]] = {}

    def name(self, rule: Hashable) -> str:
        """The name of the rule in whose text this is."""
        return self._bodies.grammar.rules[self._bodies.rule_of[rule]].name

    def expected(self, locals_: Iterable[Local]) -> tuple[Expected, ...]:
        """What may be read next in any of `locals_`, each piece once, in the order of the text."""
        found = {piece for local in locals_ for piece in self._of(local)}
        return tuple(sorted(found, key=lambda piece: (piece.line, piece.column, piece.text)))

    def _of(self, local: Local) -> tuple[Expected, ...]:
        if local not in self._expected:
            pieces = {self._describe(local, *leaf) for leaf in self._next_leaves(local)}
            self._expected[local] = tuple(piece for piece in pieces if piece is not None)
        return self._expected[local]

    def _next_leaves(self, local: Local) -> list[tuple[Expr, int]]:
        """The pieces of text, (node, index in its literal), whose edges leave this local."""
        number = self._machines.machine[local]
        nfa, leaves = self._automaton(number)
        states, characters = nfa.closure([nfa.start]), self._machines.machines[number].characters
        assert characters is not None
        for symbol in _way_to(characters, self._character_state(local)):
            moved = [t for s in states for ranges, t in nfa.edges[s] if contains(ranges, symbol)]
            states = nfa.closure(moved)
        return [leaves[id(ranges)] for s in sorted(states) for ranges, _ in nfa.edges[s]]

    def _character_state(self, local: Local) -> int:
        """The state before the character in which `local` stands; its own, between characters."""
        machine = self._machines.machines[self._machines.machine[local]]
        state = machine.state(local)
        while state > machine.bytes_.characters:
            state = int((machine.bytes_.table == state).any(axis=1).nonzero()[0][0])
        return state

    def _automaton(self, number: int) -> tuple[NFA, dict[int, tuple[Expr, int]]]:
        if number not in self._automata:
            leaves: dict[int, tuple[Expr, int]] = {}

            def note(made: Node, node: Expr, index: int) -> Node:
                assert isinstance(made, Chars)
                # subtle: a new tuple, whose identity then names this very piece of text.
                own = Chars((*made.ranges,))
                leaves[id(own.ranges)] = node, index
                return own

            body = self._bodies.write(self._machines.machines[number].rule, note)
            assert not isinstance(body, Counted | Ready)
            self._automata[number] = build_nfa(body), leaves
        return self._automata[number]

    def _describe(self, local: Local, node: Expr, index: int) -> Expected | None:
        """None for a call: what it begins with is a local of its own."""
        rule = self.name(self._machines.machines[self._machines.machine[local]].rule)
        grammar = self._bodies.grammar
        match node:
            case Literal(text, place):
                shown = '"' + text[index:].translate(_ESCAPES) + '"'
            case CharClass(_, place):
                written = _CLASS.match(grammar.source, place)
                shown = written[0] if written else "a character"
            case _:
                return None
        return Expected(rule, *grammar.where(place), shown)


_ESCAPES: Final = {ord('"'): '\\"', ord("\\"): "\\\\", 10: "\\n", 13: "\\r", 9: "\\t"}


def _way_to(machine: DFA, goal: int) -> list[int]:
    """A shortest sequence of characters, calls included, from the start to a state."""
    came_from: dict[int, tuple[int, int]] = {}
    pending = [int(machine.start)]
    for state in pending:  # grows while it is read
        for k, target in enumerate(machine.table[state].tolist()):
            if target and target not in came_from and target != machine.start:
                came_from[target] = state, machine.classes[k][0][0]
                pending.append(target)
    way = []
    while goal != machine.start:
        goal, symbol = came_from[goal]
        way.append(symbol)
    return way[::-1]
