"""Formulas: true, false, a statement or its opposite, and, or. Equal ones are one object.

A formula is kept in negation normal form (`~` stands before atoms only) and simplified as it is made:
x & ~x is false, x | ~x true, x & (x | y) is x, finite sets and intervals of one subject are merged
(`merging`). Made once means that comparing and hashing cost O(1), whatever the size, and that a state of
the automaton can be a formula. Nothing here recurses: a formula may be as deep as it likes.

Left out: what the atoms mean (`atoms`), and deciding whether something satisfies a formula (`inhabited`).
Cost: O(parts, and parts of the parts) for each `and_` or `or_`; a limit on all parts together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.limits import Limits
from minidecoder.schema.atoms import Interval
from minidecoder.schema.merging import is_interval, merge_key, merged

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Formula",
    "Formulas",
    "Literal",
    "Or",
    "Truth",
    "bottom_up",
    "fold",
    "literals",
]

_T = TypeVar("_T")
_PARTS_PER_STATE: Final = 30  # what `max_states` allows: 3 million parts, 100 MB, by default


@dataclass(frozen=True, eq=False, slots=True)
class Truth:
    """`TRUE` or `FALSE`; there are no others."""

    number: int
    value: bool


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """An atom, or its opposite. Intervals are never negative: theirs is an `Or` of two others."""

    number: int
    atom: Hashable
    positive: bool


@dataclass(frozen=True, eq=False, slots=True)
class And:
    """All of at least two parts, none of them an `And` or a `Truth`, ordered by number."""

    number: int
    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Or:
    """One of at least two parts, none of them an `Or` or a `Truth`, ordered by number."""

    number: int
    parts: tuple[Formula, ...]


Formula: TypeAlias = Truth | Literal | And | Or

FALSE: Final = Truth(0, False)
TRUE: Final = Truth(1, True)


class Formulas:
    """Where the formulas of one schema are made. Not locked: whoever shares it between threads locks."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._literals: dict[tuple[Hashable, bool], Literal] = {}
        self._compounds: dict[tuple[type[And | Or], tuple[Formula, ...]], Formula] = {}
        self._opposites: dict[Formula, Formula] = {TRUE: FALSE, FALSE: TRUE}
        self._made = 2
        self._parts = 0

    # -- making ---------------------------------------------------------------------------------------

    def atom(self, atom: Hashable, positive: bool = True) -> Formula:
        """The literal of an atom. For the opposite of an interval, see `not_`."""
        found = self._literals.get((atom, positive))
        if found is None:
            found = self._literals[atom, positive] = Literal(self._number(1), atom, positive)
        return found

    def and_(self, formulas: Iterable[Formula]) -> Formula:
        """All of the formulas hold; TRUE for none."""
        return self._combine(And, formulas)

    def or_(self, formulas: Iterable[Formula]) -> Formula:
        """At least one of the formulas holds; FALSE for none."""
        return self._combine(Or, formulas)

    def not_(self, formula: Formula) -> Formula:
        """The opposite, by De Morgan's laws."""
        if formula in self._opposites:
            return self._opposites[formula]
        for part in bottom_up(formula):
            if part not in self._opposites:
                opposite = self._opposite(part)
                self._opposites[part] = opposite
                self._opposites.setdefault(opposite, part)
        return self._opposites[formula]

    def replace(self, formula: Formula, function: Callable[[Literal], Formula]) -> Formula:
        """The formula with each literal replaced by what `function` makes of it."""

        def leaf(part: Truth | Literal) -> Formula:
            return function(part) if isinstance(part, Literal) else part

        return fold(formula, leaf, self.and_, self.or_)

    # -- details --------------------------------------------------------------------------------------

    def _opposite(self, formula: Formula) -> Formula:
        match formula:
            case Literal(_, atom, positive):
                if is_interval(atom):
                    return self.or_(self._outside(atom))
                return self.atom(atom, not positive)
            case And(_, parts):
                return self.or_(self._opposites[part] for part in parts)
            case Or(_, parts):
                return self.and_(self._opposites[part] for part in parts)
        return self._opposites[formula]

    def _outside(self, interval: Interval) -> Iterator[Formula]:
        if interval.lo > 0:
            yield self.atom(interval.within(0, interval.lo - 1))
        if interval.hi is not None:
            yield self.atom(interval.within(interval.hi + 1, None))

    def _combine(self, kind: type[And | Or], formulas: Iterable[Formula]) -> Formula:
        absorbing = FALSE if kind is And else TRUE  # x & false, x | true
        parts: Iterable[Formula] = formulas
        while True:
            flat = dict.fromkeys(_flattened(kind, parts))
            if absorbing in flat:
                return absorbing
            units = merged(self, kind is And, [part for part in flat if isinstance(part, Literal)])
            if units is None:
                return absorbing
            compounds = [part for part in flat if not isinstance(part, Literal)]
            if any(self._opposites.get(part) in flat for part in compounds):
                return absorbing
            parts = [*(unit for group in units.values() for unit in group), *compounds]
            simpler = [self._simpler(kind, part, units) for part in compounds]
            if simpler == compounds:
                return self._compound(kind, parts)
            parts = [*(unit for group in units.values() for unit in group), *simpler]

    def _simpler(self, kind: type[And | Or], part: Formula, units: dict[Hashable, list[Formula]]) -> Formula:
        """`part` where all of `units` are known: for `and_` they hold, for `or_` none of them does."""
        neutral, absorbing = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
        assert isinstance(part, And | Or)
        kept = []
        for inner in part.parts:
            known = units.get(merge_key(inner.atom), []) if isinstance(inner, Literal) else []
            for unit in known:
                assert isinstance(unit, Literal) and isinstance(inner, Literal)
                both = self._two(kind, unit, inner)
                if both is unit:  # a & (a | b) is a
                    return neutral
                if both is absorbing:  # a & (~a | b) is a & b
                    break
            else:
                kept.append(inner)
        if len(kept) == len(part.parts):
            return part
        return self._compound(type(part), kept)  # subtle: what is left of a normal form is one

    def _two(self, kind: type[And | Or], unit: Literal, inner: Literal) -> Formula | None:
        """What two literals of one key combine to; None where it is not one literal."""
        groups = merged(self, kind is And, [unit, inner])
        if groups is None:
            return FALSE if kind is And else TRUE
        (group,) = groups.values()
        return group[0] if len(group) == 1 else None

    def _compound(self, kind: type[And | Or], parts: Iterable[Formula]) -> Formula:
        ordered = tuple(sorted(parts, key=lambda part: part.number))
        if len(ordered) < 2:
            return ordered[0] if ordered else (TRUE if kind is And else FALSE)
        key = (kind, ordered)
        found = self._compounds.get(key)
        if found is None:
            found = self._compounds[key] = kind(self._number(len(ordered)), ordered)
        return found

    def _number(self, parts: int) -> int:
        self._parts += parts
        most = _PARTS_PER_STATE * self._limits.max_states
        if self._parts > most:
            text = f"the schema needs formulas of more than {most:,} parts"
            raise ConstraintTooLargeError(text, "max_states")
        if self._made % 256 == 0:
            self._limits.check_time()
        self._made += 1
        return self._made - 1


