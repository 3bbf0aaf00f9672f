"""The numbers of lesson 05: masking, and the order of the sampling steps."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import minidecoder as md
from minidecoder.decoding.sampling import ORDER, Sampler, keep_top_p, mask_row, scale, softmax
from minidecoder.models.toy import TableModel
from minidecoder.tokens.bitmask import pack

TOKENS = ["{", "}", '"', "a", "5", ":", " ", "\n"]
ROW = np.array([2.1, 0.3, 1.8, -0.5, 0.9, -1.2, 0.4, -0.8])


def mask(*allowed: str) -> np.ndarray:
    return pack(np.array([token in allowed for token in TOKENS]))


def test_where_only_the_brace_is_allowed_its_probability_is_one() -> None:
    draw = Sampler(md.Sampling(seed=0)).draw(ROW, mask("{"))
    assert (TOKENS[draw.token_id], softmax(draw.after)[0]) == ("{", 1.0)


def test_quote_and_digit_share_sixty_to_forty() -> None:
    row = ROW.copy()
    row[[2, 4]] = [2.3, 1.9]
    after = Sampler(md.Sampling(seed=0)).draw(row, mask('"', "5")).after
    assert np.round(softmax(after)[[2, 4]], 2).tolist() == [0.60, 0.40]
    assert softmax(after).sum() == pytest.approx(1.0)


SHARES = np.array([0.5, 0.3, 0.15, 0.05])
LEGAL = pack(np.array([False, False, False, True]))


def test_truncated_first_every_entry_is_minus_infinity_and_softmax_is_nan() -> None:
    row = mask_row(keep_top_p(np.log(SHARES), 0.9), LEGAL)
    assert np.isneginf(row).all()
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.exp(row - row.max()) / np.exp(row - row.max()).sum()).all(), (
            "what others then draw from"
        )
    with pytest.raises(md.EmptyMaskError) as fault:
        Sampler(md.Sampling(top_p=0.9), ("top_p", "mask")).draw(np.log(SHARES), LEGAL)
    assert fault.value.step == "mask"


def test_masked_first_the_legal_token_has_probability_one() -> None:
    draw = Sampler(md.Sampling(top_p=0.9, seed=0), ("mask", "top_p")).draw(np.log(SHARES), LEGAL)
    assert softmax(draw.after).tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_temperature_commutes_with_the_mask(temperature: float) -> None:
    allowed = mask('"', "5", ":")
    cooled_last = softmax(scale(mask_row(ROW, allowed), temperature))
    cooled_first = softmax(mask_row(scale(ROW, temperature), allowed))
    np.testing.assert_allclose(cooled_first, cooled_last)


def test_the_grid_of_orders() -> None:
    """With these shares an order is broken exactly if a truncation comes before the mask."""
    steps = ("mask", "temperature", "top_k", "top_p", "min_p")
    sampling = md.Sampling(temperature=0.8, top_k=2, top_p=0.9, min_p=0.2, seed=0)
    grid = {}
    for order in permutations(steps):
        try:
            Sampler(sampling, order).draw(np.log(SHARES), LEGAL)
            grid[order] = "whole"
        except md.EmptyMaskError as fault:
            grid[order] = fault.step
    assert len(grid) == 120
    assert {order for order, end in grid.items() if end == "whole"} == {
        order for order in grid if set(order[: order.index("mask")]) <= {"temperature"}
    }
    assert sum(end == "mask" for end in grid.values()) == 90
    assert [name for name in ORDER if name in steps] == list(steps), "the order that every run uses is whole"


def test_masking_renormalises_over_the_allowed_set() -> None:
    free, allowed = softmax(ROW), mask("{", "5", ":")
    kept = free * np.isin(TOKENS, ["{", "5", ":"])
    np.testing.assert_allclose(softmax(mask_row(ROW, allowed)), kept / kept.sum())


def test_eos_is_allowed_in_accepting_states_alone_and_a_filter_without_that_rule_stops_half_way() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "1", "2", "."], eos=0)
    price = md.compile_regex(r"[0-9]+\.[0-9]{2}", vocabulary)
    tired = TableModel(4, {}, default=[3.0, 2.0, 1.0, 1.0])  # likes nothing more than to end
    tired_row = np.array([3.0, 2.0, 1.0, 1.0])
    matcher = price.matcher()
    assert not matcher.is_allowed(0)
    careless = pack(np.array([True, True, True, False]))  # "EOS is always fine"
    assert Sampler(md.Sampling(temperature=0)).draw(tired_row, careless).token_id == 0
    run = md.generate(tired, [], constraint=price, max_tokens=12, finish_within_budget=True)
    assert (run.is_complete, run.finish_reason) == (True, "stop")


def test_every_column_of_the_row_is_covered_padding_and_special_ids_too() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "1", "<|user|>"], eos=0, special=["<|user|>"], width=40)
    digit = md.compile_regex("1+", vocabulary)
    loves_padding = [-1.0, 0.0, 8.0] + [9.0] * 37
    run = md.generate(TableModel(40, {}, default=loves_padding), [], constraint=digit, max_tokens=3)
    assert run.text == "111"
    assert run.steps[0].feasible_mass == pytest.approx(1 / (np.exp(-1) + 1 + np.exp(8) + 37 * np.exp(9)))
