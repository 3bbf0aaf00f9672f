"""The vocabulary of the benchmark: Mistral's Tekken, 131,072 tokens, which comes inside `mistral-common`.

Engines get the bytes of each id, the ids without bytes, and EOS; samples are cut the way the tokenizer
cuts text, as a model's output would be.

Left out: what each engine makes of it (`bench_engines`). Cost: some seconds, most of them its import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from minidecoder.models import tekken
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["TEKKEN_FILE", "BenchVocabulary", "load_tekken"]

TEKKEN_FILE: Final = tekken.TEKKEN_FILE


@dataclass(frozen=True, eq=False)
class BenchVocabulary:
    """`encode`: text → ids, without begin and end, as the tokenizer of this vocabulary cuts it."""

    vocabulary: Vocabulary
    encode: Callable[[str], list[int]]

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        """V byte strings, `b""` for ids that text cannot reach."""
        return self.vocabulary.token_bytes

    @property
    def eos_id(self) -> int:
        return self.vocabulary.eos_ids[0]

    @property
    def special_ids(self) -> list[int]:
        return [token_id for token_id, data in enumerate(self.token_bytes) if not data]

    def sample(self, text: str) -> list[int]:
        """The ids of a text and EOS, as a model would give them."""
        return [*self.encode(text), self.eos_id]


def load_tekken() -> BenchVocabulary:
    """Read the file. Raises `MissingDependencyError` where `mistral-common` is not installed."""
    return BenchVocabulary(*tekken.load_tekken())
