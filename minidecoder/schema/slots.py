"""The keys of an object that a formula can tell apart: each name that it names, and classes of all others.

Two names of one class are in the same sets K, so only their number matters: `{"^a$": …}` has one name,
`additionalProperties` has names without end. For a search, an object is how many members each slot has.

Left out: the search (`inhabited`). Cost: O(names × sets), and a product of the sets that are not names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.schema.atoms import Length, StringIn
from minidecoder.schema.counts import Count, counts_of
from minidecoder.schema.formula import FALSE, TRUE, And, Formula, Formulas, Literal, Truth, fold, literals

__all__ = ["Keyring", "Slot"]

_MOST_CLASSES: Final = 1024
_MANY: Final = 10**6  # so many names are as good as infinitely many


@dataclass(frozen=True, slots=True)
class Slot:
    """Keys that are in the same sets: `sets` lists them; `room` is how many keys there are, None for many."""

    sets: frozenset[Formula]
    room: int | None


class Keyring:
    """Looks at the sets of keys in formulas. `strings(formula, most)`: how many texts satisfy it, at most."""

    def __init__(self, formulas: Formulas, strings: Callable[[Formula, int], int]) -> None:
        self._formulas = formulas
        self._strings = strings
        self._sizes: dict[tuple[Formula, int], int] = {}

    def slots(self, formula: Formula) -> tuple[Slot, ...]:
        """The slots of a formula in which a member could help it: those in a set of which some are needed."""
        counts = counts_of(formula)
        sets = list(dict.fromkeys(_keys(atom) for atom in counts))
        needed = {_keys(atom) for atom in counts if atom.lo > 0}
        want = min(sum(atom.lo for atom in counts), _MANY)
        names = names_in_sets(sets)
        inside_of: dict[str, set[Formula]] = {name: set() for name in names}
        for keys in sets:
            listed = _listed(keys)
            for name in self._having(keys, names) if listed is None else listed:
                inside_of[name].add(keys)
        found = [Slot(frozenset(inside), 1) for inside in inside_of.values()]
        outside = self._formulas.not_(self._formulas.atom(StringIn(frozenset(names)))) if names else TRUE
        for described, inside in self._classes(outside, sets):
            if inside & needed:
                room = self._size(described, want)
                found.append(Slot(inside, room if room < want else None))
        return tuple(slot for slot in found if slot.sets & needed)

    def components(self, formula: Formula) -> list[Formula]:
        """The conjuncts of a formula in groups that have no key in common: each can be met on its own."""
        if not isinstance(formula, And):
            return [formula]
        sets = {part: list(dict.fromkeys(_keys(atom) for atom in counts_of(part))) for part in formula.parts}
        names = names_in_sets([k for group in sets.values() for k in group])
        groups: dict[object, list[Formula]] = {}  # a key → the group that it is in; the lists are shared
        for part in formula.parts:
            merged = [part]
            touched = self._touched(sets[part], names)
            for group in {id(groups[key]): groups[key] for key in touched if key in groups}.values():
                merged += group
                touched |= {key for key, other in groups.items() if other is group}
            groups.update(dict.fromkeys(touched, merged))
        distinct = {id(group): group for group in groups.values()}
        return [self._formulas.and_(group) for group in distinct.values()]

    def has(self, keys: Formula, name: str) -> bool:
        """Whether a name is in a set of keys."""

        def leaf(part: Truth | Literal) -> bool:
            if isinstance(part, Truth):
                return part.value
            match part.atom:
                case StringIn(values):
                    return (name in values) is part.positive
                case Length(lo, hi):
                    return lo <= len(name) and (hi is None or len(name) <= hi)
            alone = self._formulas.atom(StringIn(frozenset({name})))
            return self._size(self._formulas.and_([alone, part]), 1) > 0

        return fold(keys, leaf, all, any)

    def _touched(self, sets: list[Formula], names: list[str]) -> set[object]:
        """The names in any of the sets; None stands for all other keys."""
        if all(_listed(k) is not None for k in sets):
            return {name for k in sets for name in _listed(k) or ()} or {None}
        return {name for k in sets for name in self._having(k, names)} | {None}

    def _having(self, keys: Formula, names: list[str]) -> list[str]:
        return [name for name in names if self.has(keys, name)]

    def _classes(self, outside: Formula, sets: list[Formula]) -> list[tuple[Formula, frozenset[Formula]]]:
        classes: list[tuple[Formula, frozenset[Formula]]] = [(outside, frozenset())]
        for keys in sets:
            if _listed(keys) is not None:
                continue
            split = []
            for described, inside in classes:
                split.append((self._formulas.and_([described, keys]), inside | {keys}))
                split.append((self._formulas.and_([described, self._formulas.not_(keys)]), inside))
            classes = [item for item in split if self._size(item[0], 1) > 0]
            if len(classes) > _MOST_CLASSES:
                text = f"the patterns of names overlap in more than {_MOST_CLASSES:,} ways"
                raise ConstraintTooLargeError(text)
        return classes

    def _size(self, described: Formula, most: int) -> int:
        if described is FALSE or described is TRUE:
            return most if described is TRUE else 0
        if (described, most) not in self._sizes:
            self._sizes[described, most] = self._strings(described, most)
        return self._sizes[described, most]


def names_in_sets(sets: list[Formula]) -> list[str]:
    """The names that the sets name, on either side of a "not"."""
    found = [part.atom.values for k in sets for part in literals(k) if isinstance(part.atom, StringIn)]
    return sorted(set().union(*found))


def _listed(keys: Formula) -> frozenset[str] | None:
    """The names of a set that is nothing but a list of them."""
    if isinstance(keys, Literal) and keys.positive and isinstance(keys.atom, StringIn):
        return keys.atom.values
    return None


def _keys(atom: Count) -> Formula:
    assert isinstance(atom.keys, Formula)
    return atom.keys
