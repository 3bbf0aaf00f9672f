"""Bugs that users of other decoders reported about JSON Schema, none of which may happen here.

Each case names the report it was distilled from. A schema either is enforced exactly, checked with whole
texts and with an oracle that shares nothing with us, or it is a typed error with its keyword and its place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema
import pytest

import minidecoder as md
from minidecoder.cli.bench_vocabulary import BenchVocabulary, load_tekken
from minidecoder.compiling import compile_json_schema
from minidecoder.decoding.constraint import Constraint
from minidecoder.schema.check import check_schema
from tests.optional import need

BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)


@dataclass(frozen=True)
class Report:
    """A schema, texts that satisfy it, and texts that do not or that we choose never to write."""

    source: str
    why: str
    schema: Any
    accepts: tuple[str, ...]
    rejects: tuple[str, ...]
    enforce_formats: bool = False


def nested(outer: int, inner: int) -> str:
    return json.dumps([["a"] * inner] * outer)


SCHEMAS = [
    Report("ollama/ollama#17929", "two branches of allOf became any JSON", {'allOf': [{'type': 'object', 'properties': {'a': {'type': 'integer'}}, 'required': ['a']}, {'type': 'object', 'properties': {'b': {'type': 'string'}}, 'required': ['b']}]}, ('{"a":1,"b":"x"}',), ('{"a":1}', '{"b":"x"}', '{"a":1}{"b":"x"}', '{"a":"x","b":"x"}', '1')),
    Report("ggml-org/llama.cpp#8199", "properties beside anyOf were not supported", {'type': 'object', 'properties': {'k': {'type': 'string'}}, 'required': ['k'], 'anyOf': [{'properties': {'a': {'type': 'integer'}}, 'required': ['a']}, {'properties': {'b': {'type': 'integer'}}, 'required': ['b']}]}, ('{"k":"x","a":1}', '{"k":"x","b":1}', '{"k":"x","a":1,"b":2}'), ('{"k":"x"}', '{"a":1}', '{"k":"x","a":"s"}')),
    Report("noamgat/lm-format-enforcer#112", "an array could begin with a comma", {'type': 'array', 'items': {'type': 'integer'}}, ('[]', '[1]', '[1,2]'), ('[,1]', '[1,]', '[1,,2]', '[1 2]', '[1')),
    Report("dottxt-ai/outlines-core#261", "1 and true, 0 and false were one value", {'enum': [1, False]}, ('1', 'false', '1.0'), ('true', '0', '"1"')),
    Report("sgl-project/sglang#28804", "contains was ignored", {'type': 'array', 'items': {'type': 'integer'}, 'contains': {'const': 7}}, ('[7]', '[1,7,2]'), ('[]', '[1]', '["7"]')),
    Report("mlc-ai/xgrammar#636", "a control character in a name was written raw", {'type': 'object', 'properties': {'k\x01c': {'type': 'string'}}, 'required': ['k\x01c']}, ('{"k\\u0001c":"x"}',), ('{"k\x01c":"x"}', '{"kc":"x"}')),
    Report("mlc-ai/xgrammar#668", "a declared name could come twice", {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}}, 'required': ['a'], 'additionalProperties': False}, ('{"a":1}', '{"a":1,"b":2}'), ('{"b":1}', '{"a":1,"c":1}', '{"b":2,"a":1}', '{"a":1,"a":2}', '{"a":1,"b":2,"b":3}')),
    Report("ggml-org/llama.cpp#25923", "an object without properties made a grammar that did not parse", {'type': 'object', 'properties': {}, 'additionalProperties': False}, ('{}', '{ }'), ('{"a":1}', '{,}', '[]')),
    Report("dottxt-ai/outlines#2045", "characters special to regular expressions or to JSON were not escaped", {'enum': ['a.b', 'c|d', '(x)', 'say "hi"', 'tab\there', '^$*+?']}, ('"a.b"', '"c|d"', '"(x)"', '"say \\"hi\\""', '"tab\\there"', '"^$*+?"'), ('"axb"', '"c"', '"d"', '"x"', '"say "hi""', '"tab\there"', '""')),
    Report("mlc-ai/xgrammar#419", "values beyond ASCII were not compared byte for byte", {'enum': ['こんにちは', '😊', '\n']}, ('"こんにちは"', '"😊"', '"\\n"'), ('"\n"', '"こんにちわ"', '""', '"\\ud83d\\ude0a"', '"\\u000a"')),
    Report("dottxt-ai/outlines#1457", "if was ignored", {'type': 'object', 'properties': {'t': {'enum': ['a', 'b']}, 'v': {}}, 'required': ['t', 'v'], 'additionalProperties': False, 'if': {'properties': {'t': {'const': 'a'}}}, 'then': {'properties': {'v': {'type': 'integer'}}}, 'else': {'properties': {'v': {'type': 'string'}}}}, ('{"t":"a","v":1}', '{"t":"b","v":"x"}'), ('{"t":"a","v":"x"}', '{"t":"b","v":1}', '{"t":"a"}')),
    Report("guidance-ai/llguidance#369 (generalised)", "exclusive bounds of integers", {'type': 'integer', 'exclusiveMinimum': 0, 'exclusiveMaximum': 10}, ('1', '9'), ('0', '10', '-1', '11')),
    Report("mlc-ai/xgrammar#661", "a lower bound let smaller numbers of one digit pass", {'type': 'integer', 'minimum': 2}, ('2', '9', '10', '19'), ('1', '0', '-3', '02')),
    Report("ggml-org/llama.cpp (tests/test-grammar-integration.cpp)", "bounds of different lengths and both signs", {'type': 'integer', 'minimum': -123, 'maximum': 42}, ('-123', '-99', '-1', '0', '5', '42', '-0'), ('-124', '-200', '43', '100', '-0123', '007')),
    Report("mlc-ai/xgrammar#831", "a name written out of order left nothing but a backslash", {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}}, 'required': ['b'], 'additionalProperties': True}, ('{"a":1,"b":2}', '{"b":2}', '{"b":2,"z":"t"}'), ('{"b":2,"a":"x"}', '{"b":"x"}', '{"b":2,"a":1}')),
    Report("guidance-ai/llguidance#374", "lengths counted bytes, or UTF-16 units", {'type': 'string', 'minLength': 1, 'maxLength': 2}, ('"😀😀"', '"éé"', '"a"'), ('"abc"', '"😀😀😀"', '""', '"\\ud83d\\ude00\\ud83d\\ude00"')),
    Report("guidance-ai/llguidance#374", "half a surrogate pair is no text", {'type': 'string'}, ('"ok"',), ('"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00x"')),
    Report("guidance-ai/llguidance#168", "the members of a map were not counted", {'type': 'object', 'additionalProperties': {'type': 'integer'}, 'minProperties': 1, 'maxProperties': 2}, ('{"a":1}', '{"a":1,"b":2}'), ('{}', '{"a":1,"b":2,"c":3}', '{"a":"x"}')),
    Report("mlc-ai/xgrammar#670", "multipleOf of numbers was ignored", {'type': 'number', 'multipleOf': 0.5}, ('1.5', '2', '-0.5', '0', '2.0', '1.50'), ('1.25', '0.1')),
    Report("mlc-ai/xgrammar#670", "multipleOf of integers was ignored", {'type': 'integer', 'multipleOf': 7}, ('0', '7', '14', '-21', '49', '-0'), ('8', '-20', '1', '70.5')),
    Report("mlc-ai/xgrammar#670", "multipleOf together with three bounds", {'type': 'integer', 'minimum': 10, 'exclusiveMinimum': 3, 'maximum': 20, 'multipleOf': 5}, ('10', '15', '20'), ('5', '12', '25', '0')),
    Report("ggml-org/llama.cpp#25283", "depth 200 needed recursion in the host language", {"type": "array", "items": {"$ref": "#"}}, ("[]", "[[]]", "[[],[[]]]", "[" * 200 + "]" * 200), ("[1]", "[[]", "[" * 200 + "]" * 199)),
    Report("guidance-ai/llguidance#238", "not was dropped", {'type': 'integer', 'not': {'const': 0}}, ('1', '-1', '10'), ('0', '-0', '"1"')),
    Report("dottxt-ai/outlines-core#261", "not without a type was dropped", {'type': 'object', 'not': {'required': ['x']}}, ('{}', '{"y":1}'), ('{"x":1}', '{"y":1,"x":2}')),
    Report("mlc-ai/xgrammar#662", "a range over zero had no -0.5", {'type': 'number', 'minimum': -4, 'maximum': 4}, ('-0.5', '-0.1', '0.5', '-4', '4', '0', '-0.0'), ('-4.1', '4.5', '-10')),
    Report("mlc-ai/xgrammar#661", "the open end at 0 was closed, and fractions near it unreachable", {'type': 'number', 'exclusiveMinimum': 0}, ('0.1', '1', '0.001', '12.5'), ('0', '0.0', '-0.0', '-1', '-0.5', '1e-3', '1E5')),
    Report("mlc-ai/xgrammar#661", "5.7 passed below a maximum of 5", {'type': 'number', 'minimum': 1, 'maximum': 5}, ('1', '5', '4.99', '1.5', '5.0', '1.0'), ('5.7', '0.9', '5.01', '-1')),
    Report("dottxt-ai/outlines#1877", "an exponent without a sign could not be written", {'type': 'number'}, ('1e10', '1E5', '6.022e23', '1.5e+8', '1.5e-8'), ('1e', '1e+', 'e5', '1e1.5')),
    Report("dottxt-ai/outlines-core@a5e0010 (parsing.rs parse_properties)", "commas between optional members", {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}, 'c': {'type': 'integer'}}, 'required': [], 'additionalProperties': False}, ('{}', '{"a":1}', '{"b":1}', '{"c":1}', '{"a":1,"c":2}', '{"a":1,"b":2,"c":3}'), ('{"a":1,}', '{,"b":1}', '{"a":1"b":2}', '{"a":1,,"c":2}')),
    Report("guidance-ai/guidance#1039", "a declared name that came late was checked as an additional one", {'type': 'object', 'properties': {'a': {'const': 'foo'}, 'b': {'const': 'bar'}}, 'required': ['b']}, ('{"a":"foo","b":"bar"}', '{"b":"bar"}'), ('{"b":"bar","a":"BAD"}', '{"a":"foo"}', '{"a":"BAD","b":"bar"}', '{"b":"bar","a":"foo"}')),
    Report("mlc-ai/xgrammar#826", "anchors bind tighter than |", {'type': 'string', 'pattern': '^a|b$'}, ('"ax"', '"xb"', '"a"'), ('"xax"', '"ba"', '""')),
    Report("guidance-ai/llguidance#158", "a pattern matches anywhere in the text", {'type': 'string', 'pattern': '[ab]'}, ('"a"', '"xbx"', '"\\na\\n"'), ('""', '"xyz"')),
    Report("sgl-project/sglang#37707", "pattern switched minLength off", {'type': 'string', 'pattern': '^a*$', 'minLength': 2}, ('"aa"', '"aaaa"'), ('"a"', '""', '"ab"')),
    Report("mlc-ai/xgrammar#487", "patternProperties switched properties off", {'type': 'object', 'properties': {'name': {'type': 'string'}}, 'required': ['name'], 'patternProperties': {'^x_': {'type': 'integer'}}}, ('{"name":"J"}', '{"name":"J","x_1":42}'), ('{"name":"J","x_1":"s"}', '{"x_1":1}', '{"name":1}')),
    Report("guidance-ai/llguidance#265", "a name that both declare", {'type': 'object', 'properties': {'score': {'type': 'integer', 'multipleOf': 5}}, 'required': ['score'], 'additionalProperties': False, 'patternProperties': {'^score$': {'type': 'integer'}}}, ('{"score":10}', '{"score":-5}'), ('{"score":3}', '{}', '{"score":"x"}', '{"other":1}')),
    Report("mlc-ai/xgrammar#800", "a pattern of characters that JSON must escape", {'type': 'string', 'pattern': '^"\\\\$'}, ('"\\"\\\\"',), ('""\\"', '"\\""')),
    Report("ggml-org/llama.cpp#26930", "an unanchored pattern was refused", {'type': 'string', 'pattern': '\\S'}, ('"a"', '"  x "'), ('""', '"   "')),
    Report("ggml-org/llama.cpp (grammars/README.md: prefixItems broken)", "a tuple with a closed tail", {'type': 'array', 'prefixItems': [{'type': 'string'}, {'type': 'integer'}], 'items': False, 'minItems': 2}, ('["a",1]',), ('["a"]', '["a",1,2]', '[1,"a"]', '[]')),
    Report("ggml-org/llama.cpp (grammars/README.md: prefixItems broken)", "prefixItems alone asks for no length and leaves the tail open", {'type': 'array', 'prefixItems': [{'type': 'string'}, {'type': 'integer'}]}, ('["a",1]', '[]', '["a"]', '["a",1,null]'), ('[1]', '["a","b"]')),
    Report("mlc-ai/xgrammar#207", "definitions that call each other crashed, or ended at depth 3", {"$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/n"}}, "required": ["v"], "additionalProperties": False}}, "$ref": "#/$defs/n"}, ('{"v":1}', '{"v":1,"next":{"v":2}}', '{"v":1,"next":' * 9 + '{"v":9}' + "}" * 9), ('{"next":{"v":1}}', '{"v":1,"next":{}}', '{"v":1,"next":{"v":2}')),
    Report("dottxt-ai/outlines-core@a5e0010 (parsing.rs resolve_local_ref: steps not unescaped)", "~1 and %25 in a reference", {'$defs': {'a/b': {'type': 'integer'}, 'c%d': {'type': 'boolean'}}, 'type': 'array', 'prefixItems': [{'$ref': '#/$defs/a~1b'}, {'$ref': '#/$defs/c%25d'}], 'items': False, 'minItems': 2}, ('[1,true]',), ('[true,1]', '["x",true]', '[1]')),
    Report("guidance-ai/jsonschemabench (maskbench/README.md: siblings ignored)", "keywords beside $ref were ignored", {'$defs': {'s': {'type': 'string'}}, 'type': 'object', 'properties': {'x': {'$ref': '#/$defs/s', 'maxLength': 2}}, 'required': ['x']}, ('{"x":"ab"}', '{"x":""}'), ('{"x":"abc"}', '{"x":1}', '{}')),
    Report("mlc-ai/xgrammar#104", "required without properties gave the empty object alone", {'type': 'object', 'required': ['a']}, ('{"a":1}', '{"a":null}', '{"a":1,"b":2}'), ('{}', '{"b":1}', '[]')),
    Report("mlc-ai/xgrammar#626", "a slash had to be escaped", {'const': 'a/b'}, ('"a/b"',), ('"a//b"', '"ab"', '"a\\/b"')),
    Report("kekzl/imp#521", "of a token only the first character was looked at", {'type': 'array', 'items': {'type': 'integer'}}, ('[]', '[12]'), ('[].', '[]]', '[1]x')),
    Report("ollama/ollama#2605", "white space after the value kept the model going", {'type': 'object'}, ('{}', '{"a":[1]}'), ('{}x', '[]', '{} {}', '{} ', '{}\n\n')),
    Report("dottxt-ai/outlines-core#138", "a keyword of one type, and a list of types", {'type': ['string', 'null'], 'maxLength': 2}, ('null', '"ab"', '""'), ('1', '"abc"', 'true')),
    Report("vllm-project/vllm (backend_xgrammar.py, see mlc-ai/xgrammar#826)", "unevaluatedProperties did not see what allOf had evaluated", {'type': 'object', 'allOf': [{'properties': {'a': {'type': 'integer'}}}], 'properties': {'b': {'type': 'integer'}}, 'unevaluatedProperties': False}, ('{}', '{"b":1}', '{"a":1}', '{"a":1,"b":2}'), ('{"c":1}', '{"a":"x"}', '{"a":1,"c":1}', '{"b":2,"a":1}')),
    Report("sgl-project/sglang#28804", "uniqueItems was ignored", {'type': 'array', 'items': {'enum': [1, 2, 3]}, 'uniqueItems': True, 'maxItems': 3}, ('[]', '[1,2]', '[3,1,2]'), ('[1,1]', '[1,2,1]')),
    Report("jundot/omlx#2990", "white space without end filled the whole budget", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, ('{"a":1}', '{ "a": 1 }', '{"a":' + "\n" * 20 + "1}"), ("{" + " " * 50 + '"a":1}', '{"a":' + "\n" * 21 + "1}", '{"a":1}' + " ")),
    Report("mlc-ai/xgrammar#339", "nested arrays with bounds hung", {"type": "array", "minItems": 5, "maxItems": 10, "items": {"type": "array", "minItems": 5, "maxItems": 10, "items": {"type": "string"}}}, (nested(5, 5), nested(10, 10), nested(5, 10)), ("[]", '[["a"]]', nested(4, 5), nested(5, 4), nested(11, 5), nested(5, 11))),
    Report("mlc-ai/xgrammar#852", "a large maxLength made each mask slow", {"type": "object", "properties": {"c": {"type": "string", "maxLength": 100000}}, "required": ["c"]}, ('{"c":"x"}', '{"c":"' + "x" * 1_000 + '"}'), ('{"c":1}', '{"c":"x}')),
    Report("mlc-ai/xgrammar#805", "129 characters cost far more than 128", {"type": "string", "minLength": 129}, ('"' + "a" * 129 + '"', '"' + "é" * 200 + '"'), ('"' + "a" * 128 + '"', '"' + "é" * 128 + '"')),
    Report("ggml-org/llama.cpp (grammars/README.md formats)", "dates that no calendar has", {'type': 'string', 'format': 'date'}, ('"2024-02-29"', '"1999-12-31"'), ('"2024-13-01"', '"2024-1-1"', '"20240101"', '"2024-00-10"', '"2023-02-30"'), enforce_formats=True),
]  # fmt: skip

every_report = pytest.mark.parametrize("report", SCHEMAS, ids=lambda report: f"{report.source}: {report.why}")


@cache
def tekken() -> BenchVocabulary:
    need("mistral_common")
    return load_tekken()


def accepts(constraint: Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    return matcher.accept_string(text) and matcher.is_accepting


def accepts_tokens(constraint: Constraint, text: str) -> bool:
    """As the tokens of a real vocabulary, and EOS."""
    matcher = constraint.matcher()
    return all(map(matcher.accept_token, tekken().encode(text))) and matcher.accept_token(tekken().eos_id)


def is_valid(report: Report, text: str) -> bool:
    """According to `json` and `jsonschema`."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    checker = jsonschema.FormatChecker() if report.enforce_formats else None
    return bool(jsonschema.Draft202012Validator(report.schema, format_checker=checker).is_valid(value))


