r"""What can be asked of whole languages: and, or, not, and whether two are one.

Two machines cut the characters into different classes, so both are first written over the classes
that neither splits. `&` and `|` then walk the two side by side (the product construction, over the
pairs that the start reaches); `~` swaps ends and non-ends once every character has an edge. Each
result is minimal, so equal languages give equal tables.

The comparison is Hopcroft and Karp's (1971): follow both, assume equal whatever was met together,
stop at the first contradiction. Left out: the operations on bytes.
Cost: O(K) per reached pair, at worst Q_a Q_b pairs (`Limits` bounds them); to compare, O(K (Q_a + Q_b)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.regex.charset import ANY, Ranges, partition
from minidecoder.regex.dfa import DFA, minimise
from minidecoder.regex.limits import Limits
from minidecoder.regex.members import readability, representative
from minidecoder.regex.minimise import equivalence_classes

__all__ = [
    "complement",
    "counterexample",
    "distinguishing_text",
    "equivalent",
    "intersect",
    "merged_states",
    "union",
]

_Table: TypeAlias = NDArray[np.int32]


def intersect(a: DFA, b: DFA, limits: Limits | None = None) -> DFA:
    """The minimal DFA of the texts that both accept. `ConstraintTooLargeError` past a limit."""
    return _product(a, b, limits or Limits(), both=True)


def union(a: DFA, b: DFA, limits: Limits | None = None) -> DFA:
    """The minimal DFA of the texts that at least one accepts. `ConstraintTooLargeError` past a limit."""
    return _product(a, b, limits or Limits(), both=False)


def complement(a: DFA) -> DFA:
    """The minimal DFA of all other texts over Unicode scalar values. At most one state more."""
    classes, members = partition([*a.classes, ANY])
    table = _over_classes(a, members, len(classes))
    # DEAD becomes a live state that accepts everything; a new DEAD, which nothing enters, goes on top.
    rows = np.vstack([np.zeros((1, len(classes)), np.int32), table + 1])
    return minimise(DFA(classes, rows, np.append(False, ~a.accepting), State(a.start + 1)))


# -- the product --------------------------------------------------------------------------------------


def _product(a: DFA, b: DFA, limits: Limits, *, both: bool) -> DFA:
    classes, left, right = _common_classes(a, b)
    pairs = _Pairs(left, right, both)
    start = pairs.number(pairs.key(int(a.start), int(b.start)))
    rows = []
    for key in pairs.found:  # grows while it is read: breadth-first
        rows.append([pairs.number(target) for target in pairs.successors(key)])
        limits.check_states(len(pairs.found) - 1)
        limits.check_time()
    first, second = np.divmod(np.array(pairs.found), pairs.width)
    combine = np.logical_and if both else np.logical_or
    accepting = combine(a.accepting[first], b.accepting[second])
    table = np.array(rows, dtype=np.int32).reshape(len(rows), len(classes))
    return minimise(DFA(classes, table, accepting, State(start)), limits)


class _Pairs:
    """Numbers pairs of states. A pair (p, q) is the integer p · width + q; (DEAD, DEAD) is 0, number 0."""

    def __init__(self, left: _Table, right: _Table, both: bool) -> None:
        self.width = len(right)
        self.left = left.astype(np.int64) * self.width  # (Q_a, K)
        self.right = right  # (Q_b, K)
        self.both = both
        self.found = [0]
        self._numbers = {0: 0}

    def key(self, p: int, q: int) -> int:
        return 0 if self.both and not (p and q) else p * self.width + q

    def number(self, key: int) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            self.found.append(key)
        return self._numbers[key]

    def successors(self, key: int) -> list[int]:
        """The pair behind each class. Where both must live, one dead half is a dead pair."""
        left, right = self.left[key // self.width], self.right[key % self.width]
        joined = left + right
        if self.both:
            joined *= (left != 0) & (right != 0)
        keys: list[int] = joined.tolist()
        return keys


def _common_classes(a: DFA, b: DFA) -> tuple[tuple[Ranges, ...], _Table, _Table]:
    """(classes that neither machine splits, a's table over them, b's)."""
    classes, members = partition([*a.classes, *b.classes])
    return classes, _over_classes(a, members, len(classes)), _over_classes(b, members, len(classes))


def _over_classes(dfa: DFA, members: dict[Ranges, tuple[int, ...]], columns: int) -> _Table:
    """The table of `dfa`, int32 (Q, columns); classes that are none of its own lead to DEAD."""
    table = np.zeros((len(dfa.table), columns), dtype=np.int32)
    for k, ranges in enumerate(dfa.classes):
        table[:, members[ranges]] = dfa.table[:, [k]]
    return table


# -- the comparison -----------------------------------------------------------------------------------


def equivalent(a: DFA, b: DFA) -> bool:
    """Whether both accept the same texts."""
    return counterexample(a, b) is None


def counterexample(a: DFA, b: DFA) -> str | None:
    """A shortest text that exactly one accepts, in characters people can read; None if there is none.

    Of several, the first in the order of `members.readability`.
    """
    classes, left, right = _common_classes(a, b)
    table = np.vstack([left, right + len(left)])  # two machines side by side: b's states follow a's
    accepting = np.append(a.accepting, b.accepting)
    return _first_difference(classes, table, accepting, int(a.start), len(left) + int(b.start))


def distinguishing_text(dfa: DFA, p: State, q: State) -> str | None:
    """A shortest text that leads one of two states to an end and the other not; None: they merge."""
    return _first_difference(dfa.classes, dfa.table, dfa.accepting, int(p), int(q))


def merged_states(dfa: DFA) -> list[tuple[State, ...]]:
    """The groups of states that `minimise` makes one; a group that can never match has `DEAD` in front."""
    groups: dict[int, list[State]] = {}
    for state, block in enumerate(equivalence_classes(dfa.table, dfa.accepting)):
        groups.setdefault(block, []).append(State(state))
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _first_difference(
    classes: Sequence[Ranges], table: _Table, accepting: NDArray[np.bool_], p: int, q: int
) -> str | None:
    chars = [representative(ranges) for ranges in classes]
    order = sorted(range(len(classes)), key=lambda k: readability(chars[k]))
    rows, groups = table[:, order].tolist(), _Groups(len(table))
    met = [(p, q, -1, "")]  # a pair, where the pair before it stands, the character between them
    for at, (left, right, _, _) in enumerate(met):  # grows while it is read: breadth-first
        if accepting[left] != accepting[right]:
            return _spell(met, at)
        for k, after_left, after_right in zip(order, rows[left], rows[right], strict=True):
            # subtle: a pair already assumed equal through earlier pairs needs no visit. Were it a real
            # difference, one of those, met by a smaller text, would be one too, and be found first.
            if groups.join(after_left, after_right):
                met.append((after_left, after_right, at, chars[k]))
    return None


def _spell(met: Sequence[tuple[int, int, int, str]], at: int) -> str:
    text: list[str] = []
    while at >= 0:
        _, _, before, char = met[at]
        text.append(char)
        at = before
    return "".join(reversed(text))


class _Groups:
    """Union-find (Tarjan, 1975): states assumed equal so far."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def join(self, a: int, b: int) -> bool:
        """Make one group of two; False where they were one already."""
        a, b = self._root(a), self._root(b)
        self.parent[a] = b
        return a != b

    def _root(self, state: int) -> int:
        while self.parent[state] != state:
            self.parent[state] = self.parent[self.parent[state]]  # halve the path on the way
            state = self.parent[state]
        return state
