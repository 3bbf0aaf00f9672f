"""Ids as people name them: a number, a token's text, or several of these.

Every way to make a vocabulary takes `eos`, `special` and `width`; what they may be is said here once.

Left out: what the ids mean (`vocabulary`). Cost: O(V) to find a text, O(1) for a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from minidecoder.errors import VocabularyError
from minidecoder.tokens.checks import utf8_bytes, whole_number

__all__ = ["MAX_WIDTH", "EosSpec", "Token", "as_items", "check_below", "check_width", "find_id"]

Token = str | bytes
EosSpec = Token | int | Iterable[Token | int]

MAX_WIDTH: Final = 2**24
"""The most ids that a vocabulary may have: many times what any model has."""

_TEXTS: Final = (str, bytes, bytearray, memoryview)


def as_items(items: EosSpec) -> list[Any]:
    """One text or id, or several, as a list."""
    if isinstance(items, _TEXTS) or not isinstance(items, Iterable):
        return [items]
    return [items] if getattr(items, "ndim", None) == 0 else list(items)


def find_id(tokens: Sequence[bytes], item: Token | int, role: str) -> int:
    """The id that `item` names: itself, or the one whose text it is. `role`: the argument at fault."""
    if not isinstance(item, _TEXTS):
        return check_below(len(tokens), item, role)
    wanted = utf8_bytes(item, f"the text in {role}=", VocabularyError)
    ids = [i for i, data in enumerate(tokens) if data == wanted]
    if len(ids) != 1:
        fault = "no token" if not ids else f"several tokens (ids {ids})"
        raise VocabularyError(f"{role}={item!r} is the text of {fault}; give the id")
    return ids[0]


def check_below(tokens: int, token_id: object, role: str) -> int:
    """`token_id` as an int in 0..tokens-1."""
    number = whole_number(token_id, f"an id in {role}=", VocabularyError)
    if not 0 <= number < tokens:
        raise VocabularyError(f"{role}={number} is not an id: there are {tokens:,} tokens")
    return number


def check_width(width: int | None, tokens: int) -> int:
    """The number of logits: `tokens` unless `width` names more."""
    if width is None:
        return tokens
    width = whole_number(width, "width", VocabularyError)
    if width < tokens:
        raise VocabularyError(
            f"width={width:,} is too small for {tokens:,} tokens: logits need a column for each, so resize "
            "the model's embeddings, or take the tokenizer that belongs to the model"
        )
    if width > MAX_WIDTH:
        raise VocabularyError(f"width={width:,} is too large: at most {MAX_WIDTH:,}")
    return width
