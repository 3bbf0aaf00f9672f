"""A byte-level BPE tokenizer of 768 tokens, trained in a moment from a small text of our own.

It cuts text as large tokenizers do: first into words, numbers and signs, each with the space before it; then
the bytes of a piece are joined, always the pair that was learnt first (Sennrich et al., 2016). So tokens
cross the parts of a text, split characters of several bytes, and spell everything: enough to see what a real
vocabulary does to a constraint, and small enough to print.

Left out: speed, and text that other people wrote. Cost: training 0.1 s, once; encoding O(L * L) for a piece
of L bytes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import utf8_bytes, whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["EOS", "PIECES", "TinyBPE", "load_tiny_bpe", "tiny_corpus", "train_bpe"]

EOS: Final = "<|end|>"
SIZE: Final = 768
PIECES: Final = r" ?[^\W\d_]+| ?\d{1,3}| ?(?:[^\w\s]|_)+|\s+(?!\S)|\s+"
"""Between these a token never reaches: words, up to three digits, signs, each with a space in front."""

_Pair = tuple[bytes, bytes]


class TinyBPE:
    """`merges`: what is joined, the earlier the sooner. Id i below 256 is the byte i, id 256 + i what merge i
    makes, and the last id is EOS. `vocabulary`: the same as a `Vocabulary`."""

    def __init__(self, merges: Sequence[_Pair]) -> None:
        self.rank: Mapping[_Pair, int] = {pair: rank for rank, pair in enumerate(merges)}
        tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
        self._id_of = {token: token_id for token_id, token in enumerate(tokens)}
        self.vocabulary = Vocabulary.from_tokens([*tokens, EOS], eos=len(tokens))

    def encode(self, text: str) -> list[int]:
        """The ids of a text; the printed form of EOS is text like any other."""
        utf8_bytes(text, "the text")
        return [
            self._id_of[part] for piece in re.findall(PIECES, text) for part in self._join(piece.encode())
        ]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of ids; EOS prints nothing, half a character U+FFFD."""
        return self.vocabulary.decode(token_ids).decode("utf-8", "replace")

    def _join(self, piece: bytes) -> list[bytes]:
        parts = [bytes([byte]) for byte in piece]
        while len(parts) > 1:
            first = min(pairwise(parts), key=lambda pair: self.rank.get(pair, len(self.rank)))
            if first not in self.rank:
                break
            parts = _joined(parts, first)
        return parts


def train_bpe(text: str, merges: int) -> TinyBPE:
    """Join the most frequent pair, `merges` times; of equals the one whose bytes come first. `UsageError`
    where the text has no pair left that occurs twice."""
    words = [(_bytes_of(word), count) for word, count in Counter(re.findall(PIECES, text)).items()]
    learnt: list[_Pair] = []
    counts, places = Counter[_Pair](), defaultdict[_Pair, set[int]](set)
    for place, (parts, count) in enumerate(words):
        for pair in pairwise(parts):
            counts[pair] += count
            places[pair].add(place)
    for _ in range(whole_number(merges, "merges")):
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            raise UsageError(
                f"the text is too short for {merges} merges: after {len(learnt)} no pair occurs twice"
            )
        learnt.append(best)
        for place in places.pop(best):
            parts, count = words[place]
            for pair in pairwise(parts):
                counts[pair] -= count
            words[place] = (_joined(parts, best), count)
            for pair in pairwise(words[place][0]):
                counts[pair] += count
                places[pair].add(place)
        del counts[best]
    return TinyBPE(learnt)


def _bytes_of(word: str) -> list[bytes]:
    return [bytes([byte]) for byte in word.encode()]


def _joined(parts: list[bytes], pair: _Pair) -> list[bytes]:
    """The parts with each `pair`, from the left, made one."""
    joined: list[bytes] = []
    at = 0
    while at < len(parts):
        found = tuple(parts[at : at + 2]) == pair
        joined.append(parts[at] + parts[at + 1] if found else parts[at])
        at += 1 + found
    return joined


def tiny_corpus() -> str:
    """The text that `load_tiny_bpe` learns from; an n-gram model can too."""
    return files("minidecoder.models").joinpath("tiny_corpus.txt").read_text(encoding="utf-8")


@cache
def load_tiny_bpe() -> TinyBPE:
    """The tokenizer of 768 tokens: 256 bytes, 511 merges and EOS."""
    return train_bpe(tiny_corpus(), SIZE - 256 - 1)
