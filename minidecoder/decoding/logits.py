"""What can be done to a row of logits: one pure function for each step of the pipeline.

A row is float64 (V,), one logit for each id. A token that is out has the logit -inf, which is 0 after
softmax; taking entries away instead would shift every id behind them. No function writes into the row
that it gets, and one that changes nothing returns that row itself.

Left out: in which order they run, and the draw (`sampling`). Cost: O(V), O(V log V) where top_k or top_p
sort.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minidecoder.errors import EmptyMaskError, ModelError
from minidecoder.tokens.bitmask import Bitmask, unpack
from minidecoder.tokens.checks import number_row

__all__ = [
    "Row",
    "add_bias",
    "as_logits",
    "hold_back",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "mask_row",
    "penalise_repeats",
    "remove",
    "scale",
    "softmax",
]

Row: TypeAlias = NDArray[np.float64]


def as_logits(logits: ArrayLike, width: int) -> Row:
    """A model's row as float64 (V,), from NumPy (bfloat16 of `ml_dtypes` too), torch (any device) or a list.
    `ModelError` for another width, what is no number, NaN, or +inf."""
    row = number_row(_from_torch(logits), "the model's logits")
    if row.shape != (width,):
        raise ModelError(f"the model gave logits of shape {row.shape}, the vocabulary has {width:,} tokens")
    if np.isnan(row).any() or np.isposinf(row).any():
        where = int(np.flatnonzero(np.isnan(row) | np.isposinf(row))[0])
        raise ModelError(f"the model gave {row[where]} as the logit of token {where}")
    if not np.isfinite(row).any():
        raise ModelError("the model gave -inf as the logit of every token")
    return row


def _from_torch(logits: Any) -> Any:
    """A float tensor as a NumPy array; anything else as it is."""
    if not hasattr(logits, "is_floating_point") or not logits.is_floating_point():
        return logits
    # subtle: NumPy has no bfloat16, so the tensor is widened first; on the CPU, as some devices lack float64.
    return logits.detach().cpu().double().numpy()


def softmax(row: Row) -> Row:
    """Probabilities of a row with at least one finite logit; -inf becomes exactly 0."""
    with np.errstate(over="ignore"):  # 1e308 - -1e308: that -inf is right, the share is 0
        powers = np.exp(row - row.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)


def add_bias(row: Row, bias: Mapping[int, float]) -> Row:
    """Add to single logits. What is -inf stays so: a bias cannot bring a token back. `EmptyMaskError` where
    a sum is beyond float64."""
    if not bias:
        return row
    biased = row.copy()
    with np.errstate(over="ignore"):
        biased[list(bias)] += list(bias.values())
    return _below_infinity(biased, row, "bias", "logit_bias")


def remove(row: Row, token_ids: Collection[int]) -> Row:
    """-inf for single tokens."""
    if not token_ids:
        return row
    cut = row.copy()
    cut[list(token_ids)] = -np.inf
    return cut


def penalise_repeats(row: Row, seen: Sequence[int], penalty: float) -> Row:
    """Each token seen so far loses: a logit above 0 is divided by the penalty, one below multiplied with it
    (Keskar et al., 2019), once however often it was seen. `EmptyMaskError` where one is beyond float64."""
    if penalty == 1 or not len(seen):
        return row
    ids = np.unique(np.asarray(seen, dtype=np.intp))
    penalised = row.copy()
    with np.errstate(over="ignore"):
        penalised[ids] = np.where(row[ids] > 0, row[ids] / penalty, row[ids] * penalty)
    return _below_infinity(penalised, row, "repetition_penalty", "repetition_penalty")


def _below_infinity(changed: Row, row: Row, step: str, setting: str) -> Row:
    # subtle: +inf has no share, and inf - inf is NaN: a later step would lose this token, or all of them. A
    # logit that became -inf has the share 0, which is right.
    if np.isposinf(changed).any():
        token_id = int(changed.argmax())
        raise EmptyMaskError(
            f"in the step {step!r} the logit of token {token_id}, {row[token_id]:g}, became +inf, from which "
            f"nothing can be drawn: {setting} is too strong for logits of this size",
            step=step,
        )
    return changed


def mask_row(row: Row, bitmask: Bitmask) -> Row:
    """-inf for every token whose bit is 0."""
    return np.where(unpack(bitmask, len(row)), row, -np.inf)


def hold_back(row: Row, eos_ids: Sequence[int]) -> Row:
    """-inf for the ends of the text, unless nothing else is left: an end that is forced stands."""
    held = remove(row, eos_ids)
    return held if np.isfinite(held).any() else row


def scale(row: Row, temperature: float) -> Row:
    """Divide by the temperature; 0 keeps the largest logit alone, the lowest id where several tie."""
    if temperature == 1:
        return row
    if temperature == 0:
        return _only(row, np.array([row.argmax()]))
    # subtle: moved so that the largest is 0, a tiny temperature sends the others to -inf and none to +inf.
    with np.errstate(over="ignore"):
        return np.asarray((row - row.max()) / temperature)


def keep_top_k(row: Row, k: int) -> Row:
    """The k largest logits, lower ids first where several tie; 0 keeps all."""
    return row if k == 0 else _only(row, _ranked(row)[:k])


def keep_top_p(row: Row, p: float) -> Row:
    """The fewest of the likeliest tokens whose probabilities reach p (Holtzman et al., 2019)."""
    if p >= 1:
        return row
    ranked, shares = _ranked(row), softmax(row)
    before = np.cumsum(shares[ranked]) - shares[ranked]  # mass ahead of each token
    return _only(row, ranked[before < p])


def keep_min_p(row: Row, share: float) -> Row:
    """Tokens at least `share` as likely as the likeliest (Nguyen et al., 2024)."""
    return row if share == 0 else np.where(row >= row.max() + math.log(share), row, -np.inf)


def _ranked(row: Row) -> NDArray[np.intp]:
    return np.argsort(-row, kind="stable")


def _only(row: Row, kept: NDArray[np.intp]) -> Row:
    cut = np.full_like(row, -np.inf)
    cut[kept] = row[kept]
    return cut
