"""What formulas are made of: the smallest statements about a value, one small class each.

A schema says things about a value of any type (`ValueIn`, and `Node` of `resolve`). Expanded for one
type, it says things about a number, a text, or the members of an array or object (`Count` of `counts`).
The names of an object's members are texts too, and described by the same atoms.

Left out: how atoms combine (`formula`), and what they look like as automata.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from minidecoder.schema.values import Value

__all__ = [
    "AtLeast",
    "AtMost",
    "Finite",
    "Format",
    "Interval",
    "IsInteger",
    "IsTrue",
    "Length",
    "MultipleOf",
    "NumberIn",
    "Pattern",
    "StringIn",
    "ValueIn",
]


# -- any value ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueIn:
    """The value is one of these: `const` and `enum`, inside arrays and objects too. Never empty."""

    values: frozenset[Value]


# -- booleans -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IsTrue:
    """The boolean is `true`."""


# -- numbers ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IsInteger:
    """The number has no fraction: 1.0 is an integer."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """number ≥ bound, or > bound where `exclusive`."""

    bound: Decimal
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class AtMost:
    """number ≤ bound, or < bound where `exclusive`."""

    bound: Decimal
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class MultipleOf:
    """The number is a whole multiple of `divisor` > 0."""

    divisor: Decimal


@dataclass(frozen=True, slots=True)
class NumberIn:
    """The number is one of these. Never empty."""

    values: frozenset[Decimal]


# -- texts --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """Some part of the text matches the ECMA regular expression."""

    regex: str


@dataclass(frozen=True, slots=True)
class Length:
    """The text has `lo` to `hi` code points; None is no limit."""

    lo: int
    hi: int | None

    @property
    def subject(self) -> tuple[object, ...]:
        return (Length,)

    def within(self, lo: int, hi: int | None) -> Length:
        return Length(lo, hi)


@dataclass(frozen=True, slots=True)
class StringIn:
    """The text is one of these. Never empty."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Format:
    """The text is of this format; made only where formats are enforced."""

    name: str


# -- two shapes that are merged (`merging`) ---------------------------------------------------------------

Finite: TypeAlias = ValueIn | NumberIn | StringIn


class Interval(Protocol):
    """A number of things lies between `lo` and `hi`: `Length` and `Count`. None is no limit."""

    @property
    def lo(self) -> int: ...

    @property
    def hi(self) -> int | None: ...

    @property
    def subject(self) -> tuple[object, ...]:
        """What is counted: intervals of one subject can be intersected and united."""

    def within(self, lo: int, hi: int | None) -> Any:
        """The same subject with other bounds."""
