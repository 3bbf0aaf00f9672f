"""One state at a time: sweep the trie with the live nodes only.

From state q the sweep carries (node, state) pairs down the trie, level by level, and drops each
branch where its byte dies. Nothing is built ahead, so a machine of any size gives its first mask
at once; in the middle of a long literal a sweep touches a handful of nodes.

Left out: sharing work between states, which `token_classes` does where its tables stay small.
Cost: O(live nodes and their children) array work per state; kept for the states seen last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State, walk
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.dead_ends import alive_by_single_bytes
from minidecoder.tokens.trie import Trie
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["SweepIndex"]

_CACHE_BYTES: Final = 32_000_000


class SweepIndex:
    """The index of a byte DFA, one row when it is asked for."""

    form = "sweep"

    def __init__(self, dfa: ByteDFA, vocabulary: Vocabulary) -> None:
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._rows: ByteLimitedCache[State, NDArray[np.int32]] = ByteLimitedCache(
            _CACHE_BYTES, lambda row: row.nbytes
        )
        self.alive = _alive_states(dfa, vocabulary, self._row)

    def allowed(self, state: State) -> NDArray[np.bool_]:
        """bool (V,): the tokens after which the text can still be finished. EOS is not judged here."""
        allowed: NDArray[np.bool_] = self.alive[self._row(state)]
        return allowed

    def after(self, state: State, token_id: int) -> State:
        """The state after one token; DEAD where it is not allowed."""
        data = self._vocabulary.token_bytes[token_id]
        target = walk(self._dfa, state, data)[-1] if data else DEAD
        return target if self.alive[target] else DEAD

    def is_alive(self, state: State) -> bool:
        return bool(self.alive[state])

    def _row(self, state: State) -> NDArray[np.int32]:
        """int32 (V,): the state after each token, dead ends not yet trimmed."""
        return self._rows.get(state, lambda: _sweep(self._dfa, self._vocabulary.trie, state))


def _sweep(dfa: ByteDFA, trie: Trie, state: State) -> NDArray[np.int32]:
    after_node = np.zeros(len(trie), dtype=np.int32)
    nodes, states = np.zeros(1, dtype=np.intp), np.array([state], dtype=np.int32)
    while len(nodes):
        first = trie.first_child[nodes]
        count = trie.first_child[nodes + 1] - first
        # The children of all live nodes: a run of `count` numbers from each `first`.
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        nodes = np.repeat(first, count) + offset
        states = dfa.table[np.repeat(states, count), dfa.byte_class[trie.byte[nodes]]]
        live = states != DEAD
        nodes, states = nodes[live], states[live]
        after_node[nodes] = states
    return after_node[trie.node_of_token]  # ids without bytes sit at the root, whose entry is DEAD


def _alive_states(
    dfa: ByteDFA, vocabulary: Vocabulary, row_of: Callable[[State], NDArray[np.int32]]
) -> NDArray[np.bool_]:
    """bool (Q+1,): the states from which tokens of this vocabulary reach an accepting state."""
    # Single bytes settle nearly every state. Only the others need their whole row of tokens.
    alive = alive_by_single_bytes(dfa, vocabulary)
    while True:
        saved = [q for q in np.flatnonzero(~alive).tolist() if q != DEAD and alive[row_of(State(q))].any()]
        if not saved:
            return alive
        alive[saved] = True
