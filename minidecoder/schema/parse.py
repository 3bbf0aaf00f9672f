"""Schema text or Python data → checked JSON: a copy of its own, numbers exact, nested no deeper than 500.

What is refused here needs no thought later: a depth that would exhaust a stack, `NaN`, a key that is no
text, two members of one name. 0.1 becomes the decimal 0.1 and never the double next to it.

Left out: what the keywords mean (`keywords`). Cost: O(size of the schema).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

from minidecoder.errors import SchemaError
from minidecoder.schema.values import exact, json_type

__all__ = ["MAX_DEPTH", "MAX_VALUES", "escape", "load_json", "load_schema"]

_BYTE_ORDER_MARK: Final = "\ufeff"
MAX_VALUES: Final = 1_000_000  # some 10 MB of text
MAX_DEPTH: Final = 500  # objects and lists inside each other: some 250 levels of `properties`


def load_schema(schema: Any, where: str = "") -> Any:
    """The schema, JSON text or what `json.loads` gives, as checked JSON. `SchemaError` with a pointer."""
    data = load_json(schema, where) if isinstance(schema, str | bytes | bytearray) else schema
    try:
        kind = json_type(data)
    except SchemaError:
        kind = "null"
    if kind not in ("boolean", "object"):
        shown = f"{data!r:.60} of type {type(data).__name__}"
        raise SchemaError(f"a schema is an object, true or false, not {shown}", where)
    return _copied(data, where)


def load_json(text: str | bytes | bytearray, where: str = "") -> Any:
    """JSON text with its numbers as int and Decimal. `SchemaError` says the line of a syntax error.

    A byte order mark is skipped (RFC 8259, section 8.1), as in the text of a grammar.
    """
    if isinstance(text, str):  # of bytes json.loads sees to it
        text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        return json.loads(
            text, parse_float=_decimal, parse_int=_decimal, parse_constant=_refuse, object_pairs_hook=_members
        )
    except RecursionError:
        raise SchemaError(f"the schema is nested deeper than {MAX_DEPTH} levels", where) from None
    except json.JSONDecodeError as fault:
        text = f"the schema is not JSON: {fault.msg}, line {fault.lineno}, column {fault.colno}"
        raise SchemaError(text, where) from None
    except UnicodeDecodeError as fault:
        raise SchemaError(f"the schema is not UTF-8: byte {fault.start}", where) from None


def escape(token: str | int) -> str:
    """One step of a JSON pointer, with its slash (RFC 6901)."""
    return "/" + str(token).replace("~", "~0").replace("/", "~1")


def _copied(data: Any, where: str) -> Any:
    top: list[Any] = [None]
    made = 0  # subtle: a Python dict may hold another one many times, which no text could
    todo: list[tuple[Any, Any, Any, str, int]] = [(data, top, 0, where, 0)]
    while todo:
        item, target, key, pointer, depth = todo.pop()
        kind, made = json_type(item, pointer), made + 1
        if made > MAX_VALUES:
            raise SchemaError(f"the schema has more than {MAX_VALUES:,} values", where)
        if depth > MAX_DEPTH:
            raise SchemaError(f"the schema is nested deeper than {MAX_DEPTH} levels", pointer[:200])
        if kind == "number":
            number = exact(item)
            target[key] = int(number) if _is_small_integer(number) else number
        elif kind in ("array", "object"):
            target[key] = new = dict.fromkeys(item) if kind == "object" else [None] * len(item)
            members = _named(item, pointer) if kind == "object" else enumerate(item)
            todo += [(child, new, step, pointer + escape(step), depth + 1) for step, child in members]
        else:
            target[key] = item
    return top[0]


def _named(item: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    for name, child in item.items():
        if not isinstance(name, str):
            raise SchemaError(f"the name {name!r:.60} of a member is no text", pointer)
        yield name, child


def _is_small_integer(number: Decimal) -> bool:
    # subtle: int(Decimal("1e999999999")) would fill the memory.
    return -20 < number.adjusted() < 20 and number == number.to_integral_value()


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of more than 18 digits
        raise SchemaError(f"the number {text:.40} is out of range") from None


def _refuse(name: str) -> NoReturn:
    raise SchemaError(f"{name} is not JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"an object has two members named {twice!r:.60}")
    return members
