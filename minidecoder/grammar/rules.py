"""A grammar as data: rules whose bodies are small trees over characters and references to rules.

`list ::= "[" (item ("," item)*)? "]"` is one `Rule`; its body is a `Sequence` of a `Literal`, a `Repeat` and
a `Literal`. Characters are code points here, bytes come with the engine. Every node keeps its `place`, the
offset in the text of the grammar, so that a blocked token can be explained by the line that blocks it.

Nodes are compared by identity: two equal pieces of text at two places are two nodes, and a tree of any
depth can be a key without recursion. Left out: reading (`ebnf`) and every judgement (`checks`). Cost: none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from minidecoder.regex.charset import Ranges

__all__ = [
    "CharClass",
    "Choice",
    "Expr",
    "Grammar",
    "Literal",
    "Reference",
    "Repeat",
    "Rule",
    "Sequence",
    "bottom_up",
    "children",
    "line_and_column",
    "with_children",
]


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """These characters, in this order; `""` is the empty text."""

    text: str
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class CharClass:
    """One character out of a set; no ranges match nothing."""

    ranges: Ranges
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """One part after the other; no parts are the empty text."""

    parts: tuple[Expr, ...]
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of the options; no options match nothing."""

    options: tuple[Expr, ...]
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """`least` to `most` copies of the body; `most=None` has no upper bound."""

    body: Expr
    least: int
    most: int | None
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What the rule with this index in `Grammar.rules` matches."""

    rule: int
    place: int


Expr: TypeAlias = Literal | CharClass | Sequence | Choice | Repeat | Reference


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A named expression. `line` and `column` (from 1) say where it is defined."""

    name: str
    body: Expr
    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Rules, the index of the one that the whole text must match, and where they were read.

    `notes` are remarks for the author, each with its line: what is useless, and what was rewritten.
    """

    rules: tuple[Rule, ...]
    root: int
    source: str
    notes: tuple[str, ...] = ()

    def where(self, place: int) -> tuple[int, int]:
        """Line and column, both from 1, of the character at `place` in `source`."""
        return line_and_column(self.source, place)


def line_and_column(source: str, place: int) -> tuple[int, int]:
    """Line and column (from 1) of an offset; lines end with LF, CR or both."""
    starts = _line_starts(source)
    line = bisect_right(starts, place)
    return line, place - starts[line - 1] + 1


@lru_cache(maxsize=2)
def _line_starts(source: str) -> list[int]:
    return [0, *(end.end() for end in re.finditer(r"\r\n|\r|\n", source))]


def children(expr: Expr) -> tuple[Expr, ...]:
    """The nodes directly below."""
    # Asked millions of times for a large grammar: isinstance is three times as fast as match here.
    if isinstance(expr, Sequence):
        return expr.parts
    if isinstance(expr, Choice):
        return expr.options
    return (expr.body,) if isinstance(expr, Repeat) else ()


def bottom_up(expr: Expr, known: Container[Expr] = ()) -> Iterator[Expr]:
    """Every node once, children before their parents, in the order of the text; without recursion.

    Nodes in `known` are left out with all that is below them; the caller may add to it on the way.
    """
    opened: set[Expr] = set()
    finished: set[Expr] = set()
    pending = [expr]
    while pending:
        node = pending.pop()
        if node in finished or node in known:
            continue
        below = () if node in opened else children(node)
        if below:
            opened.add(node)
            pending.append(node)
            pending.extend(reversed(below))
        else:
            finished.add(node)
            yield node


def with_children(node: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """The node over what `new` gives for each child; the node itself where nothing changes."""
    match node:
        case Sequence(parts, place):
            kept = tuple(new[part] for part in parts)
            return node if kept == parts else Sequence(kept, place)
        case Choice(options, place):
            kept = tuple(new[option] for option in options)
            return node if kept == options else Choice(kept, place)
        case Repeat(body, least, most, place):
            return node if new[body] is body else Repeat(new[body], least, most, place)
    return node
