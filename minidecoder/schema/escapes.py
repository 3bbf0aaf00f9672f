r"""From the characters of a string to the text that stands between its quotes in JSON.

`"canonical"`: each character that must be escaped has one spelling (`\"`, `\\`, `\b \f \n \r \t`, else
`\u00` and two lower-case hexadecimal digits), every other one is itself. `"any"`: every spelling of RFC 8259,
also `\/`, any letter as `\u0041`, either case, and a pair such as `\ud83d\ude00` for one astral character.
Half a pair alone is no character and has no spelling.

States between characters keep their numbers, as in `utf8`; those inside an escape follow. Left out: the
quotes. Cost: for each state, what the escapes of its characters need: at most 6 states more, or a tree of
hexadecimal digits with one branch for each class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.errors import UsageError
from minidecoder.regex.charset import ANY, Ranges, make_ranges, negate, partition, single
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits

__all__ = ["Escapes", "escaped", "one_character"]

Escapes: TypeAlias = Literal["canonical", "any"]

_SHORT: Final = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_MUST: Final = make_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_BACKSLASH: Final = "\\"
_HEX: Final = "0123456789abcdef"
_HIGH, _LOW, _BEHIND = 0xD800, 0xDC00, 0xE000  # the halves of pairs: high ones, low ones, and what follows

_Tree: TypeAlias = "int | tuple[tuple[str, _Tree], ...]"
"""What may follow: a character is complete, and this its class; or (character, what may follow it)*."""

_Row: TypeAlias = tuple[tuple[str, int], ...]  # (character, target)*


def escaped(dfa: DFA, escapes: Escapes = "canonical", limits: Limits | None = None) -> DFA:
    """The DFA of the spellings of the texts that `dfa` accepts.

    States 1..len(dfa) are those of `dfa`: entering one completes a character. Not minimised.
    Raises `ConstraintTooLargeError` past a limit.
    """
    if escapes not in ("canonical", "any"):
        raise UsageError(f"escapes={escapes!r}: they are 'canonical' or 'any'")
    limits = limits or Limits()
    tree = _spellings(dfa.classes, escapes)
    inner = _InnerStates(len(dfa) + 1)
    behind_backslash = [DEAD] * len(dfa.table)
    for state in np.flatnonzero(dfa.table[:, sorted(_classes_in(tree))].any(axis=1)).tolist():
        behind_backslash[state] = State(inner.target(tree, dfa.table[state].tolist(), {}))
        limits.check_byte_states(len(dfa) + len(inner.rows))
        limits.check_time()
    return _assembled(dfa, behind_backslash, list(inner.rows))


@cache
def one_character(escapes: Escapes = "canonical") -> DFA:
    """The DFA of the spellings of exactly one character, whichever: start and end are its states 1 and 2."""
    table = np.array([[DEAD], [2], [DEAD]], dtype=np.int32)
    return escaped(DFA((ANY,), table, np.array([False, False, True]), State(1)), escapes)


def _classes_in(tree: _Tree) -> set[int]:
    """The classes of which some character has an escape."""
    found, pending, seen = set[int](), [tree], set[int]()
    while pending:
        part = pending.pop()
        if isinstance(part, int):
            found.add(part)
        elif id(part) not in seen:  # branches are shared
            seen.add(id(part))
            pending += [branch for _, branch in part]
    return found


class _InnerStates:
    """Numbers the states inside escapes; those with equal rows are one."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows: dict[_Row, int] = {}

    def target(self, tree: _Tree, row: Sequence[int], done: dict[int, int]) -> int:
        """The state in front of `tree`, for a character state with this row; DEAD if nothing follows."""
        if isinstance(tree, int):
            return row[tree]
        if id(tree) not in done:  # branches are shared
            pairs = ((char, self.target(branch, row, done)) for char, branch in tree)  # at most 11 deep
            edges = tuple(pair for pair in pairs if pair[1] != DEAD)
            done[id(tree)] = self.rows.setdefault(edges, self.first + len(self.rows)) if edges else DEAD
        return done[id(tree)]


def _assembled(dfa: DFA, behind_backslash: Sequence[int], rows: Sequence[_Row]) -> DFA:
    raw = [_without_must(ranges) for ranges in dfa.classes]
    signs = sorted({char for row in rows for char, _ in row})
    extra = [_BACKSLASH] if any(behind_backslash) else []
    classes, members = partition([*filter(None, raw), *map(single, [*signs, *extra])])
    table = np.zeros((len(dfa.table) + len(rows), len(classes)), dtype=np.int32)
    for k, ranges in enumerate(raw):
        if ranges:
            table[: len(dfa.table), members[ranges]] = dfa.table[:, [k]]
    for char in extra:
        table[: len(dfa.table), members[single(char)]] = np.array(behind_backslash)[:, None]
    columns = {char: members[single(char)] for char in signs}
    for state, row in enumerate(rows, start=len(dfa.table)):
        for char, target in row:
            table[state, columns[char]] = target
    accepting = np.append(dfa.accepting, np.zeros(len(rows), np.bool_))
    return DFA(classes, table, accepting, dfa.start)


