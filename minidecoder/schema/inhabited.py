"""Is there any value that satisfies a goal? A machine must not open what it cannot close.

A goal is inhabited if one of its six types is; a number or text if its automaton accepts something; an array
or object if members can be added, each of an inhabited goal, until it may be closed. Recursive schemas make
that circular, and the least answer is meant: a tree that must have a child that must have a child … has no
value. Only members that are needed are tried, and many alike at once (`minItems` 10,000 is one step).

Left out: numbers and texts, which the caller decides. Cost: each goal and formula once, where it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.schema.branches import Branch, item_branches, member_branches
from minidecoder.schema.counts import Count, Positions, close, count, counts_of, item_goals, member_goals
from minidecoder.schema.expand import Expander
from minidecoder.schema.formula import FALSE, TRUE, Formula, Literal, Or
from minidecoder.schema.horn import Clauses, Prover
from minidecoder.schema.slots import Keyring, Slot
from minidecoder.schema.values import TYPES, Type

__all__ = ["Inhabited"]

_CHEAPEST_FIRST: Final[tuple[Type, ...]] = ("null", "boolean", "array", "object", "number", "string")


@dataclass(frozen=True, slots=True)
class _Goal:
    """Some value satisfies the goal."""

    goal: Formula


@dataclass(frozen=True, slots=True)
class _Typed:
    """Some value of this type satisfies the formula."""

    kind: Type
    formula: Formula


@dataclass(frozen=True, slots=True)
class _Members:
    """With members in `slots` alone, of which the first has `used` already, the formula can be met."""

    formula: Formula
    slots: tuple[Slot, ...]
    used: int


_Statement: TypeAlias = _Goal | _Typed | _Members


class Inhabited:
    """Answers for one schema. Not locked.

    `numbers(formula)`: whether a number satisfies it; `strings(formula, most)`: how many texts do, counted
    up to `most`. Raises what `Expander.expand` raises.
    """

    def __init__(
        self,
        expander: Expander,
        numbers: Callable[[Formula], bool],
        strings: Callable[[Formula, int], int],
    ) -> None:
        self._expander = expander
        self._formulas = expander.formulas
        self._numbers = numbers
        self._strings = strings
        self._keyring = Keyring(expander.formulas, strings)
        self._plausible: dict[Formula, bool] = {}
        self._prover: Prover[_Statement] = Prover(self._rules)

    def inhabited(self, goal: Formula) -> bool:
        """Whether any value satisfies the goal."""
        return self._prover.proves(_Goal(goal))

    def of_type(self, formula: Formula, kind: Type) -> bool:
        """Whether any value of this type satisfies a formula that was expanded for it."""
        return self._prover.proves(_Typed(kind, formula))

    def plausible(self, goal: Formula) -> bool:
        """Whether a value may satisfy the goal, as far as can be said without looking into members."""
        if goal not in self._plausible:
            self._plausible[goal] = any(self._plausible_type(goal, kind) for kind in _CHEAPEST_FIRST)
        return self._plausible[goal]

    def _plausible_type(self, goal: Formula, kind: Type) -> bool:
        formula = self._expander.expand(goal, kind)
        return formula is not FALSE and (kind not in ("number", "string") or self._leaf(formula, kind))

    def _leaf(self, formula: Formula, kind: Type) -> bool:
        if formula is TRUE or formula is FALSE:
            return formula is TRUE
        return self._numbers(formula) if kind == "number" else self._strings(formula, 1) > 0

    # -- rules ----------------------------------------------------------------------------------------

    def _rules(self, statement: _Statement) -> Clauses[_Statement]:
        limits = self._expander.limits
        limits.check_time()
        if len(self._prover) > limits.max_states:
            text = f"more than {limits.max_states:,} steps to find out whether the schema has any value"
            raise ConstraintTooLargeError(text, "max_states")
        match statement:
            case _Goal(goal):
                return goal is TRUE or [(_Typed(kind, self._expander.expand(goal, kind)),) for kind in TYPES]
            case _Typed(kind, formula):
                return self._typed(kind, formula)
        return self._members(statement)

    def _typed(self, kind: Type, formula: Formula) -> Clauses[_Statement]:
        if formula is TRUE or formula is FALSE:
            return formula is TRUE
        if isinstance(formula, Or) and kind in ("array", "object"):
            return [(_Typed(kind, part),) for part in formula.parts]
        match kind:
            case "number" | "string":
                return self._leaf(formula, kind)
            case "array":
                return self._array(formula)
            case "object":
                return self._object(formula)
        return True  # a boolean formula is true, false, or one of the two

    def _array(self, formula: Formula) -> Clauses[_Statement]:
        if close(formula):
            return True
        clauses: list[tuple[_Statement, ...]] = []
        settled = all(atom.keys == Positions(0, None) for atom in counts_of(formula))
        for branch in item_branches(self._formulas, formula, self.plausible):
            if settled:
                further = self._repeated(formula, branch, item_goals(formula), None, lambda _: True)
                clauses += [(_Goal(branch.goal), _Typed("array", further))] if further else []
            clauses.append((_Goal(branch.goal), _Typed("array", branch.rest)))
        return clauses

    def _object(self, formula: Formula) -> Clauses[_Statement]:
        if close(formula):
            return True
        parts = self._keyring.components(formula)
        if len(parts) > 1:
            return [tuple(_Typed("object", part) for part in parts)]
        return [(_Members(formula, self._keyring.slots(formula), 0),)]

    def _members(self, state: _Members) -> Clauses[_Statement]:
        if close(state.formula):
            return True
        if not state.slots:
            return False
        if isinstance(state.formula, Or):
            return [(_Members(part, state.slots, state.used),) for part in state.formula.parts]
        slot = state.slots[0]
        clauses: list[tuple[_Statement, ...]] = []
        helped = {atom.keys for atom in counts_of(state.formula) if atom.lo > 0}
        if slot.sets & helped:
            has_key = slot.sets.__contains__
            for branch in member_branches(self._formulas, state.formula, has_key, self.plausible):
                clauses += self._another(state, slot, branch)
        return [*clauses, (_Members(state.formula, state.slots[1:], 0),)]

    def _another(self, state: _Members, slot: Slot, branch: Branch) -> list[tuple[_Statement, ...]]:
        """One more member in the first slot, or as many as are needed where they are all alike."""
        left = None if slot.room is None else slot.room - state.used
        used = 0 if left is None else state.used + 1
        slots = state.slots[1:] if left == 1 else state.slots
        clauses: list[tuple[_Statement, ...]] = []
        if left is None:
            has_key = slot.sets.__contains__
            goals = member_goals(state.formula, has_key)
            further = self._repeated(state.formula, branch, goals, left, has_key)
            clauses += [(_Goal(branch.goal), _Members(further, slots, used))] if further else []
        return [*clauses, (_Goal(branch.goal), _Members(branch.rest, slots, 0 if left == 1 else used))]

    def _repeated(
        self,
        formula: Formula,
        branch: Branch,
        goals: list[Formula],
        room: int | None,
        has_key: Callable[[Formula], bool],
    ) -> Formula | None:
        """The formula after as many members of the branch's goal as any count needs; None: one is enough."""
        known = {goal: self._verdict(branch.goal, goal) for goal in goals} | {TRUE: True, FALSE: False}
        hit = [
            atom
            for atom in counts_of(formula)
            if isinstance(atom.keys, Positions) or has_key(atom.keys)
            if known[atom.goal] is not False
        ]
        times = min(
            max((atom.lo for atom in hit), default=0),
            min((atom.hi for atom in hit if atom.hi is not None), default=10**18),
        )
        if times < 2 or any(known[atom.goal] is None for atom in hit):
            return None
        moved = {atom: _lowered(self._expander, atom, times) for atom in hit}

        def move(literal: Literal) -> Formula:
            assert isinstance(literal.atom, Count)
            return moved.get(literal.atom, literal)

        return self._formulas.replace(formula, move)

    def _verdict(self, given: Formula, goal: Formula) -> bool | None:
        """Whether a value that satisfies `given` satisfies `goal`; None where there is no telling."""
        if self._formulas.and_([given, goal]) is FALSE:
            return False
        opposite = self._formulas.not_(goal)
        return True if self._formulas.and_([given, opposite]) is FALSE else None


def _lowered(expander: Expander, atom: Count, times: int) -> Formula:
    hi = None if atom.hi is None else atom.hi - times
    return count(expander.formulas, atom.keys, atom.goal, atom.lo - times, hi)
