"""The syntax tree of a pattern: seven kinds of node, all immutable.

Five come out of the parser for a language without context. `Assertion` looks at the characters on both
sides of a place, `Look` at all that follows it; `dfa` and `lookahead` compile them away. `Machine` is a
part that is already an automaton. Groups and laziness leave no trace: they do not change a language.

Left out: positions, except where a later step may still refuse. Cost: none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from minidecoder.regex.charset import Ranges

__all__ = [
    "Assertion",
    "Chars",
    "Choice",
    "Concat",
    "Look",
    "Machine",
    "Node",
    "Place",
    "Repeat",
    "descendants",
    "width",
]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after the other; no parts at all is the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options; no options at all match nothing."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` copies of a node; `most=None` has no upper bound."""

    node: Node
    least: int
    most: int | None


class Place(Enum):
    """What an assertion says about the place where it stands."""

    TEXT_START = r"\A"
    LINE_START = "^ with the flag m"
    TEXT_END = r"\Z"
    LAST_LINE_END = "$"  # the end, or before a newline that is the last character
    LINE_END = "$ with the flag m"
    WORD_EDGE = r"\b"
    NO_WORD_EDGE = r"\B"
    ASCII_WORD_EDGE = r"\b with the flag a"
    NO_ASCII_WORD_EDGE = r"\B with the flag a"
    NO_ECMA_WORD_EDGE = r"\B in ECMA, which also holds in an empty text"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Matches the empty string where its place is right."""

    place: Place


@dataclass(frozen=True, slots=True)
class Look:
    """A look-ahead: what follows must (or, if `negative`, must not) begin with `node`."""

    node: Node
    negative: bool
    position: int


@dataclass(frozen=True, slots=True)
class Machine:
    """An automaton as a part of a pattern: `edges[s]` are (characters, target); state 0 is the start."""

    edges: tuple[tuple[tuple[Ranges, int], ...], ...]
    accepting: tuple[bool, ...]


Node: TypeAlias = Chars | Concat | Choice | Repeat | Assertion | Look | Machine


def descendants(tree: Node) -> Iterator[Node]:
    """The tree and every node in it, in no useful order; without recursion."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Concat(children) | Choice(children):
                pending.extend(children)
            case Repeat(child, _, _) | Look(child, _, _):
                pending.append(child)


def width(tree: Node) -> tuple[int, int | None]:
    """The fewest and the most characters that a tree can match; None for no limit. Without recursion."""
    widths: dict[int, tuple[int, int | None]] = {}
    for node in reversed(list(descendants(tree))):  # children before their parents
        match node:
            case Chars():
                widths[id(node)] = (1, 1)
            case Concat(parts):
                pairs = [widths[id(part)] for part in parts]
                widths[id(node)] = (sum(low for low, _ in pairs), _total([high for _, high in pairs]))
            case Choice(options):
                pairs = [widths[id(option)] for option in options]
                highs = [high for _, high in pairs]
                most = None if None in highs else max((high for high in highs if high is not None), default=0)
                widths[id(node)] = (min((low for low, _ in pairs), default=0), most)
            case Repeat(child, least, copies):
                low, high = widths[id(child)]
                most = 0 if high == 0 else None if high is None or copies is None else high * copies
                widths[id(node)] = (low * least, most)
            case _:
                widths[id(node)] = (0, 0)
    return widths[id(tree)]


def _total(highs: list[int | None]) -> int | None:
    return None if None in highs else sum(high for high in highs if high is not None)
