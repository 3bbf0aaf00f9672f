"""Token bytes out of other libraries' tokenizers: bytes, never display strings.

A byte-level BPE prints the byte 0x20 as `Ġ`; a sentencepiece model prints a space as `▁` and a
lone byte as `<0xE2>`. Taking those strings for text is the classic bug (outlines#605,
outlines-core#224). Here the decoder that the tokenizer itself declares says which it is.

Left out: tiktoken, mistral_common and sentencepiece files. Cost: O(V).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from minidecoder.errors import VocabularyError

__all__ = ["read_transformers"]

_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_Content = tuple[list[bytes], dict[int, str]]


def read_transformers(tokenizer: Any) -> _Content:
    """(bytes of each id, printed form of the special ids, which have none) of a fast tokenizer."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise VocabularyError(
            f"{type(tokenizer).__name__} has no fast backend to read token bytes from: "
            "load it with AutoTokenizer.from_pretrained(..., use_fast=True)"
        )
    to_bytes = _token_decoder(json.loads(backend.to_str()))
    added = tokenizer.added_tokens_decoder
    special = {*tokenizer.all_special_ids, *(i for i, token in added.items() if token.special)}
    token_bytes = [b""] * (max(tokenizer.get_vocab().values()) + 1)
    for text, token_id in tokenizer.get_vocab().items():
        if token_id not in special:
            # subtle: an added token is matched as plain text, before any byte-level mapping.
            token_bytes[token_id] = text.encode() if token_id in added else to_bytes(text)
    names = {i: tokenizer.convert_ids_to_tokens(i) for i in sorted(special)}
    return token_bytes, names


def _token_decoder(description: dict[str, Any]) -> Callable[[str], bytes]:
    """How this tokenizer spells bytes, by the decoder steps in its own description."""
    steps = _steps(description.get("decoder"))
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return _from_byte_level
    if kinds & {"ByteFallback", "Metaspace"} or any(_is_space_marker(step) for step in steps):
        return _from_pieces
    model = description.get("model", {}).get("type", "unknown")
    raise VocabularyError(
        f"the tokens of this tokenizer have no bytes of their own (model {model}, decoder "
        f"{', '.join(sorted(kinds)) or 'none'}): a byte-level BPE or a sentencepiece model is needed"
    )


def _steps(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    if decoder is None:
        return []
    return list(decoder["decoders"]) if decoder["type"] == "Sequence" else [decoder]


def _is_space_marker(step: dict[str, Any]) -> bool:
    return bool(step["type"] == "Replace" and step.get("pattern", {}).get("String") == "▁")


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins: printable bytes are themselves, the others follow U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


_ALPHABET: Final = _byte_alphabet()


def _from_byte_level(token: str) -> bytes:
    try:
        return bytes(_ALPHABET[char] for char in token)
    except KeyError as error:
        raise VocabularyError(
            f"token {token!r} holds {error}, which no byte-level BPE uses for a byte"
        ) from None


def _from_pieces(token: str) -> bytes:
    byte = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace("▁", " ").encode()