@every_report
def test_the_schema_is_enforced_exactly(report: Report) -> None:
    constraint = compile_json_schema(report.schema, BYTES, enforce_formats=report.enforce_formats)
    for text in report.accepts:
        assert accepts(constraint, text), text
        assert is_valid(report, text), f"the case itself: {text}"
    for text in report.rejects:
        assert not accepts(constraint, text), text


@every_report
def test_it_is_enforced_on_the_tokens_of_a_real_vocabulary(report: Report) -> None:
    vocabulary = tekken().vocabulary
    constraint = compile_json_schema(report.schema, vocabulary, enforce_formats=report.enforce_formats)
    for text in report.accepts:
        assert accepts_tokens(constraint, text), text
    for text in report.rejects:
        assert not accepts_tokens(constraint, text), text


def test_of_what_we_choose_never_to_write_the_reasons_are_known() -> None:
    """Valid texts among `rejects`: keys in another order, white space, a name twice, or another spelling."""
    others = {
        (report.source, text) for report in SCHEMAS for text in report.rejects if is_valid(report, text)
    }
    for _, text in others:
        value = json.loads(text, object_pairs_hook=list)
        pairs = value if isinstance(value, list) and text.startswith("{") else []
        names = [name for name, _ in pairs]
        twice_or_late = len(names) != len(set(names)) or names != sorted(names)
        spelled = "\\u" in text or "\\/" in text or (text[0] in "1-" and "e" in text.lower())
        assert twice_or_late or spelled or text != text.strip() or "  " in text or "\n\n" in text, text


