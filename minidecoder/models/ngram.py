"""An n-gram model estimated from a text: the next token as the text's own statistics have it.

The probability of a token after its n-1 predecessors is interpolated with that after fewer, down to all
tokens alike, each order weighing in with `weight` observations (MacKay & Peto, 1995):

    P(t | c) = (count(c, t) + weight * P(t | c without its first)) / (count(c) + weight)

so that no token of text is impossible, and a long context that was seen often rules. Each text ends with the
vocabulary's first EOS; special and padding ids get the logit -inf. Left out: everything that is not a count.
Cost: n counts for each token of the text; a call is O(V + n * distinct successors).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import check_type, listed, real_number, utf8_bytes, whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["NGramModel", "longest_match"]

_BEGIN: Final = -1  # stands before a text, where a context is cut short


class NGramModel:
    """A `TextModel`: `NGramModel(texts, vocabulary, order=3)`.

    `texts`: one text or several; `encode`: text to ids, the longest token that fits at each place where it is
    not given; `order`: n, 1 for frequencies alone; `weight`: more than 0, how many observations the shorter
    context is worth. Raises `UsageError` for no text, and one that the vocabulary cannot spell.

    >>> vocabulary = Vocabulary.from_tokens(["a", "b", "</s>"], eos="</s>")
    >>> model = NGramModel("abab", vocabulary, order=2)
    >>> [round(float(p), 2) for p in np.exp(model.next_logits([0]))]
    [0.13, 0.8, 0.07]
    """

    def __init__(
        self,
        texts: str | Sequence[str],
        vocabulary: Vocabulary,
        *,
        order: int = 3,
        weight: float = 1.0,
        encode: Callable[[str], Sequence[int]] | None = None,
    ) -> None:
        check_type(vocabulary, Vocabulary, "vocabulary", "Vocabulary.from_tokens([...], eos=...) gives one")
        self.vocabulary = vocabulary
        self.width = len(vocabulary)
        self.order = whole_number(order, "order")
        self.weight = real_number(weight, "weight")
        if self.order < 1 or not 0 < self.weight < float("inf"):
            raise UsageError(f"order={order}, weight={weight}: order must be 1 or more, weight more than 0")
        self._encode = encode
        self._possible = np.array([data != b"" for data in vocabulary.token_bytes])
        self._possible[list(vocabulary.eos_ids)] = True
        self._counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for text in [texts] if isinstance(texts, str) else listed(texts, "texts"):
            self._read(self.encode(text))
        if not self._counts:
            raise UsageError("texts is empty: an n-gram model is estimated from at least one text")

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        if self._encode is None:
            return longest_match(text, self.vocabulary)
        return self.vocabulary.check_ids(self._encode(text))

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        """float64[V]: natural logarithms of the probabilities, which add up to 1."""
        past = [*[_BEGIN] * (self.order - 1), *self.vocabulary.check_ids(token_ids)]
        shares: NDArray[np.float64] = self._possible / self._possible.sum()  # of order 0: all alike
        for length in range(self.order):
            counts = self._counts.get(tuple(past[len(past) - length :]))
            if counts:
                shares *= self.weight
                shares[list(counts)] += list(counts.values())
                shares /= counts.total() + self.weight
        with np.errstate(divide="ignore"):  # special ids are not possible: -inf
            logits: NDArray[np.float64] = np.log(shares)
        return logits

    def _read(self, ids: list[int]) -> None:
        """Count what follows each context of 0 to n-1 tokens."""
        ids = [*[_BEGIN] * (self.order - 1), *ids, self.vocabulary.eos_ids[0]]
        for end in range(self.order - 1, len(ids)):
            for length in range(self.order):
                self._counts[tuple(ids[end - length : end])][ids[end]] += 1


def longest_match(text: str, vocabulary: Vocabulary) -> list[int]:
    """The ids of a text, at each place the longest token that fits (its lowest id). No tokenizer cuts so, but
    any vocabulary can. Raises `UsageError` with the place that no token fits."""
    data, ids, at = utf8_bytes(text, "a text"), list[int](), 0
    first: dict[bytes, int] = {}
    for token_id, token in enumerate(vocabulary.token_bytes):
        first.setdefault(token, token_id)
    while at < len(data):
        longest = min(vocabulary.trie.depth, len(data) - at)
        lengths = (n for n in range(longest, 0, -1) if data[at : at + n] in first)
        length = next(lengths, 0)
        if length == 0:
            raise UsageError(f"no token of the vocabulary fits at byte {at}: {data[at : at + 12]!r}")
        ids.append(first[data[at : at + length]])
        at += length
    return ids
