"""Packed masks against plain booleans, at every width where a word ends, for NumPy and for torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minidecoder.errors import UsageError
from minidecoder.tokens import bitmask
from tests.optional import need

WIDTHS = [1, 31, 32, 33, 64, 50_257, 128_256, 131_072]
BITS = {"float16": "uint16", "bfloat16": "uint16", "float32": "uint32", "float64": "uint64"}


@pytest.fixture
def torch() -> Any:
    return need("torch", "models")


# How logits may lie in memory: the shape of what was allocated for a width, and the part of it that is masked.
LAYOUTS: dict[str, tuple[Callable[[int], tuple[int, ...]], Callable[[Any, int], Any]]] = {
    "a row": (lambda v: (v,), lambda base, v: base),
    "every second": (lambda v: (2 * v,), lambda base, v: base[::2]),
    "a column": (lambda v: (v, 3), lambda base, v: base[:, 1]),
    "a batch": (lambda v: (3, v), lambda base, v: base),
    "a batch of none": (lambda v: (0, v), lambda base, v: base),
    "transposed": (lambda v: (v, 3), lambda base, v: base.T),
    "a window": (lambda v: (5, v + 7), lambda base, v: base[1:4, 2 : v + 2]),
    "rows apart": (lambda v: (5, 2, v), lambda base, v: base[::2, 1]),
}
BACKWARDS = {
    "a row backwards": (lambda v: (v,), lambda base, v: base[::-1]),
    "both ways backwards": (lambda v: (3, 2 * v), lambda base, v: base[::-1, ::-2]),
}


def any_bits(shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Unsigned integers which, read as floats, are everything there is: NaN with payloads, -0, tiny ones."""
    high = np.iinfo(BITS[kind]).max
    return np.random.default_rng(sum(shape)).integers(0, high, shape, dtype=BITS[kind], endpoint=True)


