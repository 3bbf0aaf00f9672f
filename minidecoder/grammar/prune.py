"""The same language with nothing in it that cannot matter: parts that match no text, rules that nobody uses.

After pruning every node matches at least one text and every rule is used, so a machine over the rules never
walks into a place from which no character leads on to an end. On the way `""` becomes an empty sequence,
`x{0}` disappears and `x{1}` becomes `x`.

Left out: telling the author (`checks`). Cost: O(nodes of the grammar).
"""

from __future__ import annotations

from dataclasses import replace

from minidecoder.grammar.fixpoint import Answer
from minidecoder.grammar.rules import (
    Choice,
    Expr,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Rule,
    Sequence,
    bottom_up,
    with_children,
)

__all__ = ["prune", "reachable"]


def prune(grammar: Grammar, alive: Answer) -> Grammar:
    """The part of a grammar that matters, in the order of its text.

    `alive` is what `productive` says of its rules, and it must say yes to the root.
    """
    bodies: dict[Expr, Expr] = {}
    rules = tuple(
        replace(rule, body=_pruned(rule.body, alive.nodes, bodies)) if is_alive else rule
        for rule, is_alive in zip(grammar.rules, alive.rules, strict=True)
    )
    used = sorted(reachable(rules, grammar.root), key=lambda index: (rules[index].line, rules[index].column))
    numbers = {old: new for new, old in enumerate(used)}
    renamed: dict[Expr, Expr] = {}
    kept = tuple(replace(rules[old], body=_renumbered(rules[old].body, numbers, renamed)) for old in used)
    return replace(grammar, rules=kept, root=numbers[grammar.root])


def reachable(rules: tuple[Rule, ...], root: int) -> set[int]:
    """The rules that a text of the root can use, the root among them."""
    found, pending = {root}, [root]
    while pending:
        for node in bottom_up(rules[pending.pop()].body):
            if isinstance(node, Reference) and node.rule not in found:
                found.add(node.rule)
                pending.append(node.rule)
    return found


def _pruned(body: Expr, alive: frozenset[Expr], done: dict[Expr, Expr]) -> Expr:
    for node in bottom_up(body, done):
        if node in alive:
            done[node] = _pruned_node(node, done)
    return done[body]


def _pruned_node(node: Expr, done: dict[Expr, Expr]) -> Expr:
    """The node with its parts pruned already; the parts that match nothing are not in `done`."""
    match node:
        case Literal("", place):
            return Sequence((), place)
        case Sequence(parts, place):
            kept = tuple(done[part] for part in parts if not _is_empty(done[part]))
            return kept[0] if len(kept) == 1 else node if kept == parts else Sequence(kept, place)
        case Choice(options, place):
            kept = tuple(done[option] for option in options if option in done)
            return kept[0] if len(kept) == 1 else node if kept == options else Choice(kept, place)
        case Repeat(body, least, most, place):
            if body not in done or most == 0 or _is_empty(done[body]):
                return Sequence((), place)
            if (least, most) == (1, 1):
                return done[body]
            return node if done[body] is body else Repeat(done[body], least, most, place)
    return node


def _is_empty(node: Expr) -> bool:
    return isinstance(node, Sequence) and not node.parts


def _renumbered(body: Expr, numbers: dict[int, int], done: dict[Expr, Expr]) -> Expr:
    for node in bottom_up(body, done):
        if isinstance(node, Reference) and numbers[node.rule] != node.rule:
            done[node] = Reference(numbers[node.rule], node.place)
        else:
            done[node] = with_children(node, done)
    return done[body]
