"""All tokens in one tree of bytes, stored level by level in flat arrays.

Tokens with a common beginning share a path, so a walk over the trie reads each common byte once.
Nodes are numbered level by level (node 0 is the root), and the children of a node are
neighbours: a whole level is one slice, and one array operation moves all of its nodes.

Left out: removing or adding tokens. Cost: O(sum of L) array work, one sort of integers per level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trie", "build_trie", "spans"]


@dataclass(frozen=True, eq=False)
class Trie:
    """`parent`: intp (N,); `byte`: uint8 (N,), the last byte of the node; the nodes of level d are
    `level[d]`..`level[d+1]-1`; the children of node n are `first_child[n]`..`first_child[n+1]-1`;
    `node_of_token`: intp (V,), 0 (the root) for ids without bytes; the ids of the tokens that end at
    node n are `token_order[first_token[n]:first_token[n+1]]`.
    """

    # intp where an array is an index: NumPy would convert any other integer at each use.
    parent: NDArray[np.intp]
    byte: NDArray[np.uint8]
    level: tuple[int, ...]
    first_child: NDArray[np.intp]
    node_of_token: NDArray[np.intp]
    token_order: NDArray[np.intp]
    first_token: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def depth(self) -> int:
        """The length of the longest token, in bytes."""
        return len(self.level) - 2

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.parent, self.byte, self.first_child, self.node_of_token)
        return sum(array.nbytes for array in (*arrays, self.token_order, self.first_token))

    def tokens_at(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The ids of all tokens that end at one of `nodes`."""
        return self.token_order[spans(self.first_token[nodes], self.first_token[nodes + 1])]

    def ends_token(self, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """bool, elementwise: whether some token ends at the node."""
        return np.asarray(self.first_token[nodes + 1] > self.first_token[nodes], dtype=np.bool_)


def spans(first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers first[0]..last[0]-1, then first[1]..last[1]-1, and so on."""
    count = last - first
    ends = count.cumsum()
    if not len(ends):
        return ends
    return np.asarray(np.arange(ends[-1]) + (last - ends).repeat(count), dtype=np.intp)


def build_trie(tokens: Sequence[bytes]) -> Trie:
    """The trie of `tokens`; several ids may share a node."""
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    text = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    starts = np.cumsum(lengths) - lengths
    node = np.zeros(len(tokens), dtype=np.int64)  # where each token stands so far
    parents, bytes_, level = [np.zeros(1, np.int64)], [np.zeros(1, np.uint8)], [0, 1]
    longer = np.flatnonzero(lengths > 0)
    while len(longer):
        depth = len(level) - 2
        # (node, byte) as one integer: equal keys are one child, and sorted keys put the
        # children of a node side by side.
        keys, inverse = np.unique(node[longer] * 256 + text[starts[longer] + depth], return_inverse=True)
        parents.append(keys >> 8)
        bytes_.append((keys & 255).astype(np.uint8))
        node[longer] = level[-1] + inverse
        level.append(level[-1] + len(keys))
        longer = longer[lengths[longer] > depth + 1]
    parent = np.concatenate(parents).astype(np.intp)
    edges = np.arange(len(parent) + 1)
    first_child = np.searchsorted(parent[1:], edges) + 1
    order = np.argsort(node, kind="stable")
    order = order[np.searchsorted(node[order], 1) :]  # ids without bytes stand at the root: left out
    first_token = np.searchsorted(node[order], edges)
    return Trie(parent, np.concatenate(bytes_), tuple(level), first_child, node, order, first_token)
