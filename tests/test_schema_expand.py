"""What formulas say of real values, against the public suite and the library jsonschema."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_strategies import schemas, values
from schema_suite import remote_documents, required_cases
from schema_truth import satisfies

from minidecoder.errors import ConstraintTooLargeError, SchemaError, UnsupportedFeatureError
from minidecoder.schema.atoms import Format, IsInteger, NumberIn, StringIn, ValueIn
from minidecoder.schema.counts import Count
from minidecoder.schema.expand import Expander
from minidecoder.schema.formula import FALSE, TRUE, Literal, literals
from minidecoder.schema.names import names_of
from minidecoder.schema.reach import expand_all
from minidecoder.schema.resolve import Schema


def expander_of(schema: Any, **options: Any) -> Expander:
    return Expander(Schema(schema), **options)


def accepts(schema: Any, value: Any, **options: Any) -> bool:
    expander = expander_of(schema, **options)
    return satisfies(expander, expander.root, value)


# -- the public suite ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("with_remotes", "equal", "unsupported"), [(False, 1214, 85), (True, 1258, 41)])
def test_no_verdict_of_the_suite_is_wrong(with_remotes: bool, equal: int, unsupported: int) -> None:
    resources = remote_documents() if with_remotes else {}
    known: dict[str, Expander | UnsupportedFeatureError] = {}
    counted: Counter[str] = Counter()
    wrong = []
    for case in required_cases():
        if case.group not in known:
            try:
                known[case.group] = Expander(Schema(case.schema, resources))
            except UnsupportedFeatureError as fault:
                known[case.group] = fault
        try:
            expander = known[case.group]
            if isinstance(expander, UnsupportedFeatureError):
                raise expander
            right = satisfies(expander, expander.root, case.data) is case.valid
            wrong += [] if right else [(case.group, case.name)]
            counted["equal" if right else "wrong"] += 1
        except UnsupportedFeatureError as fault:
            counted[fault.feature] += 1
    assert not wrong
    assert counted["equal"] >= equal
    assert sum(counted.values()) - counted["equal"] <= unsupported
    assert set(counted) <= {"equal", "$ref", "uniqueItems", "$schema"}


# -- jsonschema ---------------------------------------------------------------------------------------------


def agree(schema: Any, instances: list[Any]) -> None:
    expander = expander_of(schema)
    oracle = jsonschema.Draft202012Validator(schema)
    for instance in instances:
        try:
            found = satisfies(expander, expander.root, instance)
        except SchemaError as fault:
            if "itself" not in str(fault):
                raise
            continue  # the oracle recurses without end, or stops in luck
        try:
            assert found == oracle.is_valid(instance), instance
        except RecursionError:
            continue


@settings(max_examples=250)
@given(schemas(), st.lists(values, min_size=8, max_size=8))
def test_random_schemas_mean_what_jsonschema_says(schema: Any, instances: list[Any]) -> None:
    agree(schema, instances)


@settings(max_examples=250)
@given(schemas(references=True), st.lists(values, min_size=8, max_size=8))
def test_random_recursive_schemas_mean_what_jsonschema_says(schema: Any, instances: list[Any]) -> None:
    agree(schema, instances)


# -- formulas that can be read ------------------------------------------------------------------------------


def test_a_flat_object_is_three_counts() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    expander = expander_of(schema)
    counts = [literal.atom for literal in literals(expander.expand(expander.root, "object"))]
    assert all(isinstance(atom, Count) for atom in counts)
    assert sorted((atom.lo, atom.hi) for atom in counts if isinstance(atom, Count) and atom.hi is None) == [
        (1, None)
    ]
    assert len(counts) == 3
    assert all(expander.expand(expander.root, kind) is FALSE for kind in ("null", "string", "array"))
    (asked,) = {atom.goal for atom in counts if isinstance(atom, Count) and atom.goal is not TRUE}
    formulas = expander.formulas
    assert expander.expand(formulas.not_(asked), "number") is formulas.atom(IsInteger())
    assert expander.expand(formulas.not_(asked), "string") is FALSE


def test_a_schema_that_asks_nothing_is_true() -> None:
    assert expander_of({"title": "x", "$defs": {"a": {"minimum": 1}}, "format": "date"}).root is TRUE
    assert expander_of(True).root is TRUE
    assert expander_of(False).root is FALSE
    assert expander_of({"type": "string", "enum": [1]}).root is FALSE


def test_a_list_of_values_is_one_set() -> None:
    """10,000 values, or a oneOf of 5,000 constants, are one atom."""
    expander = expander_of({"enum": [*map(str, range(10_000)), *range(10)]})
    assert isinstance(expander.root, Literal)
    assert isinstance(expander.root.atom, ValueIn)
    text, number = (expander.expand(expander.root, kind) for kind in ("string", "number"))
    assert isinstance(text, Literal)
    assert isinstance(text.atom, StringIn)
    assert len(text.atom.values) == 10_000
    assert isinstance(number, Literal)
    assert isinstance(number.atom, NumberIn)
    assert len(number.atom.values) == 10
    expander = expander_of({"oneOf": [{"const": str(n // 2)} for n in range(4_999)]})
    single = expander.expand(expander.root, "string")
    assert isinstance(single, Literal)
    assert isinstance(single.atom, StringIn)
    assert single.atom.values == {"2499"}


def test_tagged_objects_of_one_of_are_not_kept_apart_twice() -> None:
    tagged = [
        {"properties": {"t": {"const": n}, f"v{n}": {"type": "null"}}, "required": ["t"], "type": "object"}
        for n in range(40)
    ]
    expander = expander_of({"oneOf": tagged})
    formula = expander.expand(expander.root, "object")
    assert formula is expander.formulas.or_(
        expander.expand(expander.goal(expander.schema.child(expander.schema.root, "oneOf", n)), "object")
        for n in range(40)
    )


def test_formats_are_atoms_only_where_they_are_enforced() -> None:
    schema = {"type": "string", "format": "date"}
    assert expander_of(schema).expand(expander_of(schema).root, "string") in (TRUE, FALSE)
    expander = expander_of(schema, enforce_formats=True)
    assert expander.expand(expander.root, "string") is expander.formulas.atom(Format("date"))
    unknown = expander_of({"type": "string", "format": "frobnicate"}, enforce_formats=True)
    assert unknown.expand(unknown.root, "string") is TRUE


def test_names_come_in_the_order_of_mention() -> None:
    schema = {
        "allOf": [{"properties": {"z": {}, "a": {}}}, {"$ref": "#/$defs/d"}],
        "properties": {"m": {}, "z": {}},
        "required": ["only"],
        "if": {"const": {"q": 1, "b": 2}},
        "$defs": {"d": {"properties": {"d": {}}}},
    }
    expander = expander_of(schema)
    assert names_of(expander, expander.root) == ("z", "a", "d", "m", "q", "b")


# -- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"propertyNames": {"$ref": "#"}, "allOf": [{"$ref": "#"}]},
        {"unevaluatedProperties": False, "$ref": "#"},
    ],
)
def test_a_schema_that_needs_itself_for_the_same_value_is_an_error(schema: Any) -> None:
    with pytest.raises(SchemaError, match="itself"):
        expand_all(expander_of(schema))


def test_recursion_through_members_is_none() -> None:
    schema = {"properties": {"next": {"$ref": "#"}}, "type": "object", "additionalProperties": False}
    assert accepts(schema, {"next": {"next": {}}})
    assert not accepts(schema, {"next": {"next": {"v": 1}}})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"properties": {"a": {"type": "array", "uniqueItems": True}}}, "/properties/a/uniqueItems"),
        ({"uniqueItems": True, "items": {"type": "string"}}, "/uniqueItems"),
        ({"items": {"pattern": "(a)\\1"}}, "/items/pattern"),
        ({"patternProperties": {"a/(?<=a)b": True}}, "/patternProperties/a~1(?<=a)b"),
    ],
)
def test_what_cannot_be_done_is_found_before_the_first_token(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        expand_all(expander_of(schema))
    assert caught.value.pointer == pointer


def test_a_pattern_that_is_none_is_named_with_its_place() -> None:
    with pytest.raises(SchemaError) as caught:
        expand_all(expander_of({"items": {"pattern": "(a"}}))
    assert caught.value.pointer == "/items/pattern"


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"items": {"enum": [1, 2, 3]}}, [3, 1, 2], [1, 2, 1.0]),
        ({"items": {"type": ["boolean", "null"]}}, [True, None, False], [True, True]),
        (
            {"prefixItems": [{"const": {"a": 1}}, {"enum": [{"a": 1.0}, 2]}], "items": False},
            [{"a": 1}, 2],
            [{"a": 1}] * 2,
        ),
        ({"items": {"type": "string"}, "maxItems": 1}, ["a"], ["a", "a"]),
    ],
)
def test_unique_items_over_known_values_is_exact(schema: Any, valid: Any, invalid: Any) -> None:
    """sgl-project/sglang#28804: uniqueItems compiled and was ignored."""
    schema = {"type": "array", "uniqueItems": True, **schema}
    assert accepts(schema, valid)
    assert not accepts(schema, invalid)


