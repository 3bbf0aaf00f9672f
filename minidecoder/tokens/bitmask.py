"""A mask as packed bits: bit i % 32 of int32 word i // 32 says whether token i may be drawn.

The layout is the one that XGrammar, llguidance and vLLM share. 131,072 tokens are 16 KB instead of
512 KB of floats. Bits beyond V in the last word are 0 where we write them, and ignored where we read.
A batch of B requests is int32 (B, ceil(V/32)); `torch.from_numpy(allocate(width, batch=B))` is the same
memory as a tensor.

Left out: which tokens are allowed (`decoding.matcher`), and how a tensor is masked (`bitmask_torch`).
Cost: O(V / 8) bytes per row; `apply` reads V bits and writes the blocked logits alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import UsageError
from minidecoder.tokens.checks import check_type, listed, whole_number

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Bitmask", "allocate", "apply", "check_words", "fill", "is_set", "pack", "unpack", "words"]

Bitmask: TypeAlias = NDArray[np.int32]

_FLOATS: Final = ("float16", "bfloat16", "float32", "float64")


def words(width: int) -> int:
    """ceil(V / 32), the length of a row."""
    return (width + 31) // 32


def allocate(width: int, *, batch: int | None = None) -> Bitmask:
    """A row of V bits with nothing allowed, int32 (ceil(V/32),); with `batch`, B of them, (B, ceil(V/32)).
    A row of -1 in every word allows everything."""
    width = whole_number(width, "width")
    rows = () if batch is None else (whole_number(batch, "batch"),)
    if width < 1 or any(count < 0 for count in rows):
        raise UsageError(f"allocate({width}, batch={batch}): a row has at least 1 token, a batch 0 rows")
    return np.zeros((*rows, words(width)), dtype=np.int32)


def pack(allowed: NDArray[np.bool_]) -> Bitmask:
    """bool (..., V) → int32 (..., ceil(V/32))."""
    if not isinstance(allowed, np.ndarray) or allowed.dtype != np.bool_ or allowed.ndim == 0:
        raise UsageError("pack takes an array of bool, one for each token; ids are no flags")
    packed = np.packbits(allowed, axis=-1, bitorder="little")
    padded = np.zeros((*allowed.shape[:-1], 4 * words(allowed.shape[-1])), dtype=np.uint8)
    padded[..., : packed.shape[-1]] = packed
    # subtle: "<i4" fixes the byte order, so that bit 8 lands in bit 8 on any machine.
    return padded.view("<i4").astype(np.int32, copy=False)


def unpack(row: Bitmask, width: int) -> NDArray[np.bool_]:
    """int32 (..., ceil(V/32)) → bool (..., V); `width` is V."""
    if row.ndim == 0 or row.shape[-1] != words(width):
        length = f"{row.shape[-1]:,}" if row.ndim else "no"
        raise UsageError(f"a mask of {width:,} tokens has {words(width):,} words, this one has {length}")
    little = np.ascontiguousarray(row).astype("<i4", copy=False)
    return np.unpackbits(little.view(np.uint8), axis=-1, count=width, bitorder="little").view(np.bool_)


def is_set(row: Bitmask, token_id: int) -> bool:
    """Whether the bit of one token is 1."""
    if not 0 <= token_id < 32 * len(row):
        raise UsageError(f"token id {token_id} is beyond the {len(row):,} words of the mask")
    return bool(int(row[token_id >> 5]) >> (token_id & 31) & 1)


def fill(rows: Bitmask | Tensor, mask: Bitmask) -> None:
    """Copy a mask into a row, or a batch into a batch, NumPy or torch. `UsageError` where `rows` is not
    int32 of the mask's shape, or cannot be written."""
    check_words(rows, tuple(mask.shape), "row" if mask.ndim == 1 else "batch")
    if _is_tensor(rows):
        from minidecoder.tokens.bitmask_torch import copy_into

        copy_into(rows, mask)
    else:
        rows[...] = mask


def check_words(rows: Bitmask | Tensor, shape: tuple[int, ...], name: str = "row") -> None:
    """`rows` must be int32 of this shape and writable, else `UsageError`; -1: any length."""
    _check_array(rows, f"the {name}", "bitmask.allocate(width) gives one")
    same = len(rows.shape) == len(shape) and all(
        want in (-1, have) for want, have in zip(shape, rows.shape, strict=True)
    )
    if not same or not _is_int32(rows):
        expected = str(shape).replace("-1", "any")
        raise UsageError(
            f"the {name} must be int32 of shape {expected}, this one is {rows.dtype} {tuple(rows.shape)}"
        )
    _check_writable(rows, f"the {name}")


