"""How a schema speaks of the places in a text: JSON pointers, and what may be read next.

A place in an object or array belongs to the subschema that asks for it, so it is called by that subschema's
pointer. What may come next is read off the small machine of the place: a name or a punctuation mark is
spelled out as far as there is no choice, and of a choice of characters the ranges are shown.

Left out: which keyword blocks a token (`blame`). Cost: O(bytes shown).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from minidecoder.grammar.rule_machines import Local, RuleMachines
from minidecoder.schema.formula import Formula, Literal, literals
from minidecoder.schema.resolve import Node

__all__ = ["ExpectedPart", "pointer_of", "show_bytes", "what_follows"]

_LONGEST: Final = 40  # bytes of a name that are spelled out


@dataclass(frozen=True)
class ExpectedPart:
    """Something that may be read next: `text` as it would be written, or the characters it may be; `where`:
    the JSON pointer of the subschema that allows it; `rule`: what kind of place it is."""

    rule: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.rule}{f', {self.where}' if self.where else ''})"


def pointer_of(goal: Formula) -> str:
    """The pointers of the subschemas in a goal, `""` for the root alone and for goals without any."""
    nodes = [
        part.atom for part in literals(goal) if isinstance(part, Literal) and isinstance(part.atom, Node)
    ]
    return " & ".join(dict.fromkeys(node.pointer for node in nodes))


def what_follows(machines: RuleMachines, local: Local) -> Iterator[str]:
    """What a local can read: texts between quotes, as a grammar writes them, and sets of characters."""
    groups: dict[Local, list[int]] = {}
    for byte in range(256):
        if target := Local(machines.row[local][machines.column[local][byte]]):
            # The first bytes of longer characters lead to many places: they are one thing to a reader.
            groups.setdefault(target if byte < 0x80 else Local(0), []).append(byte)
    for target, bytes_ in groups.items():
        if target and len(bytes_) == 1:
            text = show_bytes(bytes(_spelled_out(machines, target, bytearray(bytes_))))
            yield '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        else:
            yield _ranges(bytes_)


def _spelled_out(machines: RuleMachines, local: Local, text: bytearray) -> bytearray:
    while len(text) < _LONGEST and not machines.calls[local] and not machines.accepting[local]:
        following = [b for b in range(256) if machines.row[local][machines.column[local][b]]]
        if len(following) != 1:
            break
        text.append(following[0])
        local = Local(machines.row[local][machines.column[local][following[0]]])
    return text


def show_bytes(data: bytes) -> str:
    """Text as it is; control characters and half characters as escapes."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _ranges(bytes_: Iterable[int]) -> str:
    """`[0–9 a–f]`; the bytes of longer characters as "other characters"."""
    if set(bytes_) <= set(b" \t\n\r"):
        return "[ \\t\\n\\r]"  # as a grammar writes it
    runs: list[tuple[int, int]] = []
    for byte in (byte for byte in bytes_ if byte < 0x80):
        if runs and runs[-1][1] + 1 == byte:
            runs[-1] = runs[-1][0], byte
        else:
            runs.append((byte, byte))
    shown = [_run(*run) for run in runs]
    if any(byte >= 0x80 for byte in bytes_):
        shown.append("other characters")
    return f"[{' '.join(shown)}]"


def _run(low: int, high: int) -> str:
    names = [show_bytes(bytes([byte])).replace(" ", "␣") for byte in (low, high)]
    return names[0] if low == high else f"{names[0]}–{names[1]}"
