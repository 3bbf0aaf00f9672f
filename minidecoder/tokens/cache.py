"""A cache that forgets the least recently used entries once their bytes pass a limit.

Used for masks (16 KB a state) and for compiled constraints. A cache without a limit is a leak
(vllm#16283); one with a count instead of bytes still is, as entries differ a thousandfold.

Left out: time limits and disk. Cost: O(1) a look-up, under a lock, so threads may share it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["ByteLimitedCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ByteLimitedCache(Generic[Key, Value]):
    """`size_of` gives the bytes of a value; an entry larger than the whole limit is not kept."""

    def __init__(self, limit_bytes: int, size_of: Callable[[Value], int]) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._size_of = size_of
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value under `key`; made, and kept, where there is none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]
        # Made outside of the lock: two threads may make the same value, neither waits for the other.
        value = make()
        with self._lock:
            return self._keep(key, value)

    def _keep(self, key: Key, value: Value) -> Value:
        size = self._size_of(value)
        if key in self._entries or size > self.limit_bytes:
            return self._entries.get(key, (value, size))[0]
        self._entries[key] = (value, size)
        self.used_bytes += size
        while self.used_bytes > self.limit_bytes:
            self.used_bytes -= self._entries.popitem(last=False)[1][1]
        return value

    def clear(self) -> None:
        """Forget every entry."""
        with self._lock:
            self._entries.clear()
            self.used_bytes = 0