@pytest.mark.parametrize(
    ("source", "text", "schema"),
    [
        ("guidance-ai/llguidance#374", r'"\ud83d\ude00\ud83d\ude00"', {"type": "string", "minLength": 1, "maxLength": 2}),
        ("mlc-ai/xgrammar#419", r'"\ud83d\ude0a"', {"enum": ["😊"]}),
        ("mlc-ai/xgrammar#419", r'"\u000a"', {"enum": ["\n"]}),
        ("mlc-ai/xgrammar#626", r'"a\/b"', {"const": "a/b"}),
    ],
)  # fmt: skip
def test_other_spellings_are_taken_where_they_are_asked_for(source: str, text: str, schema: Any) -> None:
    assert not accepts(compile_json_schema(schema, BYTES), text)
    assert accepts(compile_json_schema(schema, BYTES, escapes="any"), text)


def test_half_a_surrogate_pair_is_never_written() -> None:
    """guidance-ai/llguidance#374: it is an escape, but of no character."""
    constraint = compile_json_schema({"type": "string"}, BYTES, escapes="any")
    for text in (r'"\ud800"', r'"\udc00x"', r'"\ud83dx"'):
        assert not accepts(constraint, text)


# -- schemas that nothing satisfies ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        ("mlc-ai/xgrammar#796: a date of 3 characters", {"type": "string", "format": "date", "maxLength": 3}),
        ("dottxt-ai/outlines-core (error.rs)", {"type": "string", "minLength": 5, "maxLength": 2}),
        ("guidance-ai/llguidance#372: between 0 and 1", {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        (
            "guidance-ai/jsonschemabench#16: every branch of oneOf holds",
            {
                "type": "object",
                "properties": {"r": {"type": "number"}, "w": {"type": "number"}},
                "required": ["r", "w"],
                "oneOf": [{"required": ["r"]}, {"required": ["w"]}],
            },
        ),
    ],
)  # fmt: skip
def test_a_schema_that_nothing_satisfies_is_refused(source: str, schema: Any) -> None:
    with pytest.raises(md.UnsatisfiableConstraintError, match="no JSON value satisfies the schema"):
        compile_json_schema(schema, BYTES, enforce_formats=True)


