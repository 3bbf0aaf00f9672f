r"""A formula over number atoms to the automaton of its JSON texts, exact in value.

Every text of an allowed value is accepted and no text of another: `1.0` and `1.00` are integers and equal
1, `-0` and `0.0` are zero. Where any atom occurs, texts have no exponent (integers with exponents are not
regular): `-?(0|[1-9][0-9]*)(\.[0-9]+)?`; each value still has a text. The formula true is all of JSON's
number grammar. "Not" is relative to these texts.

One machine answers all atoms at once: it carries a place among the constants (`numbers_ranges`) and a
remainder for each step (`numbers_multiples`), and may end where the formula is true of them. What can no
longer matter is dropped, so that nothing is built that no text reaches.

Left out: exponents. Cost: O(12 · states), a state for each pair of a place and remainders that is reached.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.charset import single
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA, minimise
from minidecoder.regex.limits import Limits
from minidecoder.regex.members import members
from minidecoder.regex.operations import intersect
from minidecoder.schema.formula import TRUE, Formula, literals
from minidecoder.schema.leaf_cache import LeafCache
from minidecoder.schema.numbers_multiples import MISSED, Multiples, Remainder
from minidecoder.schema.numbers_ranges import Place
from minidecoder.schema.numbers_verdicts import Verdicts

__all__ = ["finite_values", "number_dfa"]

_SIGNS: Final = "-.0123456789"
_ANY_NUMBER: Final = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_ONE_FOR_EACH_VALUE: Final = r"0|-?(?:[1-9][0-9]*(?:\.[0-9]*[1-9])?|0\.[0-9]*[1-9])"
_MADE: Final = LeafCache[DFA]()


def number_dfa(formula: Formula, limits: Limits | None = None) -> DFA:
    """The minimal DFA of the JSON texts of the numbers that satisfy a formula over number atoms.

    Its start is DEAD where no number does. Kept by the formula's structure. Raises
    `ConstraintTooLargeError` past a limit: a `multipleOf` of 0.123456789 has 123,456,789 remainders.
    """
    if not literals(formula):  # a truth
        return _any_number() if formula is TRUE else _nothing()
    return _MADE.get(formula, lambda: _build(formula, limits or Limits()))


def finite_values(formula: Formula, most: int, limits: Limits | None = None) -> list[Decimal] | None:
    """The numbers that satisfy a formula, in the order of their shortest texts; None for more than `most`."""
    limits = limits or Limits()
    one_each = compile_dfa(_ONE_FOR_EACH_VALUE)
    texts = list(members(intersect(number_dfa(formula, limits), one_each, limits), most + 1))
    return None if len(texts) > most else [Decimal(text) for text in texts]


@cache
def _any_number() -> DFA:
    return compile_dfa(_ANY_NUMBER)


@cache
def _nothing() -> DFA:
    return DFA((), np.zeros((1, 0), np.int32), np.zeros(1, np.bool_), DEAD)


class _Reading(NamedTuple):
    """What is known after some characters. `sign`: 1, -1, or 0 once it cannot matter."""

    phase: str  # "start", "minus", "zero", "whole", "point" or "fraction"
    sign: int
    place: Place
    remainders: tuple[Remainder | None, ...]  # None: it cannot matter any more


def _build(formula: Formula, limits: Limits) -> DFA:
    reader = _Reader(Verdicts(formula, limits))
    start = reader.start()
    numbers: dict[_Reading | None, int] = {None: DEAD, start: 1}
    readings, rows = [start], [[0] * len(_SIGNS)]
    for reading in readings:  # grows while it is read: breadth-first
        row = []
        for char in _SIGNS:
            after = reader.step(reading, char)
            if after not in numbers:
                numbers[after] = len(numbers)
                assert after is not None
                readings.append(after)
            row.append(numbers[after])
        rows.append(row)
        if len(readings) > limits.max_states:
            text = f"the bounds and steps of a number need more than {limits.max_states:,} states"
            raise ConstraintTooLargeError(text, "max_states")
        limits.check_time()
    accepting = np.array([False, *map(reader.holds, readings)])
    table = np.array(rows, dtype=np.int32)
    return minimise(DFA(tuple(map(single, _SIGNS)), table, accepting, State(1)), limits)


class _Reader:
    """Steps through the characters of a number, for all atoms of a formula side by side."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.places = {sign: verdicts.places(sign) for sign in (1, -1)}
        self.multiples = [Multiples(step) for step in verdicts.steps]

    def start(self) -> _Reading:
        return _Reading("start", 1, self.places[1].whole(0, 0), (0,) * len(self.multiples))

    def step(self, reading: _Reading, char: str) -> _Reading | None:
        """What is known after one more character; None where no text goes on so, or none that holds."""
        phase = _PHASES.get((reading.phase, _kind(char)))
        if phase is None:
            return None
        if char == "-":
            return self._simplified(reading._replace(phase=phase, sign=-1, place=self.places[-1].whole(0, 0)))
        if char == ".":
            return self._point(reading)
        digit = int(char)
        places = self.places[reading.sign or 1]
        place = places.digit(reading.place, digit)
        remainders = tuple(
            None if old is None else multiples.digit(old, digit)
            for old, multiples in zip(reading.remainders, self.multiples, strict=True)
        )
        return self._simplified(_Reading(phase, reading.sign, place, remainders))

    def holds(self, reading: _Reading) -> bool:
        """Whether the text may end here."""
        if reading.phase not in ("zero", "whole", "fraction"):
            return False
        table = self.places[reading.sign or 1].verdict(reading.place)
        answer = 0
        for i, (state, multiples) in enumerate(zip(reading.remainders, self.multiples, strict=True)):
            answer |= (state is not None and multiples.holds(state)) << i
        return bool(table >> answer & 1)

    def _point(self, reading: _Reading) -> _Reading | None:
        place = self.places[reading.sign or 1].point(reading.place)
        remainders = tuple(
            None if old is None else multiples.point(old)
            for old, multiples in zip(reading.remainders, self.multiples, strict=True)
        )
        return self._simplified(_Reading("point", reading.sign, place, remainders))

    def _simplified(self, reading: _Reading) -> _Reading | None:
        """Without the sign and the remainders that can no longer matter."""
        if reading.place.kind != "decided" or reading.phase in ("start", "minus"):
            return reading
        table, remainders = reading.place.value, list(reading.remainders)
        for i, state in enumerate(remainders):
            if state == MISSED:
                table = self.verdicts.without(table, i)
        for i in range(len(remainders)):
            if not self.verdicts.depends(table, i):
                remainders[i] = None
        if table == 0:
            return None
        return _Reading(reading.phase, 0, Place("decided", 0, table), tuple(remainders))


_PHASES: Final = {
    ("start", "-"): "minus",
    **{(phase, "0"): "zero" for phase in ("start", "minus")},
    **{(phase, "1"): "whole" for phase in ("start", "minus", "whole")},
    ("whole", "0"): "whole",
    **{(phase, "."): "point" for phase in ("zero", "whole")},
    **{(phase, digit): "fraction" for phase in ("point", "fraction") for digit in "01"},
}
"""The grammar: (phase, kind of character) → phase; "1" stands for the digits 1 to 9."""


def _kind(char: str) -> str:
    return "1" if char in "123456789" else char
