"""From a row of logits to one token: an ordered list of named steps.

    mask → temperature → top_k → top_p → min_p → draw

Each step takes a row of V logits and returns one; a token that is out has the logit -inf. The
mask comes before every truncation: cut to the top-k first and nothing legal may be left. A step
that would leave an empty row raises `EmptyMaskError` with its name, so NaN never reaches a draw.

Left out: bias, bans and penalties. Cost: O(V log V) where top_k or top_p sort, else O(V).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minidecoder.automaton import TokenId
from minidecoder.errors import EmptyMaskError, ModelError, UsageError
from minidecoder.tokens.bitmask import Bitmask, unpack
from minidecoder.tokens.checks import check_type, listed, number_row, real_number, whole_number

__all__ = ["GREEDY", "ORDER", "Draw", "Sampler", "Sampling", "as_logits", "softmax"]

Row = NDArray[np.float64]

ORDER: Final = ("mask", "temperature", "top_k", "top_p", "min_p")
"""The steps before the draw, in the order that every run uses."""


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn. `temperature=0` is greedy over the allowed tokens; `top_k=0`, `top_p=1` and
    `min_p=0` cut nothing; with a `seed` a run can be repeated. What is no number or out of range raises
    `UsageError`."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        temperature, top_p, min_p = (
            real_number(getattr(self, n), n) for n in ("temperature", "top_p", "min_p")
        )
        _check(0 <= temperature < math.inf, "temperature", temperature, "0 or more, and finite")
        _check(whole_number(self.top_k, "top_k") >= 0, "top_k", self.top_k, "0 (off) or more")
        _check(0 < top_p <= 1, "top_p", top_p, "more than 0 and at most 1")
        _check(0 <= min_p <= 1, "min_p", min_p, "0 to 1")
        if self.seed is not None:
            _check(whole_number(self.seed, "seed") >= 0, "seed", self.seed, "0 or more, or None")


def _check(holds: bool, name: str, value: object, range_: str) -> None:
    if not holds:
        raise UsageError(f"{name}={value} is out of range: it must be {range_}")


GREEDY: Final = Sampling(temperature=0.0)


@dataclass(frozen=True, eq=False)
class Draw:
    """One token and the rows it came from: `before` the model's logits, `after` those of the last step."""

    token_id: TokenId
    before: Row
    after: Row


class Sampler:
    """Applies a `Sampling` row after row, with one stream of random numbers."""

    def __init__(self, sampling: Sampling, order: Sequence[str] = ORDER) -> None:
        check_type(sampling, Sampling, "sampling", "Sampling(temperature=..., seed=...)")
        order = listed(order, "order")
        unknown = [name for name in order if name not in ORDER]
        if unknown:
            raise UsageError(f"unknown sampling step {unknown[0]!r}: the steps are {', '.join(ORDER)}")
        self.sampling = sampling
        self.order = tuple(order)
        self._random = np.random.default_rng(sampling.seed)

    def draw(self, logits: Row, bitmask: Bitmask | None) -> Draw:
        """Draw a token. `logits`: float64 (V,), see `as_logits`; `bitmask`: int32 (ceil(V/32),), None for
        no constraint. Raises `EmptyMaskError` with the step that left nothing."""
        row = logits
        for name in self.order:
            row = self._apply(name, row, bitmask)
            if not np.isfinite(row).any():
                raise EmptyMaskError(f"after the step {name!r} no token is left to draw")
        return Draw(self._choose(row), logits, row)

    def _apply(self, name: str, row: Row, bitmask: Bitmask | None) -> Row:
        match name:
            case "mask":
                return row if bitmask is None else mask_row(row, bitmask)
            case "temperature":
                return scale(row, self.sampling.temperature)
            case "top_k":
                return keep_top_k(row, self.sampling.top_k)
            case "top_p":
                return keep_top_p(row, self.sampling.top_p)
            case _:
                return keep_min_p(row, self.sampling.min_p)

    def _choose(self, row: Row) -> TokenId:
        """Invert the cumulative distribution at one uniform number."""
        candidates = np.flatnonzero(np.isfinite(row))
        cumulative = np.cumsum(softmax(row[candidates]))
        place = np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right")
        return TokenId(int(candidates[min(int(place), len(candidates) - 1)]))


def as_logits(logits: ArrayLike, width: int) -> Row:
    """A model's row as float64 (V,). `ModelError` for another width, what is no number, NaN, or +inf."""
    row = number_row(logits, "the model's logits")
    if row.shape != (width,):
        raise ModelError(f"the model gave logits of shape {row.shape}, the vocabulary has {width:,} tokens")
    if np.isnan(row).any() or np.isposinf(row).any():
        where = int(np.flatnonzero(np.isnan(row) | np.isposinf(row))[0])
        raise ModelError(f"the model gave {row[where]} as the logit of token {where}")
    if not np.isfinite(row).any():
        raise ModelError("the model gave -inf as the logit of every token")
    return row


def softmax(row: Row) -> Row:
    """Probabilities of a row with at least one finite logit; -inf becomes exactly 0."""
    with np.errstate(over="ignore"):  # 1e308 - -1e308: that -inf is right, the share is 0
        powers = np.exp(row - row.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)


def mask_row(row: Row, bitmask: Bitmask) -> Row:
    """-inf for every token whose bit is 0."""
    return np.where(unpack(bitmask, len(row)), row, -np.inf)


def scale(row: Row, temperature: float) -> Row:
    """Divide by the temperature; 0 keeps the largest logit alone, the lowest id where several tie."""
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
    ranked = _ranked(row)
    before = np.cumsum(softmax(row)[ranked]) - softmax(row)[ranked]  # mass ahead of each token
    return _only(row, ranked[before < p])


def keep_min_p(row: Row, share: float) -> Row:
    """Tokens at least `share` as likely as the likeliest."""
    return row if share == 0 else np.where(row >= row.max() + math.log(share), row, -np.inf)


def _ranked(row: Row) -> NDArray[np.intp]:
    return np.argsort(-row, kind="stable")


def _only(row: Row, kept: NDArray[np.intp]) -> Row:
    cut = np.full_like(row, -np.inf)
    cut[kept] = row[kept]
    return cut
