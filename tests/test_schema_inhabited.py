"""Whether any value satisfies a schema, against thousands of values and by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from schema_strategies import SCALARS, schemas
from schema_truth import satisfies

from minidecoder.errors import SchemaError
from minidecoder.schema.expand import Expander
from minidecoder.schema.formula import FALSE, TRUE
from minidecoder.schema.horn import Prover
from minidecoder.schema.inhabited import Inhabited
from minidecoder.schema.numbers import number_dfa
from minidecoder.schema.resolve import Schema
from minidecoder.schema.strings import string_language


def inhabited(schema: Any) -> bool:
    expander = Expander(Schema(schema))
    return decider(expander).inhabited(expander.root)


def decider(expander: Expander) -> Inhabited:
    def strings(formula: Any, most: int) -> int:
        members = string_language(formula).finite_members(most)
        return most if members is None else min(most, len(members))

    return Inhabited(expander, lambda formula: bool(number_dfa(formula).start), strings)


def world() -> list[Any]:
    """Small values in which the keywords of `schema_strategies` can tell everything apart."""
    simple = [*SCALARS, [], {}]
    found: list[Any] = [*simple, *([one] for one in simple), *([a, b] for a in simple for b in simple)]
    for names in [("a",), ("b",), ("ab",), ("c",), ("a", "b"), ("a", "c"), ("b", "ab"), ("a", "ab")]:
        found += [
            dict(zip(names, members, strict=True)) for members in itertools.product(simple, repeat=len(names))
        ]
    return found


WORLD = world()


def test_what_no_value_satisfies_is_what_is_not_inhabited() -> None:
    """No value of the world may satisfy what is said to have none; and what has one, almost always shows it
    there: a few schemas need larger values than the world has."""
    counted: Counter[tuple[bool, bool]] = Counter()

    @settings(max_examples=150)
    @given(schemas(references=True))
    def compare(schema: Any) -> None:
        expander = Expander(Schema(schema))
        try:
            found = decider(expander).inhabited(expander.root)
        except SchemaError:
            return
        witness = any(satisfies(expander, expander.root, value) for value in WORLD)
        assert found or not witness
        counted[found, witness] += 1

    compare()
    assert counted[False, False] > 5
    assert counted[True, False] <= 0.05 * counted[True, True]


NAMES = {"propertyNames": {"enum": ["a", "b"]}, "type": "object"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, True),
        (False, False),
        ({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}, False),
        ({"type": "object", "properties": {"n": {"$ref": "#"}}}, True),
        ({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, False),
        ({"type": ["array", "null"], "items": {"$ref": "#"}, "minItems": 1}, True),
        ({"type": "array", "items": {"type": "null"}, "minItems": 10_000, "maxItems": 10_000}, True),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 50, "contains": {"type": "boolean"}},
            False,
        ),
        (
            {
                "type": "array",
                "minItems": 10**9,
                "contains": {"const": 3},
                "minContains": 5,
                "maxContains": 7,
            },
            True,
        ),
        ({"type": "array", "prefixItems": [True, False], "minItems": 2}, False),
        ({**NAMES, "minProperties": 2}, True),
        ({**NAMES, "minProperties": 3}, False),
        ({**NAMES, "required": ["c"]}, False),
        ({"type": "object", "propertyNames": {"pattern": "^[ab]$"}, "minProperties": 3}, False),
        ({"type": "object", "propertyNames": {"pattern": "^[ab]+$"}, "minProperties": 1000}, True),
        ({"type": "object", "patternProperties": {"": False}, "minProperties": 1}, False),
        (
            {
                "type": "object",
                "patternProperties": {"^a": {"type": "null"}},
                "additionalProperties": False,
                "minProperties": 9,
            },
            True,
        ),
        (
            {"type": "object", "required": ["r", "w"], "oneOf": [{"required": ["r"]}, {"required": ["w"]}]},
            False,
        ),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, False),
        ({"type": "string", "minLength": 5, "maxLength": 2}, False),
        (
            {"type": "string", "pattern": "^a*$", "minLength": 3, "maxLength": 3, "not": {"const": "aaa"}},
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"const": 1}},
                "required": ["a"],
                "not": {"properties": {"a": {"const": 1}}},
            },
            False,
        ),
        ({"enum": ["\ud800"]}, False),
    ],
)
def test_by_hand(schema: Any, expected: bool) -> None:
    """Among them guidance-ai/jsonschemabench#16 (oneOf), guidance-ai/llguidance#372 (open unit interval),
    outlines-core error.rs MaxBoundError (lengths)."""
    assert inhabited(schema) is expected


def test_a_large_object_is_decided_part_by_part() -> None:
    names = [f"p{n}" for n in range(300)]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names}, "required": names}
    assert inhabited({**schema, "additionalProperties": False})
    schema["properties"] = {**{name: {"type": "null"} for name in names}, "p7": False}
    assert not inhabited(schema)


def test_many_tagged_objects_are_decided_one_by_one() -> None:
    tags = [{"type": "object", "properties": {"t": {"const": n}}, "required": ["t"]} for n in range(200)]
    assert inhabited({"anyOf": tags})
    assert not inhabited({"anyOf": tags, "properties": {"t": {"const": -1}}})


def test_answers_of_one_type() -> None:
    expander = Expander(Schema(True))
    assert decider(expander).of_type(TRUE, "string")
    assert not decider(expander).of_type(FALSE, "array")


@pytest.mark.parametrize(
    ("rules", "true"),
    [
        ({"a": [("b",)], "b": [("a",)]}, set()),
        ({"a": [("b", "c"), ("d",)], "b": True, "c": [("a",)], "d": [("b",)]}, {"a", "b", "c", "d"}),
        ({"a": [("b", "c")], "b": True, "c": False}, {"b"}),
        ({"a": [()]}, {"a"}),
        ({"a": [("b",), ("c",)], "b": [("a",)], "c": [("b", "d")], "d": True}, {"d"}),
    ],
)
def test_the_least_answer_is_found_in_any_order(rules: dict[str, Any], true: set[str]) -> None:
    for order in itertools.permutations(rules):
        prover: Prover[str] = Prover(rules.__getitem__)
        assert {name for name in order if prover.proves(name)} == true
