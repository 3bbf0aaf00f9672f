"""Token bytes out of `tiktoken`, `sentencepiece` and `mistral_common`: bytes, never display strings.

A sentencepiece model prints a space as `▁` and a lone byte as `<0xE2>`; taking those strings for text is
the classic bug (outlines#605, xgrammar#483). Here the tokenizer says of each id what it is: bytes, or a
control, unknown or unused id that no text reaches.

No library is needed to ask: an object that answers the questions below is read, whatever its class.
Left out: `transformers` (`loaders_transformers`); sentencepiece's denormalisation rules, which rewrite a
finished text and belong to no token. Cost: O(V) calls, 0.3 s for 131,072 ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from minidecoder.automaton import TokenId
from minidecoder.errors import MissingDependencyError, VocabularyError
from minidecoder.tokens.ids import MAX_WIDTH, as_items, check_below, check_width

__all__ = [
    "BYTE_PIECE",
    "Contents",
    "check_reader",
    "finish",
    "in_order",
    "read_mistral_common",
    "read_sentencepiece",
    "read_tiktoken",
]

BYTE_PIECE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class Contents:
    """What a tokenizer holds: `token_bytes` by id (`b""` where text cannot reach), the printed form of
    special ids, and the ids that it ends a text with."""

    token_bytes: list[bytes]
    special_text: dict[int, str]
    eos_ids: frozenset[int]


def read_tiktoken(encoding: Any) -> Contents:
    """A `tiktoken.Encoding`. Ids between its tokens (cl100k has 16) are gaps: no text, never drawn."""
    asked = ("max_token_value", "decode_single_token_bytes", "is_special_token", "special_tokens_set")
    check_reader(encoding, asked, "from_tiktoken needs a tiktoken.Encoding", "tiktoken.get_encoding(name)")
    names: dict[int, str] = {}
    token_bytes = [b""] * _checked_size(encoding.max_token_value + 1)
    for token_id in range(len(token_bytes)):
        try:
            data = encoding.decode_single_token_bytes(token_id)
        except KeyError:  # a gap
            continue
        if encoding.is_special_token(token_id):
            names[token_id] = data.decode("utf-8", "replace")
        else:
            token_bytes[token_id] = data
    # subtle: of an id that is a token and special, tiktoken decodes the token but may mean the other.
    for token_id, name in names.items():
        if name not in encoding.special_tokens_set:
            raise VocabularyError(
                f"id {token_id} is both a special token and the token {name!r}: renumber one"
            )
    ends = {token_id for token_id, name in names.items() if name == "<|endoftext|>"}
    return Contents(token_bytes, names, frozenset(ends))


def read_sentencepiece(processor: Any) -> Contents:
    """A `sentencepiece.SentencePieceProcessor`. A piece stands for its text, with a space for each `▁`.

    subtle: most models put a space before the text they encode (the dummy prefix) and drop it again
    when they decode a whole text. A token's bytes keep it: in the middle of a text it is a real space.
    """
    asked = ("vocab_size", "id_to_piece", "is_byte", "is_control", "is_unknown", "is_unused", "eos_id")
    load = "sentencepiece.SentencePieceProcessor(model_file=...)"
    check_reader(processor, asked, "from_sentencepiece needs a SentencePieceProcessor", load)
    size = _checked_size(processor.vocab_size())
    if not size:
        raise VocabularyError(f"the SentencePieceProcessor holds no model: load one, {load}")
    names: dict[int, str] = {}
    token_bytes = [b""] * size
    for token_id in range(size):
        piece = processor.id_to_piece(token_id)
        if processor.is_control(token_id) or processor.is_unknown(token_id) or processor.is_unused(token_id):
            names[token_id] = piece
        elif processor.is_byte(token_id):
            token_bytes[token_id] = bytes([int(piece[3:5], 16)])  # <0xE2>
        else:
            token_bytes[token_id] = piece.replace("▁", " ").encode()
    ends = {processor.eos_id()} - {-1}  # -1: the model has none
    return Contents(token_bytes, names, frozenset(ends))


def read_mistral_common(tokenizer: Any) -> Contents:
    """A `MistralTokenizer`, its `InstructTokenizer`, or the Tekken or sentencepiece tokenizer in that."""
    instruct = getattr(tokenizer, "instruct_tokenizer", tokenizer)
    inner = getattr(instruct, "tokenizer", instruct)
    is_tekken = hasattr(inner, "id_to_byte_piece")
    asked = ("n_words", "id_to_piece", "is_special", "eos_id") if is_tekken else ("file_path", "special_ids")
    needs = "from_mistral_common needs a tokenizer of mistral_common"
    check_reader(inner, asked, needs, "MistralTokenizer.from_file(path)")
    return _read_tekken(inner) if is_tekken else read_sentencepiece(_processor_of(inner))


def _read_tekken(tekken: Any) -> Contents:
    """Tekken: the special ids come first, 1,000 of them, most of them fillers; then byte-level BPE."""
    ids = range(_checked_size(tekken.n_words))
    names = {token_id: tekken.id_to_piece(token_id) for token_id in ids if tekken.is_special(token_id)}
    token_bytes = [b"" if token_id in names else tekken.id_to_byte_piece(token_id) for token_id in ids]
    return Contents(token_bytes, names, frozenset({tekken.eos_id}))


def _processor_of(tokenizer: Any) -> Any:
    """mistral_common wraps sentencepiece, but tells the type of no piece: its model file does."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise MissingDependencyError("sentencepiece", "peers") from None
    try:
        return SentencePieceProcessor(model_file=str(tokenizer.file_path))
    except (OSError, RuntimeError) as fault:  # sentencepiece raises the latter
        raise VocabularyError(f"the tokenizer's own model file cannot be read: {fault}") from None


