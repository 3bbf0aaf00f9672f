"""Jumping over text that the constraint forces, without asking the model.

In `{"order(Id|Name)":1}` the first eight bytes can be nothing else. Their tokens are those that the
tokenizer would write, because a model reads others badly (sglang#2045): `{"` `order`, not one a byte.
And the last of them wait: `order` is forced text, but the tokenizer writes `orderId` as one token.
So every token is held back that a longer legal token could still reach over, from its first byte on.

Left out: asking whether the model would have agreed: a jump draws nothing, so other ways to cut the same
text lose their probability. Cost: encoding the text so far, once a jump; a look-up while nothing is forced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from minidecoder.automaton import DEAD, State, TokenId
from minidecoder.decoding.matcher import Matcher
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["JumpForward"]

Encode = Callable[[str], list[int]]


class JumpForward:
    """`encode`: the tokenizer; without one, the longest token that fits is taken, again and again."""

    def __init__(self, vocabulary: Vocabulary, encode: Encode | None = None) -> None:
        self._vocabulary = vocabulary
        self._encode = encode

    @cached_property
    def _ids(self) -> dict[bytes, TokenId]:
        """Text to token, the lowest of several ids."""
        items = reversed(list(enumerate(self._vocabulary.token_bytes)))
        return {data: TokenId(token_id) for token_id, data in items}

    def tokens(self, matcher: Matcher, text: bytes) -> list[TokenId]:
        """The tokens that can be taken at once from where `matcher` stands; `text`: generated so far."""
        forced = matcher.jump_forward_string().encode()
        if not forced:
            return []
        safe = self._safe_length(matcher, forced)
        taken, length = [], 0
        for token_id in self._cut_into_tokens(forced, text):
            length += len(self._vocabulary.token_bytes[token_id])
            if length > safe:
                break
            taken.append(token_id)
        return taken

    # -- which tokens ---------------------------------------------------------------------------

    def _cut_into_tokens(self, forced: bytes, text: bytes) -> list[TokenId]:
        # subtle: encoded alone, the first token may get a space in front (SentencePiece). A line break
        # is a neighbour that tokenizers keep apart from what follows.
        for before in (text, b"\n"):
            if (found := self._encoded_after(before, forced)) is not None:
                return found
        return list(self._longest_tokens(forced))

    def _encoded_after(self, before: bytes, forced: bytes) -> list[TokenId] | None:
        """The tokenizer's tokens for `forced` behind `before`; None where none begins exactly there."""
        try:
            whole = (before + forced).decode()
        except UnicodeDecodeError:  # the text so far ends inside a character
            return None
        if self._encode is None:
            return None
        ids = self._vocabulary.check_ids(self._encode(whole), "the ids of the model's encode")
        found: list[TokenId] = []
        length = 0
        for token_id in reversed(ids):
            if length < len(forced) and self._vocabulary.token_bytes[token_id]:  # special ids are no text
                found.append(TokenId(token_id))
                length += len(self._vocabulary.token_bytes[token_id])
        found.reverse()
        return found if self._vocabulary.decode(found) == forced else None

    def _longest_tokens(self, forced: bytes) -> Iterator[TokenId]:
        at = 0
        while at < len(forced):
            longest = min(self._vocabulary.trie.depth, len(forced) - at)
            lengths = (n for n in range(longest, 0, -1) if forced[at : at + n] in self._ids)
            if not (length := next(lengths, 0)):
                return  # no token spells the next byte
            yield self._ids[forced[at : at + length]]
            at += length

    # -- which of them wait ---------------------------------------------------------------------

    def _safe_length(self, matcher: Matcher, forced: bytes) -> int:
        """How many bytes lie before any place from which a longer legal token could still begin."""
        end = matcher.state
        for byte in forced:
            end = matcher.constraint.automaton.step(end, byte)
        for start in range(max(0, len(forced) - self._vocabulary.trie.depth + 1), len(forced)):
            node = self._node(forced[start:])
            if node is not None and self._goes_on(matcher, node, end):
                return start
        return len(forced)

    def _node(self, data: bytes) -> int | None:
        """The trie node of `data`, whether a token ends there or not."""
        trie, node = self._vocabulary.trie, 0
        for byte in data:
            first, last = int(trie.first_child[node]), int(trie.first_child[node + 1])
            at = first + int(np.searchsorted(trie.byte[first:last], byte))
            if at == last or trie.byte[at] != byte:
                return None
            node = at
        return node

    def _goes_on(self, matcher: Matcher, node: int, state: State) -> bool:
        """Whether a token longer than `node` may be drawn, where `node` itself leads to `state`."""
        trie, constraint = self._vocabulary.trie, matcher.constraint
        pending = [(node, state)]
        while pending:
            node, state = pending.pop()
            children = np.arange(trie.first_child[node], trie.first_child[node + 1])
            for child, ends in zip(children.tolist(), trie.ends_token(children).tolist(), strict=True):
                target = constraint.automaton.step(state, int(trie.byte[child]))
                if target != DEAD and ends and constraint.index.is_alive(target):
                    return True
                if target != DEAD:
                    pending.append((child, target))
        return False
