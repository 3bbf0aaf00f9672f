"""`uniqueItems` over finitely many values: each of them occurs at most once.

Exact where every item is one of a known set (`enum`, `const`, booleans, null), or where there can be one item
at most. Over values without bound a machine would have to remember all that was written: an error.

Left out: that memory. Cost: one count for each value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from minidecoder.errors import SchemaError, UnsupportedFeatureError
from minidecoder.schema.atoms import IsTrue, NumberIn, StringIn, ValueIn
from minidecoder.schema.counts import Count, Positions, count
from minidecoder.schema.formula import FALSE, TRUE, And, Formula, Literal, Or, literals
from minidecoder.schema.resolve import Node
from minidecoder.schema.values import TYPES, Type, Value

if TYPE_CHECKING:
    from minidecoder.schema.expand import Expander

__all__ = ["unique_items"]

_MOST_VALUES: Final = 256
_EVERYWHERE: Final = Positions(0, None)


def unique_items(expander: Expander, node: Node, formula: Formula) -> Formula:
    """No two items are equal, for arrays that satisfy the formula. `UnsupportedFeatureError` with pointer."""
    every = [
        part.atom
        for part in _conjuncts(formula)
        if isinstance(part, Literal) and isinstance(part.atom, Count)
    ]
    most = min(
        (atom.hi for atom in every if atom.subject == (_EVERYWHERE, TRUE) and atom.hi is not None),
        default=None,
    )
    if most is not None and most <= 1:
        return TRUE
    found: set[Value] = set()
    for goal in _item_goals(expander, every, most):
        values = _values(expander, goal)
        if values is None or len(found | values) > _MOST_VALUES:
            remedy = f"all items must be among at most {_MOST_VALUES} known values (enum, const, boolean)"
            raise UnsupportedFeatureError("uniqueItems", pointer=f"{node.pointer}/uniqueItems", remedy=remedy)
        found |= values
    ordered = sorted(found, key=lambda value: value.number)
    formulas = expander.formulas
    return formulas.and_(
        count(formulas, _EVERYWHERE, formulas.atom(ValueIn(frozenset({value}))), 0, 1) for value in ordered
    )


def _item_goals(expander: Expander, every: list[Count], most: int | None) -> set[Formula]:
    """What each item must satisfy, one goal for each stretch of positions."""
    formulas = expander.formulas
    spans = [
        (atom.keys.first, atom.keys.end, formulas.not_(atom.goal))
        for atom in every
        if isinstance(atom.keys, Positions) and atom.hi == 0
    ]
    edges = {0} | {first for first, _, _ in spans} | {end for _, end, _ in spans if end is not None}
    if most is not None:
        edges = {edge for edge in edges if edge < most}
    return {
        formulas.and_(goal for first, end, goal in spans if first <= edge and (end is None or edge < end))
        for edge in edges
    }


def _values(expander: Expander, goal: Formula) -> set[Value] | None:
    """All values that may satisfy the goal (perhaps some more); None where there is no telling."""
    for part in _conjuncts(goal):
        atom = part.atom if isinstance(part, Literal) and part.positive else None
        if isinstance(atom, ValueIn):
            return set(atom.values)
        listed = _enum(expander, atom) if isinstance(atom, Node) else None
        if listed is not None:
            return listed
    found: set[Value] = set()
    try:
        for kind in TYPES:
            values = _of_type(expander, expander.expand(goal, kind), kind)
            if values is None:
                return None
            found |= values
    except (SchemaError, UnsupportedFeatureError):
        return None
    return found


def _enum(expander: Expander, node: Node) -> set[Value] | None:
    listed = [node.schema["const"]] if "const" in node.schema else node.schema.get("enum")
    return None if listed is None else {expander.values.freeze(value) for value in listed}


def _of_type(expander: Expander, formula: Formula, kind: Type) -> set[Value] | None:
    freeze = expander.values.freeze
    if formula is FALSE:
        return set()
    if kind == "null":
        return {freeze(None)}
    if kind == "boolean":
        kept = [literal.positive for literal in literals(formula) if isinstance(literal.atom, IsTrue)]
        return {freeze(value) for value in kept or (True, False)}
    if isinstance(formula, Or):
        each = [_of_type(expander, part, kind) for part in formula.parts]
        return None if None in each else set().union(*(values for values in each if values))
    for part in _conjuncts(formula):
        if isinstance(part, Literal) and part.positive and isinstance(part.atom, NumberIn | StringIn):
            return {freeze(value) for value in part.atom.values}
    return None


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, And) else (formula,)