# -- what is refused, and how ----------------------------------------------------------------------------


def test_draft_4_is_refused_where_it_declares_itself() -> None:
    """mlc-ai/xgrammar#207: there, exclusiveMinimum is true or false."""
    schema = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    with pytest.raises(md.UnsupportedFeatureError) as declared:
        compile_json_schema({"$schema": "http://json-schema.org/draft-04/schema#", **schema}, BYTES)
    assert (declared.value.feature, declared.value.pointer) == ("$schema", "/$schema")
    with pytest.raises(md.SchemaError, match="of draft 4, write the bound itself") as undeclared:
        compile_json_schema(schema, BYTES)
    assert undeclared.value.pointer == "/exclusiveMinimum"


def test_an_error_names_the_keyword_and_where_it_stands() -> None:
    """ggml-org/llama.cpp#26596: it named neither the property nor the keyword."""
    items = {"type": "string", "format": "frobnicate", "contentEncoding": "base64"}
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": items, "uniqueItems": True}}}
    with pytest.raises(md.UnsupportedFeatureError) as caught:
        compile_json_schema(schema, BYTES)
    assert (caught.value.feature, caught.value.pointer) == ("uniqueItems", "/properties/x/uniqueItems")
    found = {row.pointer: row.status for row in check_schema(schema).keywords}
    assert found["/properties/x/items/format"] == "annotation"
    assert found["/properties/x/items/contentEncoding"] == "annotation"
    assert found["/properties/x/uniqueItems"] == "unsupported"


