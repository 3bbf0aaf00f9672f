"""Formulas against truth tables, counts against real lists and objects."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.regex.limits import Limits
from minidecoder.schema.atoms import IsInteger, Length, NumberIn, StringIn
from minidecoder.schema.branches import item_branches, member_branches
from minidecoder.schema.counts import (
    Count,
    Positions,
    after_item,
    close,
    count,
    every,
    forget_name,
    item_goals,
    some,
)
from minidecoder.schema.formula import FALSE, TRUE, And, Formula, Formulas, Literal, Or, fold, literals

# -- a small world: three plain atoms, a set of texts, a length ------------------------------------------

TEXTS = ["", "a", "b", "ab", "abc"]


@dataclass(frozen=True)
class Named:
    name: str


trees = st.recursive(
    st.sampled_from(["p", "q", "r"])
    | st.frozensets(st.sampled_from(TEXTS), min_size=1, max_size=3)
    | st.tuples(st.integers(0, 2), st.sampled_from([None, 2, 3])),
    lambda inner: (
        st.tuples(st.just("not"), inner)
        | st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3))
    ),
    max_leaves=8,
)


def build(formulas: Formulas, tree: Any) -> Formula:
    match tree:
        case str():
            return formulas.atom(Named(tree))
        case frozenset():
            return formulas.atom(StringIn(tree))
        case (int(lo), hi):
            return TRUE if (lo, hi) == (0, None) else formulas.atom(Length(lo, hi))
        case ("not", inner):
            return formulas.not_(build(formulas, inner))
        case ("and", parts):
            return formulas.and_(build(formulas, part) for part in parts)
        case (_, parts):
            return formulas.or_(build(formulas, part) for part in parts)
    raise AssertionError(tree)


def truth(tree: Any, true: frozenset[str], text: str) -> bool:
    match tree:
        case str():
            return tree in true
        case frozenset():
            return text in tree
        case (int(lo), hi):
            return lo <= len(text) and (hi is None or len(text) <= hi)
        case ("not", inner):
            return not truth(inner, true, text)
        case ("and", parts):
            return all(truth(part, true, text) for part in parts)
        case (_, parts):
            return any(truth(part, true, text) for part in parts)
    raise AssertionError(tree)


def value(formula: Formula, true: frozenset[str], text: str) -> bool:
    def leaf(part: Any) -> bool:
        if not isinstance(part, Literal):
            return bool(part.value)
        match part.atom:
            case Named(name):
                return (name in true) is part.positive
            case StringIn(values):
                return (text in values) is part.positive
            case Length(lo, hi):
                assert part.positive
                return lo <= len(text) and (hi is None or len(text) <= hi)
        raise AssertionError(part)

    return fold(formula, leaf, all, any)


def worlds() -> list[tuple[frozenset[str], str]]:
    sets = [frozenset(names) for size in range(4) for names in itertools.combinations("pqr", size)]
    return list(itertools.product(sets, TEXTS))


@given(trees)
def test_simplification_changes_no_truth_value(tree: Any) -> None:
    formula = build(Formulas(), tree)
    assert all(value(formula, *world) == truth(tree, *world) for world in worlds())


@given(trees)
def test_the_opposite_is_true_where_the_formula_is_false(tree: Any) -> None:
    formulas = Formulas()
    opposite = formulas.not_(build(formulas, tree))
    assert all(value(opposite, *world) != truth(tree, *world) for world in worlds())


@given(st.sampled_from(["p", (1, 2), (2, None), frozenset({"a", "ab"})]))
def test_an_atom_and_its_opposite_are_false_together_and_true_apart(tree: Any) -> None:
    formulas = Formulas()
    atom = build(formulas, tree)
    assert formulas.and_([atom, formulas.not_(atom)]) is FALSE
    assert formulas.or_([atom, formulas.not_(atom)]) is TRUE
    assert formulas.not_(formulas.not_(atom)) is atom


@given(trees)
def test_a_formula_is_in_normal_form(tree: Any) -> None:
    def check(part: Formula, inside: type | None) -> None:
        if isinstance(part, And | Or):
            assert type(part) is not inside
            assert len(part.parts) >= 2
            assert list(part.parts) == sorted(set(part.parts), key=lambda p: p.number)
            for inner in part.parts:
                check(inner, type(part))
        elif inside is not None:
            assert isinstance(part, Literal)

    check(build(Formulas(), tree), None)


@given(trees, trees)
def test_the_order_of_parts_makes_no_difference(one: Any, other: Any) -> None:
    formulas = Formulas()
    a, b = build(formulas, one), build(formulas, other)
    assert formulas.and_([a, b]) is formulas.and_([b, a])
    assert formulas.or_([a, b]) is formulas.or_([b, a])


def test_sets_and_intervals_of_one_subject_are_merged() -> None:
    formulas = Formulas()
    ab, bc = (formulas.atom(StringIn(frozenset(names))) for names in ("ab", "bc"))
    assert formulas.and_([ab, bc]) is formulas.atom(StringIn(frozenset("b")))
    assert formulas.or_([ab, bc]) is formulas.atom(StringIn(frozenset("abc")))
    assert formulas.and_([ab, formulas.not_(bc)]) is formulas.atom(StringIn(frozenset("a")))
    lengths = formulas.and_([formulas.atom(Length(2, 5)), formulas.atom(Length(4, None))])
    assert lengths is formulas.atom(Length(4, 5))
    assert formulas.or_([formulas.atom(Length(0, 3)), formulas.atom(Length(4, None))]) is TRUE


def test_one_and_one_point_zero_are_one_number() -> None:
    formulas = Formulas()
    one, same = (formulas.atom(NumberIn(frozenset({Decimal(text)}))) for text in ("1", "1.0"))
    assert one is same


def test_a_known_part_decides_inside_of_another() -> None:
    formulas = Formulas()
    p, q, r = (formulas.atom(Named(name)) for name in "pqr")
    assert formulas.and_([p, formulas.or_([formulas.not_(p), q])]) is formulas.and_([p, q])
    assert formulas.and_([p, formulas.or_([p, q])]) is p
    assert formulas.or_([p, formulas.and_([formulas.not_(p), q, r])]) is formulas.or_(
        [p, formulas.and_([q, r])]
    )


def test_a_formula_may_be_deeper_than_the_stack() -> None:
    formulas = Formulas()
    formula = formulas.atom(Named("p"))
    for index in range(5_000):
        combine = formulas.and_ if index % 2 else formulas.or_
        formula = combine([formula, formulas.atom(Named(str(index)))])
    assert formulas.not_(formulas.not_(formula)) is formula
    assert len(literals(formula)) == 5_001
    assert fold(formula, lambda part: 1, max, max) == 1


def test_formulas_past_the_limit_are_refused() -> None:
    formulas = Formulas(Limits(max_states=2))
    with pytest.raises(ConstraintTooLargeError, match="parts"):
        formulas.or_(formulas.atom(Named(str(index))) for index in range(1000))


# -- counts ---------------------------------------------------------------------------------------------

ITEMS = ["x", "y", "z"]


def goal(formulas: Formulas, letter: str) -> Formula:
    return formulas.atom(Named(letter))


@st.composite
def count_specs(draw: st.DrawFn) -> tuple[int, int | None, str, int, int | None]:
    first = draw(st.integers(0, 2))
    end = draw(st.none() | st.integers(first, 4))
    lo = draw(st.integers(0, 3))
    return first, end, draw(st.sampled_from(ITEMS)), lo, draw(st.none() | st.integers(0, 3))


def array_formula(formulas: Formulas, specs: list[Any]) -> list[Formula]:
    return [
        count(formulas, Positions(first, end), goal(formulas, letter), lo, hi)
        for first, end, letter, lo, hi in specs
    ]


def array_truth(spec: Any, items: list[str]) -> bool:
    first, end, letter, lo, hi = spec
    number = items[first:end].count(letter)
    return lo <= number and (hi is None or number <= hi)


arrays = st.lists(st.sampled_from([*ITEMS, "w"]), max_size=5)


@given(st.lists(count_specs(), min_size=1, max_size=4), arrays, st.booleans())
def test_walking_over_items_decides_what_counting_them_decides(
    specs: list[Any], items: list[str], conjunction: bool
) -> None:
    formulas = Formulas()
    parts = array_formula(formulas, specs)
    formula = (formulas.and_ if conjunction else formulas.or_)(parts)
    for item in items:
        letter = goal(formulas, item)
        formula = after_item(formulas, formula, lambda asked, letter=letter: asked is letter)
    assert close(formula) == (all if conjunction else any)(array_truth(spec, items) for spec in specs)


@given(count_specs(), arrays)
def test_the_opposite_of_a_count_is_made_of_counts(spec: Any, items: list[str]) -> None:
    formulas = Formulas()
    formula = formulas.not_(*array_formula(formulas, [spec]))
    assert all(literal.positive for literal in literals(formula))
    for item in items:
        letter = goal(formulas, item)
        formula = after_item(formulas, formula, lambda asked, letter=letter: asked is letter)
    assert close(formula) == (not array_truth(spec, items))


@given(st.lists(count_specs(), min_size=1, max_size=3), arrays)
def test_exactly_one_branch_fits_each_item(specs: list[Any], items: list[str]) -> None:
    """The branches exclude each other and, but for dead ones, leave nothing out."""
    formulas = Formulas()
    formula = formulas.and_(array_formula(formulas, specs))
    for item in items:
        true = frozenset({item})
        fitting = [b for b in item_branches(formulas, formula) if value(b.goal, true, "")]
        assert len(fitting) <= 1
        letter = goal(formulas, item)
        expected = after_item(formulas, formula, lambda asked, letter=letter: asked is letter)
        if not fitting:
            assert expected is FALSE
            return
        (branch,) = fitting
        formula = branch.rest
        assert formula is expected


def test_what_can_never_count_is_decided_at_once() -> None:
    formulas = Formulas()
    p = goal(formulas, "p")
    name = formulas.atom(StringIn(frozenset({"a"})))
    assert count(formulas, name, p, 2, None) is FALSE  # no object has a name twice
    assert count(formulas, Positions(1, 3), p, 0, 2) is TRUE
    assert count(formulas, FALSE, p, 1, None) is FALSE
    assert every(formulas, Positions(0, None), TRUE) is TRUE
    assert some(formulas, name, FALSE) is FALSE
    assert formulas.and_([some(formulas, name, TRUE), every(formulas, name, FALSE)]) is FALSE


def test_a_name_that_is_past_no_longer_counts() -> None:
    formulas = Formulas()
    both = formulas.atom(StringIn(frozenset("ab")))
    formula = count(formulas, both, TRUE, 1, None)
    left = forget_name(formulas, formula, "a")
    assert left is count(formulas, formulas.atom(StringIn(frozenset("b"))), TRUE, 1, None)
    assert forget_name(formulas, left, "b") is FALSE


def test_large_bounds_cost_no_more_than_small_ones() -> None:
    formulas = Formulas()
    formula = count(formulas, Positions(0, None), TRUE, 10_000, 10_000)
    before = len(literals(formula))
    for _ in range(3):
        formula = after_item(formulas, formula, lambda asked: False)
    (literal,) = literals(formula)
    assert before == 1
    assert isinstance(literal.atom, Count)
    assert (literal.atom.lo, literal.atom.hi) == (9_997, 9_997)


def test_tags_that_exclude_each_other_give_as_many_branches_as_tags() -> None:
    formulas = Formulas()
    key = formulas.atom(StringIn(frozenset({"t"})))
    tags = [formulas.atom(StringIn(frozenset({str(n)}))) for n in range(50)]
    others = [some(formulas, formulas.atom(StringIn(frozenset({f"k{n}"}))), TRUE) for n in range(50)]
    formula = formulas.or_(
        formulas.and_([some(formulas, key, tag), other]) for tag, other in zip(tags, others, strict=True)
    )
    branches = member_branches(formulas, formula, lambda keys: keys is key)
    assert len([branch for branch in branches if branch.goal in tags]) == 50
    assert len(branches) <= 51


def test_too_many_ways_to_count_are_refused() -> None:
    formulas = Formulas()
    letters = [goal(formulas, str(n)) for n in range(30)]
    counts = [count(formulas, Positions(0, None), letter, 0, 1) for letter in letters]
    with pytest.raises(ConstraintTooLargeError, match="ways"):
        item_branches(formulas, formulas.and_(counts))


def test_items_that_no_count_is_about_ask_nothing() -> None:
    formulas = Formulas()
    formula = every(formulas, Positions(1, None), formulas.atom(IsInteger()))
    assert item_goals(formula) == []
    assert item_goals(after_item(formulas, formula, lambda asked: False)) != []
