"""Rules that begin with each other in many ways, rewritten not to: the language stays the same.

A circle of rules is a system of equations, X_i = Σ_j X_j T_ji | B_i, where X_j are its rules that may come
first, T what follows them and B_i the rest, which begins with no rule of the circle. Arden's lemma solves
it: X_i = Σ_k B_k R_ki, where R_ki is what the T along all paths from k to i spell. Each pair that is needed
becomes a rule, right-recursive: R_ki ::= T_kj R_ji | … . Nullable prefixes are cut open first (`nonempty`),
so that a circle hidden behind one is seen; a T that can be empty is also a step without text.

Most circles have a rule that all ways lead through, and a shorter solution (`self_recursion`).
Cost: O(rules² × references) of the circle. Source: Arden 1961; Hopcroft and Ullman 1979, section 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass

from minidecoder.grammar.circles import Circle, openings
from minidecoder.grammar.nonempty import Rewriting, choice, sequence
from minidecoder.grammar.rules import Choice, Expr, Reference, Rule, Sequence
from minidecoder.grammar.self_recursion import solve_around

__all__ = ["solve"]


def solve(rewriting: Rewriting, circle: Circle) -> None:
    """Give the rules of the circle bodies with which none begins with itself any more."""
    if circle.pivot is not None:
        solve_around(rewriting, circle.rules, circle.pivot)
        return
    system = _System(rewriting, circle.rules)
    for rule in circle.rules:
        system.read(rule)
    for rule in circle.rules:
        target = rewriting.companion(rule)
        rewriting.set_body(target, system.solution(target))
        if target != rule:
            place = rewriting.rules[rule].body.place
            rewriting.set_body(rule, Choice((Reference(target, place), Sequence((), place)), place))


@dataclass(frozen=True, slots=True)
class _Edge:
    """`target ::= source tail | …`: the tail without the empty text (None: it has no other)."""

    target: int
    tail: Expr | None
    can_be_empty: bool


class _System:
    """The equations of one circle, over the companions: rules that do not match the empty text."""

    def __init__(self, rewriting: Rewriting, circle: tuple[int, ...]) -> None:
        self.rewriting = rewriting
        self.names = {rewriting.companion(rule): rewriting.rules[rule].name for rule in circle}
        self.members = self.names.keys() | set(circle)
        self.bases: dict[int, list[Expr]] = {rule: [] for rule in self.names}
        self.edges: dict[int, list[_Edge]] = {rule: [] for rule in self.names}
        self.rests: dict[tuple[int, int], int] = {}
        self.unwritten: list[tuple[int, int]] = []

    # -- the equations --------------------------------------------------------------------------

    def read(self, rule: int) -> None:
        """Split the body of a rule into X_j T_ji and B_i."""
        target, body = self.rewriting.companion(rule), self.rewriting.rules[rule].body
        for head, rest in self.rewriting.pieces(body, openings(self.rewriting, body, self.members)):
            if isinstance(head, Reference) and head.rule in self.names:
                self.edges[head.rule].append(self._edge(target, rest))
            else:
                self.bases[target].append(sequence([head, *rest]))
        if target != rule:
            self.rewriting.unfinished.remove(rule)

    def _edge(self, target: int, rest: tuple[Expr, ...]) -> _Edge:
        if not rest:
            return _Edge(target, None, can_be_empty=True)
        tail = sequence(list(rest))
        return _Edge(target, self.rewriting.nonempty(tail), self.rewriting.can_be_empty(tail))

    # -- the solution ---------------------------------------------------------------------------

    def solution(self, target: int) -> Expr:
        """Σ_k B_k R_k,target, over the rules k of the circle that have a B."""
        place = self.rewriting.rules[target].body.place
        starts = [(start, bases) for start, bases in self.bases.items() if bases]
        options = [
            sequence([choice(bases, place), Reference(self._rest(start, target), place)])
            for start, bases in starts
        ]
        self._write_rests(place)
        return choice(options, place)

    def _rest(self, start: int, target: int) -> int:
        """The rule for what follows a text of `start` that begins one of `target`."""
        pair = (start, target)
        if pair not in self.rests:
            origin = self.rewriting.rules[target]
            name = f"{self.names[target]}'{self.names[start]}"
            rule = Rule(name, origin.body, origin.line, origin.column)
            can_be_empty = target in self._without_text(start)
            self.rests[pair] = self.rewriting.add(rule, can_be_empty=can_be_empty)
            self.unwritten.append(pair)
        return self.rests[pair]

    def _write_rests(self, place: int) -> None:
        while self.unwritten:
            start, target = self.unwritten.pop()
            reached = self._without_text(start)
            options: list[Expr] = [Sequence((), place)] if target in reached else []
            for edge in (edge for node in reached for edge in self.edges[node]):
                if edge.tail is not None:
                    after = Reference(self._rest(edge.target, target), edge.tail.place)
                    options.append(sequence([edge.tail, after]))
            self.rewriting.count(2 * len(options))
            self.rewriting.set_body(self._rest(start, target), choice(options, place))

    def _without_text(self, start: int) -> list[int]:
        """The rules to which a path of empty tails leads from `start`, itself among them."""
        reached = [start]
        for node in reached:  # grows while it is walked
            reached += {edge.target for edge in self.edges[node] if edge.can_be_empty} - set(reached)
        return reached
