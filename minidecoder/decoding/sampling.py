"""From a row of logits to one token: an ordered list of named steps, then the draw.

    bias → bans → repetition_penalty → mask → min_tokens → temperature → top_k → top_p → min_p → draw

The list is data: `Sampler(sampling, order=...)` runs another one, which is how a lesson shows what
breaks. The mask comes before every truncation: cut to the top-k first and nothing legal may be left. A
step that would leave an empty row raises `EmptyMaskError` with its name, so NaN never reaches a draw.

Left out: the settings (`settings`), what each step does to a row (`logits`). Cost: O(V) a step in
use, O(V log V) for top_k or top_p; a `Draw` holds one row for each step that changed something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from minidecoder.automaton import TokenId
from minidecoder.decoding import logits as rows
from minidecoder.decoding.logits import (
    Row,
    as_logits,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    mask_row,
    scale,
    softmax,
)
from minidecoder.decoding.settings import GREEDY, Sampling
from minidecoder.errors import EmptyMaskError, UsageError
from minidecoder.tokens.bitmask import Bitmask, unpack
from minidecoder.tokens.checks import check_type, listed

__all__ = [
    "GREEDY",
    "ORDER",
    "Draw",
    "Past",
    "Row",
    "Sampler",
    "Sampling",
    "as_logits",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "mask_row",
    "scale",
    "softmax",
]


class Past(NamedTuple):
    """What has been read and written: the ids of prompt and text, the number of those that were generated,
    and the ids that end a text."""

    token_ids: Sequence[int] = ()
    generated: int = 0
    eos_ids: Sequence[int] = ()


_NO_PAST: Final = Past()
_Step: TypeAlias = Callable[[Row, Sampling, "Bitmask | None", Past], Row]

STEPS: Final[Mapping[str, _Step]] = {
    "bias": lambda row, s, mask, past: rows.add_bias(row, s.logit_bias),
    "bans": lambda row, s, mask, past: rows.remove(row, frozenset(s.banned_ids)),
    "repetition_penalty": lambda row, s, mask, past: rows.penalise_repeats(
        row, past.token_ids, s.repetition_penalty
    ),
    "mask": lambda row, s, mask, past: row if mask is None else rows.mask_row(row, mask),
    "min_tokens": lambda row, s, mask, past: (
        rows.hold_back(row, past.eos_ids) if past.generated < s.min_tokens else row
    ),
    "temperature": lambda row, s, mask, past: rows.scale(row, s.temperature),
    "top_k": lambda row, s, mask, past: rows.keep_top_k(row, s.top_k),
    "top_p": lambda row, s, mask, past: rows.keep_top_p(row, s.top_p),
    "min_p": lambda row, s, mask, past: rows.keep_min_p(row, s.min_p),
}

ORDER: Final = tuple(STEPS)
"""The steps before the draw, in the order that every run uses."""

_SETTING: Final = {"bias": "logit_bias", "bans": "banned_ids"}  # of the other steps: the step's own name


@dataclass(frozen=True, eq=False)
class Draw:
    """One token and the rows it came from. `before`: the model's logits; `stages`: (name, row) after each
    step, the same array where a step changed nothing; `after`: the last row, from which it was drawn."""

    token_id: TokenId
    before: Row
    after: Row
    stages: tuple[tuple[str, Row], ...]
    sampling: Sampling

    def cut_by(self, token_id: int) -> str | None:
        """The step that took the token out; None where it stayed in, or the model itself gave -inf."""
        if self.before[token_id] == -np.inf:
            return None
        return next((name for name, row in self.stages if row[token_id] == -np.inf), None)

    def row_before(self, name: str) -> Row:
        """The row that the step was given. `UsageError` for a step that did not run."""
        names = [stage for stage, _ in self.stages]
        if name not in names:
            raise UsageError(f"no step {name!r} ran: {', '.join(names)}")
        at = names.index(name)
        return self.before if at == 0 else self.stages[at - 1][1]


class Sampler:
    """Applies a `Sampling` row after row, with one stream of random numbers.

    `order`: names of `ORDER`, for lessons. Raises `UsageError` for an unknown name, and for a setting
    whose step is not in the order, as it would have no effect.
    """

    def __init__(self, sampling: Sampling, order: Sequence[str] = ORDER) -> None:
        check_type(sampling, Sampling, "sampling", "Sampling(temperature=..., seed=...)")
        self.order = tuple(listed(order, "order"))
        unknown = [name for name in self.order if name not in STEPS]
        if unknown:
            raise UsageError(f"unknown sampling step {unknown[0]!r}: the steps are {', '.join(ORDER)}")
        for name in set(ORDER) - {"mask", *self.order}:
            setting = _SETTING.get(name, name)
            if getattr(sampling, setting) != getattr(_NEUTRAL, setting):
                raise UsageError(f"{setting} is set, but the order of steps has no {name!r}")
        self.sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    @property
    def random_state(self) -> Any:
        """Where the stream of random numbers stands; set it again to draw the same once more."""
        return self._random.bit_generator.state

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self._random.bit_generator.state = state

    def stages(
        self, logits: Row, bitmask: Bitmask | None, past: Past = _NO_PAST
    ) -> tuple[tuple[str, Row], ...]:
        """(name, row) after each step, up to one that leaves nothing, whose row is all -inf. The arguments
        are those of `draw`; nothing is drawn."""
        self.sampling.check_width(len(logits))
        row, stages = logits, list[tuple[str, Row]]()
        for name in self.order:
            changed = STEPS[name](row, self.sampling, bitmask, past)
            stages.append((name, changed))
            if changed is not row and not np.isfinite(changed).any():
                break
            row = changed
        return tuple(stages)

    def draw(self, logits: Row, bitmask: Bitmask | None, past: Past = _NO_PAST) -> Draw:
        """Draw a token. `logits`: float64 (V,), see `as_logits`; `bitmask`: int32 (ceil(V/32),), None for
        no constraint. Raises `EmptyMaskError` with the step that left nothing."""
        stages = self.stages(logits, bitmask, past)
        name, row = stages[-1] if stages else ("", logits)
        if not np.isfinite(row).any():
            raise EmptyMaskError(_why_empty(name, logits, bitmask, stages[:-1]), step=name)
        return Draw(self._choose(row), logits, row, stages, self.sampling)

    def skip(self) -> None:
        """Let one random number go by, as a draw does."""
        self._random.random()

    def _choose(self, row: Row) -> TokenId:
        """Invert the cumulative distribution at one uniform number."""
        candidates = np.flatnonzero(np.isfinite(row))
        cumulative = np.cumsum(softmax(row[candidates]))
        place = np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right")
        return TokenId(int(candidates[min(int(place), len(candidates) - 1)]))


_NEUTRAL: Final = Sampling()


def _why_empty(name: str, logits: Row, bitmask: Bitmask | None, stages: Sequence[tuple[str, Row]]) -> str:
    """Which step left no token, and whose fault that is."""
    message = f"after the step {name!r} no token is left to draw"
    if name != "mask" or bitmask is None:
        return message
    allowed = unpack(bitmask, len(logits))
    if not allowed.any():
        return f"{message}: the mask allows none"
    rows = [("the model", logits), *((f"the step {stage!r} before it", row) for stage, row in stages)]
    culprit = next(who for who, row in rows if not np.isfinite(row[allowed]).any())
    return f"{message}: the mask allows {allowed.sum():,}, all of them -inf already, by {culprit}"