def _without_must(ranges: Ranges) -> Ranges:
    """The characters of a set that may stand for themselves."""
    return negate(make_ranges([*negate(ranges), *_MUST]))


# -- the spellings behind a backslash, as a tree -----------------------------------------------------------


@lru_cache(maxsize=32)
def _spellings(classes: tuple[Ranges, ...], escapes: Escapes) -> _Tree:
    """What may follow a backslash, down to the class of the character that is then complete."""
    codes = _Codes(classes)
    short = {**_SHORT, "/": "/"} if escapes == "any" else _SHORT
    branches: list[tuple[str, _Tree]] = []
    for char, letter in short.items():
        k = codes.class_of(ord(char))
        if k >= 0:
            branches.append((letter, k))
    hexadecimal = codes.digits(0, 0x10000) if escapes == "any" else codes.control_digits()
    return tuple([*branches, ("u", hexadecimal)] if hexadecimal else branches)


class _Codes:
    """Trees of hexadecimal digits over classes of characters. () is a tree with nothing in it."""

    def __init__(self, classes: Sequence[Ranges]) -> None:
        spans = sorted((low, high, k) for k, ranges in enumerate(classes) for low, high in ranges)
        self._edges, self._owners = [0], [-1]
        for low, high, k in spans:
            self._edges += [low, high + 1]
            self._owners += [k, -1]
        self._uniform: dict[tuple[int, int, bool], _Tree] = {}

    def class_of(self, code: int) -> int:
        """The class of a code point, -1 for none."""
        return self._owners[bisect_right(self._edges, code) - 1]

    def control_digits(self) -> _Tree:
        """Four lower-case digits for each character below U+0020 that has no shorter escape."""
        codes = [code for code in range(0x20) if chr(code) not in _SHORT and self.class_of(code) >= 0]
        tens = []
        for ten in sorted({code // 16 for code in codes}):
            ones = tuple((_HEX[code % 16], self.class_of(code)) for code in codes if code // 16 == ten)
            tens.append((_HEX[ten], ones))
        return (("0", (("0", tuple(tens)),)),) if tens else ()

    def digits(self, low: int, size: int) -> _Tree:
        """Four digits, and `\\u` and four more behind half a pair, for the codes in [low, low + size)."""
        if _LOW <= low < _BEHIND:
            return ()
        is_high = _HIGH <= low < _LOW
        if size == 1:
            return self._low_half(low) if is_high else self._leaf(low)
        first, last = self._meant(low), self._meant(low + size - 1) + (0x3FF if is_high else 0)
        has_halves = not is_high and low + size > _HIGH and low < _BEHIND
        if has_halves or not self._is_uniform(first, last):
            return _branches([self.digits(low + at * size // 16, size // 16) for at in range(16)])
        key = (self.class_of(first), size, is_high)
        if key not in self._uniform:  # one class alone: all such blocks share one tree
            self._uniform[key] = _branches([self.digits(low, size // 16)] * 16)
        return self._uniform[key]

    def _meant(self, code: int) -> int:
        """The first character that begins with this code."""
        return 0x10000 + ((code - _HIGH) << 10) if _HIGH <= code < _LOW else code

    def _low_half(self, high: int) -> _Tree:
        r"""`\u` and the four digits of the second half of a pair, for one first half."""
        base = self._meant(high)
        key = (self.class_of(base), 0, True)
        if self._is_uniform(base, base + 0x3FF) and key in self._uniform:
            return self._uniform[key]
        blocks = [
            _branches(
                [_branches([self._leaf(base + 256 * b + 16 * t + o) for o in range(16)]) for t in range(16)]
            )
            for b in range(4)
        ]
        digits = _branches([()] * 13 + [_branches([()] * 12 + blocks)] + [()] * 2)
        tree: _Tree = ((_BACKSLASH, (("u", digits),)),) if digits else ()
        if self._is_uniform(base, base + 0x3FF):
            self._uniform[key] = tree
        return tree

    def _leaf(self, code: int) -> _Tree:
        k = self.class_of(code)
        return k if k >= 0 else ()

    def _is_uniform(self, first: int, last: int) -> bool:
        return bisect_right(self._edges, first) == bisect_right(self._edges, last)


def _branches(subtrees: Sequence[_Tree]) -> _Tree:
    """A digit, of either case, and what follows it; digits behind which there is nothing fall away."""
    pairs = [(char, subtree) for char, subtree in zip(_HEX, subtrees, strict=True) if subtree != ()]
    return tuple(
        (spelling, subtree) for char, subtree in pairs for spelling in dict.fromkeys(char + char.upper())
    )
