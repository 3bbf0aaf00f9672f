"""References, identifiers, anchors, drafts; what is no schema is refused with a place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from minidecoder.errors import SchemaError, UnsupportedFeatureError
from minidecoder.schema.parse import MAX_DEPTH, load_schema
from minidecoder.schema.resolve import Node, Schema
from minidecoder.schema.values import Values

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def target(schema: Any, **resources: Any) -> Node:
    known = Schema(schema, resources.get("resources"))
    return known.reference(known.root)


@pytest.mark.parametrize(
    ("reference", "pointer"),
    [
        ("#/$defs/a~1b", "/$defs/a~1b"),
        ("#/$defs/c~0d", "/$defs/c~0d"),
        ("#/$defs/e%25f", "/$defs/e%f"),
        ("#/$defs/g%22h", '/$defs/g"h'),
        ("#/$defs/", "/$defs/"),
        ("#/$defs/list/prefixItems/1", "/$defs/list/prefixItems/1"),
        ("#named", "/$defs/list"),
        ("#/unknown/place", "/unknown/place"),
        ("#", ""),
    ],
)
def test_a_reference_is_followed_through_its_escapes(reference: str, pointer: str) -> None:
    """outlines-core parsing.rs, resolve_local_ref: steps were not unescaped."""
    defs = {name: {} for name in ("a/b", "c~d", "e%f", 'g"h', "")}
    defs["list"] = {"$anchor": "named", "prefixItems": [{}, {"type": "null"}]}
    assert target({"$ref": reference, "$defs": defs, "unknown": {"place": {}}}).pointer == pointer


def test_references_in_data_are_data() -> None:
    schema = {
        "const": {"$ref": "#/nowhere"},
        "enum": [{"$id": "http://a/b", "$anchor": "x"}],
        "$defs": {"$ref": {}},
    }
    assert [place.pointer for place in Schema(schema).locations()] == ["", "/$defs/$ref"]


def test_identifiers_nest_and_are_relative_to_each_other() -> None:
    schema = {
        "$id": "http://a.b/dir/root.json",
        "$ref": "sub/item.json#here",
        "$defs": {"x": {"$id": "sub/item.json", "not": {"$anchor": "here"}}},
    }
    assert target(schema).pointer == "/$defs/x/not"


def test_a_urn_may_be_the_base_of_a_fragment() -> None:
    schema = {"$id": "urn:uuid:deadbeef", "$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}
    assert target(schema).schema == {"type": "null"}


@pytest.mark.parametrize("identifier", ["#whole", "other#part", "http://a.b/c#part", "#/$defs/x"])
def test_an_id_with_a_fragment_is_a_fault_only_where_something_refers_to_it(identifier: str) -> None:
    """Draft 2020-12, 8.2.1: an $id must not have a fragment that is not empty."""
    inner = {"$id": identifier, "items": {"$ref": "#/$defs/y"}, "$defs": {"y": {}}}
    schema = {"$defs": {"x": inner, "y": {"type": "null"}}}
    assert Schema(schema).root.schema == schema, "nobody refers to it"
    assert target(schema | {"$ref": "#/$defs/x"}).pointer == "/$defs/x", "by another way it can be reached"
    if identifier != "#/$defs/x":  # which is that other way
        with pytest.raises(SchemaError, match=r"an \$id must have no fragment.*\$anchor") as caught:
            target(schema | {"$ref": identifier})
        assert caught.value.pointer == "/$defs/x/$id"
    with pytest.raises(SchemaError, match=r"an \$id must have no fragment") as caught:
        Schema({"$id": identifier})
    assert caught.value.pointer == "/$id"


def test_inside_an_id_with_a_fragment_references_to_the_outside_have_its_base() -> None:
    inner = {"$id": "http://c.d/e#f", "$ref": "g"}
    schema = Schema({"$defs": {"x": inner}}, {"http://c.d/g": {"type": "null"}, "http://a.b/g": True})
    assert schema.reference(schema.child(schema.root, "$defs", "x")).pointer == "http://c.d/g#"
    inside = Schema({"$defs": {"x": {"$id": "http://c.d/e#f", "$ref": "#"}}})
    with pytest.raises(SchemaError, match="no fragment") as caught:
        inside.reference(inside.child(inside.root, "$defs", "x"))
    assert caught.value.pointer == "/$defs/x/$id"


def test_a_document_with_a_fragment_in_its_id_is_a_fault_once_it_is_needed() -> None:
    documents = {"http://a.b/c": {"$id": "http://a.b/d#e"}}
    Schema({}, documents)
    for reference in ("http://a.b/c", "http://a.b/d", "http://a.b/d#e"):
        with pytest.raises(SchemaError, match="no fragment") as caught:
            target({"$ref": reference}, resources=documents)
        assert caught.value.pointer == "http://a.b/c#/$id"


def test_in_draft_7_an_id_that_is_a_fragment_is_an_anchor() -> None:
    """Drafts 6 and 7, 8.2.3; generators of schemas write JSON pointers there, which say nothing."""
    schema = {"$schema": DRAFT_7, "definitions": {"x": {"$id": "#name", "type": "null"}}}
    assert target(schema | {"$ref": "#name"}).pointer == "/definitions/x"
    said = {"$id": "#/definitions/c"}
    pointers = {"$schema": DRAFT_7, "definitions": {"a": said, "b": said, "c": {"type": "null"}}}
    assert target(pointers | {"$ref": "#/definitions/c"}).schema == {"type": "null"}
    twice = {"a": {"$id": "#name"}, "b": {"$id": "#name"}}
    with pytest.raises(SchemaError, match="two schemas have the anchor 'name'") as caught:
        Schema({"$schema": DRAFT_7, "definitions": twice})
    assert caught.value.pointer == "/definitions/b/$id"


def test_documents_come_from_the_caller_alone() -> None:
    schema = {"$ref": "http://example.com/item.json#/$defs/n"}
    with pytest.raises(UnsupportedFeatureError, match="nothing is fetched") as caught:
        target(schema)
    assert (caught.value.feature, caught.value.pointer) == ("$ref", "/$ref")
    document = {"$defs": {"n": {"type": "integer"}}}
    node = target(schema, resources={"http://example.com/item.json": document})
    assert node.schema == {"type": "integer"}
    assert node.pointer == "http://example.com/item.json#/$defs/n"


def test_the_outermost_dynamic_anchor_wins() -> None:
    schema = {
        "$id": "http://a/root",
        "$ref": "list",
        "$defs": {
            "text": {"$dynamicAnchor": "items", "type": "string"},
            "list": {
                "$id": "list",
                "items": {"$dynamicRef": "#items"},
                "$defs": {"any": {"$dynamicAnchor": "items"}},
            },
        },
    }
    known = Schema(schema)
    item = known.child(known.reference(known.root), "items")
    assert known.dynamic_reference(item).schema == {"$dynamicAnchor": "items", "type": "string"}
    del schema["$defs"]["text"]  # type: ignore[attr-defined]
    known = Schema(schema)
    item = known.child(known.reference(known.root), "items")
    assert known.dynamic_reference(item).schema == {"$dynamicAnchor": "items"}


def test_equal_places_in_equal_environments_are_one_node() -> None:
    known = Schema({"properties": {"a": {"$ref": "#"}}})
    child = known.child(known.root, "properties", "a")
    assert known.reference(child) is known.root


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"minimum": "3"}, "/minimum"),
        ({"minimum": True}, "/minimum"),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum"),
        ({"minLength": -1}, "/minLength"),
        ({"minLength": 1.5}, "/minLength"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"required": "a"}, "/required"),
        ({"required": [1]}, "/required"),
        ({"type": "float"}, "/type"),
        ({"type": []}, "/type"),
        ({"items": [{}]}, "/items"),
        ({"allOf": []}, "/allOf"),
        ({"properties": [1]}, "/properties"),
        ({"uniqueItems": 1}, "/uniqueItems"),
        ({"$ref": 7}, "/$ref"),
        ({"minimum": float("nan")}, "/minimum"),
        ({"const": {1: 2}}, "/const"),
        ({"const": {1, 2}}, "/const"),
    ],
)
def test_a_keyword_of_the_wrong_form_is_named_with_its_place(schema: Any, pointer: str) -> None:
    """mlc-ai/xgrammar#207: a draft 4 exclusiveMinimum was read as something else."""
    with pytest.raises(SchemaError) as caught:
        Schema(schema)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "schema", [3, None, [], "3", '{"a": 1, "a": 2}', "{", b"\xff", '{"minimum": NaN}', "[" * 9]
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(schema)


