"""Whether a number is a multiple of a step, told from its digits as they are read.

The step is a / 10^k. A text is a multiple if its digits, filled up to k behind the point, are an integer
that a divides, and nothing but zeros follows. Before the point the remainder is kept; behind it, what
the digits that are left must spell, or nothing where no digits can (`Missed`, the end of all hope).

Remainders that no further digits tell apart are one state (Alexeev, 2004): a step of 1,000,000 needs
seven states, the number of zeros at the end so far, not a million.

>>> sevens = Multiples(Decimal(7))
>>> is_multiple = sevens.holds(sevens.digit(sevens.digit(0, 4), 2))
>>> is_multiple
True

Left out: the sign, which changes nothing. Cost: at most a states before the point, min(a, 10^j) where j
digits are missing behind it; 0.123456789 has 123,456,789, which no machine should be asked for.
"""

from __future__ import annotations

from decimal import Decimal
from math import gcd
from typing import Final, NamedTuple, TypeAlias

from minidecoder.schema.decimals import fraction_digits, scaled

__all__ = ["MISSED", "Multiples", "Remainder"]


class Missing(NamedTuple):
    """Behind the point: `places` more digits count, and they must spell `number` modulo a."""

    places: int
    number: int


MISSED: Final = -1
"""The text has digits that no multiple has, whatever follows."""

Remainder: TypeAlias = int | Missing  # before the point an integer; MISSED or Missing behind it


class Multiples:
    """The states are `Remainder`s; 0 is the start."""

    def __init__(self, step: Decimal) -> None:
        self.places = fraction_digits(step)
        self.numerator = scaled(step, self.places)
        self._one = 10**self.places
        self._modulus = self.numerator // gcd(
            self.numerator, self._one
        )  # what a text must have without a point
        self._known: dict[tuple[int, ...], int] = {}

    def digit(self, state: Remainder, digit: int) -> Remainder:
        """The state after one more digit."""
        if isinstance(state, Missing):
            places = max(state.places - 1, 0)
            wanted = state.number - digit * 10**places
            return self._missing(places, wanted) if state.places or not digit else MISSED
        return MISSED if state == MISSED else self._whole((state * 10 + digit) % self._modulus)

    def point(self, state: Remainder) -> Remainder:
        """The state after the decimal point."""
        assert not isinstance(state, Missing)
        return self._missing(self.places, -state * self._one)

    def holds(self, state: Remainder) -> bool:
        """Whether the number, if it ends here, is a multiple."""
        return state.number == 0 if isinstance(state, Missing) else state == 0

    def _missing(self, places: int, wanted: int) -> Remainder:
        wanted %= self.numerator
        return Missing(places, wanted) if wanted < 10**places else MISSED

    def _whole(self, remainder: int) -> int:
        """The first remainder met that no digits tell apart from this one."""
        if gcd(self._modulus, 10) == 1 or remainder == 0:
            return remainder
        return self._known.setdefault(self._futures(remainder), remainder)

    def _futures(self, remainder: int) -> tuple[int, ...]:
        """For t = 0, 1, …: what t digits and the fraction must spell to make a multiple, -1 where they
        cannot; up to the t from which all that counts is the last number."""
        futures: list[int] = []
        size, left = self._one, self._modulus
        while True:
            wanted = -remainder * size % self.numerator
            common = gcd(left, 10)
            if size >= self.numerator or common == 1:
                return (*futures, wanted)
            futures.append(wanted if wanted < size else -1)
            size, left = size * 10, left // common
