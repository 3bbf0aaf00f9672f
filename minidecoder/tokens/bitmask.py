"""A mask as packed bits: bit i % 32 of int32 word i // 32 says whether token i may be drawn.

The layout is the one that XGrammar, llguidance and vLLM share. 131,072 tokens are 16 KB instead of
512 KB of floats. Bits beyond V in the last word are 0.

Left out: torch tensors and rows of a batch. Cost: O(V / 8) bytes per row.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import UsageError

__all__ = ["Bitmask", "allocate", "apply", "is_set", "pack", "unpack", "words"]

Bitmask: TypeAlias = NDArray[np.int32]


def words(width: int) -> int:
    """ceil(V / 32), the length of a row."""
    return (width + 31) // 32


def allocate(width: int) -> Bitmask:
    """A row of V bits with nothing allowed: int32 (ceil(V/32),)."""
    return np.zeros(words(width), dtype=np.int32)


def pack(allowed: NDArray[np.bool_]) -> Bitmask:
    """bool (V,) → int32 (ceil(V/32),)."""
    packed = np.packbits(allowed, bitorder="little")
    padded = np.zeros(4 * words(len(allowed)), dtype=np.uint8)
    padded[: len(packed)] = packed
    # subtle: "<i4" fixes the byte order, so that bit 8 lands in bit 8 on any machine.
    return padded.view("<i4").astype(np.int32, copy=False)


def unpack(row: Bitmask, width: int) -> NDArray[np.bool_]:
    """int32 (ceil(V/32),) → bool (V,)."""
    if len(row) != words(width):
        raise UsageError(f"a mask of {width:,} tokens has {words(width):,} words, this one has {len(row):,}")
    little = np.ascontiguousarray(row).astype("<i4", copy=False)
    return np.unpackbits(little.view(np.uint8), count=width, bitorder="little").astype(np.bool_)


def is_set(row: Bitmask, token_id: int) -> bool:
    """Whether the bit of one token is 1."""
    return bool(int(row[token_id >> 5]) >> (token_id & 31) & 1)


def apply(row: Bitmask, logits: NDArray[Any]) -> None:
    """Set to -inf, in place, each of the V logits whose bit is 0. Other logits keep their value."""
    if not np.issubdtype(np.asarray(logits).dtype, np.floating):
        raise UsageError(f"logits must be floats, to hold -inf; these are {np.asarray(logits).dtype}")
    logits[~unpack(row, len(logits))] = -np.inf
