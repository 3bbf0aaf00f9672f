"""`unevaluatedProperties` and `unevaluatedItems`: which members the other keywords look at, case by case.

That depends on the value: of `anyOf`, the branches that hold look at members, the others do not. So a schema
is split into cases that exclude each other, each a formula with the members it evaluates; then every case is
joined with "the members not evaluated satisfy U". Only where the keyword occurs.

Left out: `not`, which never evaluates anything. Cost: 2^n cases for `anyOf`; limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.schema.assertions import item_keywords, other_names
from minidecoder.schema.counts import Positions, every, some
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, Literal
from minidecoder.schema.in_place import InPlace, absent
from minidecoder.schema.names import names_in
from minidecoder.schema.resolve import Node
from minidecoder.schema.values import Type

if TYPE_CHECKING:
    from minidecoder.schema.expand import Expander

__all__ = ["has_unevaluated", "unevaluated"]

_MOST_CASES: Final = 1000


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The members that some keyword looked at: names of an object; of an array the first `items` (None: all)
    and those that satisfy one of `marks`, the goals of `contains`."""

    names: Formula = FALSE
    items: int | None = 0
    marks: frozenset[Formula] = frozenset()


Case: TypeAlias = tuple[Formula, Evaluated]

_NOTHING: Final = Evaluated()
_EVERYTHING: Final = Evaluated(TRUE, None)


def has_unevaluated(node: Node, kind: Type) -> str | None:
    """The keyword of the node that applies to values of this type."""
    keyword = {"object": "unevaluatedProperties", "array": "unevaluatedItems"}.get(kind)
    return keyword if keyword in node.schema else None


def unevaluated(expander: Expander, node: Node, kind: Type) -> Formula:
    """The node's formula where it has the keyword; all that it contains in place is expanded already."""
    keyword = has_unevaluated(node, kind)
    assert keyword is not None
    formulas, goal = expander.formulas, expander.child(node, keyword)
    known: dict[Node, list[Case]] = {}
    for inner in _inside_first(expander, node, kind):
        if inner is not node and has_unevaluated(inner, kind):
            known[inner] = [(expander.expand(expander.goal(inner), kind), _EVERYTHING)]
        else:
            known[inner] = _Splitter(expander, kind, known).cases(inner)
    return formulas.or_(
        formulas.and_([formula, _rest(formulas, kind, evaluated, goal)]) for formula, evaluated in known[node]
    )


def _rest(formulas: Formulas, kind: Type, evaluated: Evaluated, goal: Formula) -> Formula:
    """The members that nothing evaluated satisfy the goal."""
    if kind == "object":
        return every(formulas, formulas.not_(evaluated.names), goal)
    if evaluated.items is None:
        return TRUE
    return every(formulas, Positions(evaluated.items, None), formulas.or_([goal, *evaluated.marks]))


def _inside_first(expander: Expander, node: Node, kind: Type) -> Iterator[Node]:
    """The node and those it contains in place, each after what it contains; no cycles: it was expanded."""
    seen: set[Node] = set()
    todo = [(node, False)]
    while todo:
        item, ready = todo.pop()
        if ready:
            yield item
        elif item not in seen:
            seen.add(item)
            todo.append((item, True))
            inside = expander.in_place(item).goals() if expander.own(item, kind) is not FALSE else ()
            todo += [(inner, False) for inner in map(_node, inside) if inner]


def _node(goal: Formula) -> Node | None:
    return goal.atom if isinstance(goal, Literal) and isinstance(goal.atom, Node) else None