@pytest.mark.parametrize("reference", ["#/$defs/no", "#nowhere", "#/$defs/list/9", "#/$defs/list"])
def test_a_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(SchemaError):
        target({"$ref": reference, "$defs": {"list": [{}]}} | {"$defs": {}, "list": [1]})


def test_a_schema_as_deep_as_allowed_is_read_and_a_deeper_one_refused() -> None:
    """ggml-org/llama.cpp#25283: a deep schema overflowed the converter's stack."""
    schema: Any = True
    for _ in range(MAX_DEPTH):
        schema = {"items": schema}
    assert len(Schema(schema).locations()) == MAX_DEPTH + 1
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(SchemaError, match="deeper"):
        Schema(schema)
    with pytest.raises(SchemaError, match="deeper"):
        Schema('{"items":' * 100_000 + "true" + "}" * 100_000)


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    with pytest.raises(SchemaError, match="deeper"):
        Schema(schema)


def test_a_schema_that_is_small_only_in_memory_is_refused() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(40):
        schema = {"allOf": [schema, schema]}
    with pytest.raises(SchemaError, match="more than"):
        Schema(schema)


def test_numbers_are_read_as_they_are_written() -> None:
    assert load_schema({"const": 0.1}) == {"const": Decimal("0.1")}
    assert load_schema('{"const": 9007199254740993.0}') == {"const": Decimal("9007199254740993.0")}
    assert load_schema('{"const": 1e400}')["const"] == Decimal("1e400")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_skipped(encoding: str) -> None:
    text = '\ufeff{"const": "\ufeff"}'
    assert load_schema(text) == load_schema(text.encode("utf-8")) == {"const": "\ufeff"}
    assert load_schema(text[1:].encode(encoding)) == {"const": "\ufeff"}, "Python adds its own to 16 and 32"
    with pytest.raises(SchemaError, match=r"the schema is not JSON: .*, line 1, column 1"):
        load_schema("\ufeff" + text)


