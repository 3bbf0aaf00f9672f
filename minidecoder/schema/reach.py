"""All that a schema can ask for, expanded now: what cannot be done is found before the first token.

Expanding is lazy, and a fault that shows in the middle of a generation helps nobody. This walks from goal to
goal, through members and items, and expands each for all six types.

Left out: automata of patterns and numbers. Cost: O(size of the schema).
"""

from __future__ import annotations

from collections.abc import Iterable

from minidecoder.schema.counts import counts_of
from minidecoder.schema.expand import Expander
from minidecoder.schema.formula import Formula, literals
from minidecoder.schema.resolve import Node
from minidecoder.schema.values import TYPES

__all__ = ["expand_all"]


def expand_all(expander: Expander, goals: Iterable[Formula] | None = None) -> None:
    """Expand the goals (the root, if not said) and all that they lead to.

    Raises what `Expander.expand` raises; where that is lenient, fills its `dropped`.
    """
    todo = list(goals if goals is not None else [expander.root])
    seen: set[Node] = set()
    while todo:
        expander.limits.check_time()
        for literal in literals(todo.pop()):
            if not isinstance(literal.atom, Node) or literal.atom in seen:
                continue
            seen.add(literal.atom)
            goal = expander.formulas.atom(literal.atom)
            for kind in TYPES:
                formula = expander.expand(goal, kind)
                if kind in ("array", "object"):
                    todo += reversed([atom.goal for atom in counts_of(formula)])
