"""Why a vocabulary cannot spell a constraint: the characters that none of its tokens can write.

From the start, the machine is walked over all bytes that some token holds. What it cannot pass are
the characters of which a byte is in no token: those are named. If there are none, each byte is there
but the tokens never join to a whole match, and the message says so.

Left out: which tokens would help. Cost: O(Q K) once, on the way to an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["why_unspellable"]

_NAMED: Final = 8


def why_unspellable(dfa: ByteDFA, vocabulary: Vocabulary) -> str:
    """The message of the `UnsatisfiableConstraintError`."""
    spelled = set(np.unique(vocabulary.trie.byte[1:]).tolist())
    missing = list(islice(_missing_characters(dfa, spelled), _NAMED + 1))
    if not missing:
        return "the vocabulary cannot spell any match: its tokens never join to a whole one"
    names = ", ".join(map(repr, missing[:_NAMED])) + (" and more" if len(missing) > _NAMED else "")
    return f"the vocabulary cannot spell any match: no token can write {names}"


def _missing_characters(dfa: ByteDFA, spelled: set[int]) -> Iterator[str]:
    """The characters that may follow a spelled text and hold a byte of no token, each once."""
    seen = set()
    for state in _reached(dfa, spelled):
        if state <= dfa.characters:
            for data in _character_bytes(dfa, state):
                if data not in seen and not spelled.issuperset(data):
                    seen.add(data)
                    yield data.decode()


def _reached(dfa: ByteDFA, spelled: set[int]) -> list[State]:
    """The states that texts of `spelled` bytes reach, breadth-first."""
    order = {dfa.start: None}
    pending = [dfa.start]
    for state in pending:  # grows while it is read
        for byte in spelled.intersection(dfa.live_bytes(state)):
            target = dfa.step(state, byte)
            if target not in order:
                order[target] = None
                pending.append(target)
    return list(order)


def _character_bytes(dfa: ByteDFA, state: State, before: bytes = b"") -> Iterator[bytes]:
    """The characters that can follow, each as its UTF-8 bytes; at most four levels deep."""
    for byte in dfa.live_bytes(state):
        target = dfa.step(state, byte)
        assert target != DEAD
        if target <= dfa.characters:
            yield before + bytes([byte])
        else:
            yield from _character_bytes(dfa, target, before + bytes([byte]))
