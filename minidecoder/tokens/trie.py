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

__all__ = ["Trie", "build_trie"]


@dataclass(frozen=True, eq=False)
class Trie:
    """`parent`: int32 (N,); `byte`: uint8 (N,), the last byte of the node; the nodes of level d are
    `level[d]`..`level[d+1]-1`; the children of node n are `first_child[n]`..`first_child[n+1]-1`;
    `node_of_token`: int32 (V,), 0 (the root) for ids without bytes; `ends_token`: bool (N,), whether a
    token ends at the node.
    """

    parent: NDArray[np.int32]
    byte: NDArray[np.uint8]
    level: tuple[int, ...]
    first_child: NDArray[np.int32]
    node_of_token: NDArray[np.int32]
    ends_token: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def depth(self) -> int:
        """The length of the longest token, in bytes."""
        return len(self.level) - 2


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
    parent = np.concatenate(parents).astype(np.int32)
    first_child = np.searchsorted(parent[1:], np.arange(len(parent) + 1)).astype(np.int32) + 1
    ends_token = np.zeros(len(parent), dtype=np.bool_)
    ends_token[node[lengths > 0]] = True
    return Trie(parent, np.concatenate(bytes_), tuple(level), first_child, node.astype(np.int32), ends_token)
