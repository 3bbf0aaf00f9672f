"""Where a number lies among some constants, told from its digits as they are read.

k constants cut the line into 2k+1 places: before the first, at it, between it and the second, … Each
place has a verdict (a truth table of what else the formula asks there). Digits are read from the left, so
how long the number is comes out last: what is kept of the digits is, for each length that some constant
has, which verdict they will lead to. As soon as only one is left, nothing more is kept.

>>> places = Places([10, 50], 0, [0, 1, 1, 1, 0])  # 10 to 50: "1" is before 10 as it stands, "10" is in
>>> one = places.digit(places.whole(0, 0), 1)
>>> places.verdict(one), places.verdict(places.digit(one, 0))
(0, 1)

Left out: signs (one machine for each, over magnitudes). Cost: at most one state for each digit of a
constant, and one for each (length, verdicts by length); a step is two bisections for each length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

__all__ = ["Place", "Places"]


class Place(NamedTuple):
    """What is known after some digits; of places that no further text tells apart, one stands for all."""

    kind: str  # "whole", "fraction", "at" a constant with zeros alone behind it, or "decided"
    digits: int  # read so far, before the point ("whole") or after it ("fraction")
    value: int  # all digits read, as an integer; the number of the constant ("at"); the verdict ("decided")


_Key: TypeAlias = tuple[object, ...]
_Outlook: TypeAlias = int | tuple[object, ...]
"""The one verdict there is; or how far away the constants are, and the verdicts between; or `_MANY`."""

_FEW: Final = 4  # constants whose distances are compared; a prefix of more of them is a state of its own
_MANY: Final = ("many",)
_MIXED: Final = ("mixed",)


class Places:
    """`constants`: ascending magnitudes times 10^scale; `verdicts[2i]` holds before the i-th constant,
    `verdicts[2i + 1]` at it, the last one after all of them."""

    def __init__(self, constants: Sequence[int], scale: int, verdicts: Sequence[int]) -> None:
        self.constants = constants
        self.scale = scale
        self.verdicts = verdicts
        self._runs = _runs(verdicts)
        self._power = [1]
        self.lengths = sorted({self._length(constant) for constant in constants})
        self._others = self._other_lengths()
        self._known: dict[_Key, Place] = {}

    def whole(self, digits: int, value: int) -> Place:
        """The place of the digits before the point; 0 digits at the beginning."""
        is_zero = digits == 1 and value == 0  # nothing but the point may follow
        outlooks = [self._outlook(0, self.scale)] if is_zero else self._outlooks(digits, value)
        first = outlooks[0]
        if isinstance(first, int) and outlooks.count(first) == len(outlooks):
            return Place("decided", 0, first)
        by_value = is_zero or _MANY in outlooks
        key = (digits, value) if by_value else (digits, None, *outlooks)
        return self._known.setdefault(key, Place("whole", digits, value))

    def fraction(self, digits: int, value: int) -> Place:
        """The place of all digits so far, `digits` of them behind the point."""
        rest = self.scale - digits
        outlook = self._outlook(value, rest)
        if isinstance(outlook, int):
            return Place("decided", 0, outlook)
        if outlook[:-1] == (0,):  # exactly a constant, the only one in sight
            key, place = ("at", *outlook), Place("at", 0, self._position(value * self._ten_to(rest)) // 2)
        else:
            key, place = (
                ("fraction", digits, value if outlook is _MANY else outlook),
                Place("fraction", digits, value),
            )
        return self._known.setdefault(key, place)

    def digit(self, place: Place, digit: int) -> Place:
        """The place after one more digit."""
        match place.kind:
            case "whole":
                return self.whole(place.digits + 1, place.value * 10 + digit)
            case "fraction":
                return self.fraction(place.digits + 1, place.value * 10 + digit)
            case "at" if digit:
                return Place("decided", 0, self.verdicts[2 * place.value + 2])
            case _:
                return place

    def point(self, place: Place) -> Place:
        """The place after the decimal point."""
        return self.fraction(0, place.value) if place.kind == "whole" else place

    def verdict(self, place: Place) -> int:
        """The verdict where the number ends here."""
        match place.kind:
            case "decided":
                return place.value
            case "at":
                return self.verdicts[2 * place.value + 1]
        rest = self.scale - (place.digits if place.kind == "fraction" else 0)
        return self.verdicts[self._position(place.value * self._ten_to(rest))]

    # -- which verdicts are still possible ------------------------------------------------------------

    def _outlooks(self, digits: int, value: int) -> list[_Outlook]:
        """What lies before the numbers that begin so: first those of lengths that no constant has, then
        those of each length, from `digits` on, that some constant has."""
        others = self._others[min(digits, len(self._others) - 1)]
        lengths = self.lengths[bisect_left(self.lengths, digits) :]
        if digits == 0:
            return [others, *map(self._outlook_of_length, lengths)]
        rest = self.scale - digits
        return [others, *(self._outlook(value, rest + length) for length in lengths)]

    def _outlook(self, value: int, rest: int) -> _Outlook:
        """What lies before the magnitudes that read `value` and then `rest` digits."""
        low = value * self._ten_to(rest)
        return self._between(low, low + self._ten_to(rest))

    def _outlook_of_length(self, length: int) -> _Outlook:
        low = 0 if length == 1 else self._ten_to(self.scale + length - 1)
        return self._between(low, self._ten_to(self.scale + length))

    def _between(self, low: int, behind: int) -> _Outlook:
        position, last = self._position(low), 2 * bisect_left(self.constants, behind)
        if self._runs[position] == self._runs[last]:
            return self.verdicts[position]
        first = position // 2
        if last // 2 - first > _FEW:
            return _MANY
        steps = [constant - low for constant in self.constants[first : last // 2]]
        return (*steps, tuple(self.verdicts[position : last + 1]))

    def _position(self, magnitude: int) -> int:
        at = bisect_left(self.constants, magnitude)
        return 2 * at + (at < len(self.constants) and self.constants[at] == magnitude)

    # -- what does not depend on the text --------------------------------------------------------------

    def _other_lengths(self) -> list[_Outlook]:
        """For each number of digits read: the one verdict of the lengths from there on that no constant
        has, or `_MIXED`, where it depends on the length. Beyond the longest constant lies the last place."""
        longest = self.lengths[-1] if self.lengths else 0
        taken = set(self.lengths)
        answers: list[_Outlook] = [self.verdicts[-1]]
        for length in range(longest, -1, -1):
            after = answers[-1]
            if length and length not in taken:
                after = after if self._outlook_of_length(length) == after else _MIXED
            answers.append(after)
        return answers[::-1]

    def _length(self, constant: int) -> int:
        """How many digits stand before the point; 0.5 has one."""
        length = 1
        while constant >= self._ten_to(self.scale + length):
            length += 1
        return length

    def _ten_to(self, exponent: int) -> int:
        while len(self._power) <= exponent:
            self._power.append(self._power[-1] * 10)
        return self._power[exponent]


def _runs(verdicts: Sequence[int]) -> list[int]:
    """Numbers that two neighbours share where their verdicts are equal."""
    runs = [0]
    for before, after in pairwise(verdicts):
        runs.append(runs[-1] + (before != after))
    return runs
