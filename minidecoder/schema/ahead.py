"""What a text may meet, looked at before the first token: a fault in mid-text would help nobody.

From goal to goal, through members and items, each is expanded for all six types, and the machines of its
numbers and texts are made. What is not supported or too large is then an error of the compiling. All that is
made here is kept, and used when a text gets there.

Left out: rules, written when a text first needs them (`bodies`). Cost: a goal each, up to a number of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from minidecoder.schema.bodies import SchemaBodies
from minidecoder.schema.branches import item_branches
from minidecoder.schema.formula import Formula
from minidecoder.schema.members import ObjectState
from minidecoder.schema.names import names_of
from minidecoder.schema.numbers import number_dfa
from minidecoder.schema.string_machine import string_machine
from minidecoder.schema.values import TYPES, Type

__all__ = ["look_ahead"]

_MOST_ITEMS: int = 30  # places of one array


def look_ahead(bodies: SchemaBodies, most: int) -> None:
    """Look at up to `most` goals, those near the root first. Raises what compiling a schema raises."""
    todo, seen = deque([bodies.expander.root]), {bodies.expander.root}
    while todo:
        goal = todo.popleft()
        for kind in TYPES:
            for further in _goals(bodies, goal, bodies.expander.expand(goal, kind), kind):
                bodies.limits.check_time()
                if len(seen) == most:
                    return
                if further not in seen:
                    seen.add(further)
                    todo.append(further)


def _goals(bodies: SchemaBodies, goal: Formula, formula: Formula, kind: Type) -> Iterator[Formula]:
    """The goals of the members or items; of a number or text, its machine is made."""
    if not bodies.inhabited.of_type(formula, kind):
        return
    if kind == "number":
        number_dfa(formula)
    elif kind == "string":
        string_machine(formula, bodies.escapes)
    elif kind == "object":
        yield from bodies.members.goals(ObjectState(goal, formula, names_of(bodies.expander, goal)))
    elif kind == "array":
        yield from _items(bodies, formula)


def _items(bodies: SchemaBodies, formula: Formula) -> Iterator[Formula]:
    todo, seen = deque([formula]), {formula}
    while todo and len(seen) <= _MOST_ITEMS:
        bodies.limits.check_time()
        for branch in item_branches(bodies.formulas, todo.popleft(), bodies.inhabited.inhabited):
            if bodies.inhabited.inhabited(branch.goal) and bodies.inhabited.of_type(branch.rest, "array"):
                yield branch.goal
                if branch.rest not in seen:
                    seen.add(branch.rest)
                    todo.append(branch.rest)
