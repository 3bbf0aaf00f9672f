"""The rules of a grammar as bodies for `RuleMachines`: expressions → trees of the regex package.

Counted repetitions that would be long when written out (`{0,1000}`) become rules of their own, which count
instead: a loop and its body. Every leaf of a tree can be asked which piece of the grammar's text it is.

Left out: compiling. Cost: linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, TypeAlias

from minidecoder.grammar.rule_machines import Body, Counted, RuleMachines
from minidecoder.grammar.rules import (
    CharClass,
    Choice,
    Expr,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
    bottom_up,
    children,
)
from minidecoder.regex import tree
from minidecoder.regex.charset import Ranges
from minidecoder.regex.limits import Limits

__all__ = ["GrammarBodies", "Leaf", "compile_rules"]

_WRITTEN_OUT: Final = 32  # nodes that a counted repetition may grow to before it becomes a loop

Leaf: TypeAlias = Callable[[tree.Node, Expr, int], tree.Node]
"""May replace the leaf made of a node, given the node and the index in its literal."""


def compile_rules(grammar: Grammar, limits: Limits | None = None) -> RuleMachines:
    """The machines of every rule of `grammar`, as `prepare.read_grammar` leaves it, all of them open. Raises
    `ConstraintTooLargeError` past a limit."""
    bodies = GrammarBodies(grammar, limits)
    bodies.machines.begin(grammar.root)
    bodies.machines.open_all()
    return bodies.machines


class GrammarBodies:
    """Writes the body of a rule. Rules are named by their index; a loop by the node of its repetition, and
    its body by ("copy of", node, the rule in whose text it stands)."""

    def __init__(self, grammar: Grammar, limits: Limits | None = None) -> None:
        self.grammar = grammar
        self.machines = RuleMachines(self.write, limits)
        self.rule_of: dict[Hashable, int] = {n: n for n in range(len(grammar.rules))}

    def write(self, name: Hashable, leaf: Leaf = lambda made, *_: made) -> Body:
        """The body of a rule, with calls of others."""
        if isinstance(name, Repeat):
            copy = ("copy of", name)
            self.rule_of[copy] = self.rule_of[name]
            return Counted(copy, name.least, name.most)
        if isinstance(name, tuple):
            return self._tree(name[1].body, self.rule_of[name], leaf)
        assert isinstance(name, int)
        return self._tree(self.grammar.rules[name].body, name, leaf)

    def _tree(self, body: Expr, rule: int, leaf: Leaf) -> tree.Node:
        made: dict[int, tree.Node] = {}
        size: dict[int, int] = {}
        for node in bottom_up(body):
            parts = tuple(made[id(child)] for child in children(node))
            written = sum(size[id(child)] for child in children(node))
            match node:
                case Literal(text, _):
                    chars = [leaf(_one(ord(char)), node, at) for at, char in enumerate(text)]
                    made[id(node)], written = tree.Concat(tuple(chars)), len(text)
                case CharClass(ranges, _):
                    made[id(node)], written = leaf(tree.Chars(ranges), node, 0), 1
                case Reference(index, _):
                    made[id(node)], written = leaf(self.machines.call(index), node, 0), 1
                case Sequence():
                    made[id(node)] = tree.Concat(parts)
                case Choice():
                    made[id(node)] = tree.Choice(parts)
                case Repeat(_, least, most, _):
                    written *= max(least if most is None else most, 1)
                    if written <= _WRITTEN_OUT or (least <= 1 and most in (None, 1)):
                        made[id(node)] = tree.Repeat(parts[0], least, most)
                    else:
                        self.rule_of[node] = rule
                        made[id(node)], written = leaf(self.machines.call(node), node, 0), 1
            size[id(node)] = written
        return made[id(body)]


def _one(code_point: int) -> tree.Node:
    ranges: Ranges = ((code_point, code_point),)
    return tree.Chars(ranges)
