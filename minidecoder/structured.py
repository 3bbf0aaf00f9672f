"""`StructuredOutputs`: what a text must look like, in the field names of vLLM and of OpenAI's API.

    StructuredOutputs(regex=r"[0-9]{3}").compile(vocabulary)              as vLLM's StructuredOutputsParams
    from_response_format({"type": "json_schema", "json_schema": {...}})   as OpenAI's response_format

Exactly one kind is set. A field that is known there and not compiled here is an `UnsupportedFeatureError`
with its name, any other is a `UsageError`: nothing is dropped in silence.

Left out: the compiling itself (`compiling`). Cost: none until `compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Final, Literal, TypeAlias

from minidecoder.compiling import (
    compile_choice,
    compile_grammar,
    compile_json,
    compile_json_schema,
    compile_regex,
)
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UnsupportedFeatureError, UsageError
from minidecoder.tokens.checks import check_type
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["COMPILERS", "JsonSchema", "StructuredOutputs", "from_response_format"]

JsonSchema: TypeAlias = str | bytes | Mapping[str, Any] | Literal[True] | type[Any] | UnionType
"""A schema as JSON text, a mapping or `True`; or a type that pydantic can describe: a model, a dataclass, a
TypedDict, `list[Model]`, `Model | None`."""

COMPILERS: Final[dict[str, Callable[[Any, Vocabulary], Constraint]]] = {
    "regex": compile_regex,
    "choice": compile_choice,
    "grammar": compile_grammar,
    "json": compile_json_schema,
    "json_object": lambda _, vocabulary: compile_json(vocabulary, object_only=True),
}
"""How the value of each field becomes a constraint. A field without an entry is not compiled yet."""

_KNOWN_ELSEWHERE: Final = {  # fields that vLLM has, or had, beside ours
    "structural_tag",
    "whitespace_pattern",
    "disable_any_whitespace",
    "disable_additional_properties",
    "disable_fallback",
}


@dataclass(frozen=True, init=False)
class StructuredOutputs:
    """One of: `json`, a JSON Schema, as text or as a mapping, or a pydantic model, dataclass or TypedDict;
    `regex`, a pattern that the whole text matches; `choice`, the texts to choose from; `grammar`, in GBNF;
    `json_object=True`, any JSON object.

    Raises `UsageError` for none or several, or a field of that name nowhere; `UnsupportedFeatureError` for a
    field of vLLM's that is not enforced here.
    """

    json: JsonSchema | None
    regex: str | None
    choice: Sequence[str] | None
    grammar: str | None
    json_object: bool | None

    def __init__(
        self,
        *,
        json: JsonSchema | None = None,
        regex: str | None = None,
        choice: Sequence[str] | None = None,
        grammar: str | None = None,
        json_object: bool | None = None,
        **others: object,
    ) -> None:
        _check_others(others)
        if json_object is not None:
            check_type(json_object, bool, "json_object", "True, or leave it out")
        given = {
            "json": json,
            "regex": regex,
            "choice": choice,
            "grammar": grammar,
            "json_object": json_object,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if len(self._given()) != 1:
            found = ", ".join(self._given()) or "none"
            raise UsageError(f"exactly one of {', '.join(given)} must be set; {found} are")

    def _given(self) -> list[str]:
        return [item.name for item in fields(self) if _is_set(getattr(self, item.name))]

    @property
    def kind(self) -> str:
        """The field that is set."""
        return self._given()[0]

    def compile(self, vocabulary: Vocabulary) -> Constraint:
        """The constraint for one vocabulary. Raises what the compiler of the field raises, and
        `UnsupportedFeatureError` for a field that has none yet."""
        if self.kind not in COMPILERS:
            raise UnsupportedFeatureError(
                f"StructuredOutputs({self.kind}=...)", remedy="not yet compiled here"
            )
        return COMPILERS[self.kind](getattr(self, self.kind), vocabulary)


def _check_others(others: Mapping[str, object]) -> None:
    for name, value in others.items():
        if name not in _KNOWN_ELSEWHERE:
            known = ", ".join(item.name for item in fields(StructuredOutputs))
            raise UsageError(f"StructuredOutputs has no field {name!r}: there are {known}")
        if _is_set(value):
            raise UnsupportedFeatureError(f"the field {name!r}")


def _is_set(value: object) -> bool:
    """None and False are what vLLM itself has in a field that was not set."""
    return value is not None and value is not False


def from_response_format(response_format: Mapping[str, Any]) -> StructuredOutputs | None:
    """What OpenAI's `response_format` asks for; None for `{"type": "text"}`, which asks for nothing.

    A schema is enforced whether `strict` is set or not; `name` and `description` are for the model.
    Raises `UsageError` with the place of what does not fit, `UnsupportedFeatureError` for another type.
    """
    place = "response_format"
    check_type(response_format, Mapping, place, '{"type": "json_object"}')
    kind = response_format.get("type")
    match kind:
        case "text" | "json_object":
            _check_keys(response_format, {"type"}, place)
            return None if kind == "text" else StructuredOutputs(json_object=True)
        case "json_schema":
            _check_keys(response_format, {"type", "json_schema"}, place)
            return StructuredOutputs(json=_schema(response_format.get("json_schema")))
        case str():
            raise UnsupportedFeatureError(f"response_format of type {kind!r}")
        case _:
            raise UsageError(
                f'{place}["type"] must be "text", "json_object" or "json_schema", not {kind!r:.60}'
            )


def _schema(wrapped: object) -> Mapping[str, Any]:
    place = 'response_format["json_schema"]'
    if not isinstance(wrapped, Mapping):
        raise UsageError(f'{place} must be a mapping that holds "schema", not {type(wrapped).__name__}')
    _check_keys(wrapped, {"name", "description", "schema", "strict"}, place)
    schema = wrapped.get("schema")
    if not isinstance(schema, Mapping):
        raise UsageError(f'{place}["schema"] must be a JSON Schema, not {type(schema).__name__}')
    return schema


def _check_keys(given: Mapping[str, Any], known: set[str], place: str) -> None:
    if unknown := [key for key in given if key not in known]:
        raise UsageError(f"{place} has no field {unknown[0]!r}: there are {', '.join(sorted(known))}")
