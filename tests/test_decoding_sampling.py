"""The pipeline of a draw: worked rows, the order that matters, and a distribution that is exact."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from itertools import permutations

import numpy as np
import pytest

from minidecoder.decoding.sampling import (
    ORDER,
    Past,
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
from tests.optional import need

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


# -- every order of the steps, against a computation on probabilities that shares no code -------------------

STEPS = ("mask", "temperature", "top_k", "top_p", "min_p")
SETTINGS = Sampling(temperature=0.4, top_k=6, top_p=0.91, min_p=0.17, seed=11)
MIXED = np.array([-1.4, 0.3, -1.1, 0.8, -0.4, -1.4, -1.3, 0.6])  # five distributions and an empty one
LEGAL = (0, 2, 4, 5, 6)
ORDERS = list(permutations(STEPS))


def closed_form(order: tuple[str, ...]) -> dict[int, float] | str:
    """The distribution after the steps, in plain Python on shares; or the step that left nothing."""
    shares = {i: math.exp(logit) for i, logit in enumerate(MIXED.tolist())}
    for name in order:
        total = sum(shares.values())
        shares = {i: share / total for i, share in shares.items()}
        ranked = sorted(shares, key=lambda i: -shares[i])
        if name == "mask":
            kept = [i for i in ranked if i in LEGAL]
        elif name == "temperature":
            shares = {i: share ** (1 / SETTINGS.temperature) for i, share in shares.items()}
            kept = ranked
        elif name == "top_k":
            kept = ranked[: SETTINGS.top_k]
        elif name == "top_p":
            kept = [i for n, i in enumerate(ranked) if sum(shares[j] for j in ranked[:n]) < SETTINGS.top_p]
        else:
            kept = [i for i in ranked if shares[i] >= SETTINGS.min_p * shares[ranked[0]]]
        shares = {i: shares[i] for i in kept}
        if not shares:
            return name
    total = sum(shares.values())
    return {i: share / total for i, share in shares.items()}


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_order_gives_the_distribution_of_the_closed_form(order: tuple[str, ...]) -> None:
    expected = closed_form(order)
    if isinstance(expected, str):
        with pytest.raises(EmptyMaskError) as fault:
            Sampler(SETTINGS, order).draw(MIXED, allow(*LEGAL))
        assert fault.value.step == expected
        return
    after = softmax(Sampler(SETTINGS, order).draw(MIXED, allow(*LEGAL)).after)
    assert np.flatnonzero(after).tolist() == sorted(expected)
    for token_id, share in expected.items():
        assert after[token_id] == pytest.approx(share)


def test_twenty_thousand_draws_under_each_order_follow_its_distribution() -> None:
    """Orders with the same closed form draw the same: one of each kind is drawn from."""
    whole = [(o, shares) for o in ORDERS if isinstance(shares := closed_form(o), dict)]
    kinds = {tuple(sorted((i, round(p, 12)) for i, p in shares.items())): order for order, shares in whole}
    assert (len(whole), len(kinds)) == (90, 5), "the order matters in this row"
    for distribution, order in kinds.items():
        sampler = Sampler(SETTINGS, order)
        counts = np.bincount(
            [sampler.draw(MIXED, allow(*LEGAL)).token_id for _ in range(20_000)], minlength=8
        )
        ids = [token_id for token_id, _ in distribution]
        wanted = np.array([20_000 * share for _, share in distribution])
        assert counts.sum() == counts[ids].sum(), f"{order} drew a token that was out"
        limits = [0, 0.0, 12.12, 15.20, 17.73, 20.00]  # chi-square, n - 1 degrees of freedom, p = 0.0005
        assert ((counts[ids] - wanted) ** 2 / wanted).sum() <= limits[len(ids)], order


def test_the_grid_of_orders_that_break_is_that_of_the_closed_form() -> None:
    """Illegal 0.5, 0.3, 0.15, legal 0.05: any truncation before the mask leaves nothing."""
    row, legal = np.log(np.array([0.5, 0.3, 0.15, 0.05])), allow(3, width=4)
    settings = Sampling(temperature=0.9, top_k=2, top_p=0.9, min_p=0.2, seed=1)
    broken = 0
    for order in ORDERS:
        truncations_first = {"top_k", "top_p", "min_p"} & set(order[: order.index("mask")])
        if truncations_first:
            broken += 1
            with pytest.raises(
                EmptyMaskError, match=r"'mask'.*the mask allows 1, all of them -inf already"
            ) as e:
                Sampler(settings, order).draw(row, legal)
            assert e.value.step == "mask"
        else:
            assert softmax(Sampler(settings, order).draw(row, legal).after)[3] == 1.0
    assert broken == 90, "30 of 120 orders have the mask before all three truncations"


def test_greedy_before_the_mask_breaks_too() -> None:
    with pytest.raises(EmptyMaskError, match=r"by the step .temperature. before it"):
        Sampler(Sampling(temperature=0), order=("temperature", "mask")).draw(ROW, allow(3))


# -- bias, bans, penalty, min_tokens ------------------------------------------------------------------------


def test_the_pipeline_is_a_list_of_names() -> None:
    assert ORDER == ("bias", "bans", "repetition_penalty", "mask", "min_tokens", "temperature", "top_k", "top_p", "min_p")  # fmt: skip


def test_a_bias_is_added_and_a_ban_takes_out() -> None:
    draw = Sampler(Sampling(logit_bias={3: 100, 4: -0.5}, banned_ids=[0, 2], temperature=0)).draw(ROW, None)
    assert draw.token_id == 3
    biased = draw.row_before("bans")
    assert (biased[3], biased[4], biased[0]) == (99.5, pytest.approx(0.4), 2.1)
    assert kept(draw.row_before("temperature")) == [1, 3, 4, 5, 6, 7]
    assert draw.cut_by(0) == draw.cut_by(2) == "bans"


def test_a_ban_on_all_that_is_allowed_is_an_error_and_names_both() -> None:
    with pytest.raises(EmptyMaskError, match=r"'mask'.*the mask allows 2.*bans") as fault:
        Sampler(Sampling(banned_ids={1, 4})).draw(ROW, allow(1, 4))
    assert fault.value.step == "mask"


def test_the_repetition_penalty_is_that_of_its_paper() -> None:
    row = np.array([2.0, -2.0, 1.0, 0.0, -np.inf])
    past = Past(token_ids=[0, 0, 1, 3, 4])
    after = Sampler(Sampling(repetition_penalty=2.0)).draw(row, None, past).after
    assert after.tolist() == [1.0, -4.0, 1.0, 0.0, -np.inf]
    assert row.tolist() == [2.0, -2.0, 1.0, 0.0, -np.inf]


def test_the_repetition_penalty_agrees_with_transformers() -> None:
    torch = need("torch", "models")
    transformers = need("transformers", "models")
    random = np.random.default_rng(5)
    for penalty in (0.5, 1.2, 3.0):
        row, past = random.normal(size=50), random.integers(0, 50, 30)
        theirs = transformers.RepetitionPenaltyLogitsProcessor(penalty)(
            torch.from_numpy(past)[None], torch.from_numpy(row)[None]
        )
        ours = Sampler(Sampling(repetition_penalty=penalty)).draw(row, None, Past(past.tolist())).after
        assert np.allclose(ours, theirs[0].numpy())


@pytest.mark.parametrize(
    ("setting", "name"), [({"top_k": 5}, "TopK"), ({"top_p": 0.7}, "TopP"), ({"min_p": 0.1}, "MinP")]
)
def test_truncations_agree_with_transformers(setting: dict[str, float], name: str) -> None:
    torch = need("torch", "models")
    transformers = need("transformers", "models")
    random = np.random.default_rng(6)
    for _ in range(30):
        row = random.normal(size=60) * 2
        theirs = getattr(transformers, f"{name}LogitsWarper")(*setting.values())(
            None, torch.from_numpy(row)[None]
        )
        ours = Sampler(Sampling(**setting)).draw(row, None).after  # type: ignore[arg-type]
        assert kept(ours) == torch.isfinite(theirs[0]).nonzero()[:, 0].tolist()


def test_min_tokens_holds_eos_back_until_enough_was_generated() -> None:
    sampling = Sampling(temperature=0, min_tokens=2)
    for generated, expected in [(0, 4), (1, 4), (2, 0), (3, 0)]:
        draw = Sampler(sampling).draw(ROW, allow(0, 4), Past((), generated, eos_ids=(0,)))
        assert draw.token_id == expected
    assert Sampler(sampling).draw(ROW, allow(0, 4), Past((), 0, (0,))).cut_by(0) == "min_tokens"


def test_where_only_eos_is_left_min_tokens_gives_way() -> None:
    past = Past((), 0, eos_ids=(0,))
    assert Sampler(Sampling(min_tokens=5)).draw(ROW, allow(0), past).token_id == 0
    banned = Sampling(min_tokens=5, banned_ids=[4])
    assert Sampler(banned).draw(ROW, allow(0, 4), past).token_id == 0, "a ban may leave EOS alone as well"


def test_a_draw_says_which_step_cut_a_token_and_keeps_each_row() -> None:
    sampling = Sampling(top_k=3, top_p=0.8, seed=0, banned_ids=[2])
    row = np.array([3.0, 2.0, 9.0, 1.0, 0.5, -np.inf])
    draw = Sampler(sampling).draw(row, allow(0, 1, 2, 3, 5, width=6))
    assert [draw.cut_by(i) for i in range(6)] == [None, None, "bans", "top_p", "mask", None]
    assert [name for name, _ in draw.stages] == list(ORDER)
    assert draw.stages[-1][1] is draw.after
    assert draw.row_before("bias") is draw.before is row
    assert draw.row_before("temperature") is draw.row_before("top_k"), (
        "a step that changes nothing costs nothing"
    )
    with pytest.raises(UsageError, match="no step 'nucleus' ran"):
        draw.row_before("nucleus")


def test_a_setting_without_its_step_is_refused() -> None:
    with pytest.raises(UsageError, match="top_k is set, but the order of steps has no 'top_k'"):
        Sampler(Sampling(top_k=3), order=("mask", "temperature"))
    with pytest.raises(UsageError, match="logit_bias is set, but the order of steps has no 'bias'"):
        Sampler(Sampling(logit_bias={1: 2.0}), order=("mask",))
    assert Sampler(Sampling(), order=("mask",)).draw(ROW, allow(3)).token_id == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repetition_penalty": 0}, "repetition_penalty=0.0 is out of range"),
        ({"repetition_penalty": math.inf}, "repetition_penalty"),
        ({"repetition_penalty": "1"}, "repetition_penalty must be a number"),
        ({"min_tokens": -1}, "min_tokens=-1 is out of range"),
        ({"min_tokens": 1.5}, "min_tokens must be a whole number"),
        ({"logit_bias": [1]}, "logit_bias must be of type Mapping, not list"),
        ({"logit_bias": {"1": 2.0}}, "an id in logit_bias must be a whole number"),
        ({"logit_bias": {-1: 2.0}}, "logit_bias names token id -1"),
        ({"logit_bias": {1: math.inf}}, r"logit_bias\[1\]=inf.*banned_ids"),
        ({"logit_bias": {1: math.nan}}, r"logit_bias\[1\] must be a number"),
        ({"banned_ids": "12"}, "banned_ids must be a list, not str"),
        ({"banned_ids": [True]}, "an id in banned_ids must be a whole number"),
        ({"banned_ids": [-4]}, "banned_ids names token id -4"),
    ],
)
def test_what_cannot_be_a_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Sampling(**settings)  # type: ignore[arg-type]


def test_ids_beyond_the_row_are_named() -> None:
    with pytest.raises(UsageError, match="banned_ids names token id 8: ids are 0 to 7"):
        Sampler(Sampling(banned_ids=[8, 9])).draw(ROW, None)
    with pytest.raises(UsageError, match="logit_bias names token id 99"):
        Sampler(Sampling(logit_bias={99: 1})).draw(ROW, None)


def test_settings_are_values() -> None:
    sampling = Sampling(logit_bias={1: 2}, banned_ids=[3, 3], seed=1)
    assert sampling == Sampling(logit_bias={1: 2.0}, banned_ids={3}, seed=1)
    assert hash(sampling) == hash(Sampling(logit_bias={1: 2.0}, banned_ids={3}, seed=1))
    assert pickle.loads(pickle.dumps(sampling)) == copy.deepcopy(sampling) == sampling
    with pytest.raises(TypeError):
        sampling.logit_bias[2] = 1.0  # type: ignore[index]


# -- rows of other libraries --------------------------------------------------------------------------------


def test_float32_and_bfloat16_rows_of_torch_are_read() -> None:
    torch = need("torch", "models")
    wanted = torch.tensor(ROW).to(torch.bfloat16).double().numpy()
    for row in (
        torch.tensor(ROW),
        torch.tensor(ROW, dtype=torch.float32),
        torch.tensor(ROW, dtype=torch.float16),
    ):
        assert as_logits(row, 8) == pytest.approx(ROW, abs=1e-2)
    assert (as_logits(torch.tensor(ROW).to(torch.bfloat16), 8) == wanted).all()
    learning = torch.tensor(ROW, requires_grad=True)
    assert as_logits(learning, 8).dtype == np.float64
    assert as_logits(torch.tensor([1, 2]), 2).tolist() == [1.0, 2.0]
    with pytest.raises(ModelError, match="bool"):
        as_logits(torch.tensor([True, False]), 2)
    with pytest.raises(ModelError, match="nan"):
        as_logits(torch.tensor([1.0, math.nan]), 2)
    with pytest.raises(ModelError, match=r"shape \(1, 2\)"):
        as_logits(torch.tensor([[1.0, 2.0]]), 2)


def test_bfloat16_rows_of_numpy_are_read() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs ml_dtypes, which adds bfloat16 to NumPy")
    row = as_logits(ROW.astype(ml_dtypes.bfloat16), 8)
    assert row.dtype == np.float64
    assert row == pytest.approx(ROW, abs=1e-2)


def test_a_row_of_bfloat16_is_masked_and_drawn_from_like_any_other() -> None:
    torch = need("torch", "models")
    row = as_logits(torch.tensor(ROW).to(torch.bfloat16), 8)
    sampler = Sampler(Sampling(seed=3))
    assert {sampler.draw(row, allow(3, 7)).token_id for _ in range(200)} == {3, 7}
