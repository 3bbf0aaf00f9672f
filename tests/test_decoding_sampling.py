"""The pipeline of a draw: worked rows, the order that matters, and a distribution that is exact."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from minidecoder.decoding.sampling import (
    Sampler,
    Sampling,
    as_logits,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    mask_row,
    scale,
    softmax,
)
from minidecoder.errors import EmptyMaskError, ModelError, UsageError
from minidecoder.tokens.bitmask import pack

ROW = np.array([2.1, 0.3, 1.8, -0.5, 0.9, -1.2, 0.4, -0.8])  # { } " a 5 : space newline


def allow(*ids: int, width: int = 8) -> np.ndarray:
    allowed = np.zeros(width, dtype=np.bool_)
    allowed[list(ids)] = True
    return pack(allowed)


def kept(row: np.ndarray) -> list[int]:
    return np.flatnonzero(np.isfinite(row)).tolist()


def test_with_one_legal_token_its_probability_is_one() -> None:
    probabilities = softmax(mask_row(ROW, allow(0)))
    assert probabilities.tolist() == [1.0] + [0.0] * 7


def test_masking_renormalises_over_the_legal_tokens() -> None:
    probabilities = softmax(mask_row(np.array([9.0, 2.3, 1.9]), allow(1, 2, width=3)))
    assert np.round(probabilities, 2).tolist() == [0.0, 0.6, 0.4]
    assert np.round(softmax(np.array([2.0, -np.inf, 1.0])), 2).tolist() == [0.73, 0.0, 0.27]


def test_temperature_zero_is_greedy_over_the_legal_tokens() -> None:
    sampler = Sampler(Sampling(temperature=0))
    assert sampler.draw(ROW, allow(3, 4, 6)).token_id == 4
    assert sampler.draw(ROW, None).token_id == 0
    assert sampler.draw(np.zeros(8), allow(5, 2)).token_id == 2, "the lowest id where logits tie"


def test_truncating_before_the_mask_leaves_nothing_and_says_which_step() -> None:
    row = np.log(np.array([0.5, 0.3, 0.15, 0.05]))
    legal = allow(3, width=4)
    settings = Sampling(top_p=0.9, seed=0)
    with pytest.raises(EmptyMaskError, match="'mask'"):
        Sampler(settings, order=("top_p", "mask", "temperature")).draw(row, legal)
    draw = Sampler(settings).draw(row, legal)
    assert draw.token_id == 3
    assert softmax(draw.after)[3] == 1.0


def test_top_k_top_p_and_min_p_keep_what_their_papers_say() -> None:
    row = np.log(np.array([0.5, 0.3, 0.15, 0.05]))
    assert kept(keep_top_k(row, 2)) == [0, 1]
    assert kept(keep_top_k(row, 0)) == kept(keep_top_k(row, 99)) == [0, 1, 2, 3]
    assert kept(keep_top_k(np.zeros(4), 2)) == [0, 1]
    assert kept(keep_top_p(row, 0.5)) == [0]
    assert kept(keep_top_p(row, 0.79)) == [0, 1]
    assert kept(keep_top_p(row, 0.81)) == [0, 1, 2]
    assert kept(keep_top_p(row, 1.0)) == [0, 1, 2, 3]
    assert kept(keep_top_p(row, 1e-9)) == [0], "at least one token is kept"
    assert kept(keep_min_p(row, 0.31)) == [0, 1]
    assert kept(keep_min_p(row, 1.0)) == [0]


def test_temperature_commutes_with_the_mask_and_never_overflows() -> None:
    legal = allow(1, 4, 6)
    first = softmax(scale(mask_row(ROW, legal), 0.7))
    second = softmax(mask_row(scale(ROW, 0.7), legal))
    assert np.allclose(first, second)
    tiny = softmax(scale(mask_row(ROW * 1e30, legal), 1e-300))
    assert tiny[4] == 1.0


def test_twenty_thousand_draws_follow_the_masked_distribution() -> None:
    legal = allow(0, 2, 4, 6)
    expected = softmax(scale(mask_row(ROW, legal), 0.8))
    sampler = Sampler(Sampling(temperature=0.8, seed=7))
    counts = np.bincount([sampler.draw(ROW, legal).token_id for _ in range(20_000)], minlength=8)
    assert counts[expected == 0].sum() == 0
    observed, wanted = counts[expected > 0], 20_000 * expected[expected > 0]
    assert ((observed - wanted) ** 2 / wanted).sum() < 16.27  # chi-square, 3 degrees of freedom, p = 0.001


def test_a_seed_repeats_a_run() -> None:
    draws = [[Sampler(Sampling(seed=seed)).draw(ROW, None).token_id for _ in range(9)] for seed in (1, 1)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", -1), ("temperature", float("nan")), ("temperature", float("inf")), ("top_k", -1),
     ("top_p", 0), ("top_p", 1.1), ("top_p", float("nan")), ("min_p", -0.1), ("min_p", 2), ("seed", -1)],
)  # fmt: skip
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        Sampling(**{name: value})


@pytest.mark.parametrize("value", ["3", True, [1], 1 + 0j, pytest])
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "seed"])
def test_a_setting_that_is_no_number_is_named(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a"):
        Sampling(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["top_k", "seed"])
def test_half_a_token_or_seed_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a whole number, not 1.5"):
        Sampling(**{name: 1.5})  # type: ignore[arg-type]


def test_numbers_may_come_out_of_numpy() -> None:
    f32, i64 = np.float32, np.int64
    sampling = Sampling(temperature=f32(0.5), top_k=i64(3), top_p=f32(0.9), min_p=i64(0), seed=i64(7))  # type: ignore[arg-type]
    assert Sampler(sampling).draw(ROW, None).token_id in range(8)


def test_logits_at_the_edge_of_float64_are_no_warning() -> None:
    row = as_logits([1e308, -1e308, -1e308], 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sampling in (
            Sampling(seed=1),
            Sampling(temperature=1e-300, top_k=2, top_p=0.5, min_p=0.1, seed=1),
        ):
            assert Sampler(sampling).draw(row, None).token_id == 0


def test_an_unknown_step_is_named() -> None:
    with pytest.raises(UsageError, match="nucleus"):
        Sampler(Sampling(), order=("mask", "nucleus"))


@pytest.mark.parametrize(
    "bad",
    [[0, np.nan, 1], [0, np.inf, 1], [0, 1], [[0, 1, 2]], [-np.inf] * 3, None, 5, ["1", "2", "3"], [1, None, 2],
     [1, 2, 3j], [True, False, True], [[1], [2, 3], 4], [object()] * 3, [10**400, 0, 0]],
)  # fmt: skip
def test_logits_that_cannot_be_used_are_a_model_error(bad: object) -> None:
    with pytest.raises(ModelError):
        as_logits(bad, 3)  # type: ignore[arg-type]


def test_an_empty_mask_names_the_mask() -> None:
    with pytest.raises(EmptyMaskError, match="'mask'"):
        Sampler(Sampling()).draw(ROW, allow())


def test_the_models_row_is_never_written() -> None:
    row = ROW.copy()
    Sampler(Sampling(temperature=0.5, top_k=3, top_p=0.9, min_p=0.1, seed=0)).draw(row, allow(0, 1, 2))
    assert (row == ROW).all()
