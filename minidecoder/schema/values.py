"""JSON values that can be compared: 1 and 1.0 are one number, `True` is not 1, equal values are one object.

Python says `True == 1` and rounds 0.1; JSON does neither. A value is frozen once: numbers become exact
`Decimal`s, members are sorted by name, and each distinct value is kept once, so that comparing two is `is`
whatever they hold. Nothing here recurses: a `const` may be nested as deep as a schema may.

Left out: the text of a value (`strings` and `numbers` write it). Cost: O(size of the value), once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from minidecoder.errors import SchemaError

__all__ = ["TYPES", "Type", "Value", "Values", "exact", "json_type"]

Type: TypeAlias = Literal["null", "boolean", "number", "string", "array", "object"]
TYPES: Final[tuple[Type, ...]] = ("null", "boolean", "number", "string", "array", "object")


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A JSON value, made by `Values.freeze`; two equal ones of one `Values` are the same object.

    `data`: None, bool, Decimal, str, a tuple of Values, or a tuple of (name, Value) sorted by name;
    `names`: those of an object in the order in which it was first written; `number`: in order of making.
    """

    kind: Type
    data: Any
    names: tuple[str, ...]
    number: int


class Values:
    """Makes each distinct value once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Type, Any], Value] = {}

    def freeze(self, value: Any, pointer: str = "") -> Value:
        """The Value of what `json.loads` gave. `SchemaError` for what is no JSON, at `pointer`."""
        done: list[Value] = []
        todo: list[tuple[Any, bool]] = [(value, False)]
        while todo:
            item, children_done = todo.pop()
            kind = json_type(item, pointer)
            if not children_done and kind in ("array", "object") and item:
                todo.append((item, True))
                todo += [(child, False) for child in (item.values() if kind == "object" else item)]
                continue
            count = len(item) if kind in ("array", "object") else 0
            # subtle: the children were popped last to first, so the end of `done` is reversed.
            children = done[len(done) - count :][::-1]
            del done[len(done) - count :]
            names = tuple(item) if kind == "object" else ()
            done.append(self._make(kind, _data(kind, item, children), names))
        return done[0]

    def _make(self, kind: Type, data: Any, names: tuple[str, ...]) -> Value:
        # subtle: (True,) == (1,), but no bool ever meets a number under the same kind.
        return self._made.setdefault((kind, data), Value(kind, data, names, len(self._made)))


def json_type(value: Any, pointer: str = "") -> Type:
    """Which of the six types a Python value is; `SchemaError` for anything else, NaN included."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "number"
        case float() if math.isfinite(value):
            return "number"
        case Decimal() if value.is_finite():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
    raise SchemaError(f"{value!r:.60} of type {type(value).__name__} is not a JSON value", pointer)


def exact(number: float | Decimal) -> Decimal:
    """The number as it would be written: 0.1 is a tenth, not the double next to it."""
    if isinstance(number, Decimal):
        return number
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _data(kind: Type, item: Any, children: list[Value]) -> Any:
    match kind:
        case "number":
            return exact(item)
        case "array":
            return tuple(children)
        case "object":
            return tuple(sorted(zip(item, children, strict=True), key=lambda member: member[0]))
    return item
