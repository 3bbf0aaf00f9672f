"""What a caller meets around a run: Ctrl-C, many prompts, the end of the context, a model that is not there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import minidecoder as md
from minidecoder.models import CausalLM
from minidecoder.models.toy import TableModel, UniformModel
from tests.optional import need

VOCABULARY = md.Vocabulary.from_tokens(["</s>", "a", "b", "ab"], eos=0)


@pytest.fixture(scope="module")
def constraint() -> md.Constraint:
    return md.compile_regex("[ab]{9}", VOCABULARY)


class Interrupted(UniformModel):
    """The user presses Ctrl-C at the n-th call."""

    def __init__(self, at: int) -> None:
        super().__init__(len(VOCABULARY))
        self.at = at

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        self.at -= 1
        if self.at < 0:
            raise KeyboardInterrupt
        return super().next_logits(token_ids)


def test_ctrl_c_carries_the_run_so_far(constraint: md.Constraint) -> None:
    with pytest.raises(md.GenerationInterrupted, match="after 3 tokens") as caught:
        md.generate(Interrupted(3), [], constraint=constraint)
    run = caught.value.run
    assert (run.text, run.finish_reason, run.is_complete) == ("aaa", "interrupted", False)
    assert (len(run.steps), len(run.trace.steps), run.trace.finish_reason) == (3, 3, "interrupted")
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception), "`except Exception` must not swallow Ctrl-C"


def test_ctrl_c_at_the_first_token_carries_an_empty_run(constraint: md.Constraint) -> None:
    with pytest.raises(md.GenerationInterrupted) as caught:
        md.generate(Interrupted(0), [], constraint=constraint)
    assert (caught.value.run.text, caught.value.run.token_ids) == ("", [])


def test_ctrl_c_between_prompts_keeps_what_was_finished(constraint: md.Constraint) -> None:
    model = Interrupted(12)  # nine letters for the first prompt, EOS being forced
    with pytest.raises(md.GenerationInterrupted) as caught:
        md.generate_many(model, [[], []], constraint=constraint)
    assert [run.text for run in caught.value.finished] == ["a" * 9]
    assert caught.value.run.text == "aaa"


def test_a_run_for_each_prompt_in_their_order(constraint: md.Constraint) -> None:
    model = TableModel(4, {(1,): [0, 0, 9, 0]})
    runs = md.generate_many(model, ([i] for i in (1, 2)), constraint=constraint, max_tokens=1)
    assert [(run.prompt_ids, run.text) for run in runs] == [((1,), "b"), ((2,), "a")]
    assert md.generate_many(model, [], constraint=constraint) == []


def test_equal_prompts_are_drawn_differently_and_each_can_be_repeated(constraint: md.Constraint) -> None:
    sampling = md.Sampling(seed=40)
    runs = md.generate_many(UniformModel(4), [[]] * 5, constraint=constraint, sampling=sampling)
    assert len({tuple(run.token_ids) for run in runs}) > 1
    for index, run in enumerate(runs):
        again = md.generate(UniformModel(4), [], constraint=constraint, sampling=md.Sampling(seed=40 + index))
        assert again.token_ids == run.token_ids


def test_the_bar_is_plain_text_on_stderr(
    constraint: md.Constraint, capsys: pytest.CaptureFixture[str]
) -> None:
    need("tqdm", "models")
    md.generate_many(UniformModel(4), [[], [], []], constraint=constraint, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err
    assert "prompt" in shown.err
    md.generate_many(UniformModel(4), [[]], constraint=constraint)
    assert capsys.readouterr().err == "", "nobody asked for a bar"


def test_the_bar_without_tqdm_names_the_command(
    constraint: md.Constraint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(md.MissingDependencyError, match=r"tqdm is not installed: pip install"):
        md.generate_many(UniformModel(4), [[]], constraint=constraint, progress=True)


@pytest.mark.parametrize("prompts", ["hello", {"a"}, None, 5])
def test_one_text_is_no_list_of_prompts(constraint: md.Constraint, prompts: Any) -> None:
    with pytest.raises(md.UsageError, match="prompts must be a list"):
        md.generate_many(UniformModel(4), prompts, constraint=constraint)


# -- the context --------------------------------------------------------------------------------------------


class ShortSighted(UniformModel):
    context_length = 6

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        assert len(token_ids) <= self.context_length, "more was fed than the context holds"
        return super().next_logits(token_ids)


def test_a_prompt_longer_than_the_context_is_refused_before_the_first_call(constraint: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match="the prompt has 7 tokens, this model's context holds 6"):
        md.stream(ShortSighted(4), [1] * 7, constraint=constraint)


def test_a_run_ends_where_the_context_is_full(constraint: md.Constraint) -> None:
    run = md.generate(ShortSighted(4), [1] * 6, constraint=constraint)
    assert (run.text, run.finish_reason) == ("a", "length")
    run = md.generate(ShortSighted(4), [1] * 4, constraint=constraint)
    assert (run.text, run.finish_reason, run.is_complete) == ("aaa", "length", False)


def test_a_budget_knows_where_the_context_ends(constraint: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match=r"max_tokens=5 is too few to finish.*takes 6 tokens"):
        md.generate(ShortSighted(4), [1, 1], constraint=constraint, finish_within_budget=True)
    run = md.generate(ShortSighted(4), [1], constraint=constraint, finish_within_budget=True)
    assert (run.text, run.is_complete, len(run.steps)) == ("aabababab", True, 6)


# -- models that are not there, or not right ----------------------------------------------------------------


def test_a_model_path_that_does_not_exist_is_a_model_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("transformers", "models")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for path in (tmp_path / "nothing here", str(tmp_path / "missing"), tmp_path):
        with pytest.raises(md.ModelError, match=r"no causal model can be loaded from .*config\.json"):
            CausalLM.from_pretrained(path)


def test_a_model_in_a_folder_is_read_and_a_broken_one_is_a_model_error(tmp_path: Path) -> None:
    transformers = need("transformers", "models")
    tiny = importlib.import_module("tests.test_models_causal_lm")
    tiny.llama().save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    model = CausalLM.from_pretrained(str(tmp_path))
    assert (model.width, model.encode("hello there")) == (40, [7, 8])
    assert isinstance(model.model, transformers.LlamaForCausalLM)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(md.ModelError, match="no causal model can be loaded"):
        CausalLM.from_pretrained(tmp_path)


def test_a_vocabulary_of_another_width_than_the_model_is_refused_before_the_first_call() -> None:
    constraint = md.compile_regex("a", VOCABULARY)
    with pytest.raises(md.ModelError, match=r"UniformModel has 9 logits, the vocabulary 4 tokens.*width="):
        md.stream(UniformModel(9), [], constraint=constraint)
    padded = md.Vocabulary.from_tokens(["</s>", "a", "b", "ab"], eos=0, width=9)
    assert md.generate(UniformModel(9), [], constraint=md.compile_regex("a", padded)).text == "a"


def test_a_vocabulary_without_eos_is_refused_wherever_it_comes_from() -> None:
    tokenizers, transformers = need("tokenizers", "models"), need("transformers", "models")
    tiny = importlib.import_module("tests.test_models_causal_lm")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())[: tiny.WIDTH]
    byte_level = tokenizers.Tokenizer(
        tokenizers.models.BPE({letter: i for i, letter in enumerate(letters)}, [])
    )
    byte_level.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level.decoder = tokenizers.decoders.ByteLevel()
    plain = tiny.llama()
    plain.generation_config.eos_token_id = None
    model = CausalLM(plain, transformers.PreTrainedTokenizerFast(tokenizer_object=byte_level))
    with pytest.raises(md.VocabularyError, match="EOS"):
        md.generate(model, [1])
    with pytest.raises(md.VocabularyError, match="EOS"):
        md.Vocabulary.from_tokens(["a"], eos=[])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_that_are_no_numbers_are_a_model_error_at_the_step_where_they_come(bad: float) -> None:
    constraint = md.compile_regex("[ab]{9}", VOCABULARY)
    model = TableModel(4, {(1, 1): [0.0, bad, 0.0, 0.0]})
    steps = md.stream(model, [], constraint=constraint)
    assert [next(steps).token_id, next(steps).token_id] == [1, 1]
    with pytest.raises(md.ModelError, match="as the logit of token 1"):
        next(steps)


def test_a_model_that_rules_out_all_that_is_allowed_is_an_error_that_says_so() -> None:
    constraint = md.compile_regex("a+", VOCABULARY)
    model = TableModel(4, {}, default=[0.0, -np.inf, 5.0, 0.0])
    with pytest.raises(md.EmptyMaskError, match="the mask allows 1, all of them -inf already, by the model"):
        md.generate(model, [], constraint=constraint)


def test_bans_and_biases_reach_the_run_and_wrong_ids_do_not() -> None:
    constraint = md.compile_regex("[ab]", VOCABULARY)
    run = md.generate(
        UniformModel(4), [], constraint=constraint, sampling=md.Sampling(temperature=0, logit_bias={2: 1})
    )
    assert run.text == "b"
    with pytest.raises(md.UsageError, match="banned_ids names token id 4: ids are 0 to 3"):
        md.stream(UniformModel(4), [], constraint=constraint, sampling=md.Sampling(banned_ids=[4]))
    ended = md.stream(UniformModel(4), [], constraint=constraint, sampling=md.Sampling(banned_ids=[0]))
    next(ended)
    with pytest.raises(md.EmptyMaskError, match="only EOS may come next, and it is banned") as fault:
        next(ended)
    assert fault.value.step == "bans"


def test_a_penalty_counts_prompt_and_text() -> None:
    model = TableModel(4, {}, default=[0.0, 4.0, 3.0, 0.0])
    sampling = md.Sampling(temperature=0, repetition_penalty=2.0)
    run = md.generate(model, [], vocabulary=VOCABULARY, sampling=sampling, max_tokens=3)
    assert run.text == "aba", "2.0 for `a` against 3.0, then 2.0 against 1.5"
    assert md.generate(model, [1], vocabulary=VOCABULARY, sampling=sampling, max_tokens=1).text == "b"


def test_a_constraint_that_says_no_to_everything_is_an_error_with_its_state() -> None:
    class Nothing:
        form, nbytes = "nothing", 0

        def bitmask(self, state: md.State) -> NDArray[np.int32]:
            return np.zeros(1, dtype=np.int32)

        after = allowed = is_alive = bitmask

    whole = md.compile_regex("ab", VOCABULARY)
    broken = md.Constraint("ab", VOCABULARY, whole.automaton, Nothing())  # type: ignore[arg-type]
    with pytest.raises(md.EmptyMaskError, match="in state s0 no token may come next"):
        md.generate(UniformModel(4), [], constraint=broken)


def test_max_tokens_zero_is_complete_where_the_empty_text_matches() -> None:
    empty = md.generate(UniformModel(4), [], constraint=md.compile_regex("a*", VOCABULARY), max_tokens=0)
    assert (empty.text, empty.is_complete, empty.finish_reason, empty.model_calls) == ("", True, "length", 0)


def test_a_run_gives_its_measures_and_prints_them(constraint: md.Constraint) -> None:
    run = md.generate(UniformModel(4), [], constraint=constraint)
    assert run.measures.feasible_mass[0] == pytest.approx(0.75)
    assert (run.model_calls, run.model_calls_saved) == (9, 1)
    assert "model calls" in run.summary()
    assert "1 saved" in run.summary()
