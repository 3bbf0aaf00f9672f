"""Which rules begin with which: the circles in that graph are left recursion.

`sum ::= sum "+" one | one` is a circle of one rule. A prefix that can be empty hides nothing: in
`a ::= ws a "x"` the rule begins with `ws` and, since that can be empty, with itself.

Left out: the way out of a circle (`self_recursion`, `left_recursion`). Cost: O(nodes of the grammar).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from minidecoder.grammar.nonempty import Rewriting
from minidecoder.grammar.rules import Choice, Expr, Reference, Repeat, Sequence, bottom_up

__all__ = ["Circle", "circles", "openings"]

Graph: TypeAlias = dict[int, list[int]]

_MOST_TRIED: Final = 1_000_000  # references looked at in search of a pivot


@dataclass(frozen=True, slots=True)
class Circle:
    """Rules that may begin with each other, or one that may begin with itself.

    `pivot` is a rule that all their circles pass through; None if there is no such rule.
    """

    rules: tuple[int, ...]
    pivot: int | None


def circles(rewriting: Rewriting) -> list[Circle]:
    """Every circle of the grammar; no rule is in two."""
    graph = {index: list(_first_rules(rewriting, rule.body)) for index, rule in enumerate(rewriting.rules)}
    return [Circle(found, _pivot(graph, found)) for found in _recursive(graph)]


def openings(rewriting: Rewriting, body: Expr, members: Collection[int]) -> set[Expr]:
    """The nodes of a body that may begin with one of the rules `members`."""
    found: set[Expr] = set()
    for node in bottom_up(body):
        match node:
            case Reference(rule):
                opens = rule in members
            case Sequence(parts):
                opens = any(part in found for part in _first_parts(rewriting, parts))
            case Choice(options):
                opens = any(option in found for option in options)
            case Repeat(inner):
                opens = inner in found
            case _:
                opens = False
        if opens:
            found.add(node)
    return found


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


def _pivot(graph: Graph, circle: tuple[int, ...]) -> int | None:
    edges = sum(len(graph[rule]) for rule in circle)
    for rule in circle[: _MOST_TRIED // (edges + 1)]:
        others = set(circle) - {rule}
        if not _recursive({node: [to for to in graph[node] if to in others] for node in others}):
            return rule
    return None


def _recursive(graph: Graph) -> list[tuple[int, ...]]:
    """The sets of nodes that lie on circles together, each in ascending order."""
    return [found for found in _components(graph) if len(found) > 1 or found[0] in graph[found[0]]]


def _components(graph: Graph) -> list[tuple[int, ...]]:
    """Strongly connected components (Tarjan 1972), with the stack of calls as a list."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[tuple[int, ...]] = []
    for start in graph:
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


def _cut(path: list[int], on_path: set[int], node: int) -> tuple[int, ...]:
    component = []
    while node in on_path:
        component.append(path.pop())
        on_path.discard(component[-1])
    return tuple(sorted(component))
