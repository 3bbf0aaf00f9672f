"""Literals of one subject become one: sets are intersected or united, intervals too, x & ~x is found.

`x in {a, b}` and `x in {b, c}` are `x in {b}`; 2..5 and 4..9 of the same things are 4..5; under "or" the
same rules are turned around. What cannot be one literal stays several (two intervals with a gap).

Left out: compounds (`formula`). Cost: O(literals), and O(elements) for the sets.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from minidecoder.schema.atoms import Finite, Interval, NumberIn, StringIn, ValueIn

if TYPE_CHECKING:
    from minidecoder.schema.formula import Formula, Formulas, Literal

__all__ = ["is_interval", "merge_key", "merged"]

_FINITE: Final = (ValueIn, NumberIn, StringIn)
_Span: TypeAlias = tuple[int, int | None]
_Groups: TypeAlias = "dict[Hashable, list[Formula]]"


def is_interval(atom: Hashable) -> TypeGuard[Interval]:
    return hasattr(atom, "subject")


def merge_key(atom: Hashable) -> Hashable:
    """Atoms with the same key are merged."""
    if isinstance(atom, _FINITE):
        return type(atom).__name__
    return ("interval", atom.subject) if is_interval(atom) else atom


def merged(formulas: Formulas, conjunction: bool, parts: list[Literal]) -> _Groups | None:
    """The literals by key, as few of each as can be; None where "and" makes them false or "or" true."""
    groups: dict[Hashable, list[Any]] = {}
    for part in parts:
        groups.setdefault(merge_key(part.atom), []).append(part)
    for key, group in groups.items():
        if len(group) == 1:
            continue
        atom = group[0].atom
        if isinstance(atom, _FINITE):
            result = _sets(formulas, conjunction, type(atom), group)
        elif is_interval(atom):
            result = _intervals(formulas, conjunction, group)
        else:
            result = None if len({part.positive for part in group}) == 2 else group[:1]
        if result is None:
            return None
        groups[key] = result
    return {key: group for key, group in groups.items() if group}


def _sets(
    formulas: Formulas, conjunction: bool, kind: type[Finite], group: list[Literal]
) -> list[Formula] | None:
    # subtle: "or" is "and" with every sign turned, so one computation serves both.
    inside = [part.atom.values for part in group if part.positive is conjunction]  # type: ignore[attr-defined]
    outside = [part.atom.values for part in group if part.positive is not conjunction]  # type: ignore[attr-defined]
    left_out: frozenset[Any] = frozenset().union(*outside)
    if not inside:
        return [formulas.atom(kind(left_out), not conjunction)]
    left = frozenset.intersection(*inside) - left_out
    return [formulas.atom(kind(left), conjunction)] if left else None


def _intervals(formulas: Formulas, conjunction: bool, group: list[Literal]) -> list[Formula] | None:
    atoms: list[Any] = [part.atom for part in group]
    spans = [(atom.lo, atom.hi) for atom in atoms]
    result = _common(spans) if conjunction else _united(spans)
    if result is None or result == [(0, None)]:
        return None if conjunction is (result is None) else []
    return [formulas.atom(atoms[0].within(lo, hi)) for lo, hi in result]


def _common(spans: list[_Span]) -> list[_Span] | None:
    lo = max(lo for lo, _ in spans)
    hi = min((hi for _, hi in spans if hi is not None), default=None)
    return None if hi is not None and hi < lo else [(lo, hi)]


def _united(spans: list[_Span]) -> list[_Span]:
    """The spans that cover the same numbers, with a gap between each two."""
    result: list[_Span] = []
    for lo, hi in sorted(spans, key=lambda span: span[0]):
        last = result[-1] if result else None
        if last is None or (last[1] is not None and last[1] + 1 < lo):
            result.append((lo, hi))
        else:
            end = None if last[1] is None or hi is None else max(last[1], hi)
            result[-1] = (last[0], end)
    return result
