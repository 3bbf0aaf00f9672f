"""Is it provable? Statements that follow from others, decided on demand, each once.

A statement is proved by any one of its clauses, a clause by all of its parts; what only goes in a circle is
false (the least fixpoint). A clause waits for its first unproved part and moves on when that is proved, so
that nothing is looked at before it matters. True and false are kept; nothing recurses.

Left out: what the statements say (`inhabited`). Cost: O(parts of the clauses that were looked at).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

__all__ = ["Clauses", "Prover"]

S = TypeVar("S", bound=Hashable)
Clauses: TypeAlias = bool | list[tuple[S, ...]]


class Prover(Generic[S]):
    """`rules(statement)`: True or False where that is plain, else the clauses, the cheapest first."""

    def __init__(self, rules: Callable[[S], Clauses[S]]) -> None:
        self._rules = rules
        self._true: set[S] = set()
        self._false: set[S] = set()
        self._parts: dict[S, list[S]] = {}  # statement → the parts that its clauses have waited for
        self._waiting: dict[S, list[tuple[S, tuple[S, ...], int]]] = {}  # part → clauses that wait for it
        self._todo: list[S] = []

    def __len__(self) -> int:
        """How many statements were looked at."""
        return len(self._parts)

    def proves(self, statement: S) -> bool:
        """Whether the statement is true."""
        seen: set[S] = set()
        self._todo = [statement]
        while self._todo and statement not in self._true:
            item = self._todo.pop()
            if item in self._true or item in self._false or item in seen:
                continue
            seen.add(item)
            if item in self._parts:
                self._todo += reversed(self._parts[item])
            else:
                self._explore(item)
        if statement not in self._true:
            self._false |= seen - self._true  # subtle: all that they could wait for was looked at, in vain
        return statement in self._true

    def _explore(self, item: S) -> None:
        result = self._rules(item)
        self._parts[item] = []
        if result is True:
            self._prove(item)
        for clause in reversed(result) if isinstance(result, list) else ():
            if self._wait(item, clause, 0):
                self._prove(item)

    def _wait(self, head: S, clause: tuple[S, ...], index: int) -> bool:
        """Wait for the first unproved part from `index` on, to be looked at next. True: none is left."""
        while index < len(clause) and clause[index] in self._true:
            index += 1
        if index == len(clause):
            return True
        part = clause[index]
        if part not in self._false:
            self._waiting.setdefault(part, []).append((head, clause, index))
            self._parts[head].append(part)
            self._todo.append(part)
        return False

    def _prove(self, statement: S) -> None:
        proved = [statement]
        while proved:
            item = proved.pop()
            if item not in self._true:
                self._true.add(item)
                waiting = self._waiting.pop(item, [])
                proved += [head for head, clause, index in waiting if self._wait(head, clause, index + 1)]
