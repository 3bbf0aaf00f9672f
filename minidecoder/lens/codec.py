"""Frozen dataclasses ↔ JSON, exactly: what is written is read back equal, floats included.

Reading is guided by the dataclass's own annotations and refuses what does not fit, with the place:
`steps[2].token_id`. Known to it: dataclasses, named tuples (a list without names), tuples of one type,
`X | None`, str, int, float, bool. A tuple of a dataclass that has `BY_COLUMN` is one list a field, so that
the names of the fields are written once: `{"token_id": [4, 7], "label": [".", "12"]}`.

Left out: every other type; a trace needs none. Cost: O(size).
"""

from __future__ import annotations

import json
import sys
from types import NoneType, UnionType
from typing import Any, ClassVar, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from minidecoder.errors import UsageError

__all__ = ["read_json", "to_json", "to_plain", "to_value"]

T = TypeVar("T")


def to_json(value: Any) -> str:
    """Compact ASCII JSON of a dataclass. NaN and infinities are a ValueError: JSON has none."""
    return json.dumps(to_plain(value), allow_nan=False, separators=(",", ":"))


def to_plain(value: Any) -> Any:
    """The same as dicts and lists."""
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if not hasattr(value, "__dataclass_fields__"):
        return value
    hints: dict[str, Any] = _hints(type(value))
    return {
        name: _to_columns(hint, getattr(value, name))
        if _is_by_column(hint)
        else to_plain(getattr(value, name))
        for name, hint in hints.items()
    }


def _is_by_column(type_: Any) -> bool:
    return get_origin(type_) is tuple and hasattr(get_args(type_)[0], "BY_COLUMN")


def _to_columns(type_: Any, items: Any) -> dict[str, list[Any]]:
    return {name: [to_plain(getattr(item, name)) for item in items] for name in _hints(get_args(type_)[0])}


def read_json(text: str, name: str) -> Any:
    """What `text` says, as dicts and lists. `UsageError` where it is no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise UsageError(f"this is no {name}: its lists are nested too deeply") from None
    except (TypeError, ValueError) as error:  # no text at all; no JSON, or a number of over 4,300 digits
        raise UsageError(f"this is not JSON: {error}") from None


def to_value(cls: type[T], data: Any) -> T:
    """A `cls` from what `read_json` gave. Raises `UsageError` with the place that does not fit."""
    value: T = _read(cls, data, cls.__name__)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"JSON has no number {constant}")


def _read(type_: Any, data: Any, place: str) -> Any:
    if get_origin(type_) is UnionType:
        return _read_optional(type_, data, place)
    if _is_by_column(type_):
        return _read_columns(get_args(type_)[0], data, place)
    if get_origin(type_) is tuple:
        return _read_tuple(get_args(type_)[0], data, place)
    if hasattr(type_, "__dataclass_fields__"):
        return _read_dataclass(type_, data, place)
    if hasattr(type_, "_fields"):
        return _read_named_tuple(type_, data, place)
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


def _read_columns(type_: Any, data: Any, place: str) -> tuple[Any, ...]:
    _check_names(type_, data, place)
    columns = {name: _read_tuple(hint, data[name], f"{place}.{name}") for name, hint in _hints(type_).items()}
    if len({len(column) for column in columns.values()}) != 1:
        raise UsageError(f"{place} must have lists of one length")
    rows = zip(*columns.values(), strict=True)
    return tuple(type_(**dict(zip(columns, row, strict=True))) for row in rows)


_found_hints: dict[Any, dict[str, Any]] = {}


def _hints(type_: Any) -> dict[str, Any]:
    """The types of its fields; finding them takes longer than reading the values, so they are kept."""
    if type_ not in _found_hints:
        hints = get_type_hints(type_).items()
        _found_hints[type_] = {name: hint for name, hint in hints if hint is not ClassVar}
    return _found_hints[type_]


def _read_named_tuple(type_: Any, data: Any, place: str) -> Any:
    hints = _hints(type_)
    if not isinstance(data, list) or len(data) != len(hints):
        raise UsageError(f"{place} must be a list of {', '.join(hints)}, not {data!r:.60}")
    pairs = zip(hints.items(), data, strict=True)
    return type_(*(_read(type_hint, value, f"{place}.{name}") for (name, type_hint), value in pairs))


def _read_dataclass(type_: Any, data: Any, place: str) -> Any:
    _check_names(type_, data, place)
    return type_(**{name: _read(hint, data[name], f"{place}.{name}") for name, hint in _hints(type_).items()})


def _check_names(type_: Any, data: Any, place: str) -> None:
    names = _hints(type_).keys()
    if not isinstance(data, dict) or data.keys() != names:
        given = sorted(data) if isinstance(data, dict) else repr(data)[:40]
        raise UsageError(f"{place} must have exactly the fields {sorted(names)}, not {given!s:.200}")
