"""CausalLM on tiny models with random weights: the cache must not show, and every misuse has its error."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from minidecoder.decoding.language_model import TextModel
from minidecoder.errors import MissingDependencyError, ModelError, UsageError
from minidecoder.models import CausalLM
from minidecoder.models.causal_lm import require

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

WIDTH = 40
ROUNDING: dict[str, Any] = {"rtol": 1e-4, "atol": 2e-5}
SIZES = {
    "vocab_size": WIDTH,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": [2, 5],
    "pad_token_id": 0,
}
CHAT = (
    "{% for m in messages %}"
    "{% if m.role == 'system' and m.content == 'no' %}{{ raise_exception('no system') }}{% endif %}"
    "{{ m.role + ' ' + m.content + ' ' }}"
    "{% endfor %}{% if add_generation_prompt %}assistant{% endif %}"
)
WORDS = ["<pad>", "<bos>", "<eos>", "<unk>", "user", "system", "assistant", "hello", "there"]


def tokenizer(**settings: Any) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    settings = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", **settings}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, **settings)


def llama() -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))


def sliding_window() -> Any:
    torch.manual_seed(0)
    return transformers.MistralForCausalLM(transformers.MistralConfig(**SIZES, sliding_window=4))


def absolute_positions() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=WIDTH, n_positions=64, n_embd=16, n_layer=2, n_head=2)
    return transformers.GPT2LMHeadModel(config)


def recurrent() -> Any:
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=WIDTH, hidden_size=16, state_size=4, num_hidden_layers=2)
    model = transformers.MambaForCausalLM(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3)  # at its own scale the state hardly counts, and losing it would not show
    return model


KINDS = [llama, sliding_window, absolute_positions, recurrent]


@pytest.fixture
def model() -> CausalLM:
    return CausalLM(llama(), tokenizer())


def fresh_logits(model: CausalLM, ids: list[int]) -> NDArray[np.float32]:
    """The oracle: one pass over all ids without any cache."""
    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([ids]), use_cache=False).logits
    return np.asarray(logits[0, -1].float().numpy())


def tokens_fed(model: CausalLM, ids: list[int]) -> int:
    """How many tokens one call gives to the model."""
    counts: list[int] = []

    def count(module: Any, args: Any, kwargs: Any) -> None:
        counts.append(kwargs["input_ids"].shape[1])

    handle = model.model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        model.next_logits(ids)
    finally:
        handle.remove()
    return sum(counts)


WALK = [
    [1, 7, 9],  # begin
    [1, 7, 9, 4],  # append one
    [1, 7, 9, 4, 11, 12, 13],  # append several
    [1, 7, 9, 4, 11, 12, 13],  # the same again
    [1, 7, 9, 4],  # rewind
    [1, 7, 9, 4, 20, 21],  # branch
    [1, 7],  # rewind past the branch
    [3],  # nothing in common, and shorter
    [3, 7, 9, 4, 20, 21, 22, 23, 24, 25, 26],
    [3, 7, 9, 4, 20, 21, 22, 23],  # rewind after a window of 4 was passed
    [1, 7, 9, 4, 20, 21, 22, 23, 24],  # differs at the first token
]


@pytest.mark.parametrize("kind", KINDS)
def test_cached_logits_are_those_of_a_fresh_pass_after_append_rewind_and_branch(kind: Any) -> None:
    model = CausalLM(kind(), tokenizer())
    for ids in WALK:
        np.testing.assert_allclose(model.next_logits(ids), fresh_logits(model, ids), **ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_random_walks_agree_with_a_fresh_pass(kind: Any) -> None:
    model = CausalLM(kind(), tokenizer())
    random = np.random.default_rng(1)
    ids = [1]
    for _ in range(60):
        ids = ids[: int(random.integers(1, len(ids) + 1))] if random.random() < 0.3 else ids
        ids = [*ids, *random.integers(0, WIDTH, int(random.integers(1, 3))).tolist()][:60]
        np.testing.assert_allclose(model.next_logits(ids), fresh_logits(model, ids), **ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_only_new_tokens_are_fed_while_a_run_goes_on(kind: Any) -> None:
    model = CausalLM(kind(), tokenizer())
    assert tokens_fed(model, [1, 7, 9]) == 3
    assert tokens_fed(model, [1, 7, 9, 4]) == 1
    assert tokens_fed(model, [1, 7, 9, 4, 5]) == 1


def test_several_new_tokens_are_fed_alone_unless_the_state_is_recurrent() -> None:
    model = CausalLM(llama(), tokenizer())
    model.next_logits([1, 7, 9])
    assert tokens_fed(model, [1, 7, 9, 4, 5]) == 2
    model = CausalLM(recurrent(), tokenizer())
    model.next_logits([1, 7, 9])
    assert tokens_fed(model, [1, 7, 9, 4, 5]) == 5


def test_a_rewound_run_is_fed_from_the_fork_and_the_same_ids_cost_one_token(model: CausalLM) -> None:
    model.next_logits([1, 7, 9, 4, 5, 6])
    assert tokens_fed(model, [1, 7, 9, 4, 5, 6]) == 1
    assert tokens_fed(model, [1, 7, 9, 20]) == 1
    assert tokens_fed(model, [1, 7]) == 1
    assert tokens_fed(model, [3, 7]) == 2


def test_an_interrupted_pass_does_not_poison_the_next_one(model: CausalLM) -> None:
    model.next_logits([1, 7, 9])

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handle = model.model.model.layers[1].register_forward_pre_hook(interrupt)  # layer 0 has read the token
    with pytest.raises(KeyboardInterrupt):
        model.next_logits([1, 7, 9, 4])
    handle.remove()
    for ids in ([1, 7, 9, 4], [1, 7, 9, 4, 8]):
        np.testing.assert_allclose(model.next_logits(ids), fresh_logits(model, ids), **ROUNDING)


def test_two_threads_get_the_right_logits_each(model: CausalLM) -> None:
    texts = [[1, first, *range(10, 10 + length)] for first in (7, 8) for length in range(12)]
    expected = [fresh_logits(model, ids) for ids in texts]
    with ThreadPoolExecutor(4) as pool:
        for logits, wanted in zip(pool.map(model.next_logits, texts), expected, strict=True):
            np.testing.assert_allclose(logits, wanted, **ROUNDING)


def test_logits_are_fresh_float32_rows(model: CausalLM) -> None:
    logits = model.next_logits([1, 7])
    assert (logits.dtype, logits.shape) == (np.float32, (WIDTH,))
    wanted = logits.copy()
    logits[:] = -np.inf
    np.testing.assert_allclose(model.next_logits([1, 7]), wanted, **ROUNDING)


def test_a_bfloat16_model_gives_float32_logits() -> None:
    assert CausalLM(llama().to(torch.bfloat16), tokenizer()).next_logits([1]).dtype == np.float32


def test_a_model_with_dropout_gives_the_same_logits_twice() -> None:
    config = transformers.LlamaConfig(**SIZES, attention_dropout=0.9)
    model = CausalLM(transformers.LlamaForCausalLM(config).train(), tokenizer())
    np.testing.assert_allclose(model.next_logits([1, 7, 9]), model.next_logits([1, 7, 9]), **ROUNDING)


def test_no_ids_means_bos(model: CausalLM) -> None:
    np.testing.assert_allclose(model.next_logits([]), fresh_logits(model, [1]), **ROUNDING)


def test_no_ids_and_no_bos_is_an_error() -> None:
    model = CausalLM(llama(), tokenizer(bos_token=None))
    with pytest.raises(ModelError, match="no BOS"):
        model.next_logits([])


@pytest.mark.parametrize("bad", [-1, WIDTH, 10**6])
def test_an_id_that_is_no_token_is_named(model: CausalLM, bad: int) -> None:
    with pytest.raises(UsageError, match=rf"{bad} is not a token of this model: ids are 0\.\.39"):
        model.next_logits([1, bad, 2])


@pytest.mark.parametrize("ids", [[1.5, 2.0], ["a"], [[1, 2]], [True]])
def test_ids_that_are_no_integers_are_refused(model: CausalLM, ids: Any) -> None:
    with pytest.raises(UsageError, match="flat sequence of integers"):
        model.next_logits(ids)


def test_arrays_and_tuples_of_ids_are_welcome(model: CausalLM) -> None:
    wanted = model.next_logits([1, 7])
    for ids in ((1, 7), np.array([1, 7]), np.array([1, 7], dtype=np.int32), torch.tensor([1, 7])):
        np.testing.assert_allclose(model.next_logits(ids), wanted, **ROUNDING)  # type: ignore[arg-type]


def test_the_context_may_be_filled_and_not_passed(model: CausalLM) -> None:
    assert model.context_length == 64
    assert np.isfinite(model.next_logits([1] * 64)).all()
    with pytest.raises(UsageError, match=r"65 tokens do not fit.*64.*max_tokens"):
        model.next_logits([1] * 65)


def test_a_recurrent_model_has_no_context_limit() -> None:
    assert CausalLM(recurrent(), tokenizer()).context_length is None


def test_eos_ids_join_the_generation_settings_and_the_tokenizer(model: CausalLM) -> None:
    assert model.eos_ids == (2, 5)
    plain = llama()
    plain.generation_config.eos_token_id = None
    assert CausalLM(plain, tokenizer()).eos_ids == (2,)
    assert CausalLM(plain, tokenizer(eos_token=None)).eos_ids == ()
    plain.generation_config.eos_token_id = 9
    assert CausalLM(plain, tokenizer()).eos_ids == (2, 9)


def test_width_is_that_of_the_logits_and_not_of_the_tokenizer(model: CausalLM) -> None:
    assert model.width == WIDTH
    assert len(model.tokenizer) == len(WORDS)


def test_text_is_encoded_and_decoded_with_the_tokenizer(model: CausalLM) -> None:
    assert isinstance(model, TextModel)
    assert model.encode("hello there") == [7, 8]
    assert model.decode(np.array([7, 8, 2])) == "hello there <eos>"  # type: ignore[arg-type]


def test_chat_goes_through_the_template_up_to_the_answer() -> None:
    model = CausalLM(llama(), tokenizer(chat_template=CHAT))
    assert model.encode_chat("hello") == [4, 7, 6]
    assert model.encode_chat("hello", system="there") == [5, 8, 4, 7, 6]


def test_chat_without_a_template_is_an_error(model: CausalLM) -> None:
    with pytest.raises(UsageError, match=r"no chat template: use encode\(text\)"):
        model.encode_chat("hello")


def test_a_template_that_refuses_a_system_text_says_so() -> None:
    model = CausalLM(llama(), tokenizer(chat_template=CHAT))
    with pytest.raises(UsageError, match="refuses the conversation: no system"):
        model.encode_chat("hello", system="no")


def test_no_deprecated_name_is_used(model: CausalLM, recwarn: pytest.WarningsRecorder) -> None:
    for ids in WALK:
        model.next_logits(ids)
    assert [str(warning.message) for warning in recwarn if warning.category is FutureWarning] == []


def test_nothing_global_is_changed(model: CausalLM) -> None:
    before = (torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype())
    model.next_logits([1, 7])
    assert (torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype()) == before


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules is how Python itself marks "not to be found".
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        MissingDependencyError, match=r"torch is not installed: pip install 'minidecoder\[models\]'"
    ):
        CausalLM(object(), object())


def test_a_package_that_is_there_and_broken_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "half_installed.py").write_text("import surely_not_there_7")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_not_there_7"):
        require("half_installed")


def test_half_a_surrogate_pair_is_wrong_usage_and_named() -> None:
    model = CausalLM(llama(), tokenizer(chat_template=CHAT))
    with pytest.raises(UsageError, match=r"text is not valid Unicode.*U\+DCFF.*position 2"):
        model.encode("ab\udcff")
    with pytest.raises(UsageError, match="user_text"):
        model.encode_chat("\ud83d")
    with pytest.raises(UsageError, match="system"):
        model.encode_chat("hello", system="\udfff")
