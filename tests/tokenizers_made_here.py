"""Tokenizers of every kind that a vocabulary is read from: shipped in mistral_common, or trained here."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.optional import need

__all__ = [
    "SENTENCEPIECE_FILES",
    "byte_level",
    "corpus",
    "data_file",
    "fast",
    "llama",
    "mistral",
    "pieces_with_byte_fallback",
    "sentencepiece_model",
    "small_tiktoken",
    "tekken",
    "tekken_in_tiktoken",
]

SENTENCEPIECE_FILES = [
    "tokenizer.model.v1",
    "mistral_instruct_tokenizer_240216.model.v2",
    "mistral_instruct_tokenizer_240323.model.v3",
    "mistral_instruct_tokenizer_241114.model.v7",
    "mistral_instruct_tokenizer_241114.model.v7m1",
]


def corpus() -> list[str]:
    """Some lines to train on: accents, runs of spaces, code, a tab, an emoji."""
    lines = [
        "the price is 12.50 euros and the café is closed",
        "naïve façade: the   token  with    spaces\tand a tab",
        "def price(x):\n    return x * 1.2  # 😀",
        "the prices, the price, a priced thing, 价格 и цена",
    ]
    return lines * 25


def data_file(name: str) -> Path:
    return Path(need("mistral_common").__file__).parent / "data" / name


@cache
def mistral(name: str) -> Any:
    """A `MistralTokenizer` from a file inside mistral_common."""
    return need("mistral_common.tokens.tokenizers.mistral").MistralTokenizer.from_file(str(data_file(name)))


@cache
def tekken() -> Any:
    """131,072 ids, the first 1,000 of them special."""
    return mistral("tekken_240911.json")


@cache
def tekken_in_tiktoken() -> Any:
    """Tekken's 130,072 byte strings as a tiktoken encoding with special tokens behind a gap, as cl100k has."""
    inner = tekken().instruct_tokenizer.tokenizer
    first = inner.num_special_tokens
    ranks = {inner.id_to_byte_piece(i): i - first for i in range(first, inner.n_words)}
    special = {
        "<|endoftext|>": len(ranks) + 1,
        "<|fim_prefix|>": len(ranks) + 2,
        "<|im_end|>": len(ranks) + 20,
    }
    pattern = json.loads(data_file("tekken_240911.json").read_text(encoding="utf-8"))["config"]["pattern"]
    return need("tiktoken").Encoding(
        "tekken-with-gaps", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special
    )


def small_tiktoken(special: dict[str, int], more: tuple[bytes, ...] = (b"th", b"the", b" a")) -> Any:
    """All 256 bytes, `more` from id 300 on, and the special tokens given."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {data: 300 + n for n, data in enumerate(more)}
    return need("tiktoken").Encoding(
        "small", pat_str=r"(?s).+", mergeable_ranks=ranks, special_tokens=special
    )


@cache
def sentencepiece_model(kind: str = "bpe", **options: Any) -> Any:
    """A processor with byte fallback, trained on the corpus."""
    sentencepiece = need("sentencepiece")
    written = io.BytesIO()
    settings = {
        "vocab_size": 340,
        "model_type": kind,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "hard_vocab_limit": False,
        "minloglevel": 2,
    }
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=written, **(settings | options)
    )
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


def fast(backend: Any, **options: Any) -> Any:
    """A `tokenizers.Tokenizer` in transformers' wrapper."""
    return need("transformers", "models").PreTrainedTokenizerFast(tokenizer_object=backend, **options)


@cache
def byte_level() -> Any:
    """A byte-level BPE, trained on the corpus."""
    tokenizers = need("tokenizers", "models")
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False
    )
    backend.train_from_iterator(corpus(), trainer)
    return fast(backend, eos_token="<|end|>")


@cache
def pieces_with_byte_fallback() -> Any:
    """A Unigram model with `▁`, trained on the corpus, then given the 256 byte pieces that trainers omit."""
    tokenizers = need("tokenizers", "models")
    trained = tokenizers.Tokenizer(tokenizers.models.Unigram())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=80, special_tokens=["<unk>"], unk_token="<unk>")
    trained.train_from_iterator(corpus(), trainer)
    pieces = [tuple(piece) for piece in json.loads(trained.to_str())["model"]["vocab"]]
    lone = [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    backend = tokenizers.Tokenizer(
        tokenizers.models.Unigram([*pieces, *lone, ("</s>", -20.0)], 0, byte_fallback=True)
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.ByteFallback(), tokenizers.decoders.Metaspace()]
    )
    return fast(backend, eos_token="</s>")


@cache
def llama() -> Any:
    """Mistral's first sentencepiece model as transformers converts it."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "tokenizer.model"
        copy.write_bytes(data_file("tokenizer.model.v1").read_bytes())
        return need("transformers", "models").LlamaTokenizer.from_pretrained(folder)