class _Splitter:
    """Splits one schema into cases, given those of the schemas it contains in place."""

    def __init__(self, expander: Expander, kind: Type, known: dict[Node, list[Case]]) -> None:
        self.expander = expander
        self.formulas = expander.formulas
        self.kind = kind
        self.known = known

    def cases(self, node: Node) -> list[Case]:
        """The cases of a node, without its own unevaluated keyword."""
        own = self.expander.own(node, self.kind)
        if own is FALSE:  # of another type: what it contains was not expanded
            return []
        result: list[Case] = [(own, self.looks_at(node))]
        for factor in self.factors(self.expander.in_place(node)):
            result = self.product(result, factor)
        return result

    def factors(self, parts: InPlace) -> Iterator[list[Case]]:
        """The cases of each keyword about the same value; those of one keyword exclude each other."""
        not_ = self.formulas.not_
        yield from map(self.of, parts.all_of)
        if parts.any_of is not None:
            yield self.any_of(parts.any_of)
        if parts.one_of is not None:
            yield self.one_of(parts.one_of)
        if parts.never is not None:
            yield [(not_(self.meaning(parts.never)), _NOTHING)]
        if parts.condition is not None:
            failed: list[Case] = [(not_(self.meaning(parts.condition)), _NOTHING)]
            met = self.product(self.of(parts.condition), self.of(parts.then))
            yield self.merged([*met, *self.product(failed, self.of(parts.otherwise))])
        if self.kind == "object":
            for name, goal in parts.dependents:
                present = some(self.formulas, names_in(self.formulas, [name]), TRUE)
                there = self.product([(present, _NOTHING)], self.of(goal))
                yield self.merged([*there, (absent(self.formulas, name), _NOTHING)])

    def of(self, goal: Formula) -> list[Case]:
        node = _node(goal)
        return [(self.meaning(goal), _NOTHING)] if node is None else self.known[node]

    def meaning(self, goal: Formula) -> Formula:
        return self.expander.meaning(goal, self.kind)

    def any_of(self, goals: tuple[Formula, ...]) -> list[Case]:
        """By which branches that look at members hold; the others matter only if none of these does."""
        looking = [goal for goal in goals if any(seen != _NOTHING for _, seen in self.of(goal))]
        blind = self.formulas.or_(self.meaning(goal) for goal in goals if goal not in looking)
        none_yet: list[Case] = [(TRUE, _NOTHING)]
        some_held: list[Case] = []
        for goal in looking:
            failed: list[Case] = [(self.formulas.not_(self.meaning(goal)), _NOTHING)]
            both = self.merged([*self.of(goal), *failed])
            some_held = self.merged([*self.product(some_held, both), *self.product(none_yet, self.of(goal))])
            none_yet = self.product(none_yet, failed)
        return self.merged([*some_held, *self.product(none_yet, [(blind, _NOTHING)])])

    def one_of(self, goals: tuple[Formula, ...]) -> list[Case]:
        """By which branch holds."""
        found: list[Case] = []
        for index, goal in enumerate(goals):
            others = [self.meaning(other) for place, other in enumerate(goals) if place != index]
            alone = self.formulas.and_(map(self.formulas.not_, others))
            found += self.product(self.of(goal), [(alone, _NOTHING)])
        return self.merged(found)

    def product(self, left: list[Case], right: list[Case]) -> list[Case]:
        return self.merged(
            (self.formulas.and_([one, other]), self.joined(seen, also_seen))
            for one, seen in left
            for other, also_seen in right
        )

    def merged(self, cases: Iterable[Case]) -> list[Case]:
        """One case for each set of evaluated members; without those that are never met."""
        groups: dict[Evaluated, list[Formula]] = {}
        for formula, seen in cases:
            if formula is not FALSE:
                groups.setdefault(seen, []).append(formula)
        if len(groups) > _MOST_CASES:
            text = f"{self.kind}s have more than {_MOST_CASES:,} sets of evaluated members"
            raise ConstraintTooLargeError(text)
        return [(self.formulas.or_(parts), seen) for seen, parts in groups.items()]

    def joined(self, one: Evaluated, other: Evaluated) -> Evaluated:
        items = None if one.items is None or other.items is None else max(one.items, other.items)
        return Evaluated(self.formulas.or_([one.names, other.names]), items, one.marks | other.marks)

    def looks_at(self, node: Node) -> Evaluated:
        """The members that the node's own keywords evaluate."""
        if self.kind == "object":
            if "additionalProperties" in node.schema:
                return Evaluated(TRUE)
            return Evaluated(self.formulas.not_(other_names(self.expander, node)))
        listed, rest = item_keywords(node)
        marks = [self.expander.child(node, "contains")] if "contains" in node.schema else []
        length = len(node.schema[listed]) if listed else 0
        return Evaluated(FALSE, None if rest else length, frozenset(marks))
