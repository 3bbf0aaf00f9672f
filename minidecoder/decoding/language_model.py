"""What the decode loop asks of a language model: logits after some tokens, and nothing else.

A model is anything with `next_logits`. One that also has `encode` takes prompts as text. Both are
protocols: a class need not inherit from them, so a ten-line model in a notebook is as good as ours.

Left out: models themselves (`models`), and how a token is chosen from the logits (`sampling`).
Cost: a check with `isinstance` looks for the method by name and runs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["LanguageModel", "Logits", "TextModel"]

Logits = NDArray[np.floating[Any]]
"""float[V]: one unnormalised log-probability for each id of the vocabulary."""


@runtime_checkable
class LanguageModel(Protocol):
    """Anything that scores the next token."""

    def next_logits(self, token_ids: Sequence[int]) -> Logits:
        """The logits, float[V], of the token after `token_ids`.

        The array belongs to the caller, who may write -inf into it. The same ids give the same
        logits, whatever was asked before: a cache inside the model must not show.
        """


@runtime_checkable
class TextModel(LanguageModel, Protocol):
    """A model whose prompts may be text."""

    def encode(self, text: str) -> list[int]:
        """The token ids of `text`, with whatever the model expects in front of a prompt (BOS)."""
