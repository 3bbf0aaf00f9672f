"""Automata of JSON numbers: exact in value. The oracle is `Fraction` on every short text of the grammar."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.automaton import DEAD
from minidecoder.errors import ConstraintTooLargeError, UsageError
from minidecoder.regex.dfa import DFA, minimise
from minidecoder.regex.limits import Limits
from minidecoder.regex.members import count_members, members, random_member, shortest
from minidecoder.schema.atoms import AtLeast, AtMost, IsInteger, MultipleOf, NumberIn
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, Literal, Truth, fold
from minidecoder.schema.numbers import finite_values, number_dfa
from minidecoder.schema.numbers_multiples import Multiples

GRAMMAR = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
CONSTANTS = "0 -0 1 -1 5 -5 9 10 15 -15 0.5 -0.5 0.05 1.5 -1.05 9.99 99 100 1E+2 105.0 1000 -150.15 1E-3"
STEPS = "1 2 5 7 10 15 100 1E+3 0.5 0.1 0.15 2.5 0.05 0.01 1E-3 12.5 1.1 0.3"


def texts_of(alphabet: str, most: int) -> list[str]:
    return ["".join(chars) for size in range(most + 1) for chars in itertools.product(alphabet, repeat=size)]


TEXTS = [
    *texts_of("-.015", 4),
    *(text for text in texts_of("-.0123456789", 3)),
    "99.995",
    "-150.15",
    "-150.150",
    "1000.0",
    "0.001",
    "0.0010",
    "105.00",
]
NUMBERS = [(text, Fraction(text)) for text in dict.fromkeys(TEXTS) if GRAMMAR.fullmatch(text)]
OTHERS = [text for text in dict.fromkeys(TEXTS) if not GRAMMAR.fullmatch(text)]


def holds(atom: Hashable, value: Fraction) -> bool:
    match atom:
        case IsInteger():
            return value.denominator == 1
        case MultipleOf(divisor):
            return (value / Fraction(divisor)).denominator == 1
        case AtLeast(bound, exclusive):
            return value > Fraction(bound) if exclusive else value >= Fraction(bound)
        case AtMost(bound, exclusive):
            return value < Fraction(bound) if exclusive else value <= Fraction(bound)
        case NumberIn(values):
            return value in {Fraction(number) for number in values}
    raise AssertionError(atom)


def satisfies(formula: Formula, value: Fraction) -> bool:
    def leaf(part: Truth | Literal) -> bool:
        return part.value if isinstance(part, Truth) else holds(part.atom, value) == part.positive

    return fold(formula, leaf, all, any)


def atoms() -> st.SearchStrategy[Hashable]:
    constants = st.sampled_from(CONSTANTS.split()).map(Decimal)
    return st.one_of(
        st.just(IsInteger()),
        st.sampled_from(STEPS.split()).map(Decimal).map(MultipleOf),
        st.builds(AtLeast, constants, st.booleans()),
        st.builds(AtMost, constants, st.booleans()),
        st.frozensets(constants, min_size=1, max_size=5).map(NumberIn),
    )


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    arena = Formulas()
    grow = lambda inner: st.one_of(  # noqa: E731
        st.tuples(inner, inner).map(arena.and_), st.tuples(inner, inner).map(arena.or_), inner.map(arena.not_)
    )
    return draw(st.recursive(atoms().map(arena.atom), grow, max_leaves=5))


def one(atom: Hashable) -> DFA:
    return number_dfa(Formulas().atom(atom))


def every(*parts: Hashable) -> DFA:
    arena = Formulas()
    return number_dfa(arena.and_(arena.atom(part) for part in parts))


def same_table(a: DFA, b: DFA) -> bool:
    return (a.classes, a.table.tolist(), a.accepting.tolist()) == (
        b.classes,
        b.table.tolist(),
        b.accepting.tolist(),
    )


# -- against Fraction ---------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(formulas())
def test_every_short_text_is_accepted_exactly_if_its_value_satisfies_the_formula(formula: Formula) -> None:
    dfa = number_dfa(formula)
    for text, value in NUMBERS:
        assert dfa.accepts(text) == satisfies(formula, value), text
    assert formula is TRUE or not any(map(dfa.accepts, OTHERS))
    assert same_table(dfa, minimise(dfa)), "not minimal"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-2000, max_value=2000),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 2**32),
)
def test_random_bounds_and_sets_agree_with_fractions_near_their_constants(
    constants: list[Decimal], seed: int
) -> None:
    arena, chance = Formulas(), random.Random(seed)
    parts = [
        arena.atom(chance.choice([AtLeast, AtMost])(constant, chance.random() < 0.5))
        for constant in constants
    ]
    formula = arena.or_(
        [
            arena.and_(parts[::2]),
            arena.not_(arena.or_(parts[1::2])),
            arena.atom(NumberIn(frozenset(constants))),
        ]
    )
    dfa = number_dfa(formula)
    for constant in constants:
        for change in ("0", "0.001", "-0.001", "0.0001", "-0.0001", "1", "-1", "100", "-1000"):
            value = constant + Decimal(change)
            for text in (f"{value:f}", f"{value:f}" + ("0" if "." in f"{value:f}" else ".0")):
                assert dfa.accepts(text) == satisfies(formula, Fraction(text)), (text, formula)


@settings(max_examples=8, deadline=None)
@given(st.frozensets(st.integers(-300, 1200), min_size=20, max_size=80), st.integers(0, 2))
def test_a_set_of_many_numbers_holds_these_and_no_other(values: frozenset[int], places: int) -> None:
    dfa = one(NumberIn(frozenset(Decimal(value).scaleb(-places) for value in values)))
    for value in range(-310, 1300):
        assert dfa.accepts(f"{Decimal(value).scaleb(-places):f}") == (value in values)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 4), st.integers(0, 2**32))
def test_multiples_of_random_steps_are_the_integers_that_the_step_divides(
    numerator: int, places: int, seed: int
) -> None:
    step, chance = Decimal(numerator).scaleb(-places), random.Random(seed)
    dfa = one(MultipleOf(step))
    for _ in range(60):
        text = f"{step * chance.randrange(-5000, 5000):f}"
        assert dfa.accepts(text)
        assert dfa.accepts(text + ("00" if "." in text else ".00"))
        other = f"{Decimal(chance.randrange(10**7)).scaleb(-chance.randrange(7)):f}"
        assert dfa.accepts(other) == holds(MultipleOf(step), Fraction(other)), other


@pytest.mark.parametrize("step", [*STEPS.split(), "3", "6", "8", "12", "125", "1024", "37.5", "0.75", "1E-8"])
def test_remainders_that_no_digits_tell_apart_are_one_before_anything_is_minimised(step: str) -> None:
    multiples = Multiples(Decimal(step))
    found: dict[object, None] = {0: None}
    pending: list[int] = [0]
    while pending:
        state = pending.pop()
        for digit in range(10):
            after = multiples.digit(state, digit)
            assert isinstance(after, int)
            if after not in found:
                found[after] = None
                pending.append(after)
    assert len(found) <= len(one(MultipleOf(Decimal(step))))


# -- what JSON Schema says ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "atom"),
    [
        ({"type": "integer"}, IsInteger()),
        ({"minimum": 1.1}, AtLeast(Decimal("1.1"))),
        ({"exclusiveMinimum": -2}, AtLeast(Decimal(-2), True)),
        ({"maximum": 300}, AtMost(Decimal(300))),
        ({"exclusiveMaximum": 3.0}, AtMost(Decimal("3.0"), True)),
        ({"multipleOf": 2}, MultipleOf(Decimal(2))),
        ({"multipleOf": 1.5}, MultipleOf(Decimal("1.5"))),
        ({"enum": [1, 2.5, -3]}, NumberIn(frozenset(map(Decimal, ("1", "2.5", "-3"))))),
        ({"const": 0}, NumberIn(frozenset({Decimal(0)}))),
    ],
)
def test_jsonschema_finds_the_same_numbers_valid(schema: dict[str, object], atom: Hashable) -> None:
    validator, dfa = jsonschema.Draft202012Validator(schema), one(atom)
    for text, _ in NUMBERS:
        assert dfa.accepts(text) == validator.is_valid(json.loads(text)), text


@pytest.mark.parametrize("text", ["1.0", "1.00", "-0", "-0.0", "0", "12", "1000000.0"])
def test_an_integer_may_have_zeros_behind_the_point(text: str) -> None:
    assert one(IsInteger()).accepts(text)


@pytest.mark.parametrize(
    "text",
    ["", "-", "01", "1.", ".5", "+1", "1e0", "1.0e1", "1.5", "--1", "0x1", "1_0", "٣", " 1", "1 ", "00"],
)
def test_an_integer_is_no_other_text(text: str) -> None:
    assert not one(IsInteger()).accepts(text)


def test_zero_has_every_sign_and_any_number_of_zeros() -> None:
    zero = one(NumberIn(frozenset({Decimal("-0.0")})))
    assert list(members(zero, 6)) == ["0", "-0", "0.0", "-0.0", "0.00", "-0.00"]
    assert not any(map(one(AtLeast(Decimal(0), True)).accepts, ["0", "-0", "0.00", "-0.000", "-1"]))
    assert all(map(one(AtLeast(Decimal(0))).accepts, ["0", "-0", "0.00", "-0.000", "0.001"]))


def test_without_a_numeric_keyword_all_of_the_grammar_is_open() -> None:
    dfa = number_dfa(TRUE)
    good = ["0", "-0", "1e5", "1E+05", "1.5e-3", "0e0", "-0.0E-0", "120"]
    bad = ["", "01", "1.", "1e", "1e+", ".1", "+1", "1e1.0", "NaN", "Infinity"]
    for text in good:
        assert dfa.accepts(text)
        assert json.loads(text) is not None
    for text in bad:
        assert not dfa.accepts(text)
    assert number_dfa(FALSE).start == DEAD


@pytest.mark.parametrize(
    "bound",
    [
        "9007199254740993",
        "1E+308",
        "-1.7976931348623157E+308",
        "1E-300",
        "0.1000000000000000055511151231257827",
    ],
)
def test_bounds_beyond_a_double_are_exact(bound: str) -> None:
    number = Decimal(bound)
    dfa = one(AtLeast(number, True))
    _, _digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = f"{number:f}"
    behind = text + ("" if "." in text else ".") + "0" * 20
    nearer = behind + "1"
    assert not dfa.accepts(text)
    assert not dfa.accepts(behind)
    assert dfa.accepts(nearer) == (number > 0), "a little further from zero"
    assert one(AtMost(number)).accepts(text)
    assert one(NumberIn(frozenset({number}))).accepts(behind)
    assert not one(NumberIn(frozenset({number}))).accepts(nearer)


def test_two_integers_that_are_one_double_are_two() -> None:
    dfa = every(NumberIn(frozenset({Decimal(9007199254740993)})))
    assert dfa.accepts("9007199254740993")
    assert not dfa.accepts("9007199254740992")


def test_bounds_that_nothing_meets_leave_nothing() -> None:
    assert every(AtLeast(Decimal(5)), AtMost(Decimal(4))).start == DEAD
    assert every(AtLeast(Decimal(5)), AtMost(Decimal(5), True)).start == DEAD
    assert every(IsInteger(), AtLeast(Decimal("0.1")), AtMost(Decimal("0.9"))).start == DEAD
    assert every(MultipleOf(Decimal(7)), AtLeast(Decimal(8)), AtMost(Decimal(13))).start == DEAD
    assert shortest(every(MultipleOf(Decimal(7)), AtLeast(Decimal(8)), AtMost(Decimal(14)))) == "14"


def test_a_score_from_0_to_100_has_the_hundred_and_one_integers() -> None:
    dfa = every(IsInteger(), AtLeast(Decimal(0)), AtMost(Decimal(100)))
    plain = [text for text in members(dfa, 500) if "." not in text and "-" not in text]
    assert plain == [str(number) for number in range(101)]


def test_the_random_members_of_a_price_are_cents() -> None:
    dfa = every(MultipleOf(Decimal("0.01")), AtLeast(Decimal(0), True), AtMost(Decimal("999.99")))
    chance = random.Random(0)
    for _ in range(300):
        value = Fraction(random_member(dfa, chance))
        assert 0 < value <= Fraction("999.99")
        assert (value * 100).denominator == 1
    assert sum(count_members(dfa, length) for length in range(5)) == sum(
        GRAMMAR.fullmatch(text) is not None
        and 0 < Fraction(text) <= Fraction("999.99")
        and (Fraction(text) * 100).denominator == 1
        for text in texts_of("-.0123456789", 4)
    )


def test_the_values_of_a_finite_set_are_listed_once_each() -> None:
    arena = Formulas()
    cents = arena.and_(
        map(arena.atom, [MultipleOf(Decimal("0.25")), AtLeast(Decimal(-1), True), AtMost(Decimal(1))])
    )
    expected = [Decimal(quarter) / 4 for quarter in range(-3, 5)]
    found = finite_values(cents, 8)
    assert found is not None
    assert sorted(found) == expected
    assert finite_values(cents, 7) is None
    assert finite_values(arena.atom(IsInteger()), 1_000) is None
    assert finite_values(FALSE, 0) == []
    assert finite_values(arena.atom(NumberIn(frozenset({Decimal("-0.0"), Decimal("1E+2")}))), 2) == [0, 100]


# -- size and limits ----------------------------------------------------------------------------------


def test_machines_stay_as_small_as_their_digits() -> None:
    assert len(one(IsInteger())) == 6
    assert len(one(MultipleOf(Decimal(1_000_000)))) == 12
    assert len(one(AtMost(Decimal("1E+308")))) < 1_000
    assert len(one(MultipleOf(Decimal("1E-8")))) == 13
    assert len(one(NumberIn(frozenset(Decimal(37 * i) for i in range(10_000))))) < 300


def test_a_step_with_a_hundred_million_remainders_is_refused_and_says_which_limit() -> None:
    with pytest.raises(ConstraintTooLargeError) as caught:
        one(MultipleOf(Decimal("0.123456789")))
    assert caught.value.limit == "max_states"
    # With few numbers to choose from, only few remainders can be met.
    few = every(
        MultipleOf(Decimal("0.123456789")), NumberIn(frozenset(map(Decimal, ("0.246913578", "1", "0"))))
    )
    assert few.accepts("0.246913578")
    assert few.accepts("0")
    assert not few.accepts("1")


def test_remainders_are_dropped_where_they_cannot_matter() -> None:
    arena = Formulas()
    step = MultipleOf(Decimal("0.123456789"))
    rare = arena.or_([arena.atom(AtLeast(Decimal(6))), arena.atom(step)])
    dfa = number_dfa(arena.and_([arena.atom(AtLeast(Decimal(5))), rare]), Limits(max_states=2_000))
    assert [dfa.accepts(text) for text in ("5.061728349", "5.06172834", "6", "5", "6.1")] == [
        True,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("text", ["1E+1000000000", "1E-1000000000", "1E+5000", "1E-5001"])
def test_a_number_of_a_billion_digits_is_refused_at_once(text: str) -> None:
    for atom in (AtLeast(Decimal(text)), MultipleOf(Decimal(text)), NumberIn(frozenset({Decimal(text)}))):
        with pytest.raises(ConstraintTooLargeError):
            one(atom)


def test_zeros_with_any_exponent_are_zero() -> None:
    for text in ("0E+999999999", "0E-999999999", "-0.000"):
        assert one(AtMost(Decimal(text))).accepts("0.0")
        assert not one(AtMost(Decimal(text))).accepts("0.1")


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="NaN"):
        one(AtLeast(Decimal("NaN")))
    with pytest.raises(UsageError, match="more than 0"):
        one(MultipleOf(Decimal(0)))


def test_eleven_steps_at_once_are_too_many() -> None:
    with pytest.raises(ConstraintTooLargeError, match="11 different steps"):
        every(*(MultipleOf(Decimal(step)) for step in range(2, 13)))


def test_time_is_limited() -> None:
    arena = Formulas()
    formula = arena.atom(MultipleOf(Decimal(99_991)))
    with pytest.raises(ConstraintTooLargeError) as caught:
        number_dfa(formula, Limits(timeout_s=0.01))
    assert caught.value.limit == "timeout_s"


def test_the_same_formula_of_another_schema_is_the_same_machine() -> None:
    parts = [AtLeast(Decimal(-3)), IsInteger()]
    assert every(*parts) is every(*parts[::-1])
    assert every(AtLeast(Decimal("-3.0")), IsInteger()) is every(*parts)
