"""What is true of a rule because it is true of its parts: can it be empty, can it match anything at all?

Both questions have the same shape. A sequence says yes if all its parts do, a choice if one option does, a
reference if its rule does; what recursion alone supports stays no. The answer is the least one that is
consistent, found by counting down what each node still waits for.

Left out: what to do about the answer (`checks`, `prune`). Cost: O(nodes of the grammar).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minidecoder.grammar.rules import (
    CharClass,
    Choice,
    Expr,
    Literal,
    Reference,
    Repeat,
    Rule,
    Sequence,
    bottom_up,
    children,
)

__all__ = ["Answer", "nullable", "productive"]


@dataclass(frozen=True, slots=True)
class Answer:
    """For which rules, by index, and for which nodes of their bodies the answer is yes."""

    rules: tuple[bool, ...]
    nodes: frozenset[Expr]


def nullable(rules: tuple[Rule, ...]) -> Answer:
    """Which rules and nodes match the empty text, among others."""
    return _least(rules, lambda leaf: isinstance(leaf, Literal) and not leaf.text)


def productive(rules: tuple[Rule, ...]) -> Answer:
    """Which rules and nodes match at least one text: `a ::= "x" a` matches none."""
    return _least(rules, lambda leaf: isinstance(leaf, Literal) or bool(leaf.ranges))


def _least(rules: tuple[Rule, ...], holds: Callable[[Literal | CharClass], bool]) -> Answer:
    waiting: dict[Expr, int] = {}  # node → how many of its parts must still say yes
    parents: dict[Expr, list[Expr]] = {}
    callers: list[list[Expr]] = [[] for _ in rules]
    owners: dict[Expr, list[int]] = {}  # body → the rules that have it
    said_yes: list[Expr] = []
    for index, rule in enumerate(rules):
        owners.setdefault(rule.body, []).append(index)
        for node in bottom_up(rule.body, waiting):  # two rules may share a part
            waiting[node] = _needed(node, holds)
            if waiting[node] == 0:
                said_yes.append(node)
            for child in children(node):
                parents.setdefault(child, []).append(node)
            if isinstance(node, Reference):
                callers[node.rule].append(node)
    truth = [False] * len(rules)
    while said_yes:
        node = said_yes.pop()
        above = list(parents.get(node, ()))
        for index in owners.get(node, ()):
            truth[index] = True
            above += callers[index]
        for other in above:
            waiting[other] -= 1
            if waiting[other] == 0:
                said_yes.append(other)
    return Answer(tuple(truth), frozenset(node for node, count in waiting.items() if count <= 0))


def _needed(node: Expr, holds: Callable[[Literal | CharClass], bool]) -> int:
    """How many yeses, one for each part that gives one, make a node say yes."""
    match node:
        case Sequence(parts):
            return len(parts)
        case Repeat(_, least):
            return min(least, 1)
        case Choice() | Reference():
            return 1
    return 0 if holds(node) else 1
