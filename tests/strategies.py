"""Hypothesis strategies that several tests share: patterns, small alphabets, small vocabularies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from minidecoder.tokens.vocabulary import Vocabulary

ALPHABET = "ab1é😀"
OUTSIDER = "z"


def patterns(alphabet: str = ALPHABET) -> st.SearchStrategy[str]:
    """Patterns of the compiled dialect over a few characters of one to four bytes."""
    atoms = st.sampled_from(
        [*alphabet, ".", rf"[{alphabet[0]}-{alphabet[1]}]", f"[^{alphabet[0]}]", r"\d", r"\w"]
    )
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
            st.tuples(inner, quantifiers).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        )

    return st.recursive(atoms, grow, max_leaves=6)


def texts_up_to(length: int, alphabet: str) -> Iterator[str]:
    """All texts of at most `length` characters."""
    for size in range(length + 1):
        yield from map("".join, itertools.product(alphabet, repeat=size))


def vocabularies(alphabet: str = ALPHABET) -> st.SearchStrategy[Vocabulary]:
    """Up to twelve byte strings over the bytes of `alphabet`: whole characters, parts, duplicates, empty ones."""
    pieces = [char.encode() for char in alphabet]
    loose = [bytes([byte]) for piece in pieces for byte in piece]
    token = st.lists(st.sampled_from([*pieces, *loose]), max_size=3).map(b"".join)
    rows = st.lists(token, min_size=1, max_size=12).filter(any)
    return rows.map(
        lambda tokens: Vocabulary.from_tokens([b"</s>", *tokens, b"<pad>"], eos=0, special=["<pad>"])
    )
