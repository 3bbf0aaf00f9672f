"""The keywords that are blamed for a token are exactly those without which it is allowed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

import minidecoder as md
from minidecoder.compiling import compile_json_schema
from minidecoder.schema import blame as blame_module
from minidecoder.schema.blame import Blame, blame
from minidecoder.schema.keywords import KEYWORDS

TOKENS = ['{"', '":', ',"', '"}', "true", "null", "12", "-1", "ab", '"a', "]]", "}}", '": "', "[1", '{"a":1']
VOCABULARY = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), *TOKENS, "</s>"], eos="</s>")

SCHEMAS: list[Any] = [
    {"type": "integer", "maximum": 9},
    {"type": "integer", "maximum": 9, "enum": [1, 2, 12]},
    {"type": "string", "maxLength": 2, "pattern": "^a"},
    {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "string", "maxLength": 1}},
        "required": ["a"],
        "additionalProperties": False,
    },
    {"allOf": [{"minimum": 3}, {"maximum": 20}], "anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"oneOf": [{"type": "string"}, {"const": "ab"}], "not": {"maxLength": 1}},
    {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 2}}, "$ref": "#/$defs/n"},
    {"type": "array", "prefixItems": [{"type": "boolean"}], "items": False, "minItems": 1},
    {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "array", "contains": {"const": 1}}},
    {
        "type": "object",
        "properties": {"a/b": {"type": "null"}, "c~d": {"$ref": "#/properties/a~1b"}},
        "minProperties": 1,
    },
    {"patternProperties": {"^a": {"type": "integer"}}, "propertyNames": {"maxLength": 2}, "type": "object"},
]


@pytest.fixture(autouse=True)
def _plenty_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared machine may stand still for a second."""
    monkeypatch.setattr(blame_module, "MOST_SECONDS", 120.0)


def machine(schema: Any):  # type: ignore[no-untyped-def]
    return compile_json_schema(schema, VOCABULARY, whitespace="compact")


def allowed(schema: Any, text: bytes, token: bytes | None) -> bool:
    matcher = machine(schema).matcher()
    if not matcher.accept_string(text):
        return False
    return matcher.is_accepting if token is None else matcher.accept_string(token)


def every_removal(schema: Any) -> list[tuple[str, str, Any]]:
    """(pointer, keyword, the schema without it), found by walking the JSON and knowing nothing of schemas."""
    found: list[tuple[str, str, Any]] = []

    def visit(part: Any, path: tuple[Any, ...]) -> None:
        if isinstance(part, dict):
            is_schema = not path or path[-1] in (
                "items",
                "not",
                "if",
                "then",
                "else",
                "contains",
                "propertyNames",
            )
            is_schema = is_schema or path[-2:-1] in (("properties",), ("$defs",), ("patternProperties",))
            is_schema = is_schema or (
                isinstance(path[-1], int) and path[-2] in ("allOf", "anyOf", "oneOf", "prefixItems")
            )
            for name in part if is_schema else ():
                other = copy.deepcopy(schema)
                target = other
                for step in path:
                    target = target[step]
                del target[name]
                steps = (str(step).replace("~", "~0").replace("/", "~1") for step in (*path, name))
                found.append(("".join("/" + step for step in steps), name, other))
            for name, child in part.items():
                visit(child, (*path, name))
        elif isinstance(part, list):
            for index, child in enumerate(part):
                visit(child, (*path, index))

    visit(schema, ())
    return [item for item in found if item[1] in KEYWORDS and KEYWORDS[item[1]].enforced]


def by_brute_force(schema: Any, text: bytes, token: bytes | None) -> set[tuple[str, str]]:
    found = set()
    for pointer, keyword, without in every_removal(schema):
        try:
            if allowed(without, text, token):
                found.add((pointer, keyword))
        except md.MiniDecoderError:
            continue
    return found


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
def test_exactly_those_keywords_without_which_the_token_would_pass(schema: Any) -> None:
    pick, blamed = random.Random(3), 0
    constraint = machine(schema)
    for _ in range(6):
        matcher, text = constraint.matcher(), b""
        for _ in range(pick.randrange(5)):
            ids = [i for i in matcher.allowed_token_ids().tolist() if i not in VOCABULARY.eos_ids]
            ids = [i for i in ids if VOCABULARY.token_bytes[i].decode("latin-1").isprintable()]
            if not ids:
                break
            matcher.accept_token(chosen := pick.choice(ids))
            text += VOCABULARY.token_bytes[chosen]
        blocked = [t.encode() for t in TOKENS + list('{}[]",:01a-b') if not allowed(schema, text, t.encode())]
        for token in [*pick.sample(blocked, min(8, len(blocked))), *([] if matcher.is_accepting else [None])]:
            answer = blame(schema, text, token, VOCABULARY, whitespace="compact")
            assert answer.complete
            assert len(set(answer.keywords)) == len(answer.keywords)
            assert set(answer.keywords) == by_brute_force(schema, text, token), (text, token)
            blamed += len(answer.keywords)
    assert blamed, "of some fifty blocked tokens, no keyword blocked one"


def test_two_keywords_that_both_forbid_a_token_are_both_innocent() -> None:
    schema = {"type": "integer", "maximum": 9}
    assert blame(schema, "1", b"2", VOCABULARY).keywords == (("/maximum", "maximum"),)
    assert blame({**schema, "exclusiveMaximum": 10}, "1", b"2", VOCABULARY).keywords == ()
    assert blame(schema, "", b'"', VOCABULARY).keywords == (("/type", "type"),)
    assert blame(schema, "1", b"x", VOCABULARY).keywords == (), "JSON itself forbids it"


def test_an_allowed_token_blames_nobody() -> None:
    assert blame({"type": "integer"}, "1", b"2", VOCABULARY) == Blame((), complete=True)
    assert blame({"type": "integer"}, "1", None, VOCABULARY) == Blame((), complete=True)


def test_the_end_is_blocked_by_what_is_missing() -> None:
    assert blame({"required": ["a"]}, "{", b"}", VOCABULARY).keywords == (("/required", "required"),)
    too_short = {"type": "string", "minLength": 3}
    assert blame(too_short, '"ab', b'"', VOCABULARY).keywords == (("/minLength", "minLength"),)


def test_a_keyword_in_another_document_has_that_documents_pointer() -> None:
    answer = blame(
        {"$ref": "http://example.com/n"},
        "1",
        b"2",
        VOCABULARY,
        resources={"http://example.com/n": {"properties": {"x": True}, "maximum": 9}},
    )
    assert answer.keywords == (("/$ref", "$ref"), ("http://example.com/n#/maximum", "maximum"))


def test_a_large_schema_is_asked_where_the_text_stands_and_says_that_it_did_not_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blame_module, "MOST_TRIALS", 8)
    properties = {f"p{number}": {"type": "integer", "maximum": 9} for number in range(30)}
    answer = blame({"type": "object", "properties": properties}, '{"p25":1', b"2", VOCABULARY)
    assert set(answer.keywords) == {
        ("/properties", "properties"),
        ("/properties/p25/maximum", "maximum"),
    }
    assert not answer.complete


def test_the_time_for_an_answer_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame_module, "MOST_SECONDS", -1.0)
    assert blame({"type": "integer", "maximum": 9}, "1", b"2", VOCABULARY) == Blame((), complete=False)


def test_the_compiled_constraint_carries_it() -> None:
    constraint = machine({"type": "integer", "maximum": 9})
    answer = constraint.automaton.words.blame("1", b"2")  # type: ignore[attr-defined]
    assert answer.keywords == (("/maximum", "maximum"),)