def check_reader(tokenizer: object, asked: Iterable[str], needs: str, advice: str) -> None:
    """Refuse an object that cannot answer; a class that was not called has the same methods."""
    if isinstance(tokenizer, type) or not all(hasattr(tokenizer, name) for name in asked):
        what = tokenizer.__name__ if isinstance(tokenizer, type) else type(tokenizer).__name__
        kind = "the class " if isinstance(tokenizer, type) else ""
        raise VocabularyError(f"{needs}, not {kind}{what}: pass {advice}")


def in_order(tokens: Iterable[tuple[int, str, bytes]]) -> list[bytes]:
    """The bytes of (id, printed form, bytes) by id, `b""` in gaps. An id given twice is an error."""
    found: dict[int, tuple[str, bytes]] = {}
    for token_id, text, data in tokens:
        if token_id in found:
            raise VocabularyError(f"id {token_id} belongs to two tokens, {found[token_id][0]!r} and {text!r}")
        found[token_id] = text, data
    size = _checked_size(max(found, default=-1) + 1)
    return [found[token_id][1] if token_id in found else b"" for token_id in range(size)]


def finish(
    contents: Contents, width: int | None, eos_ids: Iterable[int] | int, special: Iterable[int] | int
) -> tuple[tuple[bytes, ...], tuple[TokenId, ...], dict[int, str]]:
    """The three parts of a vocabulary of `width` logits; ids in `eos_ids` and `special` lose their bytes."""
    padding = check_width(width, len(contents.token_bytes)) - len(contents.token_bytes)
    token_bytes = contents.token_bytes + [b""] * padding
    ends = {check_below(len(token_bytes), i, "eos_ids") for i in [*contents.eos_ids, *as_items(eos_ids)]}
    if not ends:
        raise VocabularyError("the tokenizer has no EOS token, so no text could ever end: pass eos_ids=")
    names = dict(contents.special_text)
    for token_id in sorted(ends | {check_below(len(token_bytes), i, "special") for i in as_items(special)}):
        if token_bytes[token_id]:
            names.setdefault(token_id, token_bytes[token_id].decode("utf-8", "backslashreplace"))
        token_bytes[token_id] = b""
    return tuple(token_bytes), tuple(map(TokenId, sorted(ends))), names


def _checked_size(ids: int) -> int:
    if ids > MAX_WIDTH:
        raise VocabularyError(
            f"the largest id is {ids - 1:,}, absurd for a vocabulary: at most {MAX_WIDTH:,} ids"
        )
    return ids
