"""Stop strings: the text ends before the first one, wherever tokens cut it.

A stop string may begin in one token and end in a later one, so it is looked for in the bytes of the
text, each time in its last stretch only. Tokens without bytes (EOS, special ids) are no text: their
printed form is never found.

Left out: holding back text that might still become a stop string, for who prints while it is made.
Cost: O(L + the longest stop string) a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import listed, utf8_bytes

__all__ = ["Found", "StopStrings"]


class Found(NamedTuple):
    """A stop string and the byte at which it begins."""

    stop: str
    position: int


class StopStrings:
    """One stop string or several. Raises `UsageError` for one that is empty or no text."""

    def __init__(self, stops: str | Sequence[str] = ()) -> None:
        texts = [stops] if isinstance(stops, str) else listed(stops, "stop")
        for text in texts:
            if not isinstance(text, str) or not text:
                raise UsageError(f"a stop string must be a text of at least one character, not {text!r:.60}")
        self._stops = {text: utf8_bytes(text, "a stop string") for text in texts}
        self._longest = max(map(len, self._stops.values()), default=0)

    def __bool__(self) -> bool:
        return bool(self._stops)

    def find(self, text: bytes, new: int | None = None) -> Found | None:
        """The stop string that begins first in `text`, if any; `new`: only in what its last so many bytes
        completed."""
        start = 0 if new is None else max(0, len(text) - new - self._longest + 1)
        found = [Found(stop, text.find(data, start)) for stop, data in self._stops.items()]
        # Where two begin at one place the longer is named; the text is cut alike.
        return min(
            (item for item in found if item.position >= 0),
            key=lambda item: (item.position, -len(item.stop)),
            default=None,
        )
