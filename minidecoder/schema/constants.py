"""`const` and `enum`, for one type: sets of numbers and texts; of arrays and objects, size and parts.

The array [1, "a"] is "two items, the first of them 1, the second "a"": no new atom is needed, and arrays and
objects may be nested as deep as a schema may.

Left out: how the values are written as text. Cost: O(size of the values).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minidecoder.schema.atoms import IsTrue, NumberIn, ValueIn
from minidecoder.schema.counts import Positions, count, some
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas
from minidecoder.schema.names import names_in
from minidecoder.schema.values import Type, Value

__all__ = ["constant", "has_type"]


def constant(formulas: Formulas, kind: Type, values: Iterable[Value]) -> Formula:
    """The value, of this type, is one of `values`; those of other types are passed over."""
    own = sorted({value for value in values if value.kind == kind}, key=lambda value: value.number)
    if not own:
        return FALSE
    match kind:
        case "null":
            return TRUE
        case "boolean":
            return TRUE if len(own) == 2 else formulas.atom(IsTrue(), own[0].data)
        case "number":
            return formulas.atom(NumberIn(frozenset(value.data for value in own)))
        case "string":
            return names_in(formulas, (value.data for value in own))
        case "array":
            return formulas.or_(_array(formulas, value) for value in own)
    return formulas.or_(_object(formulas, value) for value in own)


def has_type(value: Value, types: Any) -> bool:
    """Whether a value is of one of the types that `type` lists; None lists all."""
    listed = types if isinstance(types, list) else [types]
    if types is None or value.kind in listed:
        return True
    return value.kind == "number" and "integer" in listed and value.data == value.data.to_integral_value()


def _array(formulas: Formulas, value: Value) -> Formula:
    size = len(value.data)
    parts = [count(formulas, Positions(0, None), TRUE, size, size)]
    for index, item in enumerate(value.data):
        parts.append(some(formulas, Positions(index, index + 1), _is(formulas, item)))
    return formulas.and_(parts)


def _object(formulas: Formulas, value: Value) -> Formula:
    size = len(value.data)
    parts = [count(formulas, TRUE, TRUE, size, size)]
    parts += [some(formulas, names_in(formulas, [name]), _is(formulas, item)) for name, item in value.data]
    return formulas.and_(parts)


def _is(formulas: Formulas, value: Value) -> Formula:
    return formulas.atom(ValueIn(frozenset({value})))
