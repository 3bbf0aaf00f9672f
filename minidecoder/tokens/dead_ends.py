"""Dead ends: states from which the language could go on, but this vocabulary cannot.

SmolLM2 has no token for the byte F1, so after a constraint `a|b[\\U00040000-\\U0007FFFF]` the text
`b` could never be finished, and `b` must not be allowed. A state is alive if some sequence of
tokens leads from it to an accepting state; single-byte tokens settle that for almost every state.

Left out: longer tokens, which the two index forms add from their own rows.
Cost: O(Q K); nothing where every byte of the machine is a token.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.trie import spans
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["alive_by_single_bytes", "grow_backwards"]


def alive_by_single_bytes(dfa: ByteDFA, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """bool (Q+1,): the states that one-byte tokens alone carry to an accepting state."""
    has_token = np.zeros(256, dtype=np.bool_)
    trie = vocabulary.trie
    first_level = (trie.node_of_token >= 1) & (trie.node_of_token < trie.level[2])
    has_token[trie.byte[trie.node_of_token[first_level]]] = True
    usable = np.zeros(dfa.table.shape[1], dtype=np.bool_)  # classes with a byte that is a token
    np.logical_or.at(usable, dfa.byte_class, has_token)
    if usable[dfa.table.any(axis=0)].all():
        # Every state of a minimal machine reaches an accepting one, and here each step is a token.
        alive = np.ones(len(dfa.table), dtype=np.bool_)
        alive[DEAD] = False
        return alive
    return grow_backwards(dfa.accepting, dfa.table[:, usable])


def grow_backwards(alive: NDArray[np.bool_], moves: NDArray[np.int32]) -> NDArray[np.bool_]:
    """`alive` and every state with a move into it, again and again. `moves`: int32 (Q+1, any).

    The result is a new array. Cost: one sort of the moves of states not yet alive, then O(moves).
    """
    alive = alive.copy()
    waiting = np.flatnonzero(~alive)
    waiting = waiting[waiting != DEAD]
    targets = moves[waiting].ravel()
    sources = np.repeat(waiting, moves.shape[1])[np.argsort(targets, kind="stable")]
    first = np.searchsorted(np.sort(targets), np.arange(len(alive) + 1))  # the moves into state q
    frontier = np.flatnonzero(alive)
    while len(frontier) and len(sources):
        before = sources[spans(first[frontier], first[frontier + 1])]
        frontier = np.unique(before[~alive[before]])
        alive[frontier] = True
    return alive
