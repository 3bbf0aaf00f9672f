r"""Look-ahead, compiled away: `(?=X)R` is what R matches and X begins.

    A(?=X)R  →  A (R ∩ X·anything)          A(?!X)R  →  A (R − X·anything)

R is all that follows, to the end of the pattern, also outside of the group in which the
look-ahead stands; so the tree is rewritten from its end, and each part is told what follows it.
Exact wherever R is one language: not inside a repetition, where what follows differs from round to
round, and not where R itself looks back. Those are `UnsupportedFeatureError`s.
"""

from __future__ import annotations

from minidecoder.errors import UnsupportedFeatureError
from minidecoder.regex.charset import ANY
from minidecoder.regex.dfa import DFA, compile_tree
from minidecoder.regex.limits import Limits
from minidecoder.regex.operations import complement, intersect
from minidecoder.regex.tree import (
    Assertion,
    Chars,
    Choice,
    Concat,
    Look,
    Machine,
    Node,
    Place,
    Repeat,
    descendants,
)

__all__ = ["ANYTHING", "remove_lookahead"]

ANYTHING = Repeat(Chars(ANY), 0, None)
_LOOKS_BACK = {place for place in Place if place not in (Place.TEXT_END, Place.LINE_END, Place.LAST_LINE_END)}
_DEEPEST = 200  # groups around a look-ahead


def remove_lookahead(tree: Node, pattern: str, limits: Limits) -> Node:
    """The tree without `Look` nodes, matching the same texts."""
    return _Rewriter(pattern, limits).rewrite(tree, Concat(()), at_start=True, depth=0)


class _Rewriter:
    def __init__(self, pattern: str, limits: Limits) -> None:
        self.pattern = pattern
        self.limits = limits

    def rewrite(self, node: Node, rest: Node, *, at_start: bool, depth: int) -> Node:
        """`node` followed by `rest`, which is already rewritten. `at_start`: nothing can stand before it."""
        look = _first_look(node)
        if look is None:
            return _join(node, rest)
        if depth > _DEEPEST:
            self._refuse("look-ahead this deep in groups", look, "")
        match node:
            case Concat(parts):
                return self._sequence(parts, rest, at_start, depth)
            case Choice(options):
                rewritten = (self.rewrite(o, rest, at_start=at_start, depth=depth + 1) for o in options)
                return Choice(tuple(rewritten))
            case Look():
                return self._intersection(node, rest, at_start, depth)
            case _:
                self._refuse(
                    "look-ahead inside a repetition", look, "write the rounds out, or move it outside"
                )
                raise AssertionError

    def _sequence(self, parts: tuple[Node, ...], rest: Node, at_start: bool, depth: int) -> Node:
        for index in range(len(parts) - 1, -1, -1):
            first = at_start and all(map(_is_empty, parts[:index]))
            rest = self.rewrite(parts[index], rest, at_start=first, depth=depth + 1)
        return rest

    def _intersection(self, look: Look, rest: Node, at_start: bool, depth: int) -> Node:
        wanted = self.rewrite(look.node, ANYTHING, at_start=at_start, depth=depth + 1)
        for tree in (wanted, rest):
            if not at_start and _looks_back(tree):
                self._refuse("look-ahead together with ^, \\b or \\B behind it", look, "")
        condition = compile_tree(wanted, self.limits)
        if look.negative:
            condition = complement(condition)
        following = compile_tree(rest, self.limits)
        return _as_node(intersect(following, condition, self.limits))

    def _refuse(self, feature: str, look: Look, remedy: str) -> None:
        raise UnsupportedFeatureError(feature, pattern=self.pattern, position=look.position, remedy=remedy)


def _first_look(tree: Node) -> Look | None:
    looks = [node for node in descendants(tree) if isinstance(node, Look)]
    return min(looks, key=lambda look: look.position, default=None)


def _looks_back(tree: Node) -> bool:
    return any(isinstance(node, Assertion) and node.place in _LOOKS_BACK for node in descendants(tree))


def _is_empty(node: Node) -> bool:
    """Whether a part matches nothing but the empty text."""
    return all(isinstance(inner, Assertion | Look | Concat) for inner in _outside_looks(node))


def _outside_looks(node: Node) -> list[Node]:
    if isinstance(node, Look):
        return [node]
    children = node.parts if isinstance(node, Concat) else ()
    return [node, *(inner for child in children for inner in _outside_looks(child))]


def _join(node: Node, rest: Node) -> Node:
    return node if rest == Concat(()) else Concat((node, rest))


def _as_node(dfa: DFA) -> Node:
    """A DFA as a part of a tree; the empty language is a choice without options."""
    if len(dfa) == 0:
        return Choice(())
    edges: list[list[tuple[tuple[tuple[int, int], ...], int]]] = [[] for _ in range(len(dfa))]
    for source, ranges, target in dfa.edges():
        edges[source - 1].append((ranges, target - 1))
    return Machine(tuple(map(tuple, edges)), tuple(dfa.accepting[1:].tolist()))
