"""A set of words to its smallest automaton, without subset construction: an enum of 10,000 takes moments.

The words are put into a tree; then, from its leaves up, nodes with equal continuations become one (Daciuk
and others, 2000, do the same word by word). Left out: the merging of characters that no state tells apart.
Cost: linear in the characters, and states times distinct characters for the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.regex.charset import single
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits

__all__ = ["word_dfa"]


def word_dfa(words: Iterable[str], limits: Limits | None = None) -> DFA:
    """The smallest DFA of a finite set of words; one with a lone surrogate is no text and left out."""
    limits = limits or Limits()
    nodes, is_end = _tree(words, limits)
    merged, root = _merged(nodes, is_end)
    letters = sorted({char for children, _ in merged for char, _ in children})
    limits.check_cells(len(merged), len(letters))
    column = {char: k for k, char in enumerate(letters)}
    order = _breadth_first(merged, root)
    number = {node: state for state, node in enumerate(order, start=1)}
    table = np.zeros((len(order) + 1, len(letters)), dtype=np.int32)
    for node in order:
        for char, target in merged[node][0]:
            table[number[node], column[char]] = number[target]
    accepting = np.array([False, *(merged[node][1] for node in order)])
    return DFA(tuple(map(single, letters)), table, accepting, State(1) if order else DEAD)


_Node = tuple[tuple[tuple[str, int], ...], bool]  # (character, node)*, whether a word ends here


def _tree(words: Iterable[str], limits: Limits) -> tuple[list[dict[str, int]], list[bool]]:
    """Each node's children, after it; the root is 0."""
    nodes: list[dict[str, int]] = [{}]
    is_end = [False]
    for word in words:
        if not word.isascii() and any("\ud800" <= char <= "\udfff" for char in word):
            continue
        at = 0
        for char in word:
            after = nodes[at].get(char)
            if after is None:
                after = nodes[at][char] = len(nodes)
                nodes.append({})
                is_end.append(False)
            at = after
        is_end[at] = True
        limits.check_nfa_states(len(nodes))
    return nodes, is_end


def _merged(nodes: Sequence[dict[str, int]], is_end: Sequence[bool]) -> tuple[list[_Node], int]:
    """The distinct nodes and the number of the root; children stand behind their parents, so from the end."""
    numbers: dict[_Node, int] = {}
    merged = [0] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):
        children = tuple(sorted((char, merged[child]) for char, child in nodes[at].items()))
        merged[at] = numbers.setdefault((children, is_end[at]), len(numbers))
    return list(numbers), merged[0]


def _breadth_first(merged: Sequence[_Node], root: int) -> list[int]:
    if not any(merged[root]):
        return []
    order, seen = [root], {root}
    for node in order:  # grows while it is read
        for _, target in merged[node][0]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order