def test_lenient_says_what_it_left_out() -> None:
    """guidance-ai/llguidance#136."""
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    constraint = compile_json_schema(schema, BYTES, lenient=True)
    assert constraint.notes == ("/uniqueItems: uniqueItems is not enforced",)
    assert accepts(constraint, "[1,1]")
    assert not accepts(constraint, '["a"]')


def test_an_unknown_format_is_an_annotation_and_the_report_says_so() -> None:
    """sgl-project/sglang#37839."""
    schema = {"type": "string", "format": "frobnicate"}
    constraint = compile_json_schema(schema, BYTES, enforce_formats=True)
    assert accepts(constraint, '"x"')
    assert not accepts(constraint, "1")
    assert not accepts(constraint, "null")
    (row,) = (row for row in check_schema(schema, enforce_formats=True).keywords if row.keyword == "format")
    assert row.status == "annotation"
    assert "not known here" in row.note


def test_a_schema_nested_too_deeply_is_a_schema_error() -> None:
    """ggml-org/llama.cpp#25283: the converter's stack ran over."""
    schema: Any = {"type": "integer"}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(md.SchemaError, match="nested deeper than 500 levels"):
        compile_json_schema(schema, BYTES)


def test_nested_one_of_ends_in_a_result_or_at_the_limit() -> None:
    """vllm-project/vllm#54003: twelve levels ran without end. The limit is ours to choose."""
    schema: Any = {"type": "integer"}
    for _ in range(12):
        schema = {"oneOf": [schema, {"type": "array", "items": schema}]}
    try:
        constraint = compile_json_schema(schema, BYTES, timeout_s=2)
    except md.ConstraintTooLargeError as fault:
        constraint, limit = None, fault.limit
    if constraint is None:
        assert limit in ("timeout_s", "max_states")
    else:
        assert accepts(constraint, "1")
        assert not accepts(constraint, '"x"')