def test_a_hundred_levels_in_place_need_no_stack() -> None:
    schema: Any = {"type": "integer"}
    for level in range(200):
        schema = {"not": schema} if level % 2 else {"allOf": [schema]}
    assert accepts(schema, 3)
    assert not accepts(schema, "3")


def test_nested_one_of_stays_small() -> None:
    """vllm-project/vllm#54003: time grew super-exponentially with the nesting of oneOf."""
    schema: Any = {"type": "integer"}
    for _ in range(6):
        schema = {"oneOf": [schema, {"type": "array", "items": schema}]}
    assert accepts(schema, [[1]]) == jsonschema.Draft202012Validator(schema).is_valid([[1]])
    assert accepts(schema, 1)


def test_many_sets_of_evaluated_members_are_refused() -> None:
    branches = [{"properties": {f"p{n}": {"type": "null"}}} for n in range(30)]
    with pytest.raises(ConstraintTooLargeError):
        expand_all(expander_of({"anyOf": branches, "unevaluatedProperties": False}))


def test_optional_tags_do_not_exclude_each_other() -> None:
    """An object without the tag is of both branches, and so of not exactly one."""
    tags = [{"type": "object", "properties": {"t": {"const": n}}} for n in range(2)]
    assert not accepts({"oneOf": tags}, {})
    assert accepts({"oneOf": tags}, {"t": 1})
