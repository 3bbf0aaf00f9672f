"""The report on a schema, the lenient mode, and pydantic's models."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from schema_truth import satisfies

from minidecoder.errors import SchemaError
from minidecoder.schema.check import check_schema
from minidecoder.schema.expand import Expander
from minidecoder.schema.pydantic_models import is_model, model_schema, validated
from minidecoder.schema.reach import expand_all
from minidecoder.schema.resolve import Schema

if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
    import pydantic
    import typing_extensions
else:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    typing_extensions = pytest.importorskip("typing_extensions")


def statuses(schema: Any, **options: Any) -> dict[str, str]:
    return {row.pointer: row.status for row in check_schema(schema, **options).keywords}


def test_every_keyword_is_reported_in_the_order_of_the_text() -> None:
    schema = {
        "title": "t",
        "properties": {"a": {"type": "string", "format": "date", "x-order": 3}, "b": {"then": True}},
        "$defs": {"c": {"minimum": 3}},
    }
    assert statuses(schema) == {
        "/title": "annotation",
        "/properties": "enforced",
        "/$defs": "enforced",
        "/properties/a/type": "enforced",
        "/properties/a/format": "annotation",
        "/properties/a/x-order": "annotation",
        "/properties/b/then": "annotation",
        "/$defs/c/minimum": "enforced",
    }
    assert statuses(schema, enforce_formats=True)["/properties/a/format"] == "enforced"


def test_an_id_that_nothing_can_refer_to_is_an_annotation() -> None:
    schema = {"$id": "http://a.b/c", "$defs": {"x": {"$id": "#x"}, "y": {"$id": "y"}}}
    expected = {"/$id": "enforced", "/$defs/x/$id": "annotation", "/$defs/y/$id": "enforced"}
    assert statuses(schema) == expected | {"/$defs": "enforced"}


def test_what_is_not_supported_is_named_with_its_place() -> None:
    """ggml-org/llama.cpp#26596 (the error named nothing), guidance-ai/llguidance#136 (list what was ignored)."""
    schema = {
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "r": {"$ref": "http://example.com/x.json"},
            "p": {"pattern": "(a)\\1"},
            "q": {"patternProperties": {"(?<=a/)b": {}}},
        }
    }
    report = check_schema(schema)
    assert [row.pointer for row in report.unsupported] == [
        "/properties/tags/uniqueItems",
        "/properties/r/$ref",
        "/properties/p/pattern",
        "/properties/q/patternProperties",
    ]
    assert all(row.note for row in report.unsupported)
    assert "/properties/tags/uniqueItems     unsupported  all items must be" in str(report)


def test_an_unknown_format_is_an_annotation_and_no_error() -> None:
    """sgl-project/sglang#37839."""
    (_, row) = check_schema({"type": "string", "format": "frobnicate"}, enforce_formats=True).keywords
    assert (row.status, row.note) == ("annotation", "the format 'frobnicate' is not known here")


def test_a_schema_without_keywords_is_reported_as_free() -> None:
    assert str(check_schema(True)) == "the schema has no keywords: it allows every JSON value"


def test_keywords_of_another_draft_are_reported_though_they_are_removed() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [True], "minItems": 1}
    assert statuses(schema)["/prefixItems"] == "unsupported"
    assert statuses(schema)["/minItems"] == "enforced"


def test_a_broken_schema_has_no_report() -> None:
    with pytest.raises(SchemaError):
        check_schema({"$defs": {"a": {"type": "flaot"}}})


def test_lenient_drops_what_it_lists_and_nothing_else() -> None:
    """guidance-ai/llguidance#136."""
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    expander = Expander(Schema(schema), lenient=True)
    expand_all(expander)
    assert expander.dropped == [("/uniqueItems", "uniqueItems")]
    assert satisfies(expander, expander.root, [1, 1])
    assert not satisfies(expander, expander.root, ["a"])


# -- pydantic -----------------------------------------------------------------------------------------------


class Colour(enum.Enum):
    red = "red"
    blue = "blue"


class Car(pydantic.BaseModel):
    brand: str
    doors: int = pydantic.Field(ge=2, le=5)
    colour: Colour
    owner: Car | None = None


@dataclass
class Point:
    x: int
    y: int


class Label(typing_extensions.TypedDict):  # pydantic refuses typing's before Python 3.12
    kind: Literal["a", "b"]


@pytest.mark.parametrize(
    ("model", "text", "bad"),
    [
        (
            Car,
            '{"brand": "x", "doors": 4, "colour": "red", "owner": null}',
            {"brand": "x", "doors": 9, "colour": "red"},
        ),
        (Point, '{"x": 1, "y": 2}', {"x": 1}),
        (Label, '{"kind": "b"}', {"kind": "c"}),
        (list[Point], '[{"x": 1, "y": 2}]', [{"x": "1"}]),
        (int | None, "null", "a"),
    ],
)
def test_a_model_becomes_a_schema_and_the_text_an_object(model: Any, text: str, bad: Any) -> None:
    assert is_model(model)
    expander = Expander(Schema(model_schema(model)))
    assert satisfies(expander, expander.root, json.loads(text))
    assert not satisfies(expander, expander.root, bad)
    made = validated(model, text)
    assert made is None or isinstance(made, dict | list | Car | Point)


@pytest.mark.parametrize("schema", [{}, True, "{}", b"{}"])
def test_a_schema_is_no_model(schema: Any) -> None:
    assert not is_model(schema)


@pytest.mark.parametrize("model", [Callable[[int], int], type("Odd", (), {})])
def test_a_class_that_pydantic_cannot_describe_is_refused(model: Any) -> None:
    with pytest.raises(SchemaError, match="pydantic"):
        model_schema(model)


def test_a_validator_of_the_model_still_has_the_last_word() -> None:
    class Even(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def must_be_even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    assert validated(Even, '{"n": 2}').n == 2
    with pytest.raises(pydantic.ValidationError):
        validated(Even, '{"n": 3}')