def test_a_length_is_a_number_and_no_states() -> None:
    """mlc-ai/xgrammar#852, #805: far from its bounds every place in a string is one place to the masks."""
    text, sizes = {"type": "string", "minLength": 50, "maxLength": 100_000}, []
    for bounds in ({}, {"minLength": 5_000, "maxLength": 20_000}):
        constraint = compile_json_schema({**text, **bounds}, tekken().vocabulary)
        matcher, keys = constraint.matcher(), set()
        assert matcher.accept_string('"' + "a" * 10_000)
        for _ in range(300):
            assert matcher.accept_string("ab")
            keys.add(constraint.automaton.mask_key(matcher.state))
        assert len(keys) == 1
        sizes.append(len(constraint.automaton.machines))  # type: ignore[attr-defined]
    assert sizes[0] == sizes[1]


def test_a_large_length_is_kept_to_the_character() -> None:
    constraint = compile_json_schema({"type": "string", "maxLength": 20_000}, BYTES)
    matcher = constraint.matcher()
    assert matcher.accept_string('"' + "é" * 20_000)
    assert matcher.allowed_token_ids().tolist() == [ord('"')]


def test_members_that_cannot_be_told_apart_are_refused_by_keyword_and_place() -> None:
    """A text may repeat a name, and readers keep the last value: {"x":1,"x":1} has one member."""
    schema = {"items": {"type": "object", "minProperties": 2}}
    with pytest.raises(md.UnsupportedFeatureError) as caught:
        compile_json_schema(schema, BYTES)
    assert (caught.value.feature, caught.value.pointer) == ("minProperties", "/items/minProperties")
    lenient = compile_json_schema(schema, BYTES, lenient=True)
    assert lenient.notes == ("/items/minProperties: minProperties is not enforced",)
    assert accepts(lenient, '[{"x":1,"y":2}]')
    listed = {
        "properties": {"x": True, "y": True},
        "additionalProperties": False,
        "minProperties": 2,
        "type": "object",
    }
    assert not accepts(compile_json_schema(listed, BYTES), '{"x":1,"x":1}')
