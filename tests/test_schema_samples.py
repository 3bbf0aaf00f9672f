"""Texts drawn at random from the automaton are valid, and valid texts are accepted: `jsonschema` is the judge.

Numbers are read as decimals, since a float may round an integer across a bound. Every text is written once
byte by byte and, where it is long enough to matter, judged again as the tokens of a real vocabulary.
"""

from __future__ import annotations

import copy
import json
import random
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.cli.bench_vocabulary import BenchVocabulary, load_tekken
from minidecoder.cli.conformance_suite import orders, written
from minidecoder.compiling import compile_json_schema
from minidecoder.decoding.constraint import Constraint
from tests.optional import need
from tests.schema_strategies import schemas, values

BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
SAMPLES = 230  # of each keyword; test_the_samples_are_ten_thousand counts them
LIKELY = b'ab01 "}]{[,:.-'
ENDING = b'"}]'

TREE = {
    "$defs": {
        "n": {
            "type": "object",
            "properties": {
                "v": {"type": "integer"},
                "c": {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 2},
            },
            "required": ["v"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/n",
}
SCHEMAS: dict[str, Any] = {
    "type": {"type": ["integer", "null", "boolean", "string"]},
    "type array": {"type": "array"},
    "type object": {"type": "object"},
    "boolean schema": True,
    "enum": {"enum": [None, False, 1, "a", "a\"b\\\n", [1, {"a": 2}], {"b": [True]}, 2.50]},
    "const": {"const": {"a": [1, "é", {"b": None}], "c": 1.5}},
    "minimum": {"type": "number", "minimum": -1.5},
    "maximum": {"type": "number", "maximum": 12.25, "minimum": -123},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 10},
    "exclusiveMaximum": {"type": "integer", "exclusiveMaximum": 7},
    "integer window": {"type": "integer", "minimum": -123, "maximum": 42},
    "multipleOf": {"type": "number", "multipleOf": 0.25, "minimum": -10},
    "multipleOf integer": {"type": "integer", "multipleOf": 7, "maximum": 1000},
    "minLength": {"type": "string", "minLength": 3},
    "maxLength": {"type": "string", "maxLength": 4},
    "pattern": {"type": "string", "pattern": "^(a|bb)+$|x"},
    "pattern and length": {"type": "string", "pattern": "b", "minLength": 2, "maxLength": 6},
    "not pattern": {"type": "string", "not": {"pattern": "[ab]"}, "maxLength": 5},
    "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    "prefixItems": {"type": "array", "prefixItems": [{"type": "null"}, {"type": "string", "maxLength": 2}], "items": {"type": "boolean"}},
    "minItems": {"type": "array", "items": {"enum": [1, "a"]}, "minItems": 2, "maxItems": 4},
    "contains": {"type": "array", "contains": {"const": 1}, "items": {"enum": [0, 1, 2]}, "minContains": 2, "maxContains": 3},
    "contains a range": {"type": "array", "contains": {"minimum": 5}, "items": {"type": "integer", "minimum": 0, "maximum": 9}, "maxItems": 5},
    "uniqueItems": {"type": "array", "items": {"enum": [1, "a", None, True]}, "uniqueItems": True, "minItems": 1},
    "unevaluatedItems": {"type": "array", "anyOf": [{"prefixItems": [{"const": 1}]}, {"contains": {"const": 2}}], "unevaluatedItems": {"type": "null"}},
    "properties": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "boolean"}}},
    "required": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "z"], "additionalProperties": {"type": "boolean"}, "propertyNames": {"enum": ["a", "b", "z"]}},
    "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    "patternProperties": {"type": "object", "properties": {"a": {"maximum": 5}}, "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 0}}, "additionalProperties": {"type": "null"}},
    "propertyNames": {"type": "object", "propertyNames": {"maxLength": 2, "pattern": "a"}, "additionalProperties": {"type": "null"}},
    "minProperties": {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, "minProperties": 2, "additionalProperties": False},
    "maxProperties": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
    "dependentRequired": {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, "dependentRequired": {"a": ["c"], "b": ["a"]}, "additionalProperties": False},
    "dependentSchemas": {"type": "object", "properties": {"a": {"type": "null"}, "b": {}}, "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}}, "additionalProperties": False},
    "unevaluatedProperties": {"type": "object", "properties": {"a": {"type": "null"}}, "anyOf": [{"properties": {"b": {"const": 1}}, "required": ["b"]}, True], "unevaluatedProperties": False},
    "anyOf": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "string", "maxLength": 2}, {"type": "integer", "maximum": -3}]},
    "anyOf objects": {"type": "object", "anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"properties": {"a": {"const": 2}}, "required": ["a"]}], "additionalProperties": {"type": "integer"}},
    "oneOf": {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]},
    "oneOf tagged": {"oneOf": [{"properties": {"t": {"const": "x"}, "v": {"type": "integer"}}, "required": ["t", "v"]}, {"properties": {"t": {"const": "y"}, "v": {"type": "null"}}, "required": ["t", "v"]}], "type": "object"},
    "allOf": {"allOf": [{"minLength": 2}, {"maxLength": 4}, {"pattern": "a"}], "type": "string"},
    "not": {"not": {"anyOf": [{"type": "object"}, {"type": "array"}, {"const": 1}, {"minLength": 3}]}},
    "if": {"type": "object", "properties": {"t": {"enum": ["a", "b"]}, "v": {}}, "required": ["t", "v"], "additionalProperties": False, "if": {"properties": {"t": {"const": "a"}}}, "then": {"properties": {"v": {"type": "integer"}}}, "else": {"properties": {"v": {"type": "null"}}}},
    "$ref": TREE,
    "$anchor": {"$defs": {"x": {"$anchor": "here", "type": "integer", "maximum": 3}}, "type": "array", "items": {"$ref": "#here"}, "maxItems": 3},
    "$dynamicRef": {"$id": "http://example.com/t", "$dynamicAnchor": "n", "type": "array", "items": {"anyOf": [{"$dynamicRef": "#n"}, {"const": 1}]}, "maxItems": 2},
    "format": {"type": "string", "format": "date"},
}  # fmt: skip
FORMATS = ["date", "time", "date-time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"]