def some(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(shape[-1]).random(shape) < 0.5


@pytest.mark.parametrize("width", WIDTHS)
def test_pack_and_unpack_are_inverse_and_the_tail_is_zero(width: int) -> None:
    allowed = some((width,))
    row = bitmask.pack(allowed)
    assert row.dtype == np.int32
    assert row.shape == (bitmask.words(width),) == (-(-width // 32),)
    assert (bitmask.unpack(row, width) == allowed).all()
    assert sum(int(word).bit_count() for word in row.view(np.uint32)) == allowed.sum()


def test_a_batch_is_packed_row_by_row() -> None:
    allowed = some((2, 3, 45))
    batch = bitmask.pack(allowed)
    assert batch.shape == (2, 3, 2)
    assert all((batch[i, j] == bitmask.pack(allowed[i, j])).all() for i in range(2) for j in range(3))
    assert (bitmask.unpack(batch, 45) == allowed).all()
    assert (bitmask.unpack(batch[:, ::-1], 45) == allowed[:, ::-1]).all()


@given(st.lists(st.booleans(), min_size=1, max_size=100))
def test_bit_i_is_bit_i_mod_32_of_word_i_div_32(flags: list[bool]) -> None:
    row = bitmask.pack(np.array(flags))
    for i, flag in enumerate(flags):
        assert (int(row[i // 32]) >> (i % 32)) & 1 == flag
        assert bitmask.is_set(row, i) == flag


@pytest.mark.parametrize("width", WIDTHS)
def test_fresh_rows_allow_nothing(width: int) -> None:
    for mask in (bitmask.allocate(width), bitmask.allocate(width, batch=3)):
        assert mask.dtype == np.int32
        assert not bitmask.unpack(mask, width).any()
    assert bitmask.allocate(width, batch=3).shape == (3, bitmask.words(width))
    assert bitmask.allocate(width, batch=0).shape == (0, bitmask.words(width))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_apply_writes_what_a_boolean_mask_would_wherever_numpy_logits_lie(width: int, kind: str) -> None:
    for name, (shape, see) in (LAYOUTS | BACKWARDS).items():
        bits = any_bits(shape(width), kind)
        expected = bits.copy()
        allowed = some(see(bits, width).shape)
        see(expected.view(kind), width)[~allowed] = -np.inf
        bitmask.apply(bitmask.pack(allowed), see(bits.view(kind), width))
        assert (bits == expected).all(), name


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", list(BITS))
def test_apply_writes_what_a_boolean_mask_would_wherever_a_tensor_lies(
    torch: Any, width: int, kind: str
) -> None:
    for name, (shape, see) in LAYOUTS.items():
        base = torch.from_numpy(any_bits(shape(width), kind)).view(getattr(torch, kind))
        allowed = some(tuple(see(base, width).shape))
        expected = base.clone()
        see(expected, width)[torch.from_numpy(~allowed)] = -torch.inf
        mask = bitmask.pack(allowed)
        mask.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bitmask.apply(mask, see(base, width))
        unsigned = getattr(torch, BITS[kind])
        assert torch.equal(base.view(unsigned), expected.view(unsigned)), name


def test_bfloat16_arrays_are_masked_too() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 in NumPy needs ml_dtypes")
    bits = any_bits((3, 77), "bfloat16")
    allowed = some((3, 77))
    expected = np.where(allowed, bits, 0xFF80)  # the bits of -inf
    bitmask.apply(bitmask.pack(allowed), bits.view(ml_dtypes.bfloat16))
    assert (bits == expected).all()


@pytest.mark.parametrize("logits_of", ["numpy", "torch"])
@pytest.mark.parametrize("mask_of", ["numpy", "torch", "numpy, backwards", "torch, every second"])
def test_mask_and_logits_may_come_from_different_libraries(torch: Any, logits_of: str, mask_of: str) -> None:
    allowed = some((3, 70))
    mask: Any = bitmask.pack(allowed)
    match mask_of:
        case "numpy, backwards":
            mask = np.ascontiguousarray(mask[::-1, ::-1])[::-1, ::-1]
        case "torch":
            mask = torch.from_numpy(mask)
        case "torch, every second":
            mask = torch.from_numpy(np.repeat(mask, 2, axis=1))[:, ::2]
    logits: Any = np.zeros((3, 70), np.float32)
    bitmask.apply(mask, torch.from_numpy(logits) if logits_of == "torch" else logits)
    assert (np.isneginf(logits) == ~allowed).all()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_bits_beyond_the_width_are_ignored(torch: Any, library: str) -> None:
    everything = np.full((2, 2), -1, np.int32)
    logits: Any = np.arange(66, dtype=np.float32).reshape(2, 33)
    bitmask.apply(everything, torch.from_numpy(logits) if library == "torch" else logits)
    assert (logits == np.arange(66).reshape(2, 33)).all()


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda rows: (row for row in rows),
        lambda rows: need("torch", "models").tensor(rows),
    ],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_only_the_rows_that_indices_name_are_touched(
    torch: Any, library: str, make: Callable[[list[int]], Any]
) -> None:
    allowed = some((5, 70))
    bits = any_bits((70, 5), "float32").T
    expected = bits.copy()
    for row in (1, 4):
        expected.view(np.float32)[row, ~allowed[row]] = -np.inf
    logits: Any = bits.view(np.float32)
    bitmask.apply(
        bitmask.pack(allowed),
        torch.from_numpy(logits) if library == "torch" else logits,
        indices=make([4, 1]),
    )
    assert (bits == expected).all()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_no_indices_touch_nothing(torch: Any, library: str) -> None:
    logits: Any = np.ones((2, 40), np.float32)
    nothing = bitmask.allocate(40, batch=2)
    bitmask.apply(nothing, torch.from_numpy(logits) if library == "torch" else logits, indices=[])
    assert (logits == 1).all()


@pytest.mark.parametrize("indices", [None, [2, 0]])
def test_xgrammar_reads_the_same_bits(torch: Any, indices: list[int] | None) -> None:
    xgrammar = need("xgrammar")
    mask = torch.from_numpy(bitmask.pack(some((3, 50_257))))
    ours, theirs = torch.randn(3, 50_257), torch.empty(3, 50_257)
    theirs.copy_(ours)
    bitmask.apply(mask, ours, indices=indices)
    xgrammar.apply_token_bitmask_inplace(theirs, mask, indices=indices)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("width", WIDTHS)
def test_bits_are_spread_on_a_device_as_numpy_spreads_them(torch: Any, width: int) -> None:
    """What runs on a GPU is plain torch, so it runs here too."""
    from minidecoder.tokens.bitmask_torch import blocked_bits

    allowed = some((2, width))
    blocked = blocked_bits(torch.from_numpy(bitmask.pack(allowed)), width)
    assert (blocked.numpy() == ~allowed).all()


def test_logits_of_a_model_that_ran_without_gradients_are_masked(torch: Any) -> None:
    nothing = bitmask.allocate(40, batch=2)
    with torch.inference_mode():
        logits = torch.zeros(2, 40)
    for indices in ([0], None):
        bitmask.apply(nothing, logits, indices=indices)
        assert (logits == -torch.inf).any(dim=1).tolist() == [True, indices is None]
    weights = torch.nn.Parameter(torch.zeros(2, 40))
    with torch.no_grad():
        bitmask.apply(nothing, weights)
    assert (weights == -torch.inf).all()


ROW, BATCH = np.zeros(2, np.int32), np.zeros((3, 2), np.int32)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("mask", "logits", "message"),
    [
        (ROW, np.zeros(40, np.int64), "float16, bfloat16, float32, float64, to hold -inf, not int64"),
        (ROW, np.zeros(40, np.bool_), "not bool"),
        (ROW, np.zeros(40, np.complex64), "not complex64"),
        (ROW, np.zeros(40, object), "not object"),
        (ROW, [0.0] * 40, "logits must be of type ndarray, not list"),
        (ROW, None, "not NoneType"),
        (ROW, np.zeros(65), r"int32 \(3,\), this one is int32 \(2,\)"),
        (ROW, np.zeros(32), r"int32 \(1,\)"),
        (ROW, np.zeros((3, 40)), r"int32 \(3, 2\), this one is int32 \(2,\)"),
        (BATCH, np.zeros(40), r"int32 \(2,\), this one is int32 \(3, 2\)"),
        (BATCH, np.zeros((2, 40)), r"int32 \(2, 2\)"),
        (BATCH, np.zeros((1, 3, 40)), r"must be \(V,\) or \(B, V\), these are \(1, 3, 40\)"),
        (ROW, np.array(1.0), r"these are \(\)"),
        (ROW.astype(np.int64), np.zeros(40), "this one is int64"),
        (ROW.astype(np.uint32), np.zeros(40), "this one is uint32"),
        (ROW.astype(">i4"), np.zeros(40), "this one is >i4"),
        (np.zeros(40, np.bool_), np.zeros(40), "this one is bool"),
        ([0, 0], np.zeros(40), "the mask must be of type ndarray, not list"),
        (ROW, frozen(np.zeros(40)), "read-only"),
        (ROW, np.broadcast_to(np.zeros(1), (40,)), "read-only"),
        (BATCH, np.lib.stride_tricks.as_strided(np.zeros(40), (3, 40), (0, 8)), "share memory"),
        (BATCH, np.lib.stride_tricks.as_strided(np.zeros(50), (3, 40), (8, 8)), "share memory"),
    ],
)
def test_what_cannot_be_masked_is_refused_and_left_alone(mask: Any, logits: Any, message: str) -> None:
    before = np.array(logits)
    with pytest.raises(UsageError, match=message):
        bitmask.apply(mask, logits)
    assert (np.array(logits) == before).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda torch: torch.zeros(3, 40, dtype=torch.int64), "not torch.int64"),
        (lambda torch: torch.zeros(3, 40, dtype=torch.complex64), "not torch.complex64"),
        (lambda torch: torch.zeros(3, 40, dtype=torch.float8_e5m2), "not torch.float8_e5m2"),
        (lambda torch: torch.zeros(3, 40).to_sparse(), "dense"),
        (lambda torch: torch.zeros(3, 40, requires_grad=True), "requires grad: detach it"),
        (lambda torch: torch.zeros(3, 40, requires_grad=True) * 2, "requires grad"),
        (lambda torch: torch.zeros(1, 40).expand(3, 40), "share memory"),
        (lambda torch: torch.zeros(40), r"must be int32 \(2,\)"),
        (lambda torch: torch.zeros(3, 33, 40), "these are"),
    ],
)
def test_a_tensor_that_cannot_be_masked_is_refused(
    torch: Any, make: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        bitmask.apply(BATCH, make(torch))


def test_a_mask_tensor_is_int32_and_dense(torch: Any) -> None:
    for mask in (torch.zeros(2, dtype=torch.int64), torch.zeros(2), torch.zeros(3, dtype=torch.int32)):
        with pytest.raises(UsageError, match=r"must be int32 \(2,\)"):
            bitmask.apply(mask, np.zeros(40))
    with pytest.raises(UsageError, match="dense"):
        bitmask.apply(torch.zeros(2, dtype=torch.int32).to_sparse(), np.zeros(40))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 3], "index 3 is no row of the batch: rows are 0 to 2"),
        ([-1], "index -1 is no row"),
        ([0, 1, 0], r"name a row twice: \[0, 1, 0\]"),
        ([1.0], "whole number, not 1.0"),
        ([True, False, True], "whole number, not True"),
        (np.array([True, False, True]), "whole number, not True"),
        (np.array([[0], [1]]), "whole number"),
        (0, "indices must be a list, not int"),
        ("01", "indices must be a list, not str"),
        ({0, 1}, "indices must be a list, not set"),
    ],
)
def test_indices_are_checked_before_anything_is_written(indices: Any, message: str) -> None:
    logits = np.zeros((3, 40))
    with pytest.raises(UsageError, match=message):
        bitmask.apply(BATCH, logits, indices=indices)
    assert (logits == 0).all()


