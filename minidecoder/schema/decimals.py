"""Decimals as exact integers: how many digits stand behind the point, and the number times a power of ten.

`Decimal`'s own operations round to 28 digits; these do not. Left out: numbers of more than 5,000 digits, such
as 1E+1000000, which `check_digits` refuses before anything is built. Cost: linear in the digits.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from minidecoder.errors import ConstraintTooLargeError, UsageError

__all__ = ["check_digits", "fraction_digits", "scaled"]

_MOST_DIGITS: Final = 5_000


def fraction_digits(number: Decimal) -> int:
    """How many digits behind the point are needed: 2 for 1.250, 0 for 1E+3."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number or exponent >= 0:
        return 0
    zeros = next(count for count, digit in enumerate(reversed(digits)) if digit)
    return max(0, -exponent - zeros)


def scaled(number: Decimal, places: int) -> int:
    """number · 10^places, which must be an integer."""
    if not number:
        return 0  # subtle: 0E-999999999 is a zero too, and its ratio would take for ever
    numerator, denominator = number.as_integer_ratio()
    return int(numerator * 10**places // denominator)


def check_digits(number: Decimal) -> None:
    """`UsageError` for NaN and infinities, `ConstraintTooLargeError` where the digits alone are too many."""
    if not number.is_finite():
        raise UsageError(f"{number} is no JSON number")
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    written_out = max(number.adjusted() + 1, -exponent, len(digits)) if number else 1
    if written_out > _MOST_DIGITS:
        text = f"a number of the schema has {written_out:,} digits, more than {_MOST_DIGITS:,}"
        raise ConstraintTooLargeError(text)
