"""Leaf machines, kept by the structure of their formula: one for all schemas that ask the same.

Formulas are compared by identity, within one schema. `{"type": "integer", "minimum": 0}` stands in many;
hence a key of plain values, in which the order of the parts is gone.

Left out: equivalence beyond structure. Cost: a key is linear in the formula; sets remember their hash.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from minidecoder.schema.formula import Formula, Literal, Truth, fold

__all__ = ["LeafCache", "leaf_key"]

_Made = TypeVar("_Made")


class LeafCache(Generic[_Made]):
    """The last `size` machines that were used. Shared between threads."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._made: OrderedDict[Hashable, _Made] = OrderedDict()
        self._lock = Lock()

    def clear(self) -> None:
        """Forget every machine, as a benchmark must before each measurement."""
        with self._lock:
            self._made.clear()

    def get(self, formula: Formula, make: Callable[[], _Made], *details: Hashable) -> _Made:
        """The machine of the formula (and of what else makes it what it is); made where there is none."""
        key = (leaf_key(formula), *details)
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()  # not under the lock: it may take seconds
        with self._lock:
            self._made[key] = made
            while len(self._made) > self._size:
                self._made.popitem(last=False)
        return made


def leaf_key(formula: Formula) -> Hashable:
    """Nested ("and" | "or", parts) over (atom, positive) and booleans."""
    return fold(formula, _leaf, _both, _either)


def _leaf(leaf: Truth | Literal) -> Hashable:
    return leaf.value if isinstance(leaf, Truth) else (leaf.atom, leaf.positive)


def _both(parts: list[Hashable]) -> Hashable:
    return "and", frozenset(parts)


def _either(parts: list[Hashable]) -> Hashable:
    return "or", frozenset(parts)