# -- reading ------------------------------------------------------------------------------------------


def bottom_up(formula: Formula) -> Iterator[Formula]:
    """Each distinct part once, after its own parts."""
    seen: set[Formula] = set()
    todo: list[tuple[Formula, bool]] = [(formula, False)]
    while todo:
        part, ready = todo.pop()
        if ready:
            yield part
        elif part not in seen:
            seen.add(part)
            todo.append((part, True))
            if isinstance(part, And | Or):
                todo += [(inner, False) for inner in reversed(part.parts)]


def fold(
    formula: Formula,
    leaf: Callable[[Truth | Literal], _T],
    both: Callable[[list[_T]], _T],
    either: Callable[[list[_T]], _T],
) -> _T:
    """A value for the formula, computed from its parts, each distinct part once."""
    results: dict[Formula, _T] = {}
    for part in bottom_up(formula):
        match part:
            case And(_, parts):
                results[part] = both([results[inner] for inner in parts])
            case Or(_, parts):
                results[part] = either([results[inner] for inner in parts])
            case _:
                results[part] = leaf(part)
    return results[formula]


def literals(formula: Formula) -> list[Literal]:
    """The distinct literals of the formula, ordered by number."""
    found = [part for part in bottom_up(formula) if isinstance(part, Literal)]
    return sorted(found, key=lambda literal: literal.number)


def _flattened(kind: type[And | Or], parts: Iterable[Formula]) -> Iterator[Formula]:
    neutral = TRUE if kind is And else FALSE
    for part in parts:
        if type(part) is kind:
            yield from part.parts
        elif part is not neutral:
            yield part
