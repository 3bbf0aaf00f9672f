"""Languages of strings whose lengths are counted beside the automaton, and and/or/not of them.

A text of n characters belongs to a language if n is among the lengths at which its state lets a text end.
So `{"maxLength": 10000}` is one state with the lengths 0 to 10,000, and a pattern beside it adds its own
states, not ten thousand times as many. Products, unions and complements are exact in this form: the
states are paired as ever, and the sets of lengths joined where they stand.

Left out: which states a given count can still leave well (`string_liveness`). Cost: that of the product
construction. Lengths that the pattern decides anyway are forgotten, and equal states merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.regex import operations
from minidecoder.regex.charset import ANY, Ranges, partition
from minidecoder.regex.dfa import DFA, minimise
from minidecoder.regex.limits import Limits
from minidecoder.schema.lengths import ALL, NONE, Lengths, both, contains, either, opposite

__all__ = ["Language", "complement", "intersect", "of_dfa", "of_lengths", "union"]

_MARKS: Final = 0x110000  # beyond the last character: stand for the sets of lengths while states are merged


@dataclass(frozen=True, eq=False)
class Language:
    """`ends[q]`: the lengths at which a text may end in state q; `dfa.accepting[q]` if there are any."""

    dfa: DFA
    ends: tuple[Lengths, ...]

    @property
    def counts(self) -> bool:
        """Whether lengths matter at all; if not, `dfa` is all there is to it."""
        return any(end not in (NONE, ALL) for end in self.ends)

    def accepts(self, text: str) -> bool:
        """Whether the whole of `text` belongs to the language."""
        state = self.dfa.walk(text)[-1] if text else self.dfa.start
        return contains(self.ends[state], len(text))


def of_dfa(dfa: DFA) -> Language:
    """The language of an automaton; lengths play no part."""
    return Language(dfa, tuple(ALL if accepting else NONE for accepting in dfa.accepting.tolist()))


def of_lengths(lengths: Lengths) -> Language:
    """All texts whose length is in a set: one state."""
    if lengths == NONE:
        return of_dfa(DFA((), np.zeros((1, 0), np.int32), np.zeros(1, np.bool_), DEAD))
    table = np.array([[DEAD], [1]], dtype=np.int32)
    return Language(DFA((ANY,), table, np.array([False, True]), State(1)), (NONE, lengths))


def intersect(parts: Sequence[Language], limits: Limits) -> Language:
    """The texts in all of the languages, of which there must be one at least."""
    return reduce(lambda a, b: _joined(a, b, both, operations.intersect, limits), parts)


def union(parts: Sequence[Language], limits: Limits) -> Language:
    """The texts in one of the languages at least, of which there must be one at least."""
    return reduce(lambda a, b: _joined(a, b, either, operations.union, limits), parts)


def complement(a: Language) -> Language:
    """All other texts."""
    if not a.counts:
        return of_dfa(operations.complement(a.dfa))
    classes, members = partition([*a.dfa.classes, ANY])
    # DEAD becomes a live state at which a text of any length may end; a new DEAD goes on top.
    table = np.vstack([np.zeros((1, len(classes)), np.int32), _over(a.dfa, members, len(classes)) + 1])
    return _minimal(classes, table, [NONE, *map(opposite, a.ends)], a.dfa.start + 1)


# -- the product --------------------------------------------------------------------------------------


def _joined(
    a: Language,
    b: Language,
    join: Callable[[Lengths, Lengths], Lengths],
    plain: Callable[[DFA, DFA, Limits], DFA],
    limits: Limits,
) -> Language:
    if not a.counts and not b.counts:
        return of_dfa(plain(a.dfa, b.dfa, limits))
    classes, members = partition([*a.dfa.classes, *b.dfa.classes], limits)
    left, right = (_over(part.dfa, members, len(classes)) for part in (a, b))
    numbers: dict[tuple[int, int], int] = {(DEAD, DEAD): 0}
    pairs = [(int(a.dfa.start), int(b.dfa.start))]
    numbers.setdefault(pairs[0], 1)
    rows = []
    for p, q in pairs:  # grows while it is read: breadth-first
        row = []
        for pair in zip(left[p].tolist(), right[q].tolist(), strict=True):
            if pair not in numbers:
                numbers[pair] = len(numbers)
                pairs.append(pair)
            row.append(numbers[pair])
        rows.append(row)
        limits.check_states(len(pairs))
        limits.check_cells(len(pairs), len(classes))
        limits.check_time()
    table = np.array([[0] * len(classes), *rows], dtype=np.int32).reshape(len(rows) + 1, len(classes))
    ends = [NONE, *(join(a.ends[p], b.ends[q]) for p, q in pairs)]
    return _minimal(classes, table, ends, 1, limits)


def _over(dfa: DFA, members: dict[Ranges, tuple[int, ...]], columns: int) -> NDArray[np.int32]:
    """The table over finer classes; those that are none of its own lead to DEAD."""
    table = np.zeros((len(dfa.table), columns), dtype=np.int32)
    for k, ranges in enumerate(dfa.classes):
        table[:, members[ranges]] = dfa.table[:, [k]]
    return table


# -- as few states as can be ----------------------------------------------------------------------------


def _minimal(
    classes: tuple[Ranges, ...],
    table: NDArray[np.int32],
    ends: Sequence[Lengths],
    start: int,
    limits: Limits | None = None,
) -> Language:
    """Equal states merged; lengths forgotten where the way to a state decides them."""
    ends = [_decided(*pair) for pair in zip(ends, _lengths_at(table, start), strict=True)]
    if all(end in (NONE, ALL) for end in ends):
        accepting = np.array([end == ALL for end in ends])
        return of_dfa(minimise(DFA(classes, table, accepting, State(start)), limits))
    # subtle: a mark that names the set of lengths follows each text, so states with other sets differ.
    marks = {end: n for n, end in enumerate(dict.fromkeys(end for end in ends if end != NONE))}
    last = len(table)
    marked = np.zeros((last + 1, len(classes) + len(marks)), dtype=np.int32)
    marked[:last, : len(classes)] = table
    for state, end in enumerate(ends):
        if end != NONE:
            marked[state, len(classes) + marks[end]] = last
    named = (*classes, *(((_MARKS + n, _MARKS + n),) for n in range(len(marks))))
    dfa = minimise(DFA(named, marked, np.arange(last + 1) == last, State(start)), limits)
    return _unmarked(dfa, list(marks))


def _unmarked(dfa: DFA, lengths: Sequence[Lengths]) -> Language:
    """The language of a machine whose last characters are marks; they and their target go."""
    characters = [k for k, ranges in enumerate(dfa.classes) if ranges[0][0] < _MARKS]
    ends = [NONE] * len(dfa.table)
    for k in set(range(len(dfa.classes))).difference(characters):
        end = lengths[dfa.classes[k][0][0] - _MARKS]
        for state in np.flatnonzero(dfa.table[:, k]).tolist():
            ends[state] = end
    behind = int(np.flatnonzero(dfa.accepting)[0]) if dfa.accepting.any() else len(dfa.table)
    keep = np.arange(len(dfa.table)) != behind
    table = dfa.table[keep][:, characters]
    table -= table > behind
    kept = tuple(end for end, is_kept in zip(ends, keep.tolist(), strict=True) if is_kept)
    accepting = np.array([end != NONE for end in kept])
    return Language(DFA(tuple(dfa.classes[k] for k in characters), table, accepting, dfa.start), kept)


def _decided(end: Lengths, way: tuple[int, int | None] | None) -> Lengths:
    """`end` where the texts that come here are so long: all lengths, or none, where that is the same."""
    if way is None:
        return NONE
    if both(end, (way,)) == NONE:
        return NONE
    return ALL if both(end, (way,)) == (way,) else end


def _lengths_at(table: NDArray[np.int32], start: int) -> list[tuple[int, int | None] | None]:
    """The shortest and the longest text that leads to each state; None where none does."""
    after = [set(row) - {DEAD} for row in table.tolist()]
    shortest: dict[int, int] = {start: 0} if start else {}
    order = list(shortest)
    for state in order:  # grows while it is read: breadth-first
        for target in after[state]:
            if target not in shortest:
                shortest[target] = shortest[state] + 1
                order.append(target)
    waiting = dict.fromkeys(order, 0)
    for state in order:
        for target in after[state]:
            waiting[target] += 1
    # States on a circle, or behind one, are never ready: their texts have no longest.
    longest: dict[int, int] = {}
    ready = [start] if order and not waiting[start] else []
    longest.update(dict.fromkeys(ready, 0))
    for state in ready:  # grows while it is read: in topological order
        for target in after[state]:
            longest[target] = max(longest.get(target, 0), longest[state] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    done = set(ready)
    return [
        (shortest[state], longest[state] if state in done else None) if state in shortest else None
        for state in range(len(table))
    ]
