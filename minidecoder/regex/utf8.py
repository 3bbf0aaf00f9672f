"""Character automaton → byte automaton: each character edge becomes a path of 1 to 4 bytes.

Tokens are byte strings and may end inside a character, so the engine runs on bytes. A character
state keeps its number (and its name s0, s1, …); the states between the bytes of one character
follow (b0, b1, …). Two of those are one state when they lead to the same places under the same
bytes, so the result is minimal where the character machine is.

Left out: surrogates and overlong forms, which are no UTF-8 and have no path.
Cost: O(Q times the UTF-8 tree of the K character classes), a few dozen nodes for most patterns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.regex.charset import Ranges
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits

__all__ = ["ByteDFA", "lower_to_bytes"]

# (first code point, last, lead byte of code point 0 of this length, bytes that follow the lead)
_LENGTHS: Final = (
    (0, 0x7F, 0x00, 0),
    (0x80, 0x7FF, 0xC0, 1),
    (0x800, 0xFFFF, 0xE0, 2),
    (0x10000, 0x10FFFF, 0xF0, 3),
)

_LAST: Final = 0x10FFFF
_FEW: Final = 4  # live classes of a state whose branches are picked out one by one

_Span: TypeAlias = tuple[int, int, int]  # (low, high, class): code points of one class
_Tree: TypeAlias = "int | tuple[tuple[int, int, _Tree], ...]"  # a class, or (first byte, last byte, subtree)*
_Edges: TypeAlias = tuple[tuple[int, int, int], ...]  # (first byte, last byte, target state)


@dataclass(frozen=True, eq=False)
class ByteDFA:
    """A table automaton over bytes; implements `Automaton`.

    `byte_class`: intp (256,), the column of each byte; `table`: int32 (Q, K), row 0 all DEAD;
    `accepting`: bool (Q,); states 1..`characters` stand between characters.
    """

    byte_class: NDArray[np.intp]
    table: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    start: State
    characters: int

    def __post_init__(self) -> None:
        for array in (self.byte_class, self.table, self.accepting):
            array.flags.writeable = False  # shared by every request

    def __len__(self) -> int:
        """The number of live states, those inside a character included."""
        return len(self.table) - 1

    def step(self, state: State, byte: int) -> State:
        return State(int(self.table[state, self.byte_class[byte]]))

    def run(self, state: State, data: bytes) -> State:
        """The state after all of `data`: the last of `walk`, several times faster."""
        item, columns, at = self.table.item, self._columns, int(state)
        for byte in data:
            at = item(at, columns[byte])
        return State(at)

    @cached_property
    def _columns(self) -> list[int]:
        columns: list[int] = self.byte_class.tolist()
        return columns

    def is_accepting(self, state: State) -> bool:
        return bool(self.accepting[state])

    def name(self, state: State) -> str:
        if state == DEAD:
            return "dead"
        inside = state - 1 - self.characters
        return f"s{state - 1}" if inside < 0 else f"b{inside}"

    def mask_key(self, state: State) -> int:
        return state

    def live_bytes(self, state: State) -> list[int]:
        live: list[int] = np.flatnonzero(self.table[state, self.byte_class]).tolist()
        return live

    def hold(self, state: State) -> None:
        """Nothing: a table keeps all of its states."""

    def __contains__(self, state: object) -> bool:
        is_number = isinstance(state, Integral) and not isinstance(state, bool)
        return is_number and 0 <= int(state) < len(self.table)  # type: ignore[call-overload]

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + self.accepting.nbytes + self.byte_class.nbytes


def lower_to_bytes(dfa: DFA, limits: Limits | None = None) -> ByteDFA:
    """The byte automaton that accepts the UTF-8 encodings of the texts `dfa` accepts.

    Raises `ConstraintTooLargeError` past a limit: `\\w` has 300 states inside its characters.
    """
    limits = limits or Limits()
    if all(high <= 0x7F or low > _LAST for ranges in dfa.classes for low, high in ranges):
        return _ascii_only(dfa)
    states = _ByteStates(len(dfa), _utf8_tree(dfa.classes))
    for row in dfa.table.tolist():
        states.add_character_state(row)
        limits.check_byte_states(states.first_inner + len(states.inner))
        limits.check_time()
    byte_class, table = _tabulate(states.edges())
    accepting = np.zeros(len(table), dtype=np.bool_)
    accepting[: len(dfa.accepting)] = dfa.accepting
    return ByteDFA(byte_class, table, accepting, dfa.start, len(dfa))


def _ascii_only(dfa: DFA) -> ByteDFA:
    """The same where each character is one byte: the table as it is, and a column for all other bytes."""
    used = [k for k, ranges in enumerate(dfa.classes) if ranges[0][0] <= 0x7F]
    byte_class = np.full(256, len(used), dtype=np.intp)
    for column, k in enumerate(used):
        for low, high in dfa.classes[k]:
            byte_class[low : min(high, 0x7F) + 1] = column
    table = np.concatenate([dfa.table[:, used], np.zeros((len(dfa.table), 1), dtype=np.int32)], axis=1)
    return ByteDFA(byte_class, table, dfa.accepting, dfa.start, len(dfa))


@lru_cache(maxsize=32)
def _utf8_tree(classes: tuple[Ranges, ...]) -> _Tree:
    """The classes as a tree of bytes: the part of UTF-8 decoding that is the same in every state."""
    spans = sorted((low, high, k) for k, ranges in enumerate(classes) for low, high in ranges)
    branches: list[tuple[int, int, _Tree]] = []
    for first, last, lead, following in _LENGTHS:
        inside = [(max(lo, first), min(hi, last), k) for lo, hi, k in spans if lo <= last and hi >= first]
        branches += _branches(inside, lead, following)
    return tuple(branches)


def _branches(spans: Sequence[_Span], lead: int, following: int) -> Iterator[tuple[int, int, _Tree]]:
    """Cut `spans` by their next byte; neighbours with equal subtrees share one branch."""
    pending: tuple[int, int, _Tree] | None = None
    for byte, last_byte, inner in _by_next_byte(spans, lead, following):
        subtree = inner[0][2] if following == 0 else tuple(_branches(inner, 0x80, following - 1))
        if pending and pending[1] + 1 == byte and pending[2] == subtree:
            pending = (pending[0], last_byte, subtree)
            continue
        if pending:
            yield pending
        pending = (byte, last_byte, subtree)
    if pending:
        yield pending


def _by_next_byte(
    spans: Sequence[_Span], lead: int, following: int
) -> Iterator[tuple[int, int, list[_Span]]]:
    """(first byte, last byte, the spans behind it, counted from the first code point of the byte)."""
    size = 64**following  # code points behind one byte
    at, cursor = 0, -1
    while at < len(spans):
        low, high, k = spans[at]
        block = max(low // size, cursor)
        base = block * size
        if low <= base and high >= base + size - 1:  # one class fills whole bytes: take them all at once
            cursor = (high + 1) // size
            yield lead + block, lead + cursor - 1, [(0, size - 1, k)]
        else:
            cursor = block + 1
            inner = [
                (max(lo - base, 0), min(hi - base, size - 1), c)
                for lo, hi, c in spans[at:]
                if lo < base + size
            ]
            yield lead + block, lead + block, inner
        while at < len(spans) and spans[at][1] < cursor * size:
            at += 1


class _ByteStates:
    """Numbers the states inside characters; equal edges get equal numbers."""

    def __init__(self, characters: int, tree: _Tree) -> None:
        assert isinstance(tree, tuple)
        self.tree = tree
        self.branches_of = _branches_by_class(tree)
        self.character_edges: list[_Edges] = []
        self.inner: dict[_Edges, int] = {}
        self.first_inner = characters + 1

    def add_character_state(self, row: Sequence[int]) -> None:
        # Most states of a literal have one live class: only its branches are looked at.
        live = [k for k, target in enumerate(row) if target]
        numbers = sorted({n for k in live for n in self.branches_of[k]}) if len(live) <= _FEW else None
        tree = self.tree if numbers is None else tuple(self.tree[n] for n in numbers)
        self.character_edges.append(self._edges(tree, row))

    def edges(self) -> list[_Edges]:
        return self.character_edges + list(self.inner)

    def _edges(self, tree: tuple[tuple[int, int, _Tree], ...], row: Sequence[int]) -> _Edges:
        merged: list[tuple[int, int, int]] = []
        for first, last, subtree in tree:
            target = self._target(subtree, row)
            if target == DEAD:
                continue
            if merged and merged[-1][1] + 1 == first and merged[-1][2] == target:
                merged[-1] = (merged[-1][0], last, target)
            else:
                merged.append((first, last, target))
        return tuple(merged)

    def _target(self, subtree: _Tree, row: Sequence[int]) -> int:
        if isinstance(subtree, int):
            return row[subtree]
        edges = self._edges(subtree, row)  # at most three deep
        return self.inner.setdefault(edges, self.first_inner + len(self.inner)) if edges else DEAD


def _branches_by_class(tree: tuple[tuple[int, int, _Tree], ...]) -> dict[int, list[int]]:
    """For each class the branches of the tree in which it occurs."""
    branches: dict[int, list[int]] = defaultdict(list)
    for number, (_, _, subtree) in enumerate(tree):
        for k in _classes_in(subtree):
            branches[k].append(number)
    return branches


def _classes_in(tree: _Tree) -> set[int]:
    if isinstance(tree, int):
        return {tree}
    return set().union(*(_classes_in(subtree) for _, _, subtree in tree))  # at most three deep


def _tabulate(edges: Sequence[_Edges]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Edges → (byte_class, table), with bytes that no state tells apart in one column."""
    cuts = sorted({0, 256} | {cut for row in edges for low, high, _ in row for cut in (low, high + 1)})
    column_at = {cut: column for column, cut in enumerate(cuts)}
    table = np.zeros((len(edges), len(cuts) - 1), dtype=np.int32)
    for state, row in enumerate(edges):
        for low, high, target in row:
            table[state, column_at[low] : column_at[high + 1]] = target
    column_of: dict[bytes, int] = {}
    merged = [column_of.setdefault(table[:, c].tobytes(), len(column_of)) for c in range(table.shape[1])]
    byte_class = np.repeat(np.array(merged, dtype=np.intp), np.diff(cuts))
    first_of = [merged.index(column) for column in range(len(column_of))]
    return byte_class, np.ascontiguousarray(table[:, first_of])
