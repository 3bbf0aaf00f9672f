"""The logits processor in `model.generate` of transformers, on tiny random models and on SmolLM2."""

from __future__ import annotations

import re
from typing import Any

import pytest

import minidecoder as md
from minidecoder.integrations.transformers import ConstrainedLogitsProcessor
from minidecoder.models import CausalLM
from tests.optional import need

torch = need("torch", "models")
transformers = need("transformers", "models")

TOKENS = ["<pad>", "</s>", *"abcdef0123456789-.", "ab", "cd", "12", "34", "-5", "00", "é", b"\xc3", b"\xa9"]
VOCABULARY = md.Vocabulary.from_tokens(TOKENS, eos="</s>", special=["<pad>"], width=40)
PHONE = r"[0-9]{3}-[0-9]{4}"
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}


def llama() -> Any:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=40, **sizes, **IDS)).eval()


def gpt2() -> Any:
    torch.manual_seed(0)
    sizes = {"n_positions": 64, "n_embd": 16, "n_layer": 2, "n_head": 2}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=40, **sizes, **IDS)).eval()


MODELS = {"llama": llama(), "gpt2": gpt2()}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def answers(
    model: Any, constraint: md.Constraint, prompts: list[list[int]] | None = None, **options: Any
) -> list[str]:
    """The texts that come out, prompt and padding taken away. Prompts are padded on the left."""
    prompts = prompts or [[5, 6, 7]]
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    inputs = {"input_ids": ids, "attention_mask": (ids != 0).long()}
    torch.manual_seed(1)
    processor = ConstrainedLogitsProcessor(constraint)
    out = model.generate(**inputs, max_new_tokens=20, logits_processor=[processor], **options)
    return [VOCABULARY.decode(row[longest:].tolist()).decode() for row in out]


@pytest.fixture(scope="module")
def phone() -> md.Constraint:
    return md.compile_regex(PHONE, VOCABULARY)


@every_model
def test_greedy_text_matches_and_is_that_of_our_own_loop(model: Any, phone: md.Constraint) -> None:
    (text,) = answers(model, phone, do_sample=False)
    assert re.fullmatch(PHONE, text)

    class Plain:
        def next_logits(self, token_ids: Any) -> Any:
            with torch.inference_mode():
                return model(torch.tensor([token_ids])).logits[0, -1]

    assert md.generate(Plain(), [5, 6, 7], constraint=phone).text == text


@every_model
def test_sampled_rows_of_a_left_padded_batch_all_match_and_differ(model: Any, phone: md.Constraint) -> None:
    prompts = [[5], [5, 6, 7, 8, 9], [12, 13]]
    texts = answers(model, phone, prompts, do_sample=True, num_return_sequences=8)
    assert len(texts) == 24
    assert all(re.fullmatch(PHONE, text) for text in texts)
    assert len(set(texts)) > 12


@every_model
def test_rows_that_finish_early_are_padded_and_leave_the_others_alone(model: Any) -> None:
    constraint = md.compile_regex("a|[0-9]{9}|b{3}", VOCABULARY)
    texts = answers(model, constraint, [[5], [6], [7]], do_sample=True, num_return_sequences=20)
    assert all(re.fullmatch("a|[0-9]{9}|b{3}", text) for text in texts)
    assert len({len(text) for text in texts}) == 3


@every_model
@pytest.mark.parametrize(
    "options", [{"do_sample": False}, {"do_sample": True}], ids=["beams", "beam sampling"]
)
def test_beams_match_though_their_rows_are_reordered(model: Any, phone: md.Constraint, options: Any) -> None:
    prompts = [[5, 6, 7], [8]]
    texts = answers(model, phone, prompts, num_beams=4, num_return_sequences=4, **options)
    assert len(texts) == 8
    assert all(re.fullmatch(PHONE, text) for text in texts)


