"""A set of words to its smallest automaton, without subset construction: an enum of 10,000 takes moments.

In sorted order a word leaves a branch of the tree of words for good where it differs from the word before:
that branch is complete, and from its end up each node is replaced by an equal one met earlier (Daciuk and
others, 2000). Left out: the merging of characters that no state tells apart.
Cost: linear in the characters, and states times distinct characters for the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from minidecoder.automaton import DEAD, State
from minidecoder.regex.charset import single
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits

__all__ = ["word_dfa"]


def word_dfa(words: Iterable[str], limits: Limits | None = None) -> DFA:
    """The smallest DFA of a finite set of words; one with a lone surrogate is no text and left out."""
    limits = limits or Limits()
    nodes = _nodes(sorted(word for word in words if _is_text(word)), limits)
    letters = sorted({char for children, _ in nodes for char, _ in children})
    limits.check_cells(len(nodes), len(letters))
    column = {char: k for k, char in enumerate(letters)}
    order = _breadth_first(nodes)
    number = {node: state for state, node in enumerate(order, start=1)}
    table = np.zeros((len(order) + 1, len(letters)), dtype=np.int32)
    for state, node in enumerate(order, start=1):
        for char, target in nodes[node][0]:
            table[state, column[char]] = number[target]
    accepting = np.array([False, *(nodes[node][1] for node in order)])
    return DFA(tuple(map(single, letters)), table, accepting, State(1) if order else DEAD)


_Node: TypeAlias = tuple[tuple[tuple[str, int], ...], bool]  # (character, node)*, whether a word ends here


def _is_text(word: str) -> bool:
    return word.isascii() or not any("\ud800" <= char <= "\udfff" for char in word)


def _nodes(words: Sequence[str], limits: Limits) -> list[_Node]:
    """The distinct nodes of the tree of sorted words, the root last; equal subtrees are one node."""
    numbers: dict[_Node, int] = {}
    children: list[list[tuple[str, int]]] = [[]]  # of the nodes along the word before
    is_end = [False]
    before = ""

    def close(depth: int) -> None:
        """What no later word of the order can add to: the nodes below `depth`, from the deepest up."""
        while len(children) > depth + 1:
            node = (tuple(children.pop()), is_end.pop())
            children[-1].append((before[len(children) - 1], numbers.setdefault(node, len(numbers))))

    for word in words:
        common = _common(before, word)
        close(common)
        children += [[] for _ in range(len(word) - common)]
        is_end += [False] * (len(word) - common)
        is_end[-1] = True
        before = word
        limits.check_states(len(numbers))
        limits.check_time()
    close(0)
    return [*numbers, (tuple(children[0]), is_end[0])]


def _common(a: str, b: str) -> int:
    """How many characters two words have in common at their beginning."""
    length = min(len(a), len(b))
    return next((at for at in range(length) if a[at] != b[at]), length)


def _breadth_first(nodes: Sequence[_Node]) -> list[int]:
    root = len(nodes) - 1
    if not any(nodes[root]):
        return []
    order, seen = [root], {root}
    for node in order:  # grows while it is read
        for _, target in nodes[node][0]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order
