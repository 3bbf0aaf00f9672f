"""The one atom of arrays and objects: between lo and hi members, of those whose key is in K, satisfy S.

`items`, `required`, `minProperties`, `contains`, `additionalProperties`, … are all this atom with another K
and S. Moving past a member that counts lowers lo and hi by one, so 10,000 items cost what 10 do, and the
formula itself is the state of an open array or object. An array's positions are relative to the next
item: the index is in the formula too.

Left out: choosing among the ways in which a member may count (`branches`). Cost: O(parts of the formula).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from minidecoder.schema.atoms import StringIn
from minidecoder.schema.formula import (
    FALSE,
    TRUE,
    And,
    Formula,
    Formulas,
    Literal,
    Truth,
    fold,
    literals,
)

__all__ = [
    "Count",
    "Keys",
    "Positions",
    "Waiting",
    "after_item",
    "after_member",
    "close",
    "count",
    "counts_of",
    "every",
    "forget_name",
    "item_goals",
    "member_goals",
    "some",
]


@dataclass(frozen=True, slots=True)
class Positions:
    """The items at `first` ≤ i < `end` from the next item on, which is 0; None is no end."""

    first: int
    end: int | None

    @property
    def has_next(self) -> bool:
        """Whether the next item is among them."""
        return self.first == 0 and (self.end is None or self.end > 0)

    def shifted(self) -> Positions:
        """The same items, once the next one has been read."""
        return Positions(max(self.first - 1, 0), None if self.end is None else max(self.end - 1, 0))


Keys: TypeAlias = Formula | Positions
"""Which members: an object's by a formula about the text of the name, an array's by position."""


@dataclass(frozen=True, slots=True)
class Count:
    """Between `lo` and `hi` members with a key in `keys` have a value that satisfies `goal`."""

    keys: Keys
    goal: Formula
    lo: int
    hi: int | None

    @property
    def subject(self) -> tuple[object, ...]:
        return (self.keys, self.goal)

    def within(self, lo: int, hi: int | None) -> Count:
        return Count(self.keys, self.goal, lo, hi)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A count of which it is not yet decided whether the member counts; `branches` decides."""

    count: Count


# -- making -------------------------------------------------------------------------------------------


def count(formulas: Formulas, keys: Keys, goal: Formula, lo: int, hi: int | None) -> Formula:
    """The formula of a `Count`: decided at once where the bounds decide it."""
    lo = max(lo, 0)
    most = _most(keys, goal)
    if most is not None and hi is not None and hi >= most:
        hi = None
    if (most is not None and lo > most) or (hi is not None and hi < lo):
        return FALSE
    if lo == 0 and hi is None:
        return TRUE
    return formulas.atom(Count(keys, goal, lo, hi))


def every(formulas: Formulas, keys: Keys, goal: Formula) -> Formula:
    """Each member with a key in `keys` satisfies the goal: none of them does not."""
    return count(formulas, keys, formulas.not_(goal), 0, 0)


def some(formulas: Formulas, keys: Keys, goal: Formula) -> Formula:
    """At least one member with a key in `keys` satisfies the goal."""
    return count(formulas, keys, goal, 1, None)


def _most(keys: Keys, goal: Formula) -> int | None:
    """How many members can count; None where there is no limit. An object has no name twice."""
    if goal is FALSE or keys is FALSE:
        return 0
    if isinstance(keys, Positions):
        return None if keys.end is None else max(keys.end - keys.first, 0)
    parts = keys.parts if isinstance(keys, And) else (keys,)
    for part in parts:
        if isinstance(part, Literal) and part.positive and isinstance(part.atom, StringIn):
            return len(part.atom.values)
    return None


# -- reading ------------------------------------------------------------------------------------------


def counts_of(formula: Formula) -> list[Count]:
    """The distinct counts of an array's or object's formula."""
    return [part.atom for part in literals(formula) if isinstance(part.atom, Count)]


def close(formula: Formula) -> bool:
    """Whether the array or object may end here: nothing that is still missing is needed."""

    def leaf(part: Truth | Literal) -> bool:
        if isinstance(part, Truth):
            return part.value
        assert isinstance(part.atom, Count)
        return part.atom.lo <= 0

    return fold(formula, leaf, all, any)


def item_goals(formula: Formula) -> list[Formula]:
    """What is asked of the next item by the counts that it may change. TRUE and FALSE ask nothing."""
    found = (
        atom.goal for atom in counts_of(formula) if isinstance(atom.keys, Positions) and atom.keys.has_next
    )
    return [goal for goal in dict.fromkeys(found) if not isinstance(goal, Truth)]


def member_goals(formula: Formula, has_key: Callable[[Formula], bool]) -> list[Formula]:
    """What is asked of the value of the key just read; `has_key` says whether that key is in K."""
    found = (
        atom.goal
        for atom in counts_of(formula)
        if not isinstance(atom.keys, Positions) and has_key(atom.keys)
    )
    return [goal for goal in dict.fromkeys(found) if not isinstance(goal, Truth)]


# -- moving -------------------------------------------------------------------------------------------


def after_item(formulas: Formulas, formula: Formula, holds: Callable[[Formula], bool | None]) -> Formula:
    """The formula of the items after the next one, of which `holds` says which goals it satisfies; where it
    says None, the count is left `Waiting`."""

    def move(literal: Literal) -> Formula:
        atom = literal.atom
        assert isinstance(atom, Count) and isinstance(atom.keys, Positions)
        hit = atom.keys.has_next and (True if atom.goal is TRUE else holds(atom.goal))
        return _lowered(formulas, atom, atom.keys.shifted(), hit)

    return formulas.replace(formula, move)


def after_member(
    formulas: Formulas,
    formula: Formula,
    has_key: Callable[[Formula], bool],
    holds: Callable[[Formula], bool | None],
) -> Formula:
    """The formula of the other members; `holds` as for `after_item`."""

    def move(literal: Literal) -> Formula:
        atom = literal.atom
        assert isinstance(atom, Count) and not isinstance(atom.keys, Positions)
        hit = has_key(atom.keys) and (True if atom.goal is TRUE else holds(atom.goal))
        return _lowered(formulas, atom, atom.keys, hit)

    return formulas.replace(formula, move)


def forget_name(formulas: Formulas, formula: Formula, name: str) -> Formula:
    """The formula once no member of this name can come any more: sets of names lose it."""

    def move(literal: Literal) -> Formula:
        atom = literal.atom
        assert isinstance(atom, Count) and not isinstance(atom.keys, Positions)
        key = atom.keys
        if (
            isinstance(key, Literal)
            and key.positive
            and isinstance(key.atom, StringIn)
            and name in key.atom.values
        ):
            left = key.atom.values - {name}
            keys = formulas.atom(StringIn(left)) if left else FALSE
            return count(formulas, keys, atom.goal, atom.lo, atom.hi)
        return literal

    return formulas.replace(formula, move)


def _lowered(formulas: Formulas, atom: Count, keys: Keys, hit: bool | None) -> Formula:
    if hit is None:
        return formulas.atom(Waiting(atom))
    if not hit:
        return count(formulas, keys, atom.goal, atom.lo, atom.hi)
    return count(formulas, keys, atom.goal, atom.lo - 1, None if atom.hi is None else atom.hi - 1)