each_keyword = pytest.mark.parametrize("name", SCHEMAS)


def is_integer(_: Any, value: Any) -> bool:
    is_whole = isinstance(value, Decimal) and value == value.to_integral_value()
    return not isinstance(value, bool) and (isinstance(value, int) or is_whole)


@cache
def judge(name: str) -> Any:
    base = jsonschema.Draft202012Validator
    exact = base.TYPE_CHECKER.redefine("integer", is_integer)
    schema = json.loads(json.dumps(SCHEMAS[name]), parse_float=Decimal)
    return jsonschema.validators.extend(base, type_checker=exact)(schema)


@cache
def constraint(name: str, whitespace: str = "compact", escapes: str = "canonical") -> Constraint:
    return compile_json_schema(SCHEMAS[name], BYTES, whitespace=whitespace, escapes=escapes)  # type: ignore[arg-type]


@cache
def tekken() -> BenchVocabulary:
    need("mistral_common")
    return load_tekken()


def sample(of: Constraint, pick: random.Random, length: int = 24) -> bytes | None:
    """A whole text, drawn byte by byte with a bent for JSON's own bytes, and after `length` for those that
    lead to an end; None where it finds none."""
    machine = of.automaton
    state, held, out = machine.start, machine.hold(machine.start), bytearray()
    while len(out) < 12 * length:
        live = list(machine.live_bytes(state))
        if machine.is_accepting(state) and (not live or len(out) > length or pick.random() < 0.2):
            return bytes(out)
        assert live, f"a dead end after {bytes(out)!r}"
        wanted = LIKELY if len(out) < length else ENDING if pick.random() < 0.7 else b"zx1"
        likely = [byte for byte in live if byte in wanted] or live
        byte = pick.choice(likely if pick.random() < 0.9 else live)
        state = machine.step(state, byte)
        held = machine.hold(state)
        out.append(byte)
    assert held is not None  # a lazy machine forgets what nobody holds
    return None


def read(text: bytes) -> Any:
    return json.loads(text, parse_float=Decimal)


def is_valid(name: str, value: Any) -> bool:
    with localcontext() as context:
        context.prec = 2_000
        return bool(judge(name).is_valid(value))


