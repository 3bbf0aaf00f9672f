"""What comes from outside is checked once, at the border: a check returns the value or says what is wrong.

A float that happens to be whole, `True` for 1, or bytes for a list of ids would all go on working for
a while and then mean something else. NumPy's numbers are as good as Python's.

Left out: ranges, which belong to whoever knows them. Cost: O(1) a value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.errors import MiniDecoderError, ModelError, UsageError

__all__ = ["check_type", "listed", "number_row", "real_number", "utf8_bytes", "whole_number"]

_Error = type[MiniDecoderError]
_NO_LISTS: Final = (str, bytes, bytearray, memoryview, Mapping, Set)  # one text, or things in no order


def whole_number(value: object, name: str, error: _Error = UsageError) -> int:
    """An int, from anything that is one (`numpy.int64`); never from a bool or from 3.0."""
    try:
        # subtle: operator.index(True) is 1, and a token id of True is a mistake.
        return operator.index(_not_bool(value))  # type: ignore[arg-type]
    except TypeError:
        raise error(f"{name} must be a whole number, not {value!r:.60}") from None


def real_number(value: object, name: str) -> float:
    """A float that is no NaN, from any real number; never from a bool or a text."""
    try:
        if isinstance(_not_bool(value), Real) and not math.isnan(number := float(value)):  # type: ignore[arg-type]
            return number
    except (TypeError, OverflowError):
        pass
    raise UsageError(f"{name} must be a number, not {value!r:.60}")


def check_type(
    value: object, type_: type[Any], name: str, advice: str = "", error: _Error = UsageError
) -> None:
    """`value` must be a `type_`; `advice`: how to get one."""
    # subtle: a class that was not called has the methods of a protocol too.
    if isinstance(value, type) or not isinstance(value, type_):
        hint = f": {advice}" if advice else ""
        raise error(f"{name} must be of type {type_.__name__}, not {type(value).__name__}{hint}")


def listed(values: object, name: str, error: _Error = UsageError) -> list[Any]:
    """The items of a list, tuple, array or generator. One text, a set or a dict is none of these."""
    try:
        if isinstance(values, Iterable) and not isinstance(values, _NO_LISTS):
            return list(values)
    except TypeError:  # an array without dimensions
        pass
    raise error(f"{name} must be a list, not {type(values).__name__}")


def utf8_bytes(text: object, name: str, error: _Error = UsageError) -> bytes:
    """The bytes of a str in UTF-8; bytes as they are."""
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    if not isinstance(text, str):
        raise error(f"{name} must be str or bytes, not {text!r:.60}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise error(f"{name}, {text!r:.60}, holds a lone surrogate, which has no bytes") from None


def number_row(values: object, name: str) -> NDArray[np.float64]:
    """A fresh float64 array of real numbers, of whatever shape. `ModelError` for text, objects, complex."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind in "fiuV":  # V: bfloat16, where a library has registered it
            with np.errstate(over="ignore"):  # a long double may become +inf, which is refused later
                return raw.astype(np.float64)
        kind = str(raw.dtype)
    except (TypeError, ValueError, RuntimeError) as fault:  # a ragged list, a tensor on a device
        kind = f"{type(values).__name__} ({fault})"
    raise ModelError(f"{name} must be real numbers, not {kind:.200}")


def _not_bool(value: object) -> object:
    if isinstance(value, bool):
        raise TypeError
    return value
