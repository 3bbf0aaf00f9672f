"""Pydantic in, pydantic out: a model class becomes a schema, and the generated text an object of the class.

Anything that pydantic can describe is taken: a `BaseModel`, a dataclass, a `TypedDict`, `list[Model]`, an
`Enum`, `int | None`. Pydantic writes the schema (draft 2020-12, by alias) and reads the text back with all of
its own validators, which may ask for more than a schema can say.

Left out: pydantic itself, imported where it is used. Cost: pydantic's.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

from minidecoder.errors import MissingDependencyError, SchemaError

__all__ = ["is_model", "model_schema", "validated"]


def is_model(value: object) -> bool:
    """Whether the value is a type for pydantic and not a schema: a class, `list[int]`, `int | None`."""
    if isinstance(value, Mapping | str | bytes | bool):
        return False
    annotated = typing.get_origin(value) is not None or isinstance(value, types.UnionType)
    return isinstance(value, type) or annotated


def model_schema(model: Any) -> dict[str, Any]:
    """The JSON Schema of a pydantic model, dataclass, TypedDict or annotation.

    Raises `SchemaError` where pydantic has none for it (a callable, an arbitrary class), and
    `MissingDependencyError` where pydantic is not installed.
    """
    adapter = _adapter(model)
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        schema: dict[str, Any] = adapter.json_schema(mode="validation", by_alias=True)
    except PydanticInvalidForJsonSchema as fault:
        text = str(fault).splitlines()[0]
        raise SchemaError(f"pydantic has no schema for {_name(model)}: {text}") from None
    return schema


def validated(model: Any, text: str | bytes) -> Any:
    """The generated text as an object of the model. Raises pydantic's `ValidationError` where a validator of
    the model's own refuses what its schema allows."""
    return _adapter(model).validate_json(text)


def _adapter(model: Any) -> Any:
    try:
        import pydantic
    except ImportError:
        raise MissingDependencyError("pydantic", "models") from None
    try:
        return pydantic.TypeAdapter(model)
    except pydantic.errors.PydanticUserError as fault:  # unknown types, names that are not defined yet
        text = str(fault).splitlines()[0]
        raise SchemaError(f"pydantic cannot describe {_name(model)}: {text}") from None


def _name(model: Any) -> str:
    return getattr(model, "__name__", None) or repr(model)
