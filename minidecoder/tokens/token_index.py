"""The token index: from a state, which tokens may come next, and where each leads.

Three forms of one table. `naive_index` is its definition; `sweep` makes one row on demand;
`token_classes` holds all states in two arrays. `build_index` gives an index that starts as a sweep,
so that the first mask needs nothing built ahead, and becomes token classes once its sweeps have cost
about as much as building them, where those stay under 20 MB. `form` says which it is at the moment.

Dead ends are trimmed in each: no mask leads to a state from which this vocabulary cannot finish.
Left out: EOS, which `decoding.constraint` adds in accepting states, and packed masks.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.bitmask import Bitmask, pack
from minidecoder.tokens.sweep import SweepIndex
from minidecoder.tokens.token_classes import MAX_TABLE_BYTES, TokenClasses, build_token_classes
from minidecoder.tokens.unspellable import why_unspellable
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["AdaptiveIndex", "TokenIndex", "build_index"]

_TRIES_BEFORE_CLASSES: Final = 4  # building the classes costs as much as about four whole sweeps


class TokenIndex(Protocol):
    """What a matcher needs of an index."""

    @property
    def form(self) -> str:
        """`"sweep"`, `"token classes"`, or the name of a lazy machine's own."""

    @property
    def nbytes(self) -> int:
        """Bytes that the index keeps as long as it lives."""

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,), a fresh array: the tokens that may be drawn in `state`, EOS left out."""

    def bitmask(self, state: State) -> Bitmask:
        """int32 (ceil(V/32),), a fresh row: the same, packed."""

    def after(self, state: State, token_id: int) -> State:
        """The state after the token; DEAD where it may not be drawn.

        `token_id`: 0..V-1, which the caller has checked, as `Matcher.accept_token` does: this is called for
        each token, and an array takes -1 for its last entry.
        """

    def is_alive(self, state: State) -> bool:
        """Whether some sequence of tokens finishes the text from `state`."""


class AdaptiveIndex:
    """A sweep that turns into token classes where that pays. Both give the same answers."""

    def __init__(
        self, dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None, *, max_bytes: int
    ) -> None:
        self.sweep = SweepIndex(dfa, vocabulary, limits)
        self._classes: TokenClasses | None = None
        self._build = (dfa, vocabulary, max_bytes)
        self._tried = False
        self._lock = Lock()

    @property
    def form(self) -> str:
        return self.sweep.form if self._classes is None else self._classes.form

    @property
    def nbytes(self) -> int:
        """The most that the index may come to hold: it grows after a cache has weighed it."""
        dfa, vocabulary, max_bytes = self._build
        classes = min(max_bytes, dfa.table.nbytes * _TRIES_BEFORE_CLASSES) + 4 * len(vocabulary)
        return self.sweep.nbytes + (classes if self._classes is None else self._classes.nbytes)

    def classes(self) -> TokenClasses | None:
        """The dense form, built now where it has not been; None where it would be too large."""
        with self._lock:  # a second thread would build the same
            if not self._tried:
                dfa, vocabulary, max_bytes = self._build
                self._classes = build_token_classes(dfa, vocabulary, max_bytes=max_bytes)
                self._tried = True
        return self._classes

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): the tokens after which the text can still be finished. EOS is not judged here."""
        trie = self._build[1].trie
        if not self._tried and self.sweep.nodes_touched > _TRIES_BEFORE_CLASSES * len(trie):
            self.classes()
        return (self._classes or self.sweep).allowed(state)

    def bitmask(self, state: State) -> Bitmask:
        """int32 (ceil(V/32),), a fresh row: the same, packed."""
        return pack(self.allowed(state))

    def after(self, state: State, token_id: int) -> State:
        """The state after one token, an id of 0..V-1; DEAD where it is not allowed."""
        return (self._classes or self.sweep).after(state, token_id)

    def is_alive(self, state: State) -> bool:
        return self.sweep.is_alive(state)


def build_index(
    dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None, *, max_bytes: int = MAX_TABLE_BYTES
) -> AdaptiveIndex:
    """The index of a byte DFA. `max_bytes`: of the dense form. Raises `UnsatisfiableConstraintError` where
    nothing can be spelled, `ConstraintTooLargeError` where the time of `limits` is used up."""
    if dfa.start == DEAD:
        raise UnsatisfiableConstraintError("the constraint matches no text at all")
    index = AdaptiveIndex(dfa, vocabulary, limits or Limits(), max_bytes=max_bytes)
    if not index.is_alive(dfa.start):
        raise UnsatisfiableConstraintError(why_unspellable(dfa, vocabulary))
    return index
