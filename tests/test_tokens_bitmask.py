"""Packed masks against plain booleans, at every width where a word ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minidecoder.errors import UsageError
from minidecoder.tokens import bitmask

WIDTHS = [1, 31, 32, 33, 64, 50_257, 128_256, 131_072]


@pytest.mark.parametrize("width", WIDTHS)
def test_pack_and_unpack_are_inverse_and_the_tail_is_zero(width: int) -> None:
    allowed = np.random.default_rng(width).random(width) < 0.5
    row = bitmask.pack(allowed)
    assert row.dtype == np.int32
    assert row.shape == (bitmask.words(width),) == (-(-width // 32),)
    assert (bitmask.unpack(row, width) == allowed).all()
    assert sum(int(word).bit_count() for word in row.view(np.uint32)) == allowed.sum()


@given(st.lists(st.booleans(), min_size=1, max_size=100))
def test_bit_i_is_bit_i_mod_32_of_word_i_div_32(flags: list[bool]) -> None:
    row = bitmask.pack(np.array(flags))
    for i, flag in enumerate(flags):
        assert (int(row[i // 32]) >> (i % 32)) & 1 == flag
        assert bitmask.is_set(row, i) == flag


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_apply_blocks_in_place_and_leaves_the_rest(kind: type) -> None:
    logits = np.arange(40, dtype=kind)
    allowed = np.arange(40) % 3 == 0
    bitmask.apply(bitmask.pack(allowed), logits)
    assert logits.dtype == kind
    assert (logits[allowed] == np.flatnonzero(allowed)).all()
    assert np.isneginf(logits[~allowed]).all()


def test_a_fresh_row_allows_nothing() -> None:
    assert not bitmask.unpack(bitmask.allocate(33), 33).any()


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(UsageError, match="2 words"):
        bitmask.unpack(bitmask.allocate(65), 64)
