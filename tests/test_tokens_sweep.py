"""Walks of the trie from many nodes at once, against walks from one node after the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.tokens.sweep import Level, ManyStarts, Starts, States
from minidecoder.tokens.trie import Trie, build_trie

words = st.lists(st.binary(min_size=0, max_size=5).map(lambda b: bytes(byte % 4 for byte in b)), max_size=40)
TABLES = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=3, max_size=3)


def met(levels: list[Level]) -> Counter[tuple[int, int]]:
    """Each (node, state), with how often it was met."""
    return Counter(
        (int(node), int(state))
        for nodes, states in levels
        for node, state in zip(np.arange(10**6)[nodes], states, strict=True)
    )


def walked(trie: Trie, table: NDArray[np.intp], starts: list[int], state: int) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    pending = [(node, state) for node in starts]
    for node, before in pending:  # grows while it is read
        for child in range(trie.first_child[node], trie.first_child[node + 1]):
            after = int(table[before, trie.byte[child]])
            if after:
                found[child, after] += 1
                pending.append((child, after))
    return found


@given(words, TABLES, st.randoms(use_true_random=False))
def test_a_walk_from_many_nodes_is_the_walks_from_each(
    tokens: list[bytes], rows: list[list[int]], random: object
) -> None:
    trie = build_trie(tokens)
    table = np.zeros((4, 256), dtype=np.intp)
    table[1:, :4] = rows

    def step(states: States, bytes_: NDArray[np.uint8]) -> States:
        return np.asarray(table[states, bytes_], dtype=np.intp)

    among = np.array([random.random() < 0.5 for _ in range(len(trie))], dtype=np.bool_)  # type: ignore[attr-defined]
    nodes = among.nonzero()[0]
    few, many = Starts(trie, nodes), ManyStarts(trie, among)
    assert few.nodes.tolist() == many.nodes.tolist() == nodes.tolist()
    for state in (1, 2, 3):
        expected = walked(trie, table, nodes.tolist(), state)
        assert met(list(few.sweep(State(state), step))) == expected
        assert met(list(many.sweep(State(state), step))) == expected


def test_only_bytes_that_follow_are_ever_stepped() -> None:
    trie = build_trie([b"ab", b"ac", b"b"])
    asked: list[int] = []

    def step(states: States, bytes_: NDArray[np.uint8]) -> States:
        asked.extend(bytes_.tolist())
        return np.zeros_like(states)

    node_of_a = trie.node_of_token[0] and int(trie.parent[trie.node_of_token[0]])
    assert list(Starts(trie, np.array([node_of_a])).sweep(State(1), step)) == []
    assert sorted(asked) == [ord("b"), ord("c")]
