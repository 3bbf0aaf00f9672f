"""The keywords that say something of one type alone: bounds, lengths, members, items, as atoms and counts.

Each function takes a schema object and gives the formulas that must all hold of a value of its type.
`properties`, `items`, … are "every member with a key in K satisfies S"; `required` is "some member named k".

Left out: keywords about the same value (`in_place`), unevaluated* (`cases`). Cost: O(size of the keywords).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from minidecoder.schema.atoms import (
    AtLeast,
    AtMost,
    Format,
    IsInteger,
    Length,
    MultipleOf,
)
from minidecoder.schema.counts import Positions, count, every, some
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas
from minidecoder.schema.in_place import absent
from minidecoder.schema.keywords import size
from minidecoder.schema.names import names_in
from minidecoder.schema.parse import escape
from minidecoder.schema.resolve import Node
from minidecoder.schema.values import Type, exact

if TYPE_CHECKING:
    from minidecoder.schema.expand import Expander

__all__ = ["FORMATS", "assertions", "item_keywords", "other_names", "type_formula"]

# Enforced on demand; every other name is an annotation.
FORMATS: Final = frozenset(
    ["date", "time", "date-time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"]
)


def assertions(expander: Expander, node: Node, kind: Type) -> Iterator[Formula]:
    """What the node's own keywords ask of a value of this type."""
    words = node.schema
    yield type_formula(expander.formulas, words.get("type"), kind)
    if "const" in words:
        yield expander.one_of(kind, [words["const"]], f"{node.pointer}/const")
    if "enum" in words:
        yield expander.one_of(kind, words["enum"], f"{node.pointer}/enum")
    match kind:
        case "number":
            yield from _number(expander.formulas, words)
        case "string":
            yield from _string(expander, node)
        case "array":
            yield from _array(expander, node)
        case "object":
            yield from _object(expander, node)


def type_formula(formulas: Formulas, types: Any, kind: Type) -> Formula:
    """`type`, for one type: true, false, or "an integer"."""
    listed = types if isinstance(types, list) else [types]
    if types is None or kind in listed:
        return TRUE
    return formulas.atom(IsInteger()) if kind == "number" and "integer" in listed else FALSE


def _number(formulas: Formulas, words: dict[str, Any]) -> Iterator[Formula]:
    if "minimum" in words:
        yield formulas.atom(AtLeast(exact(words["minimum"])))
    if "maximum" in words:
        yield formulas.atom(AtMost(exact(words["maximum"])))
    if "exclusiveMinimum" in words:
        yield formulas.atom(AtLeast(exact(words["exclusiveMinimum"]), exclusive=True))
    if "exclusiveMaximum" in words:
        yield formulas.atom(AtMost(exact(words["exclusiveMaximum"]), exclusive=True))
    if "multipleOf" in words:
        yield formulas.atom(MultipleOf(exact(words["multipleOf"])))


def _string(expander: Expander, node: Node) -> Iterator[Formula]:
    words, formulas = node.schema, expander.formulas
    lo, hi = _bounds(words, "minLength", "maxLength")
    if hi is not None and hi < lo:
        yield FALSE
    elif (lo, hi) != (0, None):
        yield formulas.atom(Length(lo, hi))
    if "pattern" in words:
        yield expander.pattern(words["pattern"], f"{node.pointer}/pattern")
    if expander.enforce_formats and words.get("format") in FORMATS:
        yield formulas.atom(Format(words["format"]))


def _array(expander: Expander, node: Node) -> Iterator[Formula]:
    words, formulas = node.schema, expander.formulas
    everywhere = Positions(0, None)
    listed, rest = item_keywords(node)
    length = len(words[listed]) if listed else 0
    for index in range(length):
        yield every(formulas, Positions(index, index + 1), expander.child(node, str(listed), index))
    if rest:
        yield every(formulas, Positions(length, None), expander.child(node, rest))
    if "contains" in words:
        bounds = _bounds({"minContains": 1, **words}, "minContains", "maxContains")
        yield count(formulas, everywhere, expander.child(node, "contains"), *bounds)
    yield count(formulas, everywhere, TRUE, *_bounds(words, "minItems", "maxItems"))


def item_keywords(node: Node) -> tuple[str | None, str | None]:
    """The keyword with a schema for each position, and the one for the items after them, where present."""
    words = node.schema
    if isinstance(words.get("items"), list):  # before draft 2020-12
        return "items", "additionalItems" if "additionalItems" in words else None
    return "prefixItems" if "prefixItems" in words else None, "items" if "items" in words else None


def _object(expander: Expander, node: Node) -> Iterator[Formula]:
    words, formulas = node.schema, expander.formulas
    for name in words.get("properties", {}):
        yield every(formulas, names_in(formulas, [name]), expander.child(node, "properties", name))
    for regex in words.get("patternProperties", {}):
        keys = expander.pattern(regex, f"{node.pointer}/patternProperties{escape(regex)}")
        yield every(formulas, keys, expander.child(node, "patternProperties", regex))
    if "additionalProperties" in words:
        yield every(formulas, other_names(expander, node), expander.child(node, "additionalProperties"))
    if "propertyNames" in words:
        allowed = expander.meaning(expander.child(node, "propertyNames"), "string")
        yield count(formulas, formulas.not_(allowed), TRUE, 0, 0)
    yield from _required(formulas, words.get("required", []))
    yield count(formulas, TRUE, TRUE, *_bounds(words, "minProperties", "maxProperties"))
    for keyword in ("dependentRequired", "dependencies"):
        for name, others in words.get(keyword, {}).items():
            if isinstance(others, list):
                needed = formulas.and_(_required(formulas, others))
                yield formulas.or_([absent(formulas, name), needed])


def other_names(expander: Expander, node: Node) -> Formula:
    """The names that `additionalProperties` is about: neither in `properties` nor of a pattern."""
    words, formulas = node.schema, expander.formulas
    patterns = [
        expander.pattern(regex, f"{node.pointer}/patternProperties{escape(regex)}")
        for regex in words.get("patternProperties", {})
    ]
    return formulas.not_(formulas.or_([names_in(formulas, words.get("properties", {})), *patterns]))


def _required(formulas: Formulas, names: list[str]) -> Iterator[Formula]:
    return (some(formulas, names_in(formulas, [name]), TRUE) for name in dict.fromkeys(names))


def _bounds(words: dict[str, Any], least: str, most: str) -> tuple[int, int | None]:
    return size(words.get(least, 0)), size(words[most]) if most in words else None
