"""Many continuations of one prompt at once: the prompt is read once, and each pass adds a token to every row.

    batch = BatchedLM(model)
    logits = batch.begin(prompt_ids, rows=64)      # (64, V), all alike
    logits = batch.step(token_ids)                 # (64, V), one token a row
    batch.keep([0, 5, 9])                          # the other rows are done

A pass over 64 rows costs far less than 64 passes, as the weights are read once for all. Left out: prompts
that differ, rows that join later. Cost: one pass a token; keys and values of every row in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import ModelError, UsageError
from minidecoder.models.causal_lm import CausalLM, require
from minidecoder.tokens.checks import check_type, listed, whole_number

__all__ = ["BatchedLM"]


class BatchedLM:
    """Rows of one prompt over a `CausalLM`, whose own cache stays as it is. For one thread."""

    def __init__(self, model: CausalLM) -> None:
        check_type(model, CausalLM, "model", "load_smollm2() or CausalLM(model, tokenizer) gives one")
        self._torch = require("torch")
        self._lm = model
        self._cache: Any = None
        self._rows = 0

    def begin(self, prompt_ids: Sequence[int], rows: int) -> NDArray[np.float32]:
        """float32 (rows, V): the logits after the prompt, a row for each continuation. Raises `UsageError`
        for an empty prompt or no rows, `ModelError` for a model whose cache cannot be copied."""
        ids, rows = listed(prompt_ids, "prompt_ids"), whole_number(rows, "rows")
        if not ids or rows < 1:
            raise UsageError(f"{len(ids)} prompt tokens, {rows} rows: both must be at least 1")
        self._cache, self._rows = None, 1
        logits = self._forward([ids])
        if not hasattr(self._cache, "batch_repeat_interleave"):
            raise ModelError("this model's cache cannot be copied to several rows")
        self._cache.batch_repeat_interleave(rows)
        self._rows = rows
        return np.repeat(logits, rows, axis=0)

    def step(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """float32 (B, V) after one more token in each of the B rows."""
        ids = listed(token_ids, "token_ids")
        if len(ids) != self._rows:
            raise UsageError(f"{len(ids)} tokens for {self._rows} rows: there must be one for each")
        return self._forward([[token_id] for token_id in ids])

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        kept = listed(rows, "rows")
        if not kept or not all(0 <= row < self._rows for row in kept):
            raise UsageError(f"rows {kept!r:.60}: one or more of 0 to {self._rows - 1}")
        if kept != list(range(self._rows)):
            self._cache.batch_select_indices(self._torch.tensor(kept))
            self._rows = len(kept)

    def _forward(self, ids: list[list[int]]) -> NDArray[np.float32]:
        """One pass over ids (B, new tokens)."""
        model, name = self._lm.model, self._lm._cache_name
        device = model.get_input_embeddings().weight.device
        past = {} if self._cache is None else {name: self._cache}
        with self._torch.inference_mode():
            batch = self._torch.tensor(ids, device=device)  # (B, new tokens) int64
            output = model(input_ids=batch, **past, **self._lm._options)
            self._cache = getattr(output, name, None)
            logits: NDArray[np.float32] = output.logits[:, -1].float().cpu().numpy()
        return logits
