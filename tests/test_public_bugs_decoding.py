"""Bugs that users of other decoders reported about sampling and generation, none of which may happen here.

Each test names the report it was distilled from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import minidecoder as md
from minidecoder.decoding.sampling import Past, Sampler, mask_row, softmax
from minidecoder.models.toy import TableModel, UniformModel
from minidecoder.tokens.bitmask import pack
from tests.optional import need


def allow(width: int, *ids: int) -> np.ndarray:
    allowed = np.zeros(width, dtype=np.bool_)
    allowed[list(ids)] = True
    return pack(allowed)


def probabilities(logits: Sequence[float], allowed: Sequence[int], **settings: object) -> list[float]:
    row = np.array(logits)
    draw = Sampler(md.Sampling(seed=0, **settings)).draw(row, allow(len(row), *allowed))  # type: ignore[arg-type]
    return softmax(draw.after).tolist()


def test_a_bias_of_a_hundred_does_not_unmask_a_token() -> None:
    """NVIDIA/TensorRT-Edge-LLM#218: the mask came before the bias, and a biased token came out illegal."""
    assert probabilities([0.0, 0.0], [0], logit_bias={1: 100}) == [1.0, 0.0]
    late = Sampler(md.Sampling(logit_bias={1: 100}, seed=0), order=("mask", "bias")).draw(
        np.zeros(2), allow(2, 0)
    )
    assert late.token_id == 0, "even behind the mask: -inf + 100 is -inf"


def test_a_row_with_nothing_allowed_is_an_error_and_never_uniform() -> None:
    """AkaliKong/MiniOneRec#50: with a large finite number as the mask, an empty set became a random token."""
    with pytest.raises(md.EmptyMaskError, match="'mask' no token is left to draw: the mask allows none"):
        Sampler(md.Sampling(seed=0)).draw(np.array([1.0, 2.0]), allow(2))
    assert np.isneginf(mask_row(np.array([1.0, 2.0]), allow(2))).all()


def test_an_empty_row_in_a_run_names_the_state() -> None:
    """AkaliKong/MiniOneRec#50 again, as a user of `generate` meets it."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    constraint = md.compile_regex("aa", vocabulary)
    banned = md.Sampling(banned_ids=[1], seed=0)
    with pytest.raises(md.EmptyMaskError, match="the mask allows 1, all of them -inf already"):
        md.generate(UniformModel(2), [], constraint=constraint, sampling=banned)


def test_a_model_that_wants_to_end_at_once_is_held_to_the_pattern() -> None:
    """EricLBuehler/mistral.rs#2204: greedy chose EOS at the first step, and the answer was empty."""
    draw = Sampler(md.Sampling(temperature=0)).draw(np.array([0.0, 9.0]), allow(2, 0), Past((), 0, (1,)))
    assert draw.token_id == 0
    vocabulary = md.Vocabulary.from_tokens(["a", "</s>"], eos=1)
    run = md.generate(
        TableModel(2, {}, default=[0.0, 9.0]), [], constraint=md.compile_regex("a{2,}", vocabulary)
    )
    assert (run.text, run.steps[0].favourite_blocked) == ("aa", True)


