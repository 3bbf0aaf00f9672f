"""Rules that begin with themselves, rewritten to begin with something else: the language stays the same.

`expr ::= expr "+" term | term` says: a term, then any number of `"+" term`. In general a circle of rules is
a system of equations, X_i = Σ_j X_j T_ji | B_i, where X_j are its rules that may come first, T what follows
them and B_i the rest, which begins with no rule of the circle. Arden's lemma solves it: X_i = Σ_k B_k R_ki,
where R_ki is what the T along all paths from k to i spell. One rule alone gets R = T*, several get one rule
for each pair that is needed, right-recursive: R_ki ::= T_kj R_ji | … . Nullable prefixes are cut open first
(`nonempty`), so that a circle hidden behind one is seen; a T that can be empty is also a step without text.

Cost: O(circle² × its references) parts. Source: Arden 1961; Hopcroft and Ullman 1979, section 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from minidecoder.grammar.nonempty import Rewriting, choice, sequence
from minidecoder.grammar.rules import Choice, Expr, Reference, Repeat, Rule, Sequence, bottom_up

__all__ = ["circles", "solve"]


def circles(rewriting: Rewriting) -> list[list[int]]:
    """The sets of rules that may begin with each other (or one with itself)."""
    graph = [list(_first_rules(rewriting, rule.body)) for rule in rewriting.rules]
    return [circle for circle in _components(graph) if len(circle) > 1 or circle[0] in graph[circle[0]]]


def _first_rules(rewriting: Rewriting, body: Expr) -> Iterator[int]:
    """The rules that stand where a text of `body` may begin."""
    pending, seen = [body], set[Expr]()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case Reference(rule):
                yield rule
            case Sequence(parts):
                pending.extend(_first_parts(rewriting, parts))
            case Choice(options):
                pending.extend(options)
            case Repeat(inner):
                pending.append(inner)


def _first_parts(rewriting: Rewriting, parts: tuple[Expr, ...]) -> Iterator[Expr]:
    for part in parts:
        yield part
        if not rewriting.can_be_empty(part):
            return


def _components(graph: list[list[int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan 1972), with the stack of calls as a list."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[list[int]] = []
    for start in range(len(graph)):
        calls = [] if start in order else [(start, iter(graph[start]))]
        while calls:
            node, targets = calls[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                path.append(node)
                on_path.add(node)
            target = next(targets, None)
            if target is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == order[node]:
                    found.append(_cut(path, on_path, node))
            elif target not in order:
                calls.append((target, iter(graph[target])))
            elif target in on_path:
                low[node] = min(low[node], order[target])
    return found


def _cut(path: list[int], on_path: set[int], node: int) -> list[int]:
    component = []
    while node in on_path:
        component.append(path.pop())
        on_path.discard(component[-1])
    return sorted(component)


def solve(rewriting: Rewriting, circle: list[int]) -> None:
    """Give each rule of the circle a body that begins with no rule of the circle."""
    system = _System(rewriting, circle)
    for rule in circle:
        system.read(rule)
    for rule in circle:
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

    def __init__(self, rewriting: Rewriting, circle: list[int]) -> None:
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
        for head, rest in self.rewriting.pieces(body, self._openings(body)):
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

    def _openings(self, body: Expr) -> set[Expr]:
        """The nodes of a body that may begin with a rule of the circle."""
        found: set[Expr] = set()
        for node in bottom_up(body):
            match node:
                case Reference(rule):
                    opens = rule in self.members
                case Sequence(parts):
                    opens = any(part in found for part in _first_parts(self.rewriting, parts))
                case Choice(options):
                    opens = any(option in found for option in options)
                case Repeat(inner):
                    opens = inner in found
                case _:
                    opens = False
            if opens:
                found.add(node)
        return found

    # -- the solution ---------------------------------------------------------------------------

    def solution(self, target: int) -> Expr:
        """Σ_k B_k R_k,target, over the rules k of the circle that have a B."""
        place = self.rewriting.rules[target].body.place
        if len(self.names) == 1:
            return sequence([choice(self.bases[target], place), self._loop(target, place)])
        starts = [(start, bases) for start, bases in self.bases.items() if bases]
        options = [
            sequence([choice(bases, place), Reference(self._rest(start, target), place)])
            for start, bases in starts
        ]
        self._write_rests(place)
        return choice(options, place)

    def _loop(self, rule: int, place: int) -> Expr:
        """T*, for a circle of one rule."""
        tails = [edge.tail for edge in self.edges[rule] if edge.tail is not None]
        return (
            Repeat(choice(tails, tails[0].place), 0, None, tails[0].place) if tails else Sequence((), place)
        )

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
