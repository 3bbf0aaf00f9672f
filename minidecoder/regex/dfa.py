r"""Nondeterministic → deterministic → minimal automaton over characters: the machine people see.

Columns are classes of characters that the pattern cannot tell apart, rows are states. Row 0 is
DEAD; live states are numbered breadth-first from the start and called s0, s1, … The price pattern
`[0-9]+\.[0-9]{2}` gives five of them:

>>> from minidecoder.regex.syntax import parse
>>> len(compile_tree(parse(r"[0-9]+\.[0-9]{2}")))
5

Left out: bytes (`utf8` lowers this machine to them). Cost: subset construction can take 2^N steps;
`Limits` bounds it. Minimisation is Hopcroft's, O(K Q log Q) for K classes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.regex.charset import Ranges, make_ranges, partition
from minidecoder.regex.context import ContextSubsets, context_sets
from minidecoder.regex.limits import Limits
from minidecoder.regex.minimise import equivalence_classes
from minidecoder.regex.nfa import NFA, build_nfa
from minidecoder.regex.subsets import Subsets
from minidecoder.regex.tree import Node

__all__ = ["DFA", "compile_tree", "determinise", "merge_columns", "minimise"]


@dataclass(frozen=True, eq=False)
class DFA:
    """A complete deterministic automaton over classes of characters.

    `classes[k]`: the ranges of class k; `table`: int32 (Q+1, K), the target of each state and
    class, row 0 all DEAD; `accepting`: bool (Q+1,). A character in no class leads to DEAD.
    """

    classes: tuple[Ranges, ...]
    table: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    start: State

    def __post_init__(self) -> None:
        for array in (self.table, self.accepting):
            array.flags.writeable = False  # shared by every request

    def __len__(self) -> int:
        """The number of live states Q; DEAD does not count."""
        return len(self.table) - 1

    @cached_property
    def _lookup(self) -> tuple[list[int], list[int]]:
        """Range ends (sorted) and the class of each range, to find a character's class."""
        spans = sorted((low, high, k) for k, ranges in enumerate(self.classes) for low, high in ranges)
        edges, owners = [0], [-1]
        for low, high, k in spans:
            edges += [low, high + 1]
            owners += [k, -1]
        return edges, owners

    def step(self, state: State, char: str) -> State:
        """The state after one character."""
        edges, owners = self._lookup
        k = owners[bisect_right(edges, ord(char)) - 1]
        return State(int(self.table[state, k])) if k >= 0 else DEAD

    def walk(self, text: str) -> list[State]:
        """The states after each character; stops early, with DEAD last, where one dies."""
        state, path = self.start, []
        for char in text:
            state = self.step(state, char)
            path.append(state)
            if state == DEAD:
                break
        return path

    def accepts(self, text: str) -> bool:
        """Whether the whole of `text` is in the language."""
        return bool(self.accepting[self.walk(text)[-1] if text else self.start])

    def __and__(self, other: DFA) -> DFA:
        """The texts that both accept (`operations`, whose functions also take limits)."""
        from minidecoder.regex.operations import intersect

        return intersect(self, other)

    def __or__(self, other: DFA) -> DFA:
        """The texts that at least one of the two accepts."""
        from minidecoder.regex.operations import union

        return union(self, other)

    def __invert__(self) -> DFA:
        """All other texts."""
        from minidecoder.regex.operations import complement

        return complement(self)

    def is_accepting(self, state: State) -> bool:
        return bool(self.accepting[state])

    def name(self, state: State) -> str:
        """`s0` for the start, `s1`, `s2`, … breadth-first; `dead`."""
        return "dead" if state == DEAD else f"s{state - 1}"

    def edges(self) -> Iterator[tuple[State, Ranges, State]]:
        """(source, characters, target) once per pair of live states, for printing and drawing."""
        for source, row in enumerate(self.table.tolist()):
            groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for k, target in enumerate(row):
                if target != DEAD:
                    groups[target].extend(self.classes[k])
            for target, pairs in groups.items():
                yield State(source), make_ranges(pairs), State(target)


