"""A string as bytes between its quotes: the escaped language, lowered to UTF-8, with its counter.

A configuration is (state, characters so far). Where lengths do not matter the count stays 0 and this is a
plain byte automaton. Where they do, entering a state between characters counts one, and a byte is refused
as soon as no length can be met any more: exact, also inside an escape or a character of several bytes.

Left out: the quotes. Cost: two bisections a byte; as many masks as there are bounds near the count, not
as many as there are counts (`key`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from minidecoder.automaton import DEAD, State
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes
from minidecoder.schema.escapes import Escapes, escaped
from minidecoder.schema.formula import Formula
from minidecoder.schema.leaf_cache import LeafCache
from minidecoder.schema.lengths import NONE, Lengths, contains, earlier, make_lengths
from minidecoder.schema.strings import StringLanguage, string_language

__all__ = ["StringMachine", "string_machine"]


@dataclass(frozen=True, eq=False)
class StringMachine:
    """Reads the bytes between the quotes.

    `bytes_`: the automaton without the counter; its states 1..`characters` stand between decoded characters.
    `live[state]`, for every state: the numbers of whole characters with which it can still be left well.
    """

    language: StringLanguage
    bytes_: ByteDFA
    characters: int
    live: tuple[Lengths, ...]

    @property
    def counts(self) -> bool:
        """Whether the number of characters matters."""
        return self.language.counts

    @property
    def start(self) -> tuple[State, int]:
        """The configuration behind the opening quote; its state is DEAD where no string belongs to it."""
        return (DEAD if self.language.is_empty else self.bytes_.start), 0

    def step(self, state: State, count: int, byte: int) -> tuple[State, int]:
        """The configuration after a byte; (DEAD, count) where no string goes on so."""
        target = self.bytes_.step(state, byte)
        if not self.counts:
            return target, 0
        if 0 < target <= self.characters:
            count += 1
        return (target, count) if contains(self.live[target], count) else (DEAD, count)

    def may_end(self, state: State, count: int) -> bool:
        """Whether the closing quote may follow."""
        return state <= self.characters and self.language.may_end(state, count)

    def key(self, state: State, count: int, longest: int) -> Hashable:
        """Configurations with equal keys allow the same tokens of at most `longest` bytes, in themselves."""
        if not self.counts:
            return state
        at = bisect_right(self.bounds, count)
        rest = self.bounds[at] - count if at < len(self.bounds) else longest + 1
        return state, at, min(rest, longest + 1)

    @cached_property
    def bounds(self) -> list[int]:
        """The counts at which something changes for some state."""
        sets = (*self.language.ends, *self.live)
        edges = {low for lengths in sets for low, _ in lengths}
        return sorted(edges | {high + 1 for lengths in sets for _, high in lengths if high is not None})


_MADE: Final = LeafCache[StringMachine]()


def string_machine(
    formula: Formula, escapes: Escapes = "canonical", limits: Limits | None = None
) -> StringMachine:
    """The machine of the strings that satisfy a formula over string atoms. Kept by the formula's structure.

    Raises what `string_language` raises.
    """
    return _MADE.get(formula, lambda: _build(formula, escapes, limits or Limits()), escapes)


def _build(formula: Formula, escapes: Escapes, limits: Limits) -> StringMachine:
    language = string_language(formula, limits)
    machine = lower_to_bytes(escaped(language.dfa, escapes, limits), limits)
    characters = len(language.dfa)
    live = _inside(machine, characters, language.live) if language.counts else ()
    return StringMachine(language, machine, characters, live)


def _inside(machine: ByteDFA, characters: int, live: tuple[Lengths, ...]) -> tuple[Lengths, ...]:
    """The live counts of all states: those inside a character look ahead to the one they complete."""
    found: dict[int, Lengths] = dict(enumerate(live))
    rows = machine.table.tolist()
    pending = list(range(characters + 1, len(rows)))
    while pending:  # no more than a dozen deep: the bytes of an escaped pair
        state = pending[-1]
        targets = set(rows[state]) - {DEAD}
        missing = [target for target in targets if target not in found]
        if missing:
            pending += missing
            continue
        pending.pop()
        sets = (earlier(found[t]) if t <= characters else found[t] for t in targets)
        found[state] = make_lengths(pair for lengths in sets for pair in lengths)
    found[DEAD] = NONE
    return tuple(found[state] for state in range(len(rows)))