def brute_force_best(model: Any, constraint: md.Constraint, prompt: list[int]) -> tuple[float, str]:
    """The likeliest text of a small language, by trying them all; the mask does not renormalise."""
    best, pending = (-float("inf"), ""), [([*prompt], 0.0, constraint.matcher())]
    while pending:
        ids, score, matcher = pending.pop()
        with torch.inference_mode():
            scores = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], dim=-1)
        for token_id in matcher.allowed_token_ids().tolist():
            total = score + float(scores[token_id])
            if token_id in VOCABULARY.eos_ids:
                best = max(best, (total, VOCABULARY.decode(ids[len(prompt) :]).decode()))
            else:
                after = matcher.fork()
                after.accept_token(token_id)
                pending.append(([*ids, token_id], total, after))
    return best


@every_model
def test_with_enough_beams_the_likeliest_text_of_the_language_is_found(model: Any) -> None:
    """Only a state that follows each beam finds it: `ab` under one beam, `cd` under another."""
    constraint = md.compile_regex("ab[0-9]|cd[ab]|-(5|[ef])c", VOCABULARY)
    (text,) = answers(model, constraint, [[9, 4]], num_beams=32, do_sample=False, length_penalty=0.0)
    assert text == brute_force_best(model, constraint, [9, 4])[1]


def test_a_reordered_row_takes_its_state_along() -> None:
    """`ab|cd`, both rows `a` and `c`; then both rows are copies of row 1: both allow `d` alone."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "c", "d"], eos=0)
    processor = ConstrainedLogitsProcessor(md.compile_regex("ab|cd", vocabulary))
    scores = torch.zeros(2, 5)

    def allowed(ids: list[list[int]]) -> list[list[int]]:
        masked = processor(torch.tensor(ids), scores)
        return [torch.isfinite(row).nonzero()[:, 0].tolist() for row in masked]

    assert allowed([[4], [4]]) == [[1, 3], [1, 3]]
    assert allowed([[4, 1], [4, 3]]) == [[2], [4]]
    assert allowed([[4, 3], [4, 3]]) == [[4], [4]]
    assert allowed([[4, 3, 4], [4, 1, 2]]) == [[0], [0]]
    assert allowed([[4, 3, 4, 0], [4, 1, 2, 0]]) == [[0], [0]], "finished rows get their padding"
    assert scores.eq(0).all(), "the scores of others are not written into"


def test_a_row_that_goes_back_is_walked_again() -> None:
    """Assisted decoding asks about a draft token by token, then throws some of it away."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b"], eos=0)
    processor = ConstrainedLogitsProcessor(md.compile_regex("a(b|a)ab", vocabulary))

    def allowed(*ids: int) -> list[int]:
        return torch.isfinite(processor(torch.tensor([ids]), torch.zeros(1, 3))[0]).nonzero()[:, 0].tolist()

    assert [allowed(2), allowed(2, 1), allowed(2, 1, 1), allowed(2, 1, 1, 1)] == [[1], [1, 2], [1], [2]]
    assert [allowed(2, 1, 2), allowed(2, 1), allowed(2)] == [[1], [1, 2], [1]]


@every_model
def test_assisted_decoding_gives_the_greedy_text(model: Any, phone: md.Constraint) -> None:
    texts = answers(
        model, phone, do_sample=False, assistant_model=llama() if model is MODELS["llama"] else gpt2()
    )
    assert texts == answers(model, phone, do_sample=False)


def test_one_processor_may_serve_one_prompt_after_the_other(phone: md.Constraint) -> None:
    processor = ConstrainedLogitsProcessor(phone)
    model = MODELS["llama"]
    for prompt in ([5, 6, 7], [5, 6, 7], [8], [9, 9, 9, 9, 9, 9], [[7, 7], [8, 8]]):
        ids = torch.tensor(prompt if isinstance(prompt[0], list) else [prompt])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False, logits_processor=[processor])  # fmt: skip
        for row in out[:, ids.shape[1] :]:
            assert re.fullmatch(PHONE, VOCABULARY.decode(row.tolist()).decode())


def test_a_prompt_that_is_the_last_answer_needs_a_reset(phone: md.Constraint) -> None:
    processor = ConstrainedLogitsProcessor(phone)
    row = torch.zeros(1, 40)
    processor(torch.tensor([[5]]), row)
    with pytest.raises(md.UsageError, match=r"every row holds a token that the constraint blocks.*reset\(\)"):
        processor(torch.tensor([[5, 2]]), row)
    processor.reset()
    assert torch.isfinite(processor(torch.tensor([[5, 2]]), row)).any()


