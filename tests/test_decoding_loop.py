"""The loop and the front door: what is recorded, how a run ends, what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import minidecoder as md
from minidecoder.models.toy import TableModel, UniformModel

LESSON = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]


@pytest.fixture
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos="</s>"))


class CountingModel:
    """Likes the given ids in turn; counts how often it is asked."""

    def __init__(self, wanted: Sequence[int], width: int = 9) -> None:
        self.wanted, self._width, self.calls = list(wanted), width, 0

    def next_logits(self, token_ids: Sequence[int]) -> np.ndarray:
        row = np.zeros(self._width, dtype=np.float32)
        row[self.wanted[self.calls]] = 10.0
        self.calls += 1
        return row


def test_a_run_under_a_constraint_is_recorded_step_by_step(price: md.Constraint) -> None:
    model = CountingModel([2, 4, 5])  # 12, .5, then 50, which is blocked
    run = md.generate(model, [], constraint=price)
    assert (run.text, run.finish_reason, run.is_complete) == ("12.51", "stop", True)
    assert run.token_ids == [2, 4, 1, 0]
    assert [step.allowed_count for step in run.steps] == [6, 8, 3, 1]
    assert [step.favourite for step in run.steps] == [2, 4, 5, None]
    assert [step.favourite_blocked for step in run.steps] == [False, False, True, False]
    assert model.calls == 3, "where only EOS may follow, the model is not asked"


def test_feasible_mass_is_the_models_probability_of_the_legal_tokens(price: md.Constraint) -> None:
    logits = np.log(np.arange(1.0, 10.0))
    run = md.generate(TableModel(9, {(): logits.tolist()}), [], constraint=price, max_tokens=1)
    legal = [1, 2, 5, 6, 7, 8]
    assert run.steps[0].feasible_mass == pytest.approx(sum(i + 1 for i in legal) / 45)


def test_without_a_constraint_nothing_is_blocked_and_eos_ends_the_text() -> None:
    vocabulary = md.Vocabulary.from_tokens(LESSON, eos="</s>")
    run = md.generate(CountingModel([3, 3, 0]), [], vocabulary=vocabulary)
    assert (run.text, run.finish_reason, run.is_complete) == ("..", "stop", True)
    assert {step.allowed_count for step in run.steps} == {9}
    assert [step.feasible_mass for step in run.steps] == pytest.approx([1.0] * 3)
    assert not any(step.favourite_blocked for step in run.steps)
    assert run.trace.machine is None


def test_padding_is_never_drawn_even_without_a_constraint() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "", "<sep>"], eos=0, special="<sep>", width=6)
    padding = [9.0 if i in (2, 4, 5) else 0.0 for i in range(6)]
    run = md.generate(TableModel(6, {(): padding}), [], vocabulary=vocabulary, max_tokens=1)
    step = run.steps[0]
    assert (step.token_id, step.allowed_count, step.favourite, step.favourite_blocked) == (0, 3, 2, True)
    for seed in range(50):
        sampling = md.Sampling(seed=seed)
        free = md.generate(UniformModel(6), [], vocabulary=vocabulary, sampling=sampling, max_tokens=4)
        assert set(free.token_ids) <= {0, 1, 3}


def test_a_run_that_is_cut_says_so(price: md.Constraint) -> None:
    run = md.generate(UniformModel(9), [], constraint=price, max_tokens=2)
    assert (run.finish_reason, run.is_complete, len(run.steps)) == ("length", False, 2)
    whole = md.generate(CountingModel([2, 4, 6]), [], constraint=price, max_tokens=3)
    assert (whole.finish_reason, whole.is_complete, whole.text) == ("length", True, "12.50")


def test_max_tokens_zero_makes_no_model_call_and_negative_is_refused(price: md.Constraint) -> None:
    model = CountingModel([])
    run = md.generate(model, [], constraint=price, max_tokens=0)
    assert (run.text, run.finish_reason, run.is_complete, model.calls) == ("", "length", False, 0)
    with pytest.raises(md.UsageError, match="max_tokens=-1"):
        md.generate(model, [], constraint=price, max_tokens=-1)
    with pytest.raises(md.UsageError, match="max_tokens=-1"):
        md.stream(model, [], constraint=price, max_tokens=-1)


def test_stream_yields_the_same_steps_with_their_rows(price: md.Constraint) -> None:
    sampling = md.Sampling(temperature=1.0, seed=3)
    steps = list(md.stream(UniformModel(9), [], constraint=price, sampling=sampling))
    run = md.generate(UniformModel(9), [], constraint=price, sampling=sampling)
    assert [step.token_id for step in steps] == run.token_ids
    assert steps[0].draw is not None
    assert steps[0].draw.before.shape == (9,)
    assert np.isneginf(steps[0].draw.after[[0, 3, 4]]).all()
    assert run.steps[0].draw is None, "a finished run keeps no rows"


def test_every_sampled_text_matches(price: md.Constraint) -> None:
    for seed in range(200):
        run = md.generate(
            UniformModel(9), [], constraint=price, sampling=md.Sampling(seed=seed), max_tokens=200
        )
        assert run.finish_reason == "stop"
        assert price.characters.accepts(run.text)


def test_the_prompt_reaches_the_model_and_is_not_part_of_the_text(price: md.Constraint) -> None:
    seen = []

    class Listening(UniformModel):
        def next_logits(self, token_ids: Sequence[int]) -> np.ndarray:
            seen.append(list(token_ids))
            return super().next_logits(token_ids)

    run = md.generate(Listening(9), [7, 7], constraint=price, max_tokens=2)
    assert seen == [[7, 7], [7, 7, run.token_ids[0]]]
    assert run.prompt_ids == (7, 7)


def test_a_text_prompt_needs_a_model_that_reads_text(price: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match="encode"):
        md.generate(UniformModel(9), "hello", constraint=price)
    assert md.generate(UniformModel(9), "", constraint=price, max_tokens=1).prompt_ids == ()


def test_what_cannot_be_used_is_refused_before_the_first_token(price: md.Constraint) -> None:
    with pytest.raises(md.ModelError, match=r"UniformModel has 8 logits, the vocabulary 9 tokens"):
        md.stream(UniformModel(8), [], constraint=price)
    with pytest.raises(md.ModelError, match=r"\(8,\).*9 tokens"):
        md.generate(CountingModel([0], width=8), [], constraint=price)  # it does not say its width
    with pytest.raises(md.ModelError, match="nan"):
        md.generate(TableModel(9, {(): [float("nan")] * 9}), [], constraint=price)
    with pytest.raises(md.UsageError, match="vocabulary="):
        md.generate(UniformModel(9), [])
    other = md.Vocabulary.from_tokens(["a", "</s>"], eos=1)
    with pytest.raises(md.UsageError, match="another vocabulary"):
        md.generate(UniformModel(9), [], constraint=price, vocabulary=other)


def test_half_a_character_at_the_cut_prints_as_a_replacement() -> None:
    vocabulary = md.Vocabulary.from_tokens([b"\xf0\x9f", b"\x98\x80", "</s>"], eos=2)
    constraint = md.compile_regex("[😀-🙏]", vocabulary)
    assert md.generate(UniformModel(3), [], constraint=constraint, max_tokens=1).text == "\ufffd"
    assert md.generate(UniformModel(3), [], constraint=constraint).text == "😀"


def test_a_pattern_that_is_no_text_is_a_usage_error() -> None:
    with pytest.raises(md.UsageError, match="bytes"):
        md.compile_regex(b"a", md.Vocabulary.from_tokens(["a", "</s>"], eos=1))  # type: ignore[arg-type]