def test_the_only_legal_token_may_be_outside_of_the_top_k() -> None:
    """ggml-org/llama.cpp#3980: truncating before the mask, to save time, leaves nothing to draw."""
    assert probabilities([10, 9, 8, 1], [3], top_k=2) == [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(md.EmptyMaskError):
        Sampler(md.Sampling(top_k=2), order=("top_k", "mask")).draw(np.array([10.0, 9, 8, 1]), allow(4, 3))


def test_a_step_shows_what_the_model_wanted_beside_what_it_got() -> None:
    """timtoole02/Camelid#726: nothing in the output told whether a mask had been at work."""
    vocabulary = md.Vocabulary.from_tokens(["x", "a", "b", "</s>"], eos=3, width=4)
    logits = [5.0, 4.0, 0.0, -np.inf]
    (step,) = md.stream(TableModel(4, {}, default=logits), [], constraint=md.compile_regex("[ab]", vocabulary), max_tokens=1)  # fmt: skip
    assert (step.favourite, step.favourite_blocked, step.token_id) == (0, True, 1)
    assert step.feasible_mass == pytest.approx(0.2725, abs=1e-4)
    assert step.draw is not None
    assert step.draw.before.tolist() == logits
    assert step.draw.cut_by(0) == "mask"


def check_then_resample(shares: list[float], allowed: list[int], top_k: int) -> list[float]:
    """The shortcut: draw from the truncated free row; only an illegal draw is drawn again, under the mask."""
    width = len(shares)
    first = softmax(Sampler(md.Sampling(top_k=top_k), ("top_k",)).draw(np.log(shares), None).after)
    legal = np.isin(np.arange(width), allowed)
    second = np.array(probabilities(np.log(shares).tolist(), allowed, top_k=top_k))
    return (np.where(legal, first, 0.0) + first[~legal].sum() * second).tolist()


def test_checking_first_and_resampling_is_the_masked_distribution_without_truncation() -> None:
    """ggml-org/llama.cpp#4306: p + p(illegal) * p/Z = p/Z."""
    shares, allowed = [0.5, 0.3, 0.2], [1, 2]
    assert check_then_resample(shares, allowed, top_k=0) == pytest.approx([0.0, 0.6, 0.4])
    assert probabilities(np.log(shares).tolist(), allowed) == pytest.approx([0.0, 0.6, 0.4])


def test_with_truncation_the_shortcut_draws_from_another_distribution_than_we_do() -> None:
    """ggml-org/llama.cpp#7424: with top_k = 2 it gives [0, .75, .25]; the mask first gives [0, .6, .4]."""
    shares, allowed = [0.5, 0.3, 0.2], [1, 2]
    assert check_then_resample(shares, allowed, top_k=2) == pytest.approx([0.0, 0.75, 0.25])
    assert probabilities(np.log(shares).tolist(), allowed, top_k=2) == pytest.approx([0.0, 0.6, 0.4])
    sampler = Sampler(md.Sampling(top_k=2, seed=9))
    counts = np.bincount(
        [sampler.draw(np.log(shares), allow(3, 1, 2)).token_id for _ in range(20_000)], minlength=3
    )
    assert counts[0] == 0
    assert abs(counts[1] / 20_000 - 0.6) < 0.0115, "3.3 standard deviations"


def test_temperature_zero_with_minus_infinity_in_the_row_is_no_nan() -> None:
    """kekzl/imp#521: -inf / 0, or inf - inf, made NaN of the whole row."""
    draw = Sampler(md.Sampling(temperature=0)).draw(np.array([-np.inf, 2.0, 1.0]), allow(3, 1, 2))
    assert draw.token_id == 1
    assert not any(np.isnan(row).any() for _, row in draw.stages)
    assert not np.isnan(softmax(draw.after)).any()


def test_what_is_drawn_is_what_the_mask_allows_and_the_loop_asserts_it() -> None:
    """huggingface/AnyLanguageModel#197: the mask went into a copy that the sampler never read."""
    assert Sampler(md.Sampling(temperature=0)).draw(np.array([5.0, 0.0]), allow(2, 1)).token_id == 1
    vocabulary = md.Vocabulary.from_tokens(["a", "b", "</s>"], eos=2)
    constraint = md.compile_regex("b", vocabulary)
    from minidecoder.decoding.loop import Request, decode

    unmasked = Request(
        [], vocabulary, constraint.matcher(), Sampler(md.Sampling(temperature=0), ("temperature",)), 5
    )
    with pytest.raises(md.UsageError, match="was drawn although the mask blocks it"):
        next(decode(TableModel(3, {}, default=[5.0, 0.0, 0.0]), unmasked))


def test_beams_take_their_state_along_when_they_are_reordered() -> None:
    """mlc-ai/xgrammar#681: rows were copied and reordered, the matchers were not."""
    torch = need("torch", "models")
    from minidecoder.integrations.transformers import ConstrainedLogitsProcessor

    vocabulary = md.Vocabulary.from_tokens(["a", "b", "c", "d", "</s>"], eos=4)
    constraint = md.compile_regex("ab|cd", vocabulary)
    processor = ConstrainedLogitsProcessor(constraint)
    processor(torch.tensor([[0], [0]]), torch.zeros(2, 5))  # the prompt
    processor(torch.tensor([[0, 0], [0, 2]]), torch.zeros(2, 5))  # step 1: `a` and `c`
    masked = processor(torch.tensor([[0, 2], [0, 2]]), torch.zeros(2, 5))  # step 2: both follow row 1
    assert [torch.isfinite(row).nonzero()[:, 0].tolist() for row in masked] == [[3], [3]]
    # The same by hand, with our own matchers: a fork is what a copied row needs.
    parents = [constraint.matcher(), constraint.matcher()]
    assert parents[0].accept_token(0)
    assert parents[1].accept_token(2)
    rows = [parents[parent].fork() for parent in (1, 1)]
    assert [row.allowed_token_ids().tolist() for row in rows] == [[3], [3]]


def test_forced_text_is_cut_into_the_tokens_that_the_model_knows() -> None:
    """sgl-project/sglang#2045: forced text, tokenised alone, ended in `order` where the model writes `orderId`."""
    tokens = ['{"', "order", "orderId", "orderName", "Id", "Name", '":', "1", "}", "</s>"]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos="</s>")
    constraint = md.compile_regex(r'\{"order(Id|Name)":1\}', vocabulary)
    for wanted, text in [(2, '{"orderId":1}'), (3, '{"orderName":1}')]:
        row = [0.0] * 10
        row[wanted] = 9.0
        run = md.generate(TableModel(10, {}, default=row), [], constraint=constraint, jump_forward=True)
        assert (run.text, run.token_ids) == (text, [0, wanted, 6, 7, 8, 9])
        assert run.model_calls == 1
    matcher = constraint.matcher()
    assert not (matcher.accept_string('{"order":1}'))


def test_no_tokens_at_all_is_the_empty_text_and_complete_where_that_matches() -> None:
    """guidance-ai/llguidance#236: max_tokens=0."""

    class Silent(UniformModel):
        def next_logits(self, token_ids: Sequence[int]) -> np.ndarray:
            raise AssertionError("the model was asked")

    vocabulary = md.Vocabulary.from_tokens(["a", "</s>"], eos=1)
    run = md.generate(Silent(2), [], constraint=md.compile_regex("a*", vocabulary), max_tokens=0)
    assert (run.text, run.is_complete, run.finish_reason) == ("", True, "length")
    assert not md.generate(
        Silent(2), [], constraint=md.compile_regex("a+", vocabulary), max_tokens=0
    ).is_complete
