"""Any causal language model of `transformers`, with a key-value cache that follows the ids.

The loop passes all ids at every step; the model is fed only those after the longest prefix that it
has already read. A run that goes on costs one token a step, one that was rewound or branched costs the
tokens after the fork, and the logits are those of a fresh pass, up to rounding.

Left out: batches (`decoding.batch`), training, choosing a device (the model is used where it lies).
Cost: one forward pass over the new tokens; memory for keys and values of all T read so far.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import MissingDependencyError, ModelError, UsageError
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["CausalLM", "check_text", "require"]

_NOTHING_READ: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class CausalLM:
    """`CausalLM(model, tokenizer)`: a `TextModel` over what `AutoModelForCausalLM` returns.

    `model` is put into evaluation mode, because with dropout on the logits would be random.
    Safe to share between threads; two runs at once take turns, and each undoes the other's cache.
    Attributes: `width` V, the length of a logits row (the tokenizer may know fewer tokens); `eos_ids`,
    ascending; `context_length` in tokens, None where the model names no limit; `model`, `tokenizer`.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._torch = require("torch")
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.width = _width(model)
        self.eos_ids = _eos_ids(model, tokenizer)
        self.context_length = _context_length(model)
        self._cache_name, self._options = _forward_options(model)
        self._lock = Lock()
        self._cache: Any = None
        self._read = _NOTHING_READ  # the ids whose keys and values lie in the cache

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path, **settings: Any) -> CausalLM:
        """The model and the tokenizer in a folder, or of a name on the Hub where it can be reached.

        `settings` go to `AutoModelForCausalLM.from_pretrained`: `dtype="bfloat16"`, `device_map="cuda"`.
        Raises `ModelError` where there is no such model, or it cannot be read.
        """
        transformers = require("transformers")
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(name_or_path, **settings)
            return cls(model, transformers.AutoTokenizer.from_pretrained(name_or_path))
        except ImportError:  # it names the package that is missing
            raise
        except Exception as fault:  # each library that reads a part of it has errors of its own
            reason = " ".join(str(fault).split())
            raise ModelError(
                f"no causal model can be loaded from {str(name_or_path)!r}: give a folder with config.json, "
                f"weights and tokenizer, or a name on the Hub and a network ({reason:.300})"
            ) from fault

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes behind each id, EOS ids and width included; read once from the tokenizer."""
        return Vocabulary.from_transformers(self.tokenizer, width=self.width, eos_ids=self.eos_ids)

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """float32[V], a fresh array on the CPU. Without ids, the logits after BOS.

        Raises `UsageError` for ids that are no tokens or more than the context holds, `ModelError`
        for no ids where the tokenizer has no BOS.
        """
        ids = self._checked(token_ids)
        with self._lock, self._torch.inference_mode():
            cache, known = self._rewound(ids)
            output = self._forward(ids[known:], cache)
            self._cache, self._read = getattr(output, self._cache_name, None), ids
            row = np.array(output.logits[0, -1].float().cpu().numpy())
        if row.shape != (self.width,):
            raise ModelError(f"the model gave logits of shape {row.shape}; its output layer has {self.width}")
        return row

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, BOS in front where the tokenizer adds one.

        A special token's printed form, such as `<|im_end|>`, becomes that token: clean text from strangers.
        Raises `UsageError` where `text` holds half a surrogate pair.
        """
        # verbose=False: a text longer than the context is `next_logits`' to refuse, and no line on stderr.
        return [int(token_id) for token_id in self.tokenizer.encode(check_text(text), verbose=False)]

    def encode_chat(self, user_text: str, system: str | None = None) -> list[int]:
        """The ids of one user turn, up to where the assistant's answer begins (the tokenizer's template).

        Without `system`, the template's own system text stands, where it has one.
        Raises `UsageError` where there is no template, or it refuses, or a text holds half a surrogate pair.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise UsageError("this tokenizer has no chat template: use encode(text)")
        turns = [] if system is None else [{"role": "system", "content": check_text(system, "system")}]
        turns.append({"role": "user", "content": check_text(user_text, "user_text")})
        quiet = {"return_dict": False, "tokenizer_kwargs": {"verbose": False}}  # see encode
        try:
            ids = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, **quiet)
        except require("jinja2").TemplateError as fault:
            raise UsageError(f"this tokenizer's chat template refuses the conversation: {fault}") from fault
        return [int(token_id) for token_id in ids]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of `token_ids`, special tokens printed, bytes that are not UTF-8 as `�`."""
        ids = [int(token_id) for token_id in token_ids]
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _checked(self, token_ids: Sequence[int]) -> NDArray[np.int64]:
        if len(token_ids) == 0:
            token_ids = [self._bos()]
        ids = np.asarray(token_ids)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise UsageError(
                f"token_ids is a flat sequence of integers, not {ids.dtype} of shape {ids.shape}"
            )
        rows = int(self.model.get_input_embeddings().weight.shape[0])
        if ids.min() < 0 or ids.max() >= rows:
            bad = ids[(ids < 0) | (ids >= rows)][0]
            raise UsageError(f"{bad} is not a token of this model: ids are 0..{rows - 1}")
        if self.context_length is not None and len(ids) > self.context_length:
            raise UsageError(
                f"{len(ids)} tokens do not fit this model's context of {self.context_length}: "
                "shorten the prompt or lower max_tokens"
            )
        return ids.astype(np.int64)

    def _bos(self) -> int:
        bos = getattr(self.tokenizer, "bos_token_id", None)
        if bos is None:
            raise ModelError(
                "a causal model needs at least one token, and this tokenizer has no BOS to begin with"
            )
        return int(bos)

    def _rewound(self, ids: NDArray[np.int64]) -> tuple[Any, int]:
        """The cache cut back to what `ids` has in common with it, and how many ids that is."""
        # subtle: while a pass runs, self holds no cache. One that is interrupted (Ctrl-C in a notebook)
        # leaves layers of different lengths behind, and every later answer would be wrong.
        cache, read = self._cache, self._read
        self._cache, self._read = None, _NOTHING_READ
        known = min(_common_prefix(read, ids), len(ids) - 1)  # one id at least is fed: it yields the logits
        if cache is not None and known > 0 and _cut(cache, drop=len(read) - known, feed=len(ids) - known):
            return cache, known
        return None, 0

    def _forward(self, ids: NDArray[np.int64], cache: Any) -> Any:
        device = self.model.get_input_embeddings().weight.device
        batch = self._torch.from_numpy(ids)[None].to(device)  # (1, new tokens) int64
        past = {} if cache is None else {self._cache_name: cache}
        return self.model(input_ids=batch, **past, **self._options)


