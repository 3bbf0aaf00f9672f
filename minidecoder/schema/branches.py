"""The ways in which one more member can count: what its value must be, and what is left to ask.

A value either satisfies each goal S of the counts that its key is in, or it does not: 2^n ways at most. Most
are contradictions (a value that fails `items` leaves FALSE), and goals that no longer matter are not split
on, so that nearly always one way is left. The goals of the ways exclude each other.

Left out: ways that only a search finds impossible; give `possible` to drop those early.
Cost: O(n · parts of the formula) a way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from minidecoder.errors import ConstraintTooLargeError
from minidecoder.schema.counts import Waiting, after_item, after_member
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, literals

__all__ = ["Branch", "item_branches", "member_branches"]

_MOST_BRANCHES: Final = 4096
_Known: TypeAlias = dict[Formula, bool]
_Advance: TypeAlias = Callable[[Callable[[Formula], bool | None]], Formula]


@dataclass(frozen=True, slots=True)
class Branch:
    """The value satisfies `goal`, then the rest of the array or object satisfies `rest`."""

    goal: Formula
    rest: Formula


def item_branches(
    formulas: Formulas, formula: Formula, possible: Callable[[Formula], bool] | None = None
) -> list[Branch]:
    """For the next item of an array. `possible`: whether any value satisfies a goal, as far as is known."""
    return _branches(formulas, lambda holds: after_item(formulas, formula, holds), possible)


def member_branches(
    formulas: Formulas,
    formula: Formula,
    has_key: Callable[[Formula], bool],
    possible: Callable[[Formula], bool] | None = None,
) -> list[Branch]:
    """For a member whose key is in the sets that `has_key` says. `ConstraintTooLargeError` past 4,096."""
    return _branches(formulas, lambda holds: after_member(formulas, formula, has_key, holds), possible)


def _branches(
    formulas: Formulas, advance: _Advance, possible: Callable[[Formula], bool] | None
) -> list[Branch]:
    ways: dict[Formula, list[Formula]] = {}  # rest → goals
    todo: list[tuple[Formula, _Known, Formula]] = [(TRUE, {}, advance(lambda goal: None))]
    while todo:
        if len(todo) + len(ways) > _MOST_BRANCHES:
            text = f"a member can count in more than {_MOST_BRANCHES:,} ways"
            raise ConstraintTooLargeError(text)
        goal, known, rest = todo.pop()
        asked = _asked(rest)
        if asked:
            todo += reversed(list(_split(formulas, advance, possible, goal, known, asked)))
        else:
            ways.setdefault(rest, []).append(goal)
    return [Branch(formulas.or_(goals), rest) for rest, goals in ways.items()]


def _asked(rest: Formula) -> list[Formula]:
    """The goals that still matter, in a fixed order."""
    waiting = [part.atom.count.goal for part in literals(rest) if isinstance(part.atom, Waiting)]
    return list(dict.fromkeys(waiting))


def _split(
    formulas: Formulas,
    advance: _Advance,
    possible: Callable[[Formula], bool] | None,
    goal: Formula,
    known: _Known,
    asked: list[Formula],
) -> Iterator[tuple[Formula, _Known, Formula]]:
    """The value satisfies the first goal asked, or it does not; what follows for the others is filled in."""
    ways = []
    for verdict in (True, False):
        narrowed = formulas.and_([goal, asked[0] if verdict else formulas.not_(asked[0])])
        if narrowed is FALSE or (possible is not None and not possible(narrowed)):
            continue
        filled = {**known, asked[0]: verdict, **dict(_implied(formulas, narrowed, asked[1:]))}
        rest = advance(filled.get)
        if rest is not FALSE:
            ways.append((narrowed, filled, rest))
    if (
        len(ways) == 2
        and ways[0][2] is ways[1][2]
        and _but(ways[0][1], asked[0]) == _but(ways[1][1], asked[0])
    ):
        ways = [(goal, ways[0][1], ways[0][2])]  # it makes no difference
    yield from ways


def _but(known: _Known, goal: Formula) -> _Known:
    return {other: verdict for other, verdict in known.items() if other is not goal}


def _implied(formulas: Formulas, goal: Formula, others: list[Formula]) -> Iterator[tuple[Formula, bool]]:
    for other in others:
        if formulas.and_([goal, other]) is FALSE:
            yield other, False
        elif formulas.and_([goal, formulas.not_(other)]) is FALSE:
            yield other, True
