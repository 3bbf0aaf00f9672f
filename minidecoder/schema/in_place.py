"""The keywords whose subschemas are about the same value: they vanish into and, or, not.

`$ref` and `allOf` are &, `anyOf` is |, `not` is ~, `if c then t else e` is (~c | t) & (c | e), `oneOf` is one
of them and none of the others, `dependentSchemas` is "no such member, or its schema".

Left out: which members they look at (`cases`, for unevaluated*). Cost: O(n) parts, O(n²) for `oneOf`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minidecoder.schema.atoms import NumberIn, StringIn, ValueIn
from minidecoder.schema.counts import count
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, Literal
from minidecoder.schema.resolve import Node, Schema

__all__ = ["InPlace", "absent", "combined", "exactly_one", "in_place"]


@dataclass(frozen=True, slots=True)
class InPlace:
    """The subschemas of one schema that are about the same value, as goals; None or (): no such keyword."""

    all_of: tuple[Formula, ...] = ()
    any_of: tuple[Formula, ...] | None = None
    one_of: tuple[Formula, ...] | None = None
    never: Formula | None = None
    condition: Formula | None = None
    then: Formula = TRUE
    otherwise: Formula = TRUE
    dependents: tuple[tuple[str, Formula], ...] = ()

    def goals(self) -> Iterator[Formula]:
        """All of them, in the order of evaluation."""
        yield from self.all_of
        yield from self.any_of or ()
        yield from self.one_of or ()
        yield from (goal for goal in (self.never, self.condition, self.then, self.otherwise) if goal)
        yield from (goal for _, goal in self.dependents)


def in_place(
    schema: Schema, node: Node, goal: Callable[[Node], Formula], references: tuple[Node, ...]
) -> InPlace:
    """Read off a node. `references`: the nodes that `$ref` and `$dynamicRef` mean."""
    words = node.schema

    def one(keyword: str) -> Formula | None:
        return goal(schema.child(node, keyword)) if keyword in words else None

    def listed(keyword: str) -> tuple[Formula, ...] | None:
        if keyword not in words:
            return None
        return tuple(goal(schema.child(node, keyword, i)) for i in range(len(words[keyword])))

    dependents = [
        (name, goal(schema.child(node, keyword, name)))
        for keyword in ("dependentSchemas", "dependencies")
        for name, value in words.get(keyword, {}).items()
        if not isinstance(value, list)
    ]
    return InPlace(
        tuple(map(goal, references)) + (listed("allOf") or ()),
        listed("anyOf"),
        listed("oneOf"),
        one("not"),
        one("if"),
        one("then") or TRUE,
        one("else") or TRUE,
        tuple(dependents),
    )


def combined(
    formulas: Formulas,
    parts: InPlace,
    meaning: Callable[[Formula], Formula],
    disjoint: Callable[[Formula, Formula], bool],
    is_object: bool,
) -> list[Formula]:
    """The formulas that must all hold. `meaning`: a goal expanded for the type at hand."""
    result = [meaning(goal) for goal in parts.all_of]
    if parts.any_of is not None:
        result.append(formulas.or_(map(meaning, parts.any_of)))
    if parts.one_of is not None:
        result.append(exactly_one(formulas, [meaning(goal) for goal in parts.one_of], disjoint))
    if parts.never is not None:
        result.append(formulas.not_(meaning(parts.never)))
    if parts.condition is not None:
        condition = meaning(parts.condition)
        result.append(formulas.or_([formulas.not_(condition), meaning(parts.then)]))
        result.append(formulas.or_([condition, meaning(parts.otherwise)]))
    if is_object:
        result += [formulas.or_([absent(formulas, name), meaning(goal)]) for name, goal in parts.dependents]
    return result


def absent(formulas: Formulas, name: str) -> Formula:
    """No member of this name."""
    return count(formulas, formulas.atom(StringIn(frozenset({name}))), TRUE, 0, 0)


def exactly_one(
    formulas: Formulas, parts: list[Formula], disjoint: Callable[[Formula, Formula], bool]
) -> Formula:
    """One part holds and none of the others. `disjoint`: whether two are known never to hold together."""
    parts = [part for part in parts if part is not FALSE]
    sets = [part for part in parts if _is_set(part)]
    others = [part for part in parts if not _is_set(part)]
    # A list of a thousand constants is one set: the values that are named once.
    once, named = _once(formulas, sets)
    ways = [formulas.and_([once, *map(formulas.not_, others)])]
    for index, part in enumerate(others):
        rest = [other for place, other in enumerate(others) if place != index and not disjoint(part, other)]
        ways.append(formulas.and_([part, formulas.not_(named), *map(formulas.not_, rest)]))
    return formulas.or_(ways)


def _is_set(part: Formula) -> bool:
    return (
        isinstance(part, Literal) and part.positive and isinstance(part.atom, NumberIn | StringIn | ValueIn)
    )


def _once(formulas: Formulas, sets: list[Formula]) -> tuple[Formula, Formula]:
    """The values that are in exactly one of the sets, and those that are in any."""
    times: dict[object, int] = {}
    for part in sets:
        assert isinstance(part, Literal)
        for value in part.atom.values:  # type: ignore[attr-defined]
            times[value] = times.get(value, 0) + 1
    several = frozenset(value for value, n in times.items() if n > 1)
    named = formulas.or_(sets)
    if not several:
        return named, named
    assert isinstance(sets[0], Literal)
    doubled = formulas.atom(type(sets[0].atom)(several))  # type: ignore[call-arg]
    return formulas.and_([named, formulas.not_(doubled)]), named