def check_text(text: str, name: str = "text") -> str:
    """`text`, if it can be encoded; else a `UsageError` that names it and the character at fault."""
    # subtle: Python reads bytes that are no UTF-8, from a command line or a file name, as lone surrogates.
    # They live in a `str` unnoticed and have no UTF-8 form: no token spells them.
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        char = f"U+{ord(text[fault.start]):04X}"
        raise UsageError(
            f"{name} is not valid Unicode: half a surrogate pair ({char}) at position {fault.start}"
        ) from None
    return text


def require(package: str) -> Any:
    """Import an optional package, or say in one line how to install it (`MissingDependencyError`)."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as fault:
        if fault.name != package:  # installed, but something that it needs is not: show what
            raise
        raise MissingDependencyError(package, extra="models") from None


def _common_prefix(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    shorter = min(len(left), len(right))
    differs = left[:shorter] != right[:shorter]
    return int(differs.argmax()) if differs.any() else shorter


def _cut(cache: Any, drop: int, feed: int) -> bool:
    """Drop the last `drop` tokens from `cache`, before `feed` new ones; False where it must be left alone."""
    # subtle: a recurrent state forgets nothing, and transformers' Mamba starts from an empty one, without
    # a word, when it is fed more than one token at once.
    croppable = bool(getattr(cache, "is_croppable", False))
    if drop == 0 or not croppable:
        return drop == 0 and (croppable or feed == 1)
    try:
        cache.crop(-drop)
    except RuntimeError:  # a sliding window that was passed; earlier layers may be cut, so the cache is lost
        return False
    return True


def _forward_options(model: Any) -> tuple[str, dict[str, Any]]:
    """The name by which this model takes and returns its cache ("" if it has none), and its other options.

    Only the last row of logits is asked for: all rows of a long prompt, T × V, are gigabytes.
    """
    accepted = inspect.signature(model.forward).parameters
    # subtle: transformers 5 renamed `past_key_values` on the way. The old name passes through **kwargs
    # in silence where it is not known, and every step then reads the whole text again.
    name = next((name for name in ("cache", "past_key_values") if name in accepted), "")
    wanted = {"use_cache": bool(name), "logits_to_keep": 1}
    return name, {option: value for option, value in wanted.items() if option in accepted}


def _width(model: Any) -> int:
    """The rows of the output layer; they may be more than the tokenizer's tokens (padding)."""
    layer = model.get_output_embeddings()
    return int(model.config.vocab_size if layer is None else layer.weight.shape[0])


def _eos_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """What the generation settings call EOS (an id or a list) and what the tokenizer does."""
    settings = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    listed: Iterable[int | None] = settings if isinstance(settings, (list, tuple)) else [settings]
    found = {*listed, getattr(tokenizer, "eos_token_id", None)}
    return tuple(sorted(int(token_id) for token_id in found if token_id is not None))


def _context_length(model: Any) -> int | None:
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    limit = getattr(config, "max_position_embeddings", None)
    return None if limit is None else int(limit)
