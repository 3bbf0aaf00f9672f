"""How many tokens it takes to finish, from every state of a machine with a table.

A breadth-first search backwards: an accepting state needs one token, EOS; a state with a token into one
that needs n needs n + 1. The moves come from the token classes where an index has them, else from one
sweep over the trie that carries many states at once.

Left out: machines without a table (`witness`). Cost: O(C Q), or the live (state, node) pairs of all
sweeps; where those pass `MOST_PAIRS`, paths of one-byte tokens alone are counted: a proved upper bound.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD
from minidecoder.regex.utf8 import ByteDFA
from minidecoder.tokens.token_classes import TokenClasses
from minidecoder.tokens.trie import Trie, spans
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["MOST_PAIRS", "NEVER", "by_classes", "by_single_bytes", "by_sweeps"]

NEVER: Final = 2**31 - 1
"""More tokens than any run has: from here no sequence of tokens reaches the end."""

MOST_PAIRS: Final = 50_000_000  # about 2 s

_Moves: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # sources, targets
_CHUNK: Final = 256  # states swept at once


def by_classes(
    dfa: ByteDFA, vocabulary: Vocabulary, banned: Set[int], index: TokenClasses
) -> NDArray[np.int64]:
    """int64 (Q+1,): the tokens from each state to the end, EOS counted, `NEVER` where there is none."""
    usable = np.unique(index.class_of_token[_usable(vocabulary, banned)])
    targets = index.next_state[usable]  # (C, Q+1)
    sources = np.broadcast_to(np.arange(targets.shape[1]), targets.shape)
    live = targets != DEAD
    return _search(dfa, vocabulary, banned, (sources[live], targets[live].astype(np.intp)))


def by_sweeps(dfa: ByteDFA, vocabulary: Vocabulary, banned: Set[int]) -> NDArray[np.int64] | None:
    """The same without an index; None where it would take more than `MOST_PAIRS` steps."""
    ends = np.zeros(len(vocabulary.trie), dtype=np.bool_)
    ends[vocabulary.trie.node_of_token[_usable(vocabulary, banned)]] = True
    sources: list[NDArray[np.intp]] = []
    targets: list[NDArray[np.intp]] = []
    pairs = 0
    for first in range(1, len(dfa.table), _CHUNK):
        states = np.arange(first, min(first + _CHUNK, len(dfa.table)))
        moves, count = _moves_of(dfa, vocabulary.trie, ends, states)
        sources.append(moves[0])
        targets.append(moves[1])
        pairs += count
        if pairs > MOST_PAIRS:
            return None
    return _search(dfa, vocabulary, banned, (np.concatenate(sources), np.concatenate(targets)))


def by_single_bytes(dfa: ByteDFA, vocabulary: Vocabulary, banned: Set[int]) -> NDArray[np.int64]:
    """At most so many: the way that one-byte tokens alone would take. Cost: O(Q K)."""
    usable = _usable(vocabulary, banned)
    nodes = vocabulary.trie.node_of_token[usable]
    bytes_ = vocabulary.trie.byte[nodes[nodes < vocabulary.trie.level[2]]]
    targets = dfa.table[:, np.unique(dfa.byte_class[bytes_])].astype(np.intp)  # (Q+1, K)
    sources = np.broadcast_to(np.arange(len(targets))[:, None], targets.shape)
    live = targets != DEAD
    return _search(dfa, vocabulary, banned, (sources[live], targets[live]))


def _usable(vocabulary: Vocabulary, banned: Set[int]) -> NDArray[np.intp]:
    """The ids of tokens that may be drawn and stand for text."""
    ids = [i for i, data in enumerate(vocabulary.token_bytes) if data and i not in banned]
    return np.array(ids, dtype=np.intp)


def _moves_of(
    dfa: ByteDFA, trie: Trie, ends: NDArray[np.bool_], states: NDArray[np.intp]
) -> tuple[_Moves, int]:
    """Which states one token leads to from `states`, and how many pairs that took."""
    # origins, nodes, states: side by side, one entry for each live branch of each sweep
    origins, nodes, pairs, found = states, np.zeros(len(states), dtype=np.intp), 0, []
    while len(nodes) and pairs <= MOST_PAIRS:
        first, last = trie.first_child[nodes], trie.first_child[nodes + 1]
        nodes, origins = spans(first, last), np.repeat(origins, last - first)
        states = dfa.table[np.repeat(states, last - first), dfa.byte_class[trie.byte[nodes]]].astype(np.intp)
        pairs += len(nodes)
        live = states != DEAD
        nodes, origins, states = nodes[live], origins[live], states[live]
        whole = ends[nodes]
        found.append(np.unique(origins[whole] * len(dfa.table) + states[whole]))
    sources, targets = np.divmod(np.unique(np.concatenate(found)), len(dfa.table))
    return (sources, targets), pairs


def _search(dfa: ByteDFA, vocabulary: Vocabulary, banned: Set[int], moves: _Moves) -> NDArray[np.int64]:
    """Breadth-first and backwards, from the states where EOS may be drawn."""
    needed = np.full(len(dfa.table), NEVER, dtype=np.int64)
    if set(vocabulary.eos_ids) <= banned:
        return needed
    order = np.argsort(moves[1], kind="stable")
    sources = moves[0][order]
    first = np.searchsorted(moves[1][order], np.arange(len(needed) + 1))  # the moves into state q
    frontier, distance = np.flatnonzero(dfa.accepting), 1
    while len(frontier):
        needed[frontier] = distance
        before = sources[spans(first[frontier], first[frontier + 1])]
        frontier = np.unique(before[needed[before] == NEVER])
        distance += 1
    return needed
