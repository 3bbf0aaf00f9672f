"""What a grammar or a schema wants to read next, as a phrase for people.

    in array (line 6, column 49) only `]`, `,` or white space may follow

A machine with a table is read off its states (`place`); one that is written down as rules can say which
piece of the text stands next. Such a machine has the two methods of `SaysExpected`, whatever it is.

Left out: sentences about tokens (`explain`). Cost: O(pieces), each state once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol, runtime_checkable

from minidecoder.automaton import State
from minidecoder.lens.labels import show_text
from minidecoder.lens.verdict import Piece

__all__ = ["SaysExpected", "describe", "pieces_of"]

MOST_NAMED: Final = 5
_LONGEST: Final = 24  # characters of one piece
_WHITE_SPACE: Final = re.compile(r"\[(?: |\\t|\\n|\\r|\t)+\]|\"(?: |\\t|\\n|\\r)+\"")


@runtime_checkable
class SaysExpected(Protocol):
    """An automaton that knows the text it came from.

    Each item has a `rule` and a `text`, and says where it stands with `where`, or `line` and `column`.
    """

    def expected(self, state: State) -> Sequence[Any]:
        """What may be read next in `state`, as it is written."""

    def open_rules(self, state: State) -> tuple[str, ...]:
        """The rules that are open in `state`, from the root to the innermost."""


def pieces_of(machine: SaysExpected, state: State) -> tuple[Piece, ...]:
    """What `machine` expects in `state`."""
    return tuple(Piece(item.text, item.rule, _where(item)) for item in machine.expected(state))


def _where(item: Any) -> str:
    where = getattr(item, "where", None)
    return where if isinstance(where, str) else f"line {item.line}, column {item.column}"


def describe(pieces: Sequence[Piece], *, accepting: bool) -> tuple[str, str]:
    """Where one stands ("array (line 6, column 49)", "" where nothing is expected) and what may follow.

    The place is that of the first piece that is no mere white space, and it is named first; at most
    `MOST_NAMED` pieces are.
    """
    ordered = sorted(pieces, key=lambda piece: (_is_white(piece), piece.text.startswith("[")))
    shown = list(dict.fromkeys(_show(piece) for piece in ordered))
    if accepting:
        shown.append("the end")
    return _place(ordered[0]) if ordered else "", _listed(shown)


def _place(piece: Piece) -> str:
    """A rule that a schema engine has made for itself stands nowhere."""
    return f"{piece.rule} ({piece.where})" if piece.where else piece.rule


def _listed(items: Sequence[str]) -> str:
    if not items:
        return "nothing"
    if len(items) > MOST_NAMED:
        return f"{', '.join(items[:MOST_NAMED])} and {len(items) - MOST_NAMED} more"
    return " or ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _is_white(piece: Piece) -> bool:
    return _WHITE_SPACE.fullmatch(piece.text) is not None


def _show(piece: Piece) -> str:
    """A literal without its quotes, a class as it is written, white space by its name."""
    text = piece.text
    if _is_white(piece):
        return "white space"
    if len(text) > 2 and text[0] == text[-1] == '"':
        text = re.sub(r'\\(["\\])', r"\1", text[1:-1])
    text = show_text(text)
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
