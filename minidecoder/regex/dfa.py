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
from minidecoder.regex.tree import Node

__all__ = ["DFA", "compile_tree", "determinise", "minimise"]

_FEW = 8  # closures that are looked up and joined; more are searched for anew


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

    `important_only` leaves out of each set the NFA states that only pass ε on (Aho, Sethi and
    Ullman's "important states"): fewer and smaller sets of the same meaning, but not the
    textbook's count (13 for the age pattern, where this gives 12).
    """
    limits = limits or Limits()
    classes, members = partition(_sets_of(nfa), limits)
    subsets: _Moves = _Subsets(nfa, members, important_only)
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


class _Subsets:
    """Moves between ε-closed sets of NFA states."""

    def __init__(self, nfa: NFA, members: dict[Ranges, tuple[int, ...]], important_only: bool) -> None:
        self.nfa = nfa
        self.members = members
        self.important_only = important_only
        self._closures: dict[int, frozenset[int]] = {}
        self.start = self._closure(nfa.start)

    def successors(self, subset: frozenset[int]) -> dict[int, frozenset[int]]:
        """class → the subset it leads to; classes that lead nowhere are absent."""
        by_set: dict[Ranges, list[int]] = defaultdict(list)
        for state in subset:
            for ranges, target in self.nfa.edges[state]:
                by_set[ranges].append(target)
        moves: dict[int, list[int]] = defaultdict(list)
        for ranges, targets in by_set.items():
            for k in self.members[ranges]:
                moves[k] += targets
        merged = {targets: self._union(targets) for targets in set(map(tuple, moves.values()))}
        return {k: merged[tuple(targets)] for k, targets in moves.items()}

    def accepts(self, subset: frozenset[int]) -> bool:
        """Whether the text may end here."""
        return self.nfa.accept in subset

    def _union(self, targets: Sequence[int]) -> frozenset[int]:
        if len(targets) <= _FEW:
            return frozenset().union(*map(self._closure, targets))
        # Many at once share most of their closures: one search over all of them, and none is stored.
        return frozenset(filter(self._is_kept, self.nfa.closure(list(targets))))

    def _closure(self, state: int) -> frozenset[int]:
        if self.important_only:
            state = self._past_lone_epsilons(state)
        if state not in self._closures:
            reached = self.nfa.closure([state])
            self._closures[state] = frozenset(filter(self._is_kept, reached))
        return self._closures[state]

    def _is_kept(self, state: int) -> bool:
        return not self.important_only or bool(self.nfa.edges[state]) or state == self.nfa.accept

    def _past_lone_epsilons(self, state: int) -> int:
        # subtle: a state with one ε edge and no other has its target's closure: sharing it keeps
        # (w1|w2|…|w10000)* from storing the same ten thousand states ten thousand times.
        while len(self.nfa.epsilon[state]) == 1 and not self._is_kept(state):
            state = self.nfa.epsilon[state][0]
        return state


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
    classes, table = _merge_columns(dfa.classes, rows)
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


def _merge_columns(
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
