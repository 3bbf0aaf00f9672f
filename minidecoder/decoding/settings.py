"""How a token is to be drawn: one frozen set of numbers, checked when it is made.

The names and neutral values are those of vLLM and `transformers`. Neutral settings change nothing: they
draw from the model's own distribution over what is allowed.

Left out: what the settings do (`sampling`, `logits`), presence and frequency penalties. Cost: O(1), and the
number of biased and banned ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import check_type, listed, real_number, whole_number

__all__ = ["GREEDY", "Sampling"]


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn.

    `temperature=0` is greedy over the allowed tokens; `top_k=0`, `top_p=1` and `min_p=0` cut nothing; with
    a `seed` a run can be repeated. `repetition_penalty`: 1 is none, more makes tokens of the prompt and the
    text less likely. `logit_bias`: added to single ids. `banned_ids`: never drawn.
    `min_tokens`: EOS is held back until so many tokens were generated. Where only EOS may follow, because
    the constraint, a budget or a ban leaves nothing else, it is taken all the same: the constraint wins.
    What is no number or out of range raises `UsageError`.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    repetition_penalty: float = 1.0
    min_tokens: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    banned_ids: Iterable[int] = frozenset()

    def __post_init__(self) -> None:
        for name, holds, range_ in _RANGES:
            value = real_number(getattr(self, name), name)
            if not holds(value):
                raise UsageError(f"{name}={value} is out of range: it must be {range_}")
        for name in ("top_k", "min_tokens") if self.seed is None else ("top_k", "min_tokens", "seed"):
            if whole_number(getattr(self, name), name) < 0:
                raise UsageError(f"{name}={getattr(self, name)} is out of range: it must be 0 or more")
        object.__setattr__(self, "logit_bias", _checked_bias(self.logit_bias))
        banned = {_checked_id(item, "banned_ids") for item in _listed_or_set(self.banned_ids, "banned_ids")}
        object.__setattr__(self, "banned_ids", frozenset(banned))

    def __reduce__(self) -> tuple[type[Sampling], tuple[Any, ...]]:
        """For pickle, which does not know read-only mappings."""
        values = [getattr(self, item.name) for item in fields(self)]
        return Sampling, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def check_width(self, width: int) -> None:
        """`UsageError` for a bias or a ban on an id that a row of V logits does not have."""
        for name, ids in (("logit_bias", self.logit_bias), ("banned_ids", self.banned_ids)):
            if beyond := [token_id for token_id in ids if token_id >= width]:
                raise UsageError(f"{name} names token id {min(beyond)}: ids are 0 to {width - 1:,}")


_RANGES: Final[tuple[tuple[str, Callable[[float], bool], str], ...]] = (
    ("temperature", lambda value: 0 <= value < math.inf, "0 or more, and finite"),
    ("top_p", lambda value: 0 < value <= 1, "more than 0 and at most 1"),
    ("min_p", lambda value: 0 <= value <= 1, "0 to 1"),
    ("repetition_penalty", lambda value: 0 < value < math.inf, "more than 0, and finite"),
)


def _listed_or_set(values: object, name: str) -> list[Any]:
    """Ids may come as a set: their order means nothing here."""
    return list(values) if isinstance(values, set | frozenset) else listed(values, name)


def _checked_bias(bias: Mapping[int, float]) -> Mapping[int, float]:
    check_type(bias, Mapping, "logit_bias", "{token_id: what is added to its logit}")
    checked = {
        _checked_id(token_id, "logit_bias"): real_number(value, f"logit_bias[{token_id!r:.20}]")
        for token_id, value in bias.items()
    }
    for token_id, value in checked.items():
        if math.isinf(value):
            raise UsageError(f"logit_bias[{token_id}]={value}: it must be finite; banned_ids= bans a token")
    return MappingProxyType(checked)


def _checked_id(token_id: object, name: str) -> int:
    number = whole_number(token_id, f"an id in {name}")
    if number < 0:
        raise UsageError(f"{name} names token id {number}: ids are 0 or more")
    return number


GREEDY: Final = Sampling(temperature=0.0)
