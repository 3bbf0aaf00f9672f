"""A blocked token of a schema names the keywords that block it, and each is guilty on its own."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import minidecoder as md
from minidecoder.lens.verdict import Kind

BYTES = md.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos=256)
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "name": {"type": "string", "maxLength": 3},
    },
    "required": ["age"],
    "additionalProperties": False,
}


def matcher_at(schema: Any, text: str) -> md.Matcher:
    matcher = md.compile_json_schema(schema, BYTES, whitespace="compact").matcher()
    assert matcher.accept_string(text)
    assert matcher.text == text.encode()
    return matcher


def without(schema: Any, pointer: str) -> Any:
    """The schema without the keyword at a pointer: the test's own way."""
    changed = copy.deepcopy(schema)
    *path, last = pointer.split("/")[1:]
    inner = changed
    for step in path:
        inner = inner[step]
    del inner[last]
    return changed


@pytest.mark.parametrize(
    ("text", "token", "keywords"),
    [
        ('{"age":12', "3", ("/properties/age/maximum",)),
        ("{", "}", ("/required",)),
        ('{"age":1,"name":"abc', "d", ("/properties/name/maxLength",)),
        ('{"age":1,"', "x", ("/additionalProperties",)),
        ('{"age":', '"', ("/properties/age/type",)),
        ("", "[", ("/type",)),
        ('{"age":1', "x", ()),  # JSON itself forbids it
    ],
)
def test_each_keyword_named_blocks_the_token_alone(text: str, token: str, keywords: tuple[str, ...]) -> None:
    verdict = md.explain(matcher_at(PERSON, text), ord(token))
    assert verdict.kind is Kind.DEAD_AT_BYTE
    assert verdict.keywords == keywords
    for pointer in keywords:
        assert f"`{pointer}`" in verdict.sentence
        assert matcher_at(without(PERSON, pointer), text).is_allowed(ord(token))


def test_an_end_that_comes_too_early_names_what_is_missing() -> None:
    verdict = md.explain(matcher_at({"enum": [1, 12], "minimum": 5}, "1"), 256)
    assert verdict.kind is Kind.EOS_TOO_EARLY
    assert verdict.keywords == ("/minimum",)
    assert verdict.completion == b"2"


def test_an_allowed_token_blames_nothing() -> None:
    assert md.explain(matcher_at(PERSON, '{"age":1'), ord("2")).keywords == ()


def test_a_string_that_is_full_says_that_only_its_quote_may_follow() -> None:
    sentence = md.explain(matcher_at(PERSON, '{"age":1,"name":"abc'), ord("d")).sentence
    assert 'only `"` may follow' in sentence


def test_the_text_of_a_matcher_goes_back_with_it() -> None:
    matcher = matcher_at(PERSON, '{"age"')
    assert matcher.accept_string(":1")
    other = matcher.fork()
    matcher.rollback(1)
    assert (matcher.text, other.text) == (b'{"age"', b'{"age":1')
    other.reset()
    assert other.text == b""
