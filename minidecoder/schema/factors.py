"""An object's formula as a product: what is asked of each name by itself, and what is asked of all.

Most objects ask `{"a": …}` about a and `{"b": …}` about b, and of the names that are left the same for each:
no member has a say in what another may be. Such an object needs no search. It can be finished exactly if
each name that is missing can be given a value, and to have read a member is to be past its name.

Left out: objects whose members depend on each other (`minProperties`, `dependentRequired`, an `anyOf` over
several names), for which there are no factors. Cost: O(parts of the formula).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from minidecoder.schema.atoms import StringIn
from minidecoder.schema.counts import Count, Positions, close, counts_of
from minidecoder.schema.formula import TRUE, And, Formula, Formulas, Literal, literals
from minidecoder.schema.strings import string_language

__all__ = ["Factors", "factors", "has_name", "names_in"]


@dataclass(frozen=True, eq=False)
class Factors:
    """`by_name`: what is asked of the member of this name alone; `steady`: counts that allow no member, which
    a member breaks or leaves as they are; `required`: the names that must come; `mentioned`: all names."""

    by_name: dict[str, Formula]
    steady: tuple[Literal, ...]
    required: frozenset[str]
    mentioned: frozenset[str]


def factors(formulas: Formulas, rest: Formula) -> Factors | None:
    """The factors of an object's formula; None where its members depend on each other."""
    groups: dict[str, list[Formula]] = {}
    steady: list[Literal] = []
    for part in rest.parts if isinstance(rest, And) else () if rest is TRUE else (rest,):
        name = _only_name(part)
        if name is not None:
            groups.setdefault(name, []).append(part)
        elif isinstance(part, Literal) and isinstance(part.atom, Count) and part.atom.hi == 0:
            steady.append(part)
        else:
            return None
    by_name = {name: formulas.and_(parts) for name, parts in groups.items()}
    required = frozenset(name for name, formula in by_name.items() if not close(formula))
    return Factors(by_name, tuple(steady), required, frozenset(names_in(rest)))


def has_name(names: Formula, name: str) -> bool:
    """Whether a set of names, a formula about texts, holds the name."""
    if isinstance(names, Literal) and isinstance(names.atom, StringIn):
        return (name in names.atom.values) is names.positive
    return string_language(names).accepts(name)


def names_in(rest: Formula) -> Iterator[str]:
    """The names that an object's formula asks about one by one."""
    for atom in counts_of(rest):
        if isinstance(atom.keys, Positions):
            continue
        for part in literals(atom.keys):
            if isinstance(part, Literal) and part.positive and isinstance(part.atom, StringIn):
                yield from part.atom.values


def _only_name(part: Formula) -> str | None:
    """The one name that all counts of a formula are about."""
    names = {_name(atom) for atom in counts_of(part)}
    return names.pop() if len(names) == 1 else None


def _name(atom: Count) -> str | None:
    keys = atom.keys
    if not isinstance(keys, Literal) or not keys.positive or not isinstance(keys.atom, StringIn):
        return None
    return next(iter(keys.atom.values)) if len(keys.atom.values) == 1 else None
