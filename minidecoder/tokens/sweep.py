"""One state at a time: sweep the trie with the live nodes only.

From state q the sweep carries (node, state) pairs down the trie, level by level, and drops each
branch where its byte dies. Nothing is built ahead, so a machine of any size gives its first mask
at once; in the middle of a long literal a sweep touches a handful of nodes.

Left out: sharing work between states, which `token_classes` does where its tables stay small.
Cost: O(live nodes and their children) array work per state; kept for the states seen last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State, walk
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.dead_ends import alive_by_single_bytes, expand
from minidecoder.tokens.trie import Trie
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["SweepIndex"]

_Row: TypeAlias = NDArray[np.int32]

# One cache for all sweeps, so that a hundred constraints do not hold a hundred times its bytes.
_rows: Final[ByteLimitedCache[tuple[int, State], _Row]] = ByteLimitedCache(32_000_000, lambda row: row.nbytes)
_serial: Final = count()


class SweepIndex:
    """The index of a byte DFA, one row when it is asked for."""

    form = "sweep"

    def __init__(self, dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits | None = None) -> None:
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._number = next(_serial)
        self.alive = _alive_states(dfa, vocabulary, limits or Limits())
        self.alive.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """Bytes of the tables; rows lie in a cache of their own."""
        return self.alive.nbytes

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

    def _row(self, state: State) -> _Row:
        """int32 (V,): the state after each token, dead ends not yet trimmed."""
        return _rows.get((self._number, state), lambda: _sweep(self._dfa, self._vocabulary.trie, state))


def _sweep(dfa: ByteDFA, trie: Trie, state: State) -> _Row:
    after_node = np.zeros(len(trie), dtype=np.int32)
    for nodes, states in _live_nodes(dfa, trie, state):
        after_node[nodes] = states
    return after_node[trie.node_of_token]  # ids without bytes sit at the root, whose entry is DEAD


def _live_nodes(dfa: ByteDFA, trie: Trie, state: State) -> Iterator[tuple[NDArray[np.intp], _Row]]:
    """Level by level, the nodes that `state` reaches alive and the states they reach."""
    nodes, states = np.zeros(1, dtype=np.intp), np.array([state], dtype=np.int32)
    while len(nodes):
        first, last = trie.first_child[nodes], trie.first_child[nodes + 1]
        nodes = expand(first, last)
        states = dfa.table[np.repeat(states, last - first), dfa.byte_class[trie.byte[nodes]]]
        live = states != DEAD
        nodes, states = nodes[live], states[live]
        yield nodes, states


def _alive_states(dfa: ByteDFA, vocabulary: Vocabulary, limits: Limits) -> NDArray[np.bool_]:
    """bool (Q+1,): the states from which tokens of this vocabulary reach an accepting state."""
    # Single bytes settle nearly every state. Only the others are swept, each once.
    alive = alive_by_single_bytes(dfa, vocabulary)
    came_from: dict[int, list[int]] = defaultdict(list)
    saved = []
    for state in np.flatnonzero(~alive).tolist():
        limits.check_time()
        targets = _token_targets(dfa, vocabulary.trie, state)
        if any(alive[target] for target in targets):
            saved.append(state)
        for target in targets:
            came_from[target].append(state)
    while saved:
        state = saved.pop()
        if not alive[state]:
            alive[state] = True
            saved += came_from[state]
    return alive


def _token_targets(dfa: ByteDFA, trie: Trie, state: int) -> set[int]:
    """The states in which a token from `state` ends; none from DEAD."""
    targets: set[int] = set()
    if state != DEAD:
        for nodes, states in _live_nodes(dfa, trie, State(state)):
            targets.update(states[trie.ends_token[nodes]].tolist())
    return targets
