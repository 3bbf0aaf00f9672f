"""The legal tokens that come nearest to one that is blocked: those that begin as it does.

Where `50` is blocked, `5` may be legal and `12` too; the nearest is the one that shares the longest prefix of
bytes, and of these the shortest. It is the answer to "what could it have said instead?".

Left out: likeness of any other kind. Cost: O(N) array work over the trie, a few ms for 131,072 tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minidecoder.automaton import TokenId
from minidecoder.decoding.matcher import Matcher
from minidecoder.errors import UsageError
from minidecoder.tokens.checks import check_type, whole_number

__all__ = ["Neighbour", "nearest_allowed"]


class Neighbour(NamedTuple):
    """A legal token and how many bytes it shares with the beginning of the one that was asked about."""

    token_id: TokenId
    shared: int


def nearest_allowed(matcher: Matcher, token_id: int, limit: int = 8) -> list[Neighbour]:
    """The legal tokens that share the longest prefix with `token_id`, the longest first, then the shorter
    token, then the lower id; itself, if it is legal. Tokens that do not share its first byte are none, so the
    list may be empty, as it is for ids without bytes. An id out of range, or no limit: `UsageError`."""
    check_type(matcher, Matcher, "matcher", "constraint.matcher() gives one")
    limit = whole_number(limit, "limit")
    if limit < 1:
        raise UsageError(f"limit={limit}: it must be 1 or more")
    vocabulary = matcher.constraint.vocabulary
    trie, node = vocabulary.trie, int(vocabulary.trie.node_of_token[vocabulary.check_id(token_id)])
    on_the_way = np.zeros(len(trie), dtype=np.bool_)
    while node:
        on_the_way[node] = True
        node = int(trie.parent[node])
    shared = np.zeros(len(trie), dtype=np.intp)  # bytes in common, by node
    for first, last in zip(trie.level[1:], trie.level[2:], strict=False):
        shared[first:last] = shared[trie.parent[first:last]] + on_the_way[first:last]
    ids = matcher.allowed_token_ids()
    common = shared[trie.node_of_token[ids]]
    near = [(int(i), int(n)) for i, n in zip(ids[common > 0], common[common > 0], strict=True)]
    near.sort(key=lambda pair: (-pair[1], len(vocabulary.token_bytes[pair[0]]), pair[0]))
    return [Neighbour(TokenId(i), n) for i, n in near[:limit]]
