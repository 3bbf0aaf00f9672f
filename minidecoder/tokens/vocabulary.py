"""A vocabulary: which bytes each token id stands for, and which ids end a text.

A model's row of logits has V columns, one per id. Some ids stand for bytes; the others (special,
control and padding ids, tokens without bytes) can never be written by text, even where their
printed form would fit: `b""` in `token_bytes`. EOS ids end the text.

`from_tokens` takes a list; the other `from_` methods read the bytes out of a tokenizer (`loaders`).
Left out: encoding text into tokens; that is the tokenizer's. Cost: O(sum of L) once (`prepare`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from minidecoder.automaton import TokenId
from minidecoder.errors import UsageError, VocabularyError
from minidecoder.tokens.checks import check_type, listed, utf8_bytes, whole_number
from minidecoder.tokens.ids import MAX_WIDTH, EosSpec, Token, as_items, check_below, check_width, find_id
from minidecoder.tokens.trie import Trie, build_trie

__all__ = ["MAX_WIDTH", "EosSpec", "Token", "Vocabulary"]

Ids = Iterable[int] | int
"""One id, or several."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """`token_bytes`: V byte strings, `b""` where text cannot reach the id; `eos_ids` ascending;
    `special_text`: how ids without bytes are printed (`{2: "<|im_end|>"}`), read-only once made.

    Raises `VocabularyError` where they contradict each other: no token has bytes, no id ends a text, an
    id is not in the list, an EOS id has bytes.
    """

    token_bytes: tuple[bytes, ...]
    eos_ids: tuple[TokenId, ...]
    special_text: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[Token],
        *,
        eos: EosSpec,
        special: Iterable[Token | int] = (),
        width: int | None = None,
    ) -> Vocabulary:
        """A vocabulary from a list whose index is the id; `str` stands for its UTF-8 bytes.

        `eos`, `special`: a token's text, an id, or several. `width`: the number of logits, where
        the model has more than there are tokens; the ids beyond can never be drawn, constraint or not.
        Raises `VocabularyError` for tokens of another type, no EOS, an EOS that is not in the
        list or whose text belongs to several ids, or a width below the number of tokens or absurd.
        """
        as_bytes = _encode_all(tokens)
        eos_ids = sorted({find_id(as_bytes, item, "eos") for item in as_items(eos)})
        if not eos_ids:
            raise VocabularyError("a vocabulary needs at least one EOS token: pass eos=")
        hidden = {*eos_ids, *(find_id(as_bytes, item, "special") for item in as_items(special))}
        width = check_width(width, len(as_bytes))
        texts = {i: as_bytes[i].decode("utf-8", "replace") for i in sorted(hidden)}
        kept = [b"" if i in hidden else data for i, data in enumerate(as_bytes)]
        return cls(tuple(kept) + (b"",) * (width - len(kept)), tuple(map(TokenId, eos_ids)), texts)

    @classmethod
    def from_transformers(
        cls, tokenizer: Any, *, width: int | None = None, eos_ids: Ids = (), special: Ids = ()
    ) -> Vocabulary:
        """The bytes behind each id of a `transformers` tokenizer: byte-level BPE, pieces with `▁` and
        byte fallback, or one that wraps mistral_common.

        `width`: the model's number of logits, `model.config.vocab_size`; `eos_ids`: what ends a text
        besides the tokenizer's own EOS (`generation_config` may name several); `special`: ids that text
        shall not reach, besides those that the tokenizer declares special (placeholders, for instance).
        Raises `VocabularyError` for WordPiece and other tokenizers whose tokens have no bytes of
        their own, for one without an EOS, and for a width below its number of ids.
        """
        from minidecoder.tokens.loaders import finish
        from minidecoder.tokens.loaders_transformers import read_transformers

        return cls(*finish(read_transformers(tokenizer), width, eos_ids, special))

    @classmethod
    def from_tiktoken(
        cls, encoding: Any, *, width: int | None = None, eos_ids: Ids = (), special: Ids = ()
    ) -> Vocabulary:
        """The vocabulary of a `tiktoken.Encoding`; the other arguments as in `from_transformers`.

        Its EOS is `<|endoftext|>`; a chat model ends with another one, which `eos_ids` names:
        `encoding.encode_single_token("<|im_end|>")`.
        """
        from minidecoder.tokens.loaders import finish, read_tiktoken

        return cls(*finish(read_tiktoken(encoding), width, eos_ids, special))

    @classmethod
    def from_mistral_common(
        cls, tokenizer: Any, *, width: int | None = None, eos_ids: Ids = (), special: Ids = ()
    ) -> Vocabulary:
        """The vocabulary of a `MistralTokenizer`, its `InstructTokenizer`, or the tokenizer inside, Tekken
        or sentencepiece; the other arguments as in `from_transformers`."""
        from minidecoder.tokens.loaders import finish, read_mistral_common

        return cls(*finish(read_mistral_common(tokenizer), width, eos_ids, special))

    @classmethod
    def from_sentencepiece(
        cls, processor: Any, *, width: int | None = None, eos_ids: Ids = (), special: Ids = ()
    ) -> Vocabulary:
        """The vocabulary of a `SentencePieceProcessor`; the other arguments as in `from_transformers`.

        A piece `▁the` is the bytes ` the`, wherever it stands: the space that encoding puts before a
        text is a byte like any other, which a constraint must allow or exclude.
        """
        from minidecoder.tokens.loaders import finish, read_sentencepiece

        return cls(*finish(read_sentencepiece(processor), width, eos_ids, special))

    def __post_init__(self) -> None:
        token_bytes = tuple(listed(self.token_bytes, "token_bytes", VocabularyError))
        if not all(isinstance(data, bytes) for data in token_bytes):
            raise VocabularyError(
                "token_bytes must be bytes: Vocabulary.from_tokens([...], eos=...) takes text"
            )
        if not any(token_bytes):
            raise VocabularyError("no token stands for any bytes, so no text can be written")
        eos_ids = _checked_eos(token_bytes, listed(self.eos_ids, "eos_ids", VocabularyError))
        texts = _checked_texts(len(token_bytes), self.special_text)
        object.__setattr__(self, "token_bytes", token_bytes)
        object.__setattr__(self, "eos_ids", eos_ids)
        object.__setattr__(self, "special_text", MappingProxyType(texts))

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[Any, ...]]:
        """For pickle, which does not know read-only mappings; the trie is built anew."""
        return Vocabulary, (self.token_bytes, self.eos_ids, dict(self.special_text))

    def __len__(self) -> int:
        """V, the number of columns of a logits row."""
        return len(self.token_bytes)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} ids, EOS {list(self.eos_ids)}, hash {self.hash[:8]})"

    @cached_property
    def trie(self) -> Trie:
        """The level-ordered byte trie of all tokens; built at first use, then kept."""
        return build_trie(self.token_bytes)

    @cached_property
    def hash(self) -> str:
        """A digest of all that a mask or a label shows: bytes, EOS ids, width, printed forms."""
        texts = sorted(self.special_text.items())
        digest = hashlib.sha256(ascii((len(self), self.eos_ids, texts)).encode())
        for data in self.token_bytes:
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def prepare(self) -> float:
        """Build now what is otherwise built at first use: the trie and the hash. Returns the seconds
        this call took: about 0.1 for 131,072 tokens, and next to nothing the second time."""
        started = time.perf_counter()
        _ = self.trie, self.hash
        return time.perf_counter() - started

    def text(self, token_id: int) -> str:
        """How a person reads the token: its text, `\\xf0\\x9f` for part of a character, or `⟨pad 9⟩`."""
        token_id = self.check_id(token_id)
        data = self.token_bytes[token_id]
        if data:
            return data.decode("utf-8", "backslashreplace")
        return self.special_text.get(token_id, f"⟨no text: id {token_id}⟩")

    def decode(self, token_ids: Iterable[int]) -> bytes:
        """The bytes of a sequence; EOS and special ids add nothing."""
        return b"".join(self.token_bytes[token_id] for token_id in self.check_ids(token_ids))

    def check_id(self, token_id: int) -> int:
        """`token_id` as an int; `UsageError` where it is not a whole number in 0..V-1."""
        number = whole_number(token_id, "a token id")
        if not 0 <= number < len(self):
            raise UsageError(f"token id {number} is not in the vocabulary: ids are 0 to {len(self) - 1:,}")
        return number

    def check_ids(self, token_ids: Iterable[int], name: str = "token ids") -> list[int]:
        """Each of several ids, as `check_id` gives it. Text, bytes and sets are no ids: `UsageError`."""
        return [self.check_id(token_id) for token_id in listed(token_ids, name)]


def _encode_all(tokens: Sequence[Token]) -> list[bytes]:
    items = listed(tokens, "tokens, whose index is the id,", VocabularyError)
    return [utf8_bytes(token, f"token {index}", VocabularyError) for index, token in enumerate(items)]


def _checked_eos(token_bytes: Sequence[bytes], eos_ids: list[Any]) -> tuple[TokenId, ...]:
    ids = sorted({check_below(len(token_bytes), token_id, "eos_ids") for token_id in eos_ids})
    if not ids:
        raise VocabularyError("a vocabulary needs at least one EOS id, or no text could ever end")
    written = [token_id for token_id in ids if token_bytes[token_id]]
    if written:
        raise VocabularyError(f"EOS id {written[0]} has bytes: text that holds them would not be the end")
    return tuple(map(TokenId, ids))


def _checked_texts(tokens: int, special_text: Mapping[int, str]) -> dict[int, str]:
    check_type(special_text, Mapping, "special_text", error=VocabularyError)
    for token_id, text in special_text.items():
        check_type(text, str, f"special_text of {token_id!r:.20}", error=VocabularyError)
    return {check_below(tokens, i, "special_text"): text for i, text in special_text.items()}