def apply(
    mask: Bitmask | Tensor, logits: NDArray[Any] | Tensor, *, indices: Iterable[int] | None = None
) -> None:
    """Set to -inf, in place, each logit whose bit is 0. All other logits keep their bits, NaN too.

    `logits`: float16, bfloat16, float32 or float64, (V,) or (B, V), NumPy or torch, any strides, any
    device; `mask`: int32 of ceil(V/32) words a row, NumPy or torch; `indices`: the rows of the batch to
    mask, the others stay. Raises `UsageError`, before anything is written, for other types and shapes,
    logits that cannot be written (read-only, gradients, overlapping), indices repeated or out of range.
    """
    _check_array(logits, "logits", "a row or a batch of floats")
    if _type_name(logits) not in _FLOATS:
        raise UsageError(f"logits must be one of {', '.join(_FLOATS)}, to hold -inf, not {logits.dtype}")
    _check_writable(logits, "logits")
    _check_mask(mask, tuple(logits.shape))
    rows = None if indices is None else _checked_rows(indices, tuple(logits.shape))
    if _is_tensor(logits):
        from minidecoder.tokens.bitmask_torch import block_tensor

        block_tensor(mask, logits, rows)
    else:
        _block_array(np.asarray(mask.cpu()) if _is_tensor(mask) else mask, logits, rows)


def _block_array(mask: Bitmask, logits: NDArray[Any], rows: Sequence[int] | None) -> None:
    nothing = np.array(-np.inf).astype(logits.dtype)  # bfloat16 takes no Python float
    masks, batch = np.atleast_2d(mask), np.atleast_2d(logits)  # views
    for row in range(len(batch)) if rows is None else rows:
        np.copyto(batch[row], nothing, where=~unpack(masks[row], batch.shape[1]))


def _check_mask(mask: Bitmask | Tensor, logits_shape: tuple[int, ...]) -> None:
    _check_array(mask, "the mask", "bitmask.allocate(width) gives one")
    if len(logits_shape) not in (1, 2):
        raise UsageError(f"logits must be (V,) or (B, V), these are {logits_shape}")
    expected = (*logits_shape[:-1], words(logits_shape[-1]))
    if not _is_int32(mask) or tuple(mask.shape) != expected:
        raise UsageError(
            f"the mask of logits {logits_shape} must be int32 {expected}, "
            f"this one is {mask.dtype} {tuple(mask.shape)}"
        )


def _checked_rows(indices: Iterable[int], logits_shape: tuple[int, ...]) -> list[int]:
    if len(logits_shape) != 2:
        raise UsageError("indices= names rows of a batch, but the logits are one row")
    # subtle: an element of a bool tensor passes for an integer, an element of its list does not.
    items = indices.tolist() if _is_tensor(indices) or isinstance(indices, np.ndarray) else indices
    rows = [whole_number(row, "an index") for row in listed(items, "indices")]
    for row in rows:
        if not 0 <= row < logits_shape[0]:
            raise UsageError(f"index {row} is no row of the batch: rows are 0 to {logits_shape[0] - 1}")
    if len(set(rows)) != len(rows):
        raise UsageError(f"indices name a row twice: {rows}")
    return rows


def _is_tensor(value: object) -> TypeGuard[Tensor]:
    # Where torch was not imported, nothing can be its tensor.
    return isinstance(value, getattr(sys.modules.get("torch"), "Tensor", ()))


def _is_int32(array: NDArray[Any] | Tensor) -> bool:
    # NumPy needs microseconds to print a type, and a server asks this for each token.
    return bool(array.dtype == np.int32) if isinstance(array, np.ndarray) else _type_name(array) == "int32"


def _type_name(array: NDArray[Any] | Tensor) -> str:
    return str(array.dtype).removeprefix("torch.")


def _check_array(value: object, name: str, advice: str) -> None:
    if not _is_tensor(value):
        check_type(value, np.ndarray, name, advice)
    elif str(value.layout) != "torch.strided":
        raise UsageError(f"{name} must be a dense tensor, not {value.layout}")


def _check_writable(array: NDArray[Any] | Tensor, name: str) -> None:
    if _is_tensor(array):
        from minidecoder.tokens.bitmask_torch import check_tensor_writable

        check_tensor_writable(array, name)
        strides, unit = array.stride(), 1
    else:
        if not array.flags.writeable:
            raise UsageError(f"cannot write into {name}: read-only, so copy it")
        strides, unit = array.strides, array.itemsize
    if _overlaps(tuple(array.shape), strides, unit):
        raise UsageError(f"cannot write into {name}: elements share memory (expand, broadcast), so copy it")


def _overlaps(shape: tuple[int, ...], strides: Sequence[int], unit: int) -> bool:
    """Whether two elements may share memory; each stride must step over all that smaller ones reach."""
    reach = unit
    for stride, count in sorted((abs(s), n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride < reach and 0 not in shape:
            return True
        reach += stride * (count - 1)
    return False
