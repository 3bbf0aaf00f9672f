"""Models whose logits are known in advance, so that a run can be checked by hand.

`UniformModel` finds every token equally likely: what then comes out is the constraint alone.
`TableModel` reads its logits from a table, prefix by prefix: what a test or a lesson wants to happen.

Left out: everything a model learns (`causal_lm`, `smollm2`), and text prompts: these have no tokenizer.
Cost: V a call; a table keeps one row of V for each prefix it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import ModelError, UsageError
from minidecoder.tokens.checks import check_type, listed, number_row, whole_number
from minidecoder.tokens.vocabulary import MAX_WIDTH

__all__ = ["TableModel", "UniformModel"]


class UniformModel:
    """Every logit is 0.

    >>> UniformModel(3).next_logits([1, 2]).tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, width: int) -> None:
        self.width = _checked_width(width)

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        """float64[V] zeros, whatever `token_ids` are."""
        return np.zeros(self.width)


class TableModel:
    """Logits looked up by the exact prefix; the `default` row (zeros, if not given) after any other.

    >>> model = TableModel(3, {(): [0, 1, 0], (1,): [0, 0, 9]}, default=[5, 0, 0])
    >>> [int(model.next_logits(ids).argmax()) for ids in ([], [1], [1, 2])]
    [1, 2, 0]

    Raises `ModelError` for a row that is not `width` numbers, `UsageError` for a prefix with an id
    outside 0..width-1, which no run could ever reach. -inf and NaN are allowed: a lesson may need them.
    """

    def __init__(
        self,
        width: int,
        rows: Mapping[tuple[int, ...], Sequence[float]],
        default: Sequence[float] | None = None,
    ) -> None:
        self.width = _checked_width(width)
        check_type(rows, Mapping, "rows", "{(): [...], (1, 2): [...]}, from prefixes to logits")
        self._rows = {self._checked_prefix(prefix): self._row(row) for prefix, row in rows.items()}
        self._default = np.zeros(self.width) if default is None else self._row(default)

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        """float64[V], a fresh copy: who masks it in place does not damage the table."""
        prefix = tuple(whole_number(token_id, "a token id") for token_id in listed(token_ids, "token ids"))
        return self._rows.get(prefix, self._default).copy()

    def _row(self, values: Sequence[float]) -> NDArray[np.float64]:
        row = number_row(values, "a row of logits")
        if row.shape != (self.width,):
            raise ModelError(f"a row of logits has shape {row.shape}; this model's width is {self.width}")
        return row

    def _checked_prefix(self, prefix: tuple[int, ...]) -> tuple[int, ...]:
        place = f"prefix {prefix!r:.60}"
        ids = [whole_number(token_id, f"each id of {place}") for token_id in listed(prefix, place)]
        for token_id in ids:
            if not 0 <= token_id < self.width:
                raise UsageError(f"{place} has the id {token_id}; ids are 0..{self.width - 1}")
        return tuple(ids)


def _checked_width(width: int) -> int:
    width = whole_number(width, "width")
    if not 1 <= width <= MAX_WIDTH:
        raise UsageError(f"width={width}: a model has 1 to {MAX_WIDTH:,} tokens")
    return width
