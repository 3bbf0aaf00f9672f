"""Masks on torch tensors: the packed words are spread into bits where the logits are.

On the CPU NumPy spreads the bits, which is ten times faster than torch's shifts. On another device the
words travel, 16 KB instead of 128 KB a row, and one shift per bit spreads them there. `masked_fill_`
then writes the blocked logits alone, whatever the strides, so the others keep their bits.

Left out: checks of shapes and types, which `bitmask` makes for both kinds of array. torch is imported
when a tensor comes, never before. Cost: O(V) a row; off the CPU 4 V bytes for a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from minidecoder.errors import UsageError
from minidecoder.tokens.bitmask import Bitmask, unpack

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["block_tensor", "blocked_bits", "check_tensor_writable", "copy_into"]


def block_tensor(mask: Bitmask | Tensor, logits: Tensor, rows: Sequence[int] | None) -> None:
    """-inf in place where the bit is 0. `mask`: int32 (W,) or (B, W); `logits`: floats (V,) or (B, V);
    `rows`: the rows of the batch to mask, None for all."""
    import torch

    # Logits of a model that ran in inference mode can be written in inference mode alone.
    with torch.inference_mode():
        chosen = mask if rows is None else mask[list(rows)]
        blocked = _blocked(chosen, logits)
        if rows is None:
            logits.masked_fill_(blocked, -torch.inf)
        elif rows:
            logits[list(rows)] = logits[list(rows)].masked_fill_(blocked, -torch.inf)


def _blocked(mask: Bitmask | Tensor, logits: Tensor) -> Tensor:
    """bool, shaped as the rows of logits that the mask is for, on their device: 1 where the bit is 0."""
    import torch

    width = logits.shape[-1]
    if logits.device.type == "cpu":
        words = mask.cpu().numpy() if isinstance(mask, torch.Tensor) else mask
        return torch.from_numpy(~unpack(words, width))
    # A copy: torch warns of arrays that are read-only, and refuses those with negative strides.
    words = mask if isinstance(mask, torch.Tensor) else torch.from_numpy(np.array(mask, order="C"))
    return blocked_bits(words.to(logits.device), width)


def blocked_bits(words: Tensor, width: int) -> Tensor:
    """int32 (..., ceil(V/32)) → bool (..., V), 1 where the bit is 0, on the device of `words`."""
    import torch

    place = torch.arange(32, dtype=torch.int32, device=words.device)
    bits = words.unsqueeze(-1) >> place  # (..., W, 32) int32; the sign bit smears, and is cut off below
    bits &= 1
    return (bits == 0).flatten(-2)[..., :width]


def copy_into(rows: Tensor, mask: Bitmask) -> None:
    """Write a mask into an int32 tensor of the same shape."""
    import torch

    if rows.device.type == "cpu":
        rows.numpy()[...] = mask  # the same memory; ten times faster than a copy through torch
        return
    with torch.inference_mode():
        rows.copy_(torch.from_numpy(np.array(mask, order="C")))


def check_tensor_writable(tensor: Tensor, name: str) -> None:
    """`UsageError` for a tensor that autograd follows."""
    import torch

    if tensor.requires_grad and torch.is_grad_enabled():
        raise UsageError(f"cannot write into {name}, which requires grad: detach it, or use torch.no_grad()")