def test_indices_as_tensors_are_checked_too(torch: Any) -> None:
    for indices in (torch.tensor([True, False, True]), torch.tensor([0.0]), torch.tensor([0, 0])):
        with pytest.raises(UsageError, match=r"whole number|twice"):
            bitmask.apply(BATCH, torch.zeros(3, 40), indices=indices)


def test_a_single_row_has_no_indices() -> None:
    with pytest.raises(UsageError, match="one row"):
        bitmask.apply(ROW, np.zeros(40), indices=[0])


def test_fill_copies_rows_and_batches_into_arrays_and_tensors(torch: Any) -> None:
    batch = bitmask.pack(some((3, 70)))
    for wanted in (batch, batch[1], batch[::-1], batch[:0]):
        mine = np.full(wanted.shape, 7, np.int32)
        bitmask.fill(mine, wanted)
        theirs = torch.full(wanted.shape, 7, dtype=torch.int32)
        bitmask.fill(theirs, frozen(wanted.copy()))
        assert mine.tolist() == theirs.tolist() == wanted.tolist()
    columns = np.zeros((3, 8), np.int32)
    bitmask.fill(columns[1, ::-2][:3], batch[2])
    assert columns[1, [7, 5, 3]].tolist() == batch[2].tolist()
    with torch.inference_mode():
        made_there = torch.zeros(3, dtype=torch.int32)
    bitmask.fill(made_there, batch[0])
    assert made_there.tolist() == batch[0].tolist()


