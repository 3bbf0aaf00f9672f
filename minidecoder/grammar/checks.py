"""What an author should know about a grammar that can be compiled all the same.

Rules that no text uses, rules that match nothing (`a ::= "x" a` never ends), classes without members,
repetitions of something that can be empty, left recursion, and the classic slip `[sign]`, a class of four
letters where the rule `sign` was meant. Each remark begins with its line.

Left out: repairs (`prune`, `nonempty`, `left_recursion`). Cost: O(nodes of the grammar).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.grammar.fixpoint import Answer, nullable
from minidecoder.grammar.prune import reachable
from minidecoder.grammar.rules import CharClass, Expr, Grammar, Repeat, bottom_up

__all__ = ["remarks"]

_PLAIN_CLASS: Final = re.compile(r"\[([A-Za-z0-9_-]+)\]")


def remarks(grammar: Grammar, alive: Answer) -> list[tuple[int, int, str]]:
    """(line, column, sentence) each; `alive` is what `productive` says of the rules.

    Raises `UnsatisfiableConstraintError` if the root matches no text.
    """
    root = grammar.rules[grammar.root]
    if not alive.rules[grammar.root]:
        raise UnsatisfiableConstraintError(
            f"line {root.line}: rule {root.name!r} matches no text: every way through it needs itself, "
            "or a rule or a class that matches none"
        )
    return [*_useless_rules(grammar, alive), *_suspicious_nodes(grammar)]


def _useless_rules(grammar: Grammar, alive: Answer) -> Iterator[tuple[int, int, str]]:
    root = grammar.rules[grammar.root].name
    used = reachable(grammar.rules, grammar.root)
    for index, rule in enumerate(grammar.rules):
        if index not in used:
            yield rule.line, rule.column, f"rule {rule.name!r} is never used from {root!r}"
        if not alive.rules[index]:
            yield rule.line, rule.column, f"rule {rule.name!r} matches no text, what needs it is left out"


def _suspicious_nodes(grammar: Grammar) -> Iterator[tuple[int, int, str]]:
    names = {rule.name for rule in grammar.rules}
    can_be_empty = nullable(grammar.rules).nodes
    for rule in grammar.rules:
        for node in bottom_up(rule.body):
            for text in _about(node, names, can_be_empty, grammar.source):
                yield (*grammar.where(node.place), text)


def _about(node: Expr, names: set[str], can_be_empty: frozenset[Expr], source: str) -> Iterator[str]:
    match node:
        case CharClass((), _):
            yield "a class without members matches nothing"
        case CharClass(_, place):
            spelled = _PLAIN_CLASS.match(source, place)
            if spelled and spelled[1] in names:
                name = spelled[1]
                yield f"{spelled[0]} is one of these characters; the rule is {name}, optional {name}?"
        case Repeat(body, _, most, _) if body in can_be_empty and most not in (0, 1):
            yield "what is repeated here can be empty; copies of the empty text do not count"
