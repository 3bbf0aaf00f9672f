"""Token bytes out of a `transformers` tokenizer, by the decoder that it declares.

A byte-level BPE prints the byte 0x20 as `Ġ`, sentencepiece pieces print it as `▁` (outlines#605,
outlines-core#224). Which of the two, or neither, is not guessed from the strings: the tokenizer's own
description lists the steps that turn tokens into text, and each step that works token by token is followed.

Left out: tokenizers whose steps look at neighbours (WordPiece joins `##ing` to what precedes it): their
tokens have no bytes of their own, and they are refused. Cost: O(V).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from minidecoder.errors import VocabularyError
from minidecoder.tokens.loaders import BYTE_PIECE, Contents, check_reader, in_order, read_mistral_common

__all__ = ["read_transformers"]

_Step = dict[str, Any]


def read_transformers(tokenizer: Any) -> Contents:
    """The contents of a fast tokenizer, or of the one that wraps mistral_common."""
    if hasattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer"):
        return read_mistral_common(tokenizer.tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise VocabularyError(_no_backend(tokenizer))
    asked = ("get_vocab", "added_tokens_decoder", "all_special_ids", "eos_token_id")
    check_reader(
        tokenizer, asked, "from_transformers needs a tokenizer", "AutoTokenizer.from_pretrained(...)"
    )
    description = json.loads(backend.to_str())
    to_bytes = _token_decoder(description)
    ids = tokenizer.get_vocab()
    special = _special_ids(tokenizer, description["model"], ids)
    # subtle: an added token goes through the decoder like any other. Gemma's added `▁▁` is two spaces.
    tokens = ((i, text, b"" if i in special else to_bytes(text)) for text, i in ids.items())
    names = {i: str(tokenizer.convert_ids_to_tokens(i)) for i in sorted(special)}
    ends = {tokenizer.eos_token_id} - {None}
    return Contents(in_order(tokens), names, frozenset(ends))


def _no_backend(tokenizer: Any) -> str:
    name = type(tokenizer).__name__
    if hasattr(tokenizer, "sp_model"):
        return (
            f"{name} has no fast backend: pass its model to Vocabulary.from_sentencepiece(tokenizer.sp_model)"
        )
    return (
        f"{name} has no fast backend to read token bytes from: load it with "
        "AutoTokenizer.from_pretrained(...), or wrap a tokenizers.Tokenizer in PreTrainedTokenizerFast"
    )


def _special_ids(tokenizer: Any, model: _Step, ids: dict[str, int]) -> set[int]:
    """What is declared special, and the unknown token of the model, which may not be."""
    added = tokenizer.added_tokens_decoder
    unknown = {model.get("unk_id"), ids.get(model.get("unk_token") or "")} - {None}
    return {*tokenizer.all_special_ids, *(i for i, token in added.items() if token.special), *unknown}


def _token_decoder(description: _Step) -> Callable[[str], bytes]:
    """From the printed form of a token to its bytes, by the decoder steps of the description."""
    steps = _steps(description.get("decoder"))
    kinds = [step["type"] for step in steps]
    marks = [description["model"].get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix")]
    spaces = [pair for n, step in enumerate(steps) for pair in _replacement(step, fused="Fuse" in kinds[:n])]
    known = all(_is_local(step, kinds[:n]) for n, step in enumerate(steps))
    if any(marks) or not known or not (spaces or {"ByteLevel", "ByteFallback"} & set(kinds)):
        raise VocabularyError(_no_own_bytes(description, kinds, list(filter(None, marks))))

    def to_bytes(token: str) -> bytes:
        for mark, text in spaces:
            token = token.replace(mark, text)
        if "ByteLevel" in kinds:
            return _from_byte_level(token)
        byte = BYTE_PIECE.fullmatch(token) if "ByteFallback" in kinds else None
        return bytes([int(byte[1], 16)]) if byte else token.encode()

    return to_bytes


def _steps(decoder: _Step | None) -> list[_Step]:
    if decoder is None:
        return []
    if decoder["type"] != "Sequence":
        return [decoder]
    return [step for inner in decoder["decoders"] for step in _steps(inner)]


def _replacement(step: _Step, *, fused: bool) -> list[tuple[str, str]]:
    """(printed, meant) where the step replaces a string: `▁` and a space."""
    if step["type"] == "Metaspace":
        return [(step["replacement"], " ")]
    printed = step["pattern"].get("String", "") if step["type"] == "Replace" else ""
    # Once the tokens are one text, a longer string could lie across two of them.
    return [(printed, step["content"])] if len(printed) == 1 or (printed and not fused) else []


def _is_local(step: _Step, before: list[str]) -> bool:
    """Whether the step gives each token bytes of its own. Strip, on the whole text, takes the space
    that encoding puts before it, and nothing from a token in the middle."""
    fused = "Fuse" in before or "ByteLevel" in before
    if step["type"] == "Strip":
        return fused
    if step["type"] == "Replace":
        return "ByteLevel" not in before and bool(_replacement(step, fused=fused))
    return step["type"] in ("Metaspace", "ByteFallback", "Fuse", "ByteLevel")


def _no_own_bytes(description: _Step, kinds: list[str], marks: list[str]) -> str:
    marked = f", word marks {', '.join(marks)}" if marks else ""
    model = description["model"].get("type", "unknown")
    return (
        "the tokens of this tokenizer have no bytes of their own "
        f"(model {model}, decoder {', '.join(kinds) or 'none'}{marked}): take a model with a byte-level BPE "
        "or sentencepiece tokenizer, or pass the bytes to Vocabulary.from_tokens"
    )


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins: printable bytes are themselves, the others follow U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


_ALPHABET: Final = _byte_alphabet()


def _from_byte_level(token: str) -> bytes:
    # A character outside of the alphabet (a space in an added token): the whole token is plain text.
    plain = any(char not in _ALPHABET for char in token)
    return token.encode() if plain else bytes(_ALPHABET[char] for char in token)
