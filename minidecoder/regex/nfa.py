"""Syntax tree → nondeterministic automaton, by Thompson's construction (Thompson, CACM 1968).

Every node becomes a fragment with one entry and one exit, glued by ε edges: two states per
character or set, two more per `|` and per `*`, an ε edge for concatenation, `x+` as `xx*`, and
`x?` as an ε edge around x. `\\{"age": (0|[1-9][0-9]*)\\}` gives 28 states.

Left out: determinism, which `dfa` adds. Cost: O(size of the tree with its `{m,n}` written out);
`Limits` bounds it while it is being built. No recursion: a work list holds what is open.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from minidecoder.regex.charset import Ranges
from minidecoder.regex.limits import Limits
from minidecoder.regex.tree import Assertion, Chars, Choice, Concat, Look, Machine, Node, Place, Repeat

__all__ = ["NFA", "build_nfa"]


@dataclass(slots=True)
class NFA:
    """States 0..N-1; `edges[s]` are (set of characters, target), `epsilon[s]` free moves, and
    `assertions[s]` moves that are free where the place is right."""

    edges: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    epsilon: list[list[int]] = field(default_factory=list)
    assertions: dict[int, list[tuple[Place, int]]] = field(default_factory=dict)
    start: int = 0
    accept: int = 0

    def __len__(self) -> int:
        return len(self.edges)

    def moves(self) -> Iterator[tuple[int, Ranges | Place | None, int]]:
        """(source, what it reads, target) for printing and drawing; None reads nothing (ε)."""
        for source in range(len(self)):
            yield from ((source, ranges, target) for ranges, target in self.edges[source])
            yield from ((source, place, target) for place, target in self.assertions.get(source, ()))
            yield from ((source, None, target) for target in self.epsilon[source])

    def closure(self, states: list[int]) -> set[int]:
        """Every state that ε edges reach from `states`, these included."""
        seen, stack = set(states), list(states)
        while stack:
            for target in self.epsilon[stack.pop()]:
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return seen


def build_nfa(tree: Node, limits: Limits | None = None) -> NFA:
    """Thompson's automaton of `tree`; `ConstraintTooLargeError` past a limit."""
    return _Builder(limits or Limits()).build(tree)


@dataclass(frozen=True, slots=True)
class _Fragment:
    entry: int  # no edge leads into it from inside the fragment
    exit: int  # no edge leads out of it


_Assembly: TypeAlias = Generator[Node, "_Fragment | None", _Fragment]


class _Builder:
    def __init__(self, limits: Limits) -> None:
        self.nfa = NFA()
        self.limits = limits

    def build(self, tree: Node) -> NFA:
        """Run the assembly of `tree`, and of each child an assembly asks for, on one work list."""
        # Each assembly is a generator that yields a child node and is sent the child's fragment:
        # it reads like recursion, and a pattern nested 100,000 deep needs no Python stack.
        open_nodes = [self._assemble(tree)]
        fragment: _Fragment | None = None
        while open_nodes:
            try:
                child = open_nodes[-1].send(fragment)
            except StopIteration as done:
                open_nodes.pop()
                fragment = done.value
            else:
                open_nodes.append(self._assemble(child))
                fragment = None
        assert fragment is not None
        self.nfa.start, self.nfa.accept = fragment.entry, fragment.exit
        return self.nfa

    def _assemble(self, node: Node) -> _Assembly:
        match node:
            case Chars(ranges):
                return self._chars(ranges)
            case Concat(parts):
                return self._concat(parts)
            case Choice(options):
                return self._choice(options)
            case Repeat(child, least, most):
                return self._repeat(child, least, most)
            case Assertion(place):
                return self._assertion(place)
            case Machine():
                return self._machine(node)
            case Look():
                raise AssertionError("look-ahead is compiled away before this (lookahead.py)")

    def _chars(self, ranges: Ranges) -> _Assembly:
        entry, exit_ = self._state(), self._state()
        self.nfa.edges[entry].append((ranges, exit_))
        return _Fragment(entry, exit_)
        yield  # makes this a generator like its siblings

    def _assertion(self, place: Place) -> _Assembly:
        entry, exit_ = self._state(), self._state()
        self.nfa.assertions[entry] = [(place, exit_)]
        return _Fragment(entry, exit_)
        yield

    def _machine(self, machine: Machine) -> _Assembly:
        """An automaton as it is: its states, ε from a new entry to its start, and from where it accepts."""
        entry, exit_ = self._state(), self._state()
        states = [self._state() for _ in machine.edges]
        self._free(entry, states[0])
        for state, edges, accepts in zip(states, machine.edges, machine.accepting, strict=True):
            self.nfa.edges[state] = [(ranges, states[target]) for ranges, target in edges]
            if accepts:
                self._free(state, exit_)
        return _Fragment(entry, exit_)
        yield

    def _concat(self, parts: tuple[Node, ...]) -> _Assembly:
        if not parts:
            return self._empty()
        whole = yield from self._child(parts[0])
        for part in parts[1:]:
            following = yield from self._child(part)
            self._free(whole.exit, following.entry)
            whole = _Fragment(whole.entry, following.exit)
        return whole

    def _choice(self, options: tuple[Node, ...]) -> _Assembly:
        entry, exit_ = self._state(), self._state()
        for option in options:
            inner = yield from self._child(option)
            self._free(entry, inner.entry)
            self._free(inner.exit, exit_)
        return _Fragment(entry, exit_)

    def _repeat(self, node: Node, least: int, most: int | None) -> _Assembly:
        """`least` copies, then a star, or `most - least` copies that may each be skipped to the end."""
        copies = []
        for _ in range(least if most is None else most):
            copies.append((yield from self._child(node)))
        if most is None:
            copies.append((yield from self._star(node)))
        if not copies:
            return self._empty()
        for before, after in pairwise(copies):
            self._free(before.exit, after.entry)
        for optional in copies[least:] if most is not None else ():
            # subtle: skip to the very end, not to the next copy, or closures grow quadratically.
            self._free(optional.entry, copies[-1].exit)
        return _Fragment(copies[0].entry, copies[-1].exit)

    def _star(self, node: Node) -> _Assembly:
        entry, exit_ = self._state(), self._state()
        inner = yield from self._child(node)
        self._free(entry, inner.entry)
        self._free(entry, exit_)
        self._free(inner.exit, inner.entry)
        self._free(inner.exit, exit_)
        return _Fragment(entry, exit_)

    def _child(self, node: Node) -> _Assembly:
        fragment = yield node
        assert fragment is not None
        return fragment

    def _empty(self) -> _Fragment:
        entry, exit_ = self._state(), self._state()
        self._free(entry, exit_)
        return _Fragment(entry, exit_)

    def _state(self) -> int:
        self.limits.check_nfa_states(len(self.nfa) + 1)
        self.nfa.edges.append([])
        self.nfa.epsilon.append([])
        return len(self.nfa) - 1

    def _free(self, source: int, target: int) -> None:
        self.nfa.epsilon[source].append(target)
