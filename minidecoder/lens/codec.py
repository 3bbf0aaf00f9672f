"""Frozen dataclasses ↔ JSON, exactly: what is written is read back equal, floats included.

Reading is guided by the dataclass's own annotations and refuses what does not fit, with the place:
`steps[2].token_id`. Known to it: dataclasses, tuples of one type, `X | None`, str, int, float, bool.

Left out: every other type; a trace needs none. Cost: O(size).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from minidecoder.errors import UsageError

__all__ = ["from_json", "to_json"]

T = TypeVar("T")


def to_json(value: Any) -> str:
    """Compact ASCII JSON of a dataclass. NaN and infinities are a ValueError: JSON has none."""
    return json.dumps(asdict(value), allow_nan=False, separators=(",", ":"))


def from_json(cls: type[T], text: str, *, version: int) -> T:
    """A `cls` from `to_json`'s text. Raises `UsageError` for another version or a wrong shape."""
    try:
        return _from_data(cls, _parse(text), version)
    except RecursionError:
        raise UsageError(f"this is no {cls.__name__}: its lists are nested too deeply") from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (TypeError, ValueError) as error:  # no text at all; no JSON, or a number of over 4,300 digits
        raise UsageError(f"this is not JSON: {error}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"JSON has no number {constant}")


def _from_data(cls: type[T], data: Any, version: int) -> T:
    found = data.get("schema_version") if isinstance(data, dict) else None
    if found != version:
        raise UsageError(f"schema_version is {found!r:.40}, this program reads {version}")
    value: T = _read(cls, data, cls.__name__)
    return value


def _read(type_: Any, data: Any, place: str) -> Any:
    if get_origin(type_) is UnionType:
        return _read_optional(type_, data, place)
    if get_origin(type_) is tuple:
        return _read_tuple(get_args(type_)[0], data, place)
    if hasattr(type_, "__dataclass_fields__"):
        return _read_dataclass(type_, data, place)
    if type_ is float and type(data) in (int, float):
        return _read_float(data, place)
    if type(data) is not type_:  # subtle: `isinstance(True, int)` holds, so the types must be equal
        raise UsageError(f"{place} must be {type_.__name__}, not {data!r:.40}")
    return data


def _read_float(number: int | float, place: str) -> float:
    # subtle: JSON's 1e999 is read as inf without a word, and an int of 400 digits is no float at all.
    if not abs(number) <= sys.float_info.max:
        raise UsageError(f"{place} must be a finite number, not {number!r:.40}")
    return float(number)


def _read_optional(type_: Any, data: Any, place: str) -> Any:
    (inner,) = (option for option in get_args(type_) if option is not NoneType)
    return None if data is None else _read(inner, data, place)


def _read_tuple(item: Any, data: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise UsageError(f"{place} must be a list, not {data!r:.40}")
    return tuple(_read(item, value, f"{place}[{index}]") for index, value in enumerate(data))


def _read_dataclass(type_: Any, data: Any, place: str) -> Any:
    names = {field.name for field in fields(type_)}
    if not isinstance(data, dict) or set(data) != names:
        given = sorted(data) if isinstance(data, dict) else repr(data)[:40]
        raise UsageError(f"{place} must have exactly the fields {sorted(names)}, not {given!s:.200}")
    hints = get_type_hints(type_)
    return type_(**{name: _read(hints[name], data[name], f"{place}.{name}") for name in data})
