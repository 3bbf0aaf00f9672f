"""The front door's two forms: vLLM's field names, OpenAI's response_format. Nothing is dropped in silence."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from types import UnionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder import structured
from minidecoder.compiling import compile_choice
from tests.optional import need

LETTERS = [*(bytes([byte]) for byte in range(256)), "</s>"]
VOCABULARY = md.Vocabulary.from_tokens(LETTERS, eos=256)
FIELDS = {"json": {"type": "object"}, "regex": "a+", "choice": ["a", "b"], "grammar": 'root ::= "a"', "json_object": True}  # fmt: skip


def texts(constraint: md.Constraint, candidates: list[str]) -> list[str]:
    assert constraint.characters is not None
    return [text for text in candidates if constraint.characters.accepts(text)]


def test_a_regex_and_a_choice_compile_to_constraints() -> None:
    regex = md.StructuredOutputs(regex="[0-9]{3}").compile(VOCABULARY)
    assert texts(regex, ["123", "12", "1234"]) == ["123"]
    choice = md.StructuredOutputs(choice=["yes", "no"]).compile(VOCABULARY)
    assert texts(choice, ["yes", "no", "yesno", "ye", ""]) == ["yes", "no"]
    assert md.StructuredOutputs(regex="").compile(VOCABULARY).source == "", "an empty pattern is a pattern"


@pytest.mark.parametrize("first", FIELDS)
@pytest.mark.parametrize("second", FIELDS)
def test_exactly_one_field_may_be_set(first: str, second: str) -> None:
    given_ = {first: FIELDS[first], second: FIELDS[second]}
    if first == second:
        assert md.StructuredOutputs(**given_).kind == first  # type: ignore[arg-type]
        return
    with pytest.raises(
        md.UsageError, match=rf"exactly one of json, .*; ({first}, {second}|{second}, {first}) are"
    ):
        md.StructuredOutputs(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given_", [{}, {"regex": None}, {"json_object": False}, {"choice": None, "json": None}]
)
def test_none_set_is_an_error(given_: dict[str, Any]) -> None:
    with pytest.raises(md.UsageError, match=r"exactly one of .* must be set; none are"):
        md.StructuredOutputs(**given_)


def test_a_kind_without_a_compiler_says_so_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured, "COMPILERS", {})
    for name, value in FIELDS.items():
        outputs = md.StructuredOutputs(**{name: value})  # type: ignore[arg-type]
        with pytest.raises(
            md.UnsupportedFeatureError, match=rf"StructuredOutputs\({name}=...\).*not yet"
        ) as fault:
            outputs.compile(VOCABULARY)
        assert name in fault.value.feature


def test_every_kind_compiles_or_says_not_yet() -> None:
    for name, value in FIELDS.items():
        outputs = md.StructuredOutputs(**{name: value})  # type: ignore[arg-type]
        if name in structured.COMPILERS:
            assert isinstance(outputs.compile(VOCABULARY), md.Constraint)
        else:
            with pytest.raises(md.UnsupportedFeatureError, match="not yet"):
                outputs.compile(VOCABULARY)


@pytest.mark.parametrize("name", ["structural_tag", "whitespace_pattern", "disable_any_whitespace", "disable_additional_properties", "disable_fallback"])  # fmt: skip
def test_a_field_of_vllm_that_is_not_enforced_is_named(name: str) -> None:
    with pytest.raises(md.UnsupportedFeatureError, match=f"the field '{name}' is not supported"):
        md.StructuredOutputs(regex="a", **{name: True})
    assert md.StructuredOutputs(regex="a", **{name: None}).kind == "regex", "not set is not asked for"


def test_a_field_of_nobody_is_named() -> None:
    with pytest.raises(
        md.UsageError, match="no field 'regexp': there are json, regex, choice, grammar, json_object"
    ):
        md.StructuredOutputs(regexp="a")
    with pytest.raises(md.UsageError, match="json_object must be of type bool, not str"):
        md.StructuredOutputs(json_object="yes")  # type: ignore[arg-type]


def test_the_fields_are_those_of_vllm() -> None:
    """vllm.sampling_params.StructuredOutputsParams, as of 0.11: its five kinds by the same names."""
    assert set(FIELDS) == {"json", "regex", "choice", "grammar", "json_object"}
    assert set(md.StructuredOutputs(regex="a").__dict__) == set(FIELDS)


@dataclass
class Point:
    x: int


@pytest.mark.parametrize("kind", ["dataclass", "TypedDict", "BaseModel", "list", "union"])
def test_the_json_field_takes_a_model_and_its_annotation_says_so(kind: str) -> None:
    pydantic, extensions = need("pydantic", "models"), need("typing_extensions", "models")
    model = {
        "dataclass": Point,
        "TypedDict": extensions.TypedDict("Pair", {"x": int}),
        "BaseModel": pydantic.create_model("Model", x=int),
        "list": list[Point],
        "union": Point | None,
    }[kind]
    matcher = md.StructuredOutputs(json=model).compile(VOCABULARY).matcher()
    assert matcher.accept_string('[{"x": 1}]' if kind == "list" else '{"x": 1}')
    assert matcher.is_accepting
    for annotated in (md.StructuredOutputs, md.StructuredOutputs.__init__):
        assert {type[Any], UnionType} <= set(typing.get_args(typing.get_type_hints(annotated)["json"]))


def test_what_the_compilers_refuse_comes_through() -> None:
    with pytest.raises(md.RegexSyntaxError):
        md.StructuredOutputs(regex="(").compile(VOCABULARY)
    with pytest.raises(md.UsageError, match="must be a list, not str"):
        md.StructuredOutputs(choice="yes").compile(VOCABULARY)


# -- choices ------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=6), min_size=1, max_size=12), st.text(max_size=6))
def test_a_choice_matches_its_texts_letter_for_letter_and_no_other(choices: list[str], other: str) -> None:
    try:
        constraint = compile_choice(choices, VOCABULARY)
    except md.UsageError:
        assert any(0xD800 <= ord(char) <= 0xDFFF for text in choices for char in text)
        return
    for text in [*choices, other]:
        matcher = constraint.matcher()
        accepted = not any(0xD800 <= ord(char) <= 0xDFFF for char in text)
        accepted = accepted and matcher.accept_string(text) and matcher.is_accepting
        assert accepted is (text in choices)


def test_characters_with_a_meaning_in_patterns_mean_themselves() -> None:
    choices = ["a.b", "a|b", "(x)", "\\d", "[0-9]", "a b", "#~&-", "\n", "^$", "{2}", "é😀"]
    constraint = compile_choice(choices, VOCABULARY)
    assert texts(constraint, [*choices, "axb", "a", "x", "5", "-"]) == choices


def test_ten_thousand_choices_compile_and_one_of_them_comes_out() -> None:
    from minidecoder.models import UniformModel

    choices = [f"{(i * 7919) % 100_003:06d}-{i}" for i in range(10_000)]
    constraint = compile_choice(choices, VOCABULARY)
    run = md.generate(
        UniformModel(257), [], constraint=constraint, sampling=md.Sampling(seed=5), max_tokens=20
    )
    assert run.text in choices


def test_the_same_choices_are_compiled_once() -> None:
    assert compile_choice(["x", "y"], VOCABULARY) is compile_choice(("x", "y"), VOCABULARY)
    assert compile_choice(["x", "y"], VOCABULARY) is not compile_choice(["y", "x", "z"], VOCABULARY)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([], "choices is empty"),
        ("yes", "choices must be a list, not str"),
        ({"a", "b"}, "choices must be a list, not set"),
        (None, "choices must be a list"),
        (["a", 5], r"each choice \(5\) must be of type str, not int"),
        (["\ud800"], "lone surrogate"),
    ],
)
def test_what_are_no_choices_is_refused(choices: Any, message: str) -> None:
    with pytest.raises(md.UsageError, match=message):
        compile_choice(choices, VOCABULARY)


def test_a_choice_that_no_token_spells_is_left_out_and_one_must_remain() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    assert compile_choice(["a", "b"], vocabulary).matcher().allowed_token_ids().tolist() == [1]
    with pytest.raises(md.UnsatisfiableConstraintError, match="'b'"):
        compile_choice(["b"], vocabulary)


# -- OpenAI's response_format -------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}}


def test_the_three_types_of_openai() -> None:
    assert md.from_response_format({"type": "text"}) is None
    assert md.from_response_format({"type": "json_object"}) == md.StructuredOutputs(json_object=True)
    wrapped = {"name": "person", "description": "who", "schema": SCHEMA, "strict": True}
    outputs = md.from_response_format({"type": "json_schema", "json_schema": wrapped})
    assert outputs == md.StructuredOutputs(json=SCHEMA)


@pytest.mark.parametrize(
    ("response_format", "error", "message"),
    [
        ("json_object", md.UsageError, "response_format must be of type Mapping, not str"),
        ({}, md.UsageError, r'response_format\["type"\] must be "text", "json_object" or "json_schema", not None'),
        ({"type": 5}, md.UsageError, "not 5"),
        ({"type": "structural_tag"}, md.UnsupportedFeatureError, "response_format of type 'structural_tag'"),
        ({"type": "json_schema"}, md.UsageError, r'\["json_schema"\] must be a mapping that holds "schema", not NoneType'),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, md.UsageError, r'\["schema"\] must be a JSON Schema'),
        ({"type": "json_schema", "json_schema": {"schema": SCHEMA, "stict": True}}, md.UsageError, "no field 'stict'"),
        ({"type": "json_object", "schema": SCHEMA}, md.UsageError, "response_format has no field 'schema'"),
    ],
)  # fmt: skip
def test_what_is_no_response_format_says_where(
    response_format: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        md.from_response_format(response_format)
