"""The members that an open object may still have: which name, what value, and the object after it.

Names of `properties` come first, in the order in which the schema mentions them, each at most once; then the
names that it only requires, in any order; then other names, sorted into regions that no set of names in the
formula tells apart. A member is offered only where the object can be finished after it.

Where no member has a say in another (`factors`), a state is a place in the list of names, and needs no
search. A text may repeat one of the other names, and readers keep the last value. So a witness for "some
member satisfies S" binds the members after it, and counting up to two or more is refused (`_guarded`).
Left out: arrays (`items`), bytes (`bodies`). Cost: the ways of a state are made once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from minidecoder.errors import ConstraintTooLargeError, UnsupportedFeatureError
from minidecoder.schema.atoms import StringIn
from minidecoder.schema.branches import Branch, member_branches
from minidecoder.schema.counts import Count, Positions, close, counts_of, every, forget_name
from minidecoder.schema.factors import Factors, factors, names_in
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, literals
from minidecoder.schema.resolve import Node

__all__ = ["Member", "Members", "ObjectState", "in_parts"]


_MOST_STATES: Final = 20_000


@dataclass(frozen=True)
class ObjectState:
    """An open object: what its other members must satisfy. `owner`: the goal of the whole object; `names`:
    those of `properties` in order, of which the first `passed` can come no more; `used`: other names that
    can come no more. What `rest` asks of a name that can come no more is settled."""

    owner: Formula
    rest: Formula
    names: tuple[str, ...]
    used: frozenset[str] = frozenset()
    passed: int = 0

    def __hash__(self) -> int:
        # subtle: a tuple does not keep its hash, and there may be 10,000 names.
        return hash((self.owner, self.rest, len(self.names), self.used, self.passed))

    @property
    def gone(self) -> frozenset[str]:
        """The names that can come no more."""
        return self.used.union(self.names[: self.passed])


@dataclass(frozen=True)
class Member:
    """One way to go on: a name (or any name of a region), the goal of the value, and the object after it."""

    name: str | Formula
    goal: Formula
    after: ObjectState


@dataclass(frozen=True, eq=False)
class _Apart:
    """What the states of an object share whose members have no say in each other. `others`: names that are
    mentioned, but not by `properties`; `branches`: of each name, as far as they were asked for."""

    factors: Factors
    others: tuple[str, ...]
    regions: tuple[tuple[Formula, Branch], ...]
    branches: dict[str, tuple[Branch, ...]] = field(default_factory=dict)


@dataclass
class Members:
    """The ways of all objects of one schema. `possible`: whether any value satisfies a goal; `has_name`:
    whether a set of names holds a name; `any_name`: whether it holds any; `drop` raises, or is lenient."""

    formulas: Formulas
    possible: Callable[[Formula], bool]
    has_name: Callable[[Formula, str], bool]
    any_name: Callable[[Formula], bool]
    drop: Callable[[UnsupportedFeatureError], None]
    _ways: dict[ObjectState, tuple[Member, ...]] = field(default_factory=dict)
    _live: dict[ObjectState, bool] = field(default_factory=dict)
    _factors: dict[Formula, Factors | None] = field(default_factory=dict)
    _apart: dict[tuple[Formula, tuple[str, ...], frozenset[str]], _Apart] = field(default_factory=dict)

    def ways(self, state: ObjectState) -> tuple[Member, ...]:
        """Every member that may come next, after which the object can still be finished."""
        if (apart := self._find_apart(state)) is not None:
            return self._all_ways(state) if self._live_apart(apart, state) else ()
        return tuple(member for member in self._all_ways(state) if self.live(member.after))

    def closes(self, state: ObjectState) -> bool:
        """Whether the object may end here."""
        apart = self._find_apart(state)
        return close(state.rest) if apart is None else apart.factors.required <= state.gone

    def live(self, state: ObjectState) -> bool:
        """Whether the object can be finished: a search for a state in which it may be closed."""
        # Depth first. What is met while it is being searched is found out by whoever met it first.
        path: list[tuple[ObjectState, Iterator[Member]]] = []
        met: set[ObjectState] = set()
        here: ObjectState | None = state
        while here is not None or path:
            if here is not None:
                if self._live.get(here) or self._surely_live(here):
                    self._live.update((on_path, True) for on_path, _ in path)
                    self._live[here] = True
                    return True
                if here in self._live or here in met or self._find_apart(here) is not None:
                    here = None
                    continue
                met.add(here)
                if len(met) > _MOST_STATES:
                    raise ConstraintTooLargeError(
                        f"an object has more than {_MOST_STATES:,} states in which it may be unfinished"
                    )
                path.append((here, iter(self._all_ways(here))))
            member = next(path[-1][1], None)
            here = None if member is None else member.after
            if member is None:
                path.pop()
        self._live.update((dead, False) for dead in met)
        return False

    def goals(self, state: ObjectState) -> Iterator[Formula]:
        """What is asked of the values of members: of all that may ever come where no member has a say in
        another, else of those that may come next."""
        apart = self._find_apart(state)
        if apart is None:
            yield from (member.goal for member in self._all_ways(state))
            return
        for name in (*state.names[state.passed :], *apart.others):
            yield from (branch.goal for branch in self._branches_apart(apart, name))
        yield from (branch.goal for _, branch in apart.regions)

    def _surely_live(self, state: ObjectState) -> bool:
        apart = self._find_apart(state)
        return close(state.rest) if apart is None else self._live_apart(apart, state)

    # -- members that have no say in each other ---------------------------------------------------------

    def _find_apart(self, state: ObjectState) -> _Apart | None:
        if state.rest not in self._factors:
            self._factors[state.rest] = factors(self.formulas, state.rest)
        found = self._factors[state.rest]
        if found is None:
            return None
        known = state.used.union(found.mentioned)
        key = (state.rest, state.names, known)
        if key not in self._apart:
            others = sorted(found.mentioned.difference(state.names, state.used))
            steady = self.formulas.and_(found.steady)
            regions = tuple(
                (region, branch)
                for region, inside in self._regions(steady, known.union(state.names))
                for branch in self._named(steady, inside.__contains__)
            )
            self._apart[key] = _Apart(found, tuple(others), regions)
        return self._apart[key]

    def _live_apart(self, apart: _Apart, state: ObjectState) -> bool:
        """Whether each name that must still come can have a value."""
        return all(self._branches_apart(apart, name) for name in apart.factors.required - state.gone)

    def _ways_apart(self, apart: _Apart, state: ObjectState) -> Iterator[Member]:
        for number in range(state.passed, len(state.names)):
            name = state.names[number]
            for branch in self._branches_apart(apart, name):
                yield Member(name, branch.goal, replace(state, passed=number + 1))
            if name in apart.factors.required:
                return
        behind = replace(state, passed=len(state.names))
        for name in apart.others:
            if name not in state.used:
                for branch in self._branches_apart(apart, name):
                    yield Member(name, branch.goal, replace(behind, used=state.used | {name}))
        for region, branch in apart.regions:
            yield Member(region, branch.goal, behind)

    def _branches_apart(self, apart: _Apart, name: str) -> tuple[Branch, ...]:
        def has_name(atom: Count) -> bool:
            return self.has_name(_keys(atom), name)

        if name not in apart.branches:
            asked = self.formulas.and_(
                [
                    apart.factors.by_name.get(name, TRUE),
                    *(part for part in apart.factors.steady if any(map(has_name, counts_of(part)))),
                ]
            )
            apart.branches[name] = tuple(
                branch
                for branch in self._branches(asked, name)
                if forget_name(self.formulas, branch.rest, name) is not FALSE
            )
        return apart.branches[name]

    # -- all members ------------------------------------------------------------------------------------

    def _all_ways(self, state: ObjectState) -> tuple[Member, ...]:
        if state not in self._ways:
            apart = self._find_apart(state)
            found = self._make_ways(state) if apart is None else self._ways_apart(apart, state)
            self._ways[state] = tuple(found)
        return self._ways[state]

    def _make_ways(self, state: ObjectState) -> Iterator[Member]:
        rest, passed = state.rest, state.used
        for number, name in enumerate(state.names):
            passed = passed | {name}
            for branch in self._branches(rest, name):
                left = forget_name(self.formulas, branch.rest, name)
                after = replace(state, rest=left, names=state.names[number + 1 :], used=passed)
                yield Member(name, branch.goal, after)
            rest = forget_name(self.formulas, rest, name)
            if rest is FALSE:  # it was required
                return
        yield from self._other_ways(replace(state, rest=rest, names=(), used=passed))

    def _other_ways(self, state: ObjectState) -> Iterator[Member]:
        """Members with a name that `properties` does not mention."""
        mentioned = [name for name in sorted(set(names_in(state.rest))) if name not in state.used]
        for name in mentioned:
            for branch in self._branches(state.rest, name):
                left = forget_name(self.formulas, branch.rest, name)
                yield Member(name, branch.goal, replace(state, rest=left, used=state.used | {name}))
        for region, inside in self._regions(state.rest, state.used.union(mentioned)):
            for branch in self._named(state.rest, inside.__contains__):
                guarded = self._guarded(state.owner, state.rest, branch, inside)
                yield Member(region, branch.goal, replace(state, rest=guarded))

    def _branches(self, rest: Formula, name: str) -> list[Branch]:
        return self._named(rest, lambda keys: self.has_name(keys, name))

    def _named(self, rest: Formula, has_key: Callable[[Formula], bool]) -> list[Branch]:
        found = member_branches(self.formulas, rest, has_key, self.possible)
        return [branch for branch in found if branch.rest is not FALSE and self.possible(branch.goal)]

    def _regions(self, rest: Formula, excluded: Iterable[str]) -> list[tuple[Formula, set[Formula]]]:
        """Sets of names that the formula does not tell apart, each with those of its own that hold it."""
        everything: Formula = TRUE
        if names := frozenset(excluded):
            everything = self.formulas.not_(self.formulas.atom(StringIn(names)))
        regions: list[tuple[Formula, set[Formula]]] = [(everything, set())]
        for keys in dict.fromkeys(_keys(atom) for atom in counts_of(rest)):
            regions = [
                (region, inside | new)
                for before, inside in regions
                for part, new in ((keys, {keys}), (self.formulas.not_(keys), set()))
                if self.any_name(region := self.formulas.and_([before, part]))
            ]
        return regions

    def _guarded(self, owner: Formula, before: Formula, branch: Branch, inside: set[Formula]) -> Formula:
        """What is left to satisfy, made proof against a name that comes twice."""
        rest = branch.rest
        for atom in counts_of(before):
            if _keys(atom) not in inside or atom.lo == 0 or (atom.lo == 1 and atom.goal is TRUE):
                continue
            if atom.lo > 1:
                remedy = (
                    f"{atom.lo} members must be told apart, and a text could repeat a name: list the names"
                )
                where = _where(owner, "minProperties")
                self.drop(UnsupportedFeatureError("minProperties", pointer=where, remedy=remedy))
                continue
            if self.formulas.and_([branch.goal, self.formulas.not_(atom.goal)]) is FALSE:
                rest = self.formulas.and_([rest, every(self.formulas, atom.keys, atom.goal)])
        return rest


def in_parts(ways: tuple[Member, ...], most: int) -> list[tuple[Member, ...]]:
    """The ways in parts of at most `most`, cut by the place of the names so that other states of the same
    object have the same parts."""
    parts: dict[tuple[bool, int], list[Member]] = {}
    for number, way in enumerate(ways):
        in_order = way.after.passed > 0 and not way.after.used
        place = way.after.passed if in_order and isinstance(way.name, str) else number
        parts.setdefault((in_order, place // most), []).append(way)
    return [tuple(part) for part in parts.values()]


def _where(owner: Formula, keyword: str) -> str:
    """The pointer of a keyword of the object, as far as it stands in one of the schemas that it is of."""
    nodes = [part.atom for part in literals(owner) if isinstance(part.atom, Node)]
    having = [node.pointer for node in nodes if keyword in node.schema]
    return f"{having[0]}/{keyword}" if having else nodes[0].pointer if nodes else ""


def _keys(atom: Count) -> Formula:
    assert not isinstance(atom.keys, Positions), "an object's members have names"
    return atom.keys
