"""The token index: from a state, which tokens may come next, and where each leads.

Three forms of one table. `naive_index` is its definition; `token_classes` holds it for all states
in two arrays, while they stay under 20 MB; `sweep` makes one row on demand where they would not.
`build_index` chooses between the last two, and `form` says which it chose.

Dead ends are trimmed in each: no mask leads to a state from which this vocabulary cannot finish.
Left out: EOS, which `decoding.constraint` adds in accepting states, and packed masks.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.sweep import SweepIndex
from minidecoder.tokens.token_classes import MAX_TABLE_BYTES, build_token_classes
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["TokenIndex", "build_index"]

_SHOWN_BYTES = 8


class TokenIndex(Protocol):
    """What a matcher needs of an index."""

    @property
    def form(self) -> str:
        """`"token classes"` or `"sweep"`."""

    @property
    def nbytes(self) -> int:
        """Bytes that the index keeps as long as it lives."""

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): the tokens that may be drawn in `state`, EOS left out."""

    def after(self, state: State, token_id: int) -> State:
        """The state after the token; DEAD where it may not be drawn."""

    def is_alive(self, state: State) -> bool:
        """Whether some sequence of tokens finishes the text from `state`."""


def build_index(
    dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None, *, max_bytes: int = MAX_TABLE_BYTES
) -> TokenIndex:
    """The index of a byte DFA. Raises `UnsatisfiableConstraintError` where nothing can be spelled,
    `ConstraintTooLargeError` where the time of `limits` is used up."""
    limits = limits or Limits()
    if dfa.start == DEAD:
        raise UnsatisfiableConstraintError("the constraint matches no text at all")
    classes = build_token_classes(dfa, vocabulary, limits, max_bytes=max_bytes)
    index = classes if classes is not None else SweepIndex(dfa, vocabulary, limits)
    if not index.is_alive(dfa.start):
        raise UnsatisfiableConstraintError(_why_unspellable(dfa, vocabulary))
    return index


def _why_unspellable(dfa: ByteDFA, vocabulary: Vocabulary) -> str:
    spelled = set(np.unique(vocabulary.trie.byte[1:]).tolist())
    wanted = sorted({byte for state in range(len(dfa.table)) for byte in dfa.live_bytes(State(state))})
    missing = [byte for byte in wanted if byte not in spelled]
    if not missing:
        return "the vocabulary cannot spell any match: its tokens never join to a whole one"
    names = [repr(chr(byte)) if 0x20 < byte < 0x7F else f"byte {byte:02X}" for byte in missing]
    more = f" and {len(names) - _SHOWN_BYTES} more" if len(names) > _SHOWN_BYTES else ""
    return f"the vocabulary cannot spell any match: no token holds {', '.join(names[:_SHOWN_BYTES])}{more}"