def test_the_mask_comes_before_truncation_and_after_a_temperature_all_the_same(phone: md.Constraint) -> None:
    texts = answers(MODELS["gpt2"], phone, do_sample=True, top_k=1, num_return_sequences=3, temperature=0.01)
    assert len(set(texts)) == 1
    assert re.fullmatch(PHONE, texts[0])


def test_scores_of_half_precision_stay_of_that_type(phone: md.Constraint) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        masked = ConstrainedLogitsProcessor(phone)(torch.tensor([[5]]), torch.zeros(1, 40, dtype=dtype))
        assert masked.dtype == dtype
        assert torch.isfinite(masked).sum() == 13, "ten digits, `12`, `34` and `00`"


def test_another_number_of_scores_is_a_model_error(phone: md.Constraint) -> None:
    with pytest.raises(md.ModelError, match=r"\(1, 41\).*40 tokens.*width=model.config.vocab_size"):
        ConstrainedLogitsProcessor(phone)(torch.tensor([[5]]), torch.zeros(1, 41))


@pytest.mark.parametrize(
    ("input_ids", "scores", "error", "message"),
    [
        ([5], (1, 40), md.UsageError, r"input_ids of the shape \(1,\) for 1 rows of scores"),
        (5, (1, 40), md.UsageError, r"shape \(\) for 1 rows"),
        ([[[5]]], (1, 40), md.UsageError, r"shape \(1, 1, 1\) for 1 rows"),
        ([[5]], (2, 40), md.UsageError, r"shape \(1, 1\) for 2 rows of scores: they must be \(B, T\)"),
        ([[5], [6]], (1, 40), md.UsageError, r"shape \(2, 1\) for 1 rows"),
        ([], (0, 40), md.UsageError, r"must be a tensor of int64 or int32, not torch.float32"),
        ([[5.0]], (1, 40), md.UsageError, r"not torch.float32"),
        ([[True]], (1, 40), md.UsageError, r"not torch.bool"),
        ([[5]], (40,), md.ModelError, r"the scores have the shape \(40,\)"),
        ([[5]], (), md.ModelError, r"the scores have the shape \(\)"),
    ],
)
def test_ids_and_scores_that_do_not_fit_each_other_are_refused(
    phone: md.Constraint, input_ids: Any, scores: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ConstrainedLogitsProcessor(phone)(torch.tensor(input_ids), torch.zeros(scores))


def test_an_empty_batch_and_what_is_no_tensor_are_refused(phone: md.Constraint) -> None:
    processor = ConstrainedLogitsProcessor(phone)
    with pytest.raises(md.UsageError, match=r"shape \(0, 3\) for 0 rows of scores: .* at least one"):
        processor(torch.zeros((0, 3), dtype=torch.long), torch.zeros(0, 40))
    with pytest.raises(md.UsageError, match="input_ids must be a tensor of int64 or int32, not list"):
        processor([[5]], torch.zeros(1, 40))
    with pytest.raises(md.ModelError, match="the scores must be a tensor of floats, not float64"):
        processor(torch.tensor([[5]]), torch.zeros(1, 40, dtype=torch.float64).numpy())
    with pytest.raises(md.ModelError, match=r"the scores must be a tensor of floats, not torch\.int64"):
        processor(torch.tensor([[5]]), torch.zeros(1, 40, dtype=torch.long))
    assert torch.isfinite(processor(torch.zeros((1, 0), dtype=torch.long), torch.zeros(1, 40))).sum() == 13


@pytest.mark.parametrize("token_id", [-1, -31, -40, 40, 2**40])
def test_a_generated_id_beyond_the_vocabulary_is_refused_and_no_other_token_is_meant(
    phone: md.Constraint, token_id: int
) -> None:
    """-31 counted from the end is a digit."""
    processor = ConstrainedLogitsProcessor(phone)
    processor(torch.tensor([[5]]), torch.zeros(1, 40))
    with pytest.raises(md.UsageError, match=f"token id {token_id} is not in the vocabulary: ids are 0 to 39"):
        processor(torch.tensor([[5, token_id]]), torch.zeros(1, 40))


def test_the_ids_of_the_prompt_may_be_anything(phone: md.Constraint) -> None:
    """Models for pictures write -200 where an image stands."""
    processor = ConstrainedLogitsProcessor(phone)
    for ids in ([-200, 99], [-200, 99, 8]):
        assert torch.isfinite(processor(torch.tensor([ids]), torch.zeros(1, 40))).any()


def test_a_row_that_an_earlier_processor_emptied_is_an_error_and_no_nan(phone: md.Constraint) -> None:
    scores = torch.full((1, 40), -torch.inf)
    scores[0, 2] = 0.0  # `a`, which no phone number holds
    with pytest.raises(md.EmptyMaskError, match="row 0, in state s0: all allowed tokens are -inf already"):
        ConstrainedLogitsProcessor(phone)(torch.tensor([[5]]), scores)
    with pytest.raises(md.EmptyMaskError):
        answers(MODELS["llama"], md.compile_regex("a", VOCABULARY), do_sample=True, min_new_tokens=3)


def test_what_is_no_constraint_is_refused() -> None:
    with pytest.raises(md.UsageError, match="constraint must be of type Constraint, not str"):
        ConstrainedLogitsProcessor("[0-9]+")  # type: ignore[arg-type]


def test_a_stack_machine_follows_its_rows_as_well() -> None:
    from minidecoder.grammar.compiler import compile_pushdown

    index = compile_pushdown('root ::= "a" root "b" | "c" | "d" | "e"', VOCABULARY)
    constraint = md.Constraint("nested", VOCABULARY, index.automaton, index)
    likes_depth = llama()
    with torch.no_grad():
        likes_depth.lm_head.weight[VOCABULARY.token_bytes.index(b"a")] *= 3
    for options in (
        {"do_sample": True, "num_return_sequences": 20},
        {"num_beams": 4, "num_return_sequences": 4},
    ):
        for text in answers(likes_depth, constraint, **options):
            depth = text.count("a")
            assert re.fullmatch(f"a{{{depth}}}([cde](b{{0,{depth}}}))?", text), "a legal beginning"
            assert len(text) >= 10 or len(text) == 2 * depth + 1, "whole, where twenty tokens were enough"


def test_the_example_of_the_docstring_on_smollm2(smollm2: CausalLM) -> None:
    phone = md.compile_regex(r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}", smollm2.vocabulary)
    inputs = smollm2.tokenizer("To reach our office in New York, call", return_tensors="pt")
    processor = ConstrainedLogitsProcessor(phone)
    out = smollm2.model.generate(**inputs, max_new_tokens=24, do_sample=False, logits_processor=[processor])
    text = smollm2.decode(out[0, inputs["input_ids"].shape[1] :])
    assert re.fullmatch(r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}<\|im_end\|>", text)


def test_on_smollm2_a_batch_of_prompts_of_different_lengths_matches(smollm2: CausalLM) -> None:
    date = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    constraint = md.compile_regex(date, smollm2.vocabulary)
    prompts = ["The date of the moon landing is ", "Christmas: "]
    encoded = [smollm2.encode(prompt) for prompt in prompts]
    longest = max(map(len, encoded))
    pad = smollm2.eos_ids[0]
    ids = torch.tensor([[pad] * (longest - len(e)) + e for e in encoded])
    mask = torch.tensor([[0] * (longest - len(e)) + [1] * len(e) for e in encoded])
    torch.manual_seed(0)
    for options in ({"do_sample": True, "num_return_sequences": 3}, {"do_sample": False, "num_beams": 2}):
        out = smollm2.model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=14,
            pad_token_id=pad,
            logits_processor=[ConstrainedLogitsProcessor(constraint)],
            **options,
        )
        texts = [smollm2.vocabulary.decode(row[longest:].tolist()).decode() for row in out]
        assert all(re.fullmatch(date, text) for text in texts)