@cache
def drawn(name: str) -> tuple[bytes, ...]:
    """The samples of a keyword, in turn with each kind of white space and of escapes."""
    texts = []
    for number in range(SAMPLES):
        whitespace = ("compact", "flexible", "spaced", "any")[number % 4]
        of = constraint(name, whitespace, ("canonical", "any")[number // 4 % 2])
        texts.append(sample(of, random.Random(f"{name} {number}")))
    return tuple(text for text in texts if text is not None)


def accepts(of: Constraint, text: str) -> bool:
    matcher = of.matcher()
    return matcher.accept_string(text) and matcher.is_accepting


# -- sound -------------------------------------------------------------------------------------------------


@each_keyword
def test_what_is_drawn_is_valid(name: str) -> None:
    texts = drawn(name)
    for text in texts:
        assert is_valid(name, read(text)), text
    assert len(texts) >= 0.97 * SAMPLES


def test_the_samples_are_ten_thousand() -> None:
    assert 0.97 * len(SCHEMAS) * SAMPLES >= 10_000


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_drawn_has_the_format(name: str) -> None:
    """As far as jsonschema knows it; test_schema_formats asks better judges."""
    of = compile_json_schema({"type": "string", "format": name, "maxLength": 60}, BYTES, enforce_formats=True)
    found = [text for number in range(40) if (text := sample(of, random.Random(number)))]
    assert len(found) > 30
    for text in map(json.loads, found):
        jsonschema.Draft202012Validator.FORMAT_CHECKER.check(text, name)


# -- complete ----------------------------------------------------------------------------------------------


def mutations(value: Any, pick: random.Random) -> Any:
    """One small change somewhere in a value."""
    if isinstance(value, dict) and value and pick.random() < 0.7:
        changed, key = copy.deepcopy(value), pick.choice(sorted(value))
        if pick.random() < 0.3:
            del changed[key]
        else:
            changed[key] = mutations(changed[key], pick)
        return changed
    if isinstance(value, list) and value and pick.random() < 0.7:
        changed, at = list(value), pick.randrange(len(value))
        changed[at : at + 1] = pick.choice([[], [mutations(changed[at], pick)], [changed[at], changed[at]]])
        return changed
    if isinstance(value, dict):
        return {
            **value,
            pick.choice(["a", "b", "c", "z", "ab", "t", "v"]): pick.choice([None, 1, True, "a", 2]),
        }
    if isinstance(value, list):
        return [*value, pick.choice([None, 1, 2, True, "a", 0])]
    if isinstance(value, str):
        return pick.choice([value + "a", value[1:], "b" + value, value[:-1], "x", "é" + value])
    if isinstance(value, bool) or value is None:
        return pick.choice([None, True, False, 1, "a", [], {}])
    return pick.choice([value + 1, value - 1, -value, value * 2, Decimal(value) / 4, 0, 1, "a"])


def text_of(value: Any) -> str:
    """Decimals in plain digits, without exponents."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{text_of(v)}" for k, v in value.items())
            + "}"
        )
    return "[" + ",".join(map(text_of, value)) + "]" if isinstance(value, list) else written(value)


@each_keyword
def test_a_changed_instance_is_accepted_exactly_if_it_is_valid(name: str) -> None:
    """A valid one in some order of its keys, an invalid one in none."""
    pick, counts = random.Random(name), {True: 0, False: 0}
    found = [read(text) for text in drawn(name)[:30]]
    for value in [*found, *(mutations(value, pick) for value in found), None, 0, "a", [], {}]:
        if isinstance(value, str) and not value.isprintable():
            continue
        try:
            texts = [text_of(ordered) for ordered in orders(value)]
        except md.UsageError:  # more keys than can be put in each order
            continue
        valid = is_valid(name, value)
        assert any(accepts(constraint(name), text) for text in texts) == valid, texts[0]
        counts[valid] += 1
    assert counts[True] > 5
    assert counts[False] > 2 or SCHEMAS[name] is True


# -- as the tokens of a real vocabulary --------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SCHEMAS)[::3])
def test_tokens_and_bytes_agree_and_the_mask_holds_every_token_that_is_taken(name: str) -> None:
    vocabulary = tekken().vocabulary
    of = compile_json_schema(SCHEMAS[name], vocabulary, whitespace="spaced")
    pick = random.Random(name)
    texts = [
        text for number in range(6) if (text := sample(constraint(name, "spaced"), random.Random(number)))
    ]
    for text in texts:
        changed = bytearray(text)
        if changed:
            changed[pick.randrange(len(changed))] = pick.choice(LIKELY)
        for data in (text, bytes(changed)):
            try:
                ids = tekken().encode(data.decode())
            except UnicodeDecodeError:
                continue
            matcher, taken = of.matcher(), True
            for token_id in [*ids, tekken().eos_id]:
                allowed = matcher.is_allowed(token_id)
                assert matcher.accept_token(token_id) == allowed, "mask and matcher disagree"
                taken = taken and allowed
                if not taken:
                    break
            assert taken == accepts(constraint(name, "spaced"), data.decode()), data


# -- random schemas ----------------------------------------------------------------------------------------


@given(schema=schemas() | schemas(references=True), instances=st.lists(values, min_size=3, max_size=6))
@settings(max_examples=150)
def test_random_schemas_and_instances_are_judged_alike(schema: Any, instances: list[Any]) -> None:
    """Every keyword with every other: a valid instance is accepted in some order of its keys, no other is."""
    try:
        of = compile_json_schema(schema, BYTES, whitespace="compact")
    except md.UnsatisfiableConstraintError:
        of = None
    except md.MiniDecoderError:
        return
    for value in instances:
        accepted = of is not None and any(accepts(of, written(ordered)) for ordered in orders(value))
        assert accepted == jsonschema.Draft202012Validator(schema).is_valid(value), (schema, value)
