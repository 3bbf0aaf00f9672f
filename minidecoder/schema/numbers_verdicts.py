"""What a formula says of a number whose place among the constants is known: a truth table.

Bounds and sets of numbers compare with constants; between two neighbouring constants they all stay the
same. So k constants cut the line into 2k+1 places, and in each the formula depends on nothing but which
steps divide the number. A table over m steps is one integer of 2^m bits: bit b is the answer where the
steps of b's bits divide. And, or, not of tables are `&`, `|`, `^`, all 2^m answers at once.

Left out: reading digits (`numbers_ranges`, `numbers_multiples`). Cost: one evaluation for each place.
"""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from functools import reduce
from operator import and_, or_

from minidecoder.errors import ConstraintTooLargeError, UsageError
from minidecoder.regex.limits import Limits
from minidecoder.schema.atoms import AtLeast, AtMost, IsInteger, MultipleOf, NumberIn
from minidecoder.schema.decimals import check_digits, fraction_digits, scaled
from minidecoder.schema.formula import Formula, Literal, Truth, fold, literals
from minidecoder.schema.numbers_ranges import Places

__all__ = ["Verdicts"]

_MOST_STEPS = 10  # a table has 2^m bits


class Verdicts:
    """The tables of one formula over number atoms; `steps[i]` belongs to variable i."""

    def __init__(self, formula: Formula, limits: Limits) -> None:
        self.formula = formula
        self.limits = limits
        atoms = {literal.atom for literal in literals(formula)}
        for number in (number for atom in atoms for number in _numbers(atom)):
            check_digits(number)
        self.steps = sorted({step for atom in atoms if (step := _step(atom)) is not None})
        if self.steps and self.steps[0] <= 0:
            raise UsageError(f"multipleOf {self.steps[0]} is out of range: it must be more than 0")
        if len(self.steps) > _MOST_STEPS:
            text = f"one number is compared with {len(self.steps)} different steps of multipleOf"
            raise ConstraintTooLargeError(f"{text}, more than {_MOST_STEPS}")
        constants = {number for atom in atoms for number in _constants(atom)}
        self.scale = max(map(fraction_digits, constants), default=0)
        # subtle: doubled, so that the middle of two neighbours is an integer too.
        self._exact = {number: 2 * scaled(number, self.scale) for number in constants}
        self._atoms = {atom: self._values(atom) for atom in atoms}
        self.all_true = (1 << (1 << len(self.steps))) - 1
        self.variables = [self._variable(i) for i in range(len(self.steps))]

    def places(self, sign: int) -> Places:
        """Where a magnitude lies; `sign` is 1, or -1 for numbers with a minus."""
        points = sorted({sign * point // 2 for point in self._exact.values() if sign * point >= 0})
        tables = []
        for before, point in zip([None, *points], points, strict=False):
            middle = point if before is None else before + point  # doubled: half of the first, or the middle
            tables += [self._table(sign * middle), self._table(sign * 2 * point)]
        beyond = 2 * points[-1] + 1 if points else 1
        return Places(points, self.scale, [*tables, self._table(sign * beyond)])

    def without(self, table: int, variable: int) -> int:
        """The table where the step is known not to divide."""
        rest = table & ~self.variables[variable]
        return rest | rest << (1 << variable)

    def depends(self, table: int, variable: int) -> bool:
        """Whether it matters if the step divides."""
        mask = self.variables[variable]
        return (table & mask) >> (1 << variable) != table & (self.all_true ^ mask)

    def _table(self, point: int) -> int:
        """The formula's table at a doubled, scaled number."""
        self.limits.check_time()

        def leaf(part: Truth | Literal) -> int:
            if isinstance(part, Truth):
                return self.all_true * part.value
            table = self._atom_table(part.atom, point)
            return table if part.positive else self.all_true ^ table

        return fold(self.formula, leaf, lambda parts: reduce(and_, parts), lambda parts: reduce(or_, parts))

    def _atom_table(self, atom: Hashable, point: int) -> int:
        step = _step(atom)
        if step is not None:
            return self.variables[self.steps.index(step)]
        values = self._atoms[atom]
        match atom:
            case AtLeast(_, exclusive):
                holds = all(point > value or (point == value and not exclusive) for value in values)
            case AtMost(_, exclusive):
                holds = all(point < value or (point == value and not exclusive) for value in values)
            case _:
                holds = point in values
        return self.all_true * holds

    def _values(self, atom: Hashable) -> frozenset[int]:
        return frozenset(self._exact[number] for number in _constants(atom))

    def _variable(self, i: int) -> int:
        """The table that is true where bit i of the number of the answer is."""
        return sum(1 << answer for answer in range(1 << len(self.steps)) if answer >> i & 1)


def _step(atom: Hashable) -> Decimal | None:
    if isinstance(atom, IsInteger):
        return Decimal(1)
    return atom.divisor if isinstance(atom, MultipleOf) else None


def _constants(atom: Hashable) -> tuple[Decimal, ...]:
    match atom:
        case AtLeast(bound, _) | AtMost(bound, _):
            return (bound,)
        case NumberIn(values):
            return tuple(values)
    return ()


def _numbers(atom: Hashable) -> tuple[Decimal, ...]:
    return (atom.divisor,) if isinstance(atom, MultipleOf) else _constants(atom)