@pytest.mark.parametrize(
    "rows",
    [
        [0, 0],
        np.zeros(2, np.int64),
        np.zeros((1, 2), np.int32),
        frozen(np.zeros(2, np.int32)),
        np.zeros(3, np.int32),
    ],
)
def test_fill_takes_a_writable_row_of_the_same_shape(rows: Any) -> None:
    with pytest.raises(UsageError, match="row"):
        bitmask.fill(rows, ROW)


def test_fill_takes_an_int32_tensor(torch: Any) -> None:
    for rows in (torch.zeros(2), torch.zeros(3, dtype=torch.int32)):
        with pytest.raises(UsageError, match=r"int32 of shape \(2,\)"):
            bitmask.fill(rows, ROW)
    with pytest.raises(UsageError, match="share memory"):
        bitmask.fill(torch.zeros(1, 2, dtype=torch.int32).expand(3, 2), BATCH)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bitmask.unpack(bitmask.allocate(65), 64), "2 words, this one has 3"),
        (lambda: bitmask.unpack(np.array(0, np.int32), 64), "2 words, this one has no"),
        (lambda: bitmask.pack(np.array([3, 5])), "ids are no flags"),
        (lambda: bitmask.pack([True]), "array of bool"),  # type: ignore[arg-type]
        (lambda: bitmask.pack(np.array(True)), "array of bool"),
        (lambda: bitmask.is_set(ROW, -1), "token id -1"),
        (lambda: bitmask.is_set(ROW, 64), "token id 64"),
        (lambda: bitmask.allocate(0), "at least 1 token"),
        (lambda: bitmask.allocate(-5), "at least 1 token"),
        (lambda: bitmask.allocate(5, batch=-1), "batch=-1"),
        (lambda: bitmask.allocate(True), "whole number"),
        (lambda: bitmask.allocate(5, batch=2.0), "whole number"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
