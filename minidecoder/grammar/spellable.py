"""A grammar as far as a vocabulary can write it: edges on bytes that no token holds are taken out.

SmolLM2 has no token with the byte F1, so a string could begin a character there and never end it. Without
such edges some locals can no longer reach the end of their rule, and what leads only to those goes too, until
every local left can finish (the productive symbols of a grammar, from the bottom up).

Left out: bytes that only occur inside longer tokens, which count as writable. Where a vocabulary lacks the
single byte and the longer tokens do not join, a mask may still lead to a place where nothing is allowed.
Cost: O(locals) per round, a few rounds; nothing where all 256 bytes are in some token.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.grammar.rule_machines import Local, RuleMachines
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["keep_spellable"]


def keep_spellable(machines: RuleMachines, start: Local, vocabulary: Vocabulary) -> None:
    """Take out of `machines`, all of them open, what the vocabulary cannot write. Raises
    `UnsatisfiableConstraintError` where nothing is left."""
    written = set(np.unique(vocabulary.trie.byte[1:]).tolist())
    lost = _bytes_read(machines) - written
    if not lost:
        return
    alive = _productive(machines, lost)
    if not alive[start]:
        names = ", ".join(_show(byte) for byte in sorted(lost)[:8]) + (" and more" if len(lost) > 8 else "")
        raise UnsatisfiableConstraintError(f"the vocabulary cannot spell any text: no token holds {names}")
    _cut(machines, lost, alive)


def _show(byte: int) -> str:
    return repr(chr(byte)) if byte < 0x80 else f"the byte {byte:02X}"


def _bytes_read(machines: RuleMachines) -> set[int]:
    return {
        byte
        for row, column in zip(machines.row, machines.column, strict=True)
        for byte in range(256)
        if row[column[byte]]
    }


def _productive(machines: RuleMachines, lost: set[int]) -> list[bool]:
    """For each local whether the end of its rule can be reached from it."""
    alive, grown = list(machines.accepting), True
    moves = [
        {row[column[byte]] for byte in range(256) if byte not in lost} - {0}
        for row, column in zip(machines.row, machines.column, strict=True)
    ]
    while grown:
        grown = False
        for number in range(1, len(alive)):
            if not alive[number] and _can_finish(machines, Local(number), moves[number], alive):
                alive[number] = grown = True
    return alive


def _can_finish(machines: RuleMachines, local: Local, moves: set[int], alive: list[bool]) -> bool:
    loop = machines.loops.get(local)
    if loop is not None:
        return loop.least == 0 or alive[loop.body]
    return any(alive[target] for target in moves) or any(
        alive[a] and alive[b] for a, b in machines.calls[local]
    )


def _cut(machines: RuleMachines, lost: set[int], alive: list[bool]) -> None:
    for local in range(1, len(alive)):
        row = machines.row[local]
        machines.row[local] = [*(target if alive[target] else 0 for target in row), 0]
        # The new last column leads nowhere: it takes the bytes that cannot be written.
        column = machines.column[local]
        machines.column[local] = [len(row) if byte in lost else k for byte, k in enumerate(column)]
        machines.reads[local] = any(machines.row[local][k] for k in machines.column[local])
        machines.is_plain[local] = machines.is_plain[local] and machines.reads[local]
        machines.calls[local] = tuple(
            call for call in machines.calls[local] if alive[call[0]] and alive[call[1]]
        )
    for local, loop in machines.loops.items():
        if not alive[loop.body]:
            machines.loops[local] = replace(loop, most=0)
