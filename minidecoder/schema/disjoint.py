"""Whether two branches of `oneOf` can never hold together: then neither need be kept from the other.

A quick look that errs on the safe side. Two objects exclude each other if one requires a member and no value
of it suits both: the usual tag. Anything else "may hold together", and the formula gets longer, not wrong.

Left out: a full search (`inhabited`), which needs the formulas that are just being made.
Cost: O(names that both mention) a pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from minidecoder.errors import SchemaError, UnsupportedFeatureError
from minidecoder.schema.atoms import StringIn
from minidecoder.schema.counts import Count
from minidecoder.schema.formula import FALSE, And, Formula, Literal
from minidecoder.schema.values import TYPES, Type

if TYPE_CHECKING:
    from minidecoder.schema.expand import Expander

__all__ = ["never_together", "tags_of"]

_DEEPEST: Final = 3  # tags inside tags are looked at so far


def never_together(expander: Expander, kind: Type, one: Formula, other: Formula) -> bool:
    """Whether no value of this type satisfies both. False where that is not plain to see."""
    expander.limits.check_time()
    if kind not in ("array", "object"):
        return expander.formulas.and_([one, other]) is FALSE
    mine, theirs = expander.tags(one), expander.tags(other)
    for name in mine.keys() & theirs.keys():
        required = mine[name][0] or theirs[name][0]
        if required and _no_value(expander, mine[name][1], theirs[name][1]):
            return True
    return False


def tags_of(expander: Expander, formula: Formula) -> dict[str, tuple[bool, Formula]]:
    """For each single name it is about: whether a member must be there, and what its value satisfies."""
    formulas = expander.formulas
    found: dict[str, tuple[bool, Formula]] = {}
    for part in formula.parts if isinstance(formula, And) else (formula,):
        atom = part.atom if isinstance(part, Literal) else None
        if not isinstance(atom, Count):
            continue
        key = atom.keys.atom if isinstance(atom.keys, Literal) and atom.keys.positive else None
        if not isinstance(key, StringIn) or len(key.values) != 1:
            continue
        (name,) = key.values
        required, goal = found.get(name, (False, formulas.and_([])))
        # subtle: a single name is counted 0 times (none satisfies S) or at least once (it does).
        says = formulas.not_(atom.goal) if atom.hi == 0 else atom.goal
        found[name] = (required or atom.lo > 0, formulas.and_([goal, says]))
    return found


def _no_value(expander: Expander, one: Formula, other: Formula) -> bool:
    formulas = expander.formulas
    if formulas.and_([one, other]) is FALSE:
        return True
    if expander.nesting >= _DEEPEST:
        return False
    expander.nesting += 1
    try:
        return all(
            formulas.and_([expander.expand(one, kind), expander.expand(other, kind)]) is FALSE
            for kind in TYPES
        )
    except (SchemaError, UnsupportedFeatureError):  # reported when the member itself is reached
        return False
    finally:
        expander.nesting -= 1
