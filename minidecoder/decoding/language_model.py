"""What the decode loop asks of a model: one row of logits, and token ids for text prompts.

Anything with `next_logits` is a model: a table of made-up numbers, SmolLM2, a network behind an API.
Left out: models themselves (`models`). Cost: whatever the model takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

__all__ = ["LanguageModel", "TextModel"]


@runtime_checkable
class LanguageModel(Protocol):
    """Gives the logits of the token after a sequence."""

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[Any]:
        """Any float type (V,): the logits of the next token after `token_ids`."""


@runtime_checkable
class TextModel(LanguageModel, Protocol):
    """A model that also reads text prompts."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
