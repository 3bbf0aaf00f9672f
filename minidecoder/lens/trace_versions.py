"""Traces of older versions, brought to the present one before they are read.

    1   the first
    2   verdicts by name, the stack of a grammar, what was left out; moves as pairs, candidates by column

Left out: whether the data are a trace at all; what does not look like one is passed on for `codec` to refuse.
Cost: O(size).
"""

from __future__ import annotations

from typing import Any, Final

from minidecoder.errors import UsageError

__all__ = ["SCHEMA_VERSION", "upgrade"]

SCHEMA_VERSION: Final = 2


def upgrade(data: Any) -> Any:
    """`data` as version 2 would have written it. `UsageError` for a version that is not known here."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise UsageError(f"schema_version is {version!r:.40}, this program reads 1 to {SCHEMA_VERSION}")
    return _from_1(data) if version == 1 else data


def _from_1(data: dict[str, Any]) -> dict[str, Any]:
    data = {"left_out": 0, **data, "schema_version": SCHEMA_VERSION}
    if isinstance(data.get("machine"), dict):
        data["machine"] = {"left_out": 0, **data["machine"]}
    data["steps"] = _each(data.get("steps"), _step_from_1)
    return data


def _step_from_1(step: dict[str, Any]) -> dict[str, Any]:
    candidates = _each(step.get("candidates"), lambda c: {**_pairs(c), "verdict": None})
    return {"stack": [], **_pairs(step), "candidates": _columns(candidates)}


def _columns(items: Any) -> Any:
    """One list a field, where all have the same fields."""
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return items
    if any(item.keys() != items[0].keys() for item in items):
        return items
    return {name: [item[name] for item in items] for name in items[0]}


def _pairs(part: dict[str, Any]) -> dict[str, Any]:
    """The moves of its path as [byte, state]; what is no move stays as it is."""
    return {**part, "path": _each(part.get("path"), _pair)}


def _pair(move: dict[str, Any]) -> Any:
    return [move["byte"], move["state"]] if move.keys() == {"byte", "state"} else move


def _each(items: Any, change: Any) -> Any:
    """Changed one by one, where it is a list; what is no object stays as it is."""
    if not isinstance(items, list):
        return items
    return [change(item) if isinstance(item, dict) else item for item in items]
