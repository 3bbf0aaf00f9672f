"""What a formula means, on Python values: the plainest evaluator, against which nothing is fast or clever."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import localcontext
from functools import cache
from typing import Any

from minidecoder.regex.compiler import compile_dfa
from minidecoder.schema.atoms import (
    AtLeast,
    AtMost,
    IsInteger,
    IsTrue,
    Length,
    MultipleOf,
    NumberIn,
    Pattern,
    StringIn,
)
from minidecoder.schema.counts import Count, Positions
from minidecoder.schema.expand import Expander
from minidecoder.schema.formula import Formula, Literal, Truth, fold
from minidecoder.schema.values import exact, json_type


def satisfies(expander: Expander, goal: Formula, value: Any) -> bool:
    """Whether a JSON value satisfies a goal."""
    return holds(expander, expander.expand(goal, json_type(value)), value)


def holds(expander: Expander, formula: Formula, value: Any) -> bool:
    """Whether a value satisfies a formula that was expanded for its type."""

    def leaf(part: Truth | Literal) -> bool:
        if isinstance(part, Truth):
            return part.value
        return atom_holds(expander, part.atom, value) is part.positive

    return fold(formula, leaf, all, any)


def atom_holds(expander: Expander, atom: Any, value: Any) -> bool:
    match atom:
        case IsTrue():
            return value is True
        case IsInteger():
            return exact(value) == exact(value).to_integral_value()
        case AtLeast(bound, exclusive):
            return exact(value) > bound or (exact(value) == bound and not exclusive)
        case AtMost(bound, exclusive):
            return exact(value) < bound or (exact(value) == bound and not exclusive)
        case MultipleOf(divisor):
            with localcontext() as context:
                context.prec = 2000
                return exact(value) % divisor == 0
        case NumberIn(values):
            return exact(value) in values
        case StringIn(values):
            return value in values
        case Length(lo, hi):
            return lo <= len(value) and (hi is None or len(value) <= hi)
        case Pattern(regex):
            return machine(regex).accepts(value)
        case Count(keys, goal, lo, hi):
            number = sum(satisfies(expander, goal, member) for member in members(expander, keys, value))
            return lo <= number and (hi is None or number <= hi)
    raise AssertionError(f"no meaning for {atom}")


def members(expander: Expander, keys: Any, value: Any) -> Iterable[Any]:
    if isinstance(keys, Positions):
        return value[keys.first : keys.end]
    return [member for name, member in value.items() if holds(expander, keys, name)]


@cache
def machine(regex: str) -> Any:
    return compile_dfa(regex, dialect="ecma", match="search")
