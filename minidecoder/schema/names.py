"""Names of members as atoms, and the order in which a schema mentions them.

Objects are written in the order of mention: of `properties` (and of the objects of `const` and `enum`) in a
schema and in those it contains in place, from left to right as the schema is written.

Left out: where names that are only `required` go; the automaton lets them come in any order, after these.
Cost: O(size of the keywords), once a goal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from minidecoder.schema.atoms import StringIn, ValueIn
from minidecoder.schema.formula import FALSE, Formula, Formulas, literals
from minidecoder.schema.resolve import Node

if TYPE_CHECKING:
    from minidecoder.schema.expand import Expander

__all__ = ["names_in", "names_of"]


def names_in(formulas: Formulas, names: Iterable[str]) -> Formula:
    """The text is one of these. Half a surrogate pair is no text: no document can hold it."""
    written = frozenset(name for name in names if not any("\ud800" <= char <= "\udfff" for char in name))
    return formulas.atom(StringIn(written)) if written else FALSE


def names_of(expander: Expander, goal: Formula) -> tuple[str, ...]:
    """The names of an object that satisfies the goal, in the order in which they are to be written."""
    found: dict[str, None] = {}
    seen: set[Node] = set()
    todo: list[Any] = [literal.atom for literal in reversed(literals(goal))]
    while todo:
        item = todo.pop()
        match item:
            case str():
                found[item] = None
            case ValueIn(values):
                ordered = sorted(values, key=lambda value: value.number)
                found.update(dict.fromkeys(name for value in ordered for name in value.names))
            case Node() if item not in seen:
                seen.add(item)
                todo += reversed(list(_mentioned(expander, item)))
    return tuple(found)


def _mentioned(expander: Expander, node: Node) -> Iterator[str | Node]:
    """Names and subschemas in place, in the order of the schema's text."""
    words = node.schema if not isinstance(node.schema, bool) else {}
    for keyword, value in words.items():
        match keyword:
            case "properties":
                yield from value
            case "const" | "enum":
                values = value if keyword == "enum" else [value]
                yield from (name for item in values if isinstance(item, dict) for name in item)
            case "$ref" | "$dynamicRef":
                target = expander.reference(node, keyword)
                yield from [target] if target else []
            case "not" | "if" | "then" | "else":
                yield expander.schema.child(node, keyword)
            case "allOf" | "anyOf" | "oneOf":
                yield from (expander.schema.child(node, keyword, index) for index in range(len(value)))
            case "dependentSchemas" | "dependencies":
                names = (name for name, item in value.items() if not isinstance(item, list))
                yield from (expander.schema.child(node, keyword, name) for name in names)
