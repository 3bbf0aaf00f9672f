"""Rows at the ends of float64: the step that leaves its range is the one that is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from minidecoder.decoding.logits import add_bias, penalise_repeats
from minidecoder.decoding.sampling import Past, Sampler, Sampling
from minidecoder.errors import EmptyMaskError

HUGE = np.array([1e308, -1e308, 0.0])
SEEN = Past(token_ids=(0, 1, 2))


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 0.7, 1.0])
@pytest.mark.parametrize(
    ("setting", "step", "message"),
    [
        ({"logit_bias": {0: 1e308}}, "bias", r"logit of token 0, 1e\+308, became \+inf.*logit_bias is too"),
        (
            {"repetition_penalty": 1e-3},
            "repetition_penalty",
            r"token 0, 1e\+308, .*repetition_penalty is too",
        ),
    ],
    ids=["bias", "penalty"],
)
def test_a_logit_that_overflows_is_blamed_on_the_step_that_did_it(
    setting: dict[str, object], step: str, message: str, temperature: float
) -> None:
    """It was blamed on the temperature, or without one the token was lost and another one drawn."""
    sampler = Sampler(Sampling(temperature=temperature, **setting))  # type: ignore[arg-type]
    with pytest.raises(EmptyMaskError, match=message) as fault:
        sampler.draw(HUGE, None, SEEN)
    assert fault.value.step == step


def test_the_largest_logits_are_drawn_from_while_they_are_finite() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Sampler(Sampling(temperature=1e-300)).draw(HUGE, None, SEEN).token_id == 0
        assert add_bias(HUGE, {1: -1e308}).tolist() == [1e308, -np.inf, 0.0], "a share of 0, which is right"
        assert penalise_repeats(HUGE, [0, 1], 10).tolist() == [1e307, -np.inf, 0.0]