def test_values_are_compared_as_json_does() -> None:
    values = Values()
    freeze = values.freeze
    assert freeze(1) is freeze(1.0) is freeze(Decimal("1.00"))
    assert freeze(-0.0) is freeze(0)
    assert len({freeze(value) for value in (1, True, "1", None, [1], [True], {"a": 1}, {"a": True})}) == 8
    assert freeze({"a": 1, "b": [2]}) is freeze({"b": [2.0], "a": 1})
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    assert freeze(deep) is freeze(deep)


# -- drafts -----------------------------------------------------------------------------------------------


def test_a_draft_that_is_not_known_is_named() -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        Schema({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": True})
    assert (caught.value.feature, caught.value.pointer) == ("$schema", "/$schema")


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"$schema": DRAFT_7, "dependentSchemas": {}}, "dependentSchemas"),
        ({"$schema": DRAFT_7, "prefixItems": [True]}, "prefixItems"),
        ({"$schema": DRAFT_7, "$ref": "#/definitions/a", "minimum": 3, "definitions": {"a": {}}}, "minimum"),
        ({"$schema": DRAFT_2019, "$recursiveRef": "#"}, "$recursiveRef"),
        ({"$schema": DRAFT_2019, "contains": True, "unevaluatedItems": False}, "unevaluatedItems"),
    ],
)
def test_what_another_draft_means_differently_is_an_error(schema: Any, keyword: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        Schema(schema)
    assert (caught.value.feature, caught.value.pointer) == (keyword, f"/{keyword}")
    lenient = Schema(json.dumps(schema), lenient=True)
    assert list(lenient.dropped) == [(f"/{keyword}", keyword)]
    assert keyword not in lenient.root.schema