def compile_tree(tree: Node, limits: Limits | None = None) -> DFA:
    """The minimal DFA of a tree without look-ahead; `ConstraintTooLargeError` past a limit."""
    limits = limits or Limits()
    return minimise(determinise(build_nfa(tree, limits), limits, important_only=True), limits)


def determinise(nfa: NFA, limits: Limits | None = None, *, important_only: bool = False) -> DFA:
    """Subset construction (Rabin and Scott, 1959): a DFA state is a set of NFA states.

    `important_only` leaves out of each set what adds nothing to it (`subsets`): fewer and smaller sets
    of the same meaning, but not the textbook's count (13 for the age pattern, where this gives 12).
    """
    limits = limits or Limits()
    classes, members = partition(_sets_of(nfa), limits)
    subsets: _Moves = Subsets(nfa, members, limits, important_only=important_only)
    if nfa.assertions:
        subsets = ContextSubsets(nfa, members, classes)
    numbers: dict[Any, int] = {subsets.start: 1}
    rows: list[dict[int, int]] = [{}]
    pending = [subsets.start]
    for subset in pending:  # grows while it is read: breadth-first
        row = {}
        for k, successor in sorted(subsets.successors(subset).items()):
            if successor not in numbers:
                numbers[successor] = len(numbers) + 1
                pending.append(successor)
            row[k] = numbers[successor]
        rows.append(row)
        limits.check_states(len(numbers))
        limits.check_cells(len(numbers), len(classes))
        limits.check_time()
    accepting = np.array([False, *map(subsets.accepts, pending)])
    return DFA(classes, _dense(rows, len(classes)), accepting, State(1))


def _dense(rows: Sequence[dict[int, int]], columns: int) -> NDArray[np.int32]:
    table = np.zeros((len(rows), columns), dtype=np.int32)
    for source, row in enumerate(rows):
        for k, target in row.items():
            table[source, k] = target
    return table


def _sets_of(nfa: NFA) -> list[Ranges]:
    """All sets of characters that the automaton tells apart."""
    return [ranges for edges in nfa.edges for ranges, _ in edges] + context_sets(nfa)


class _Moves(Protocol):
    """What determinise asks: where to begin, where a class leads, where a text may end."""

    start: Any

    def successors(self, subset: Any) -> dict[int, Any]: ...

    def accepts(self, subset: Any) -> bool: ...


def minimise(dfa: DFA, limits: Limits | None = None) -> DFA:
    """The smallest DFA of the same language: equal columns and equivalent states merged."""
    blocks = equivalence_classes(dfa.table, dfa.accepting, limits)
    order = _breadth_first(dfa.table, blocks, dfa.start)
    number = np.zeros(max(blocks) + 1, dtype=np.int32)  # block → new state; DEAD's block stays 0
    for new, old in enumerate(order, start=1):
        number[blocks[old]] = new
    rows = np.vstack(
        [np.zeros((1, dfa.table.shape[1]), np.int32), number[np.array(blocks)[dfa.table[order]]]]
    )
    accepting = np.append(False, dfa.accepting[order])
    classes, table = merge_columns(dfa.classes, rows)
    return DFA(classes, table, accepting, State(1) if order else DEAD)


def _breadth_first(table: NDArray[np.int32], blocks: Sequence[int], start: int) -> list[int]:
    """One state per live block that can be reached, in the order in which it is first met."""
    if blocks[start] == blocks[DEAD]:
        return []
    order, seen = [start], {blocks[DEAD], blocks[start]}
    rows = table.tolist()
    for state in order:
        for target in rows[state]:
            if blocks[target] not in seen:
                seen.add(blocks[target])
                order.append(target)
    return order


def merge_columns(
    classes: tuple[Ranges, ...], table: NDArray[np.int32]
) -> tuple[tuple[Ranges, ...], NDArray[np.int32]]:
    """Join classes that every state treats alike; drop those that are dead everywhere."""
    columns: dict[bytes, list[int]] = defaultdict(list)
    for k in range(len(classes)):
        if table[:, k].any():
            columns[table[:, k].tobytes()].append(k)
    groups = list(columns.values())
    merged = tuple(make_ranges(pair for k in group for pair in classes[k]) for group in groups)
    return merged, np.ascontiguousarray(table[:, [group[0] for group in groups]])
