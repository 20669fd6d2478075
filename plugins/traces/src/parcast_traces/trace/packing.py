"""Columns of numbers as few bytes, none of them changed.

A column is the differences from its least value, or, where these are smaller, from the number
before; or, where there are few values of many bytes, their positions in a list of them. Of the
differences the bytes that any of them has are kept, all first bytes together, and squeezed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Whole numbers as they are, or the bits of numbers that are not whole.
_WHOLE, _BITS = range(2)
#: From the least value, from the number before, or by position in a list.
_LEAST, _STEPS, _LISTED = range(3)

#: Of a column: how its numbers are 64 bits, what differences are from, how many bytes each has,
#: whether these are squeezed, how many values are listed, the first value and the least difference.
_HEAD = struct.Struct("<4BHQQ")
_COLUMN = np.dtype("<u4")  #: the length of a packed column

#: Whole numbers beyond these may not be exact as floats.
_MOST_EXACT = float(1 << 53)
_MOST_LISTED = 256
_WORTH_LISTING = 3  #: bytes of a difference

#: Where numbers of 64 bits begin again.
_AROUND = 1 << 64

_Bits = NDArray[np.uint64]


def pack(columns: Sequence[NDArray[Any]]) -> bytes:
    """Return columns of one length, of whole numbers or floats, as bytes."""
    packed = [_packed(column) for column in columns]
    return np.array([len(column) for column in packed], _COLUMN).tobytes() + b"".join(packed)


def unpack(
    data: bytes, count: int, kinds: Sequence[np.dtype[Any]]
) -> Callable[[int], NDArray[Any]]:
    """Return what gives a column of those that `pack` made bytes of, by its number.

    Parameters
    ----------
    data
        As `pack` returned it.
    count
        The length of each column.
    kinds
        Of all columns, in order.
    """
    lengths = np.frombuffer(data, _COLUMN, len(kinds))
    begins = np.cumsum([lengths.nbytes, *lengths], dtype=np.int64).tolist()

    def column(number: int) -> NDArray[Any]:
        return _unpacked(data[begins[number] : begins[number + 1]], count, kinds[number])

    return column


def _packed(values: NDArray[Any]) -> bytes:
    form, bits = _as_bits(values)
    layout, first, (base, width) = _LEAST, int(bits[0]), _span(bits)
    differences, listed = bits, np.empty(0, np.uint64)
    if width:
        steps = np.diff(bits)
        least_step, width_of_step = _span(steps)
        if width_of_step < width:
            layout, differences, base, width = _STEPS, steps, least_step, width_of_step
    differences = differences - np.uint64(base)
    if width >= _WORTH_LISTING:
        listed = np.unique(bits)
        if len(listed) <= _MOST_LISTED:
            layout, width = _LISTED, 1
            differences = np.searchsorted(listed, bits).astype(np.uint64)
    planes = differences.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
    squeezed = zlib.compress(planes, 1)
    is_squeezed = len(squeezed) < len(planes)
    listed = listed if layout == _LISTED else listed[:0]
    head = _HEAD.pack(form, layout, width, is_squeezed, len(listed), first, base)
    return head + listed.astype("<u8").tobytes() + (squeezed if is_squeezed else planes)


def _unpacked(data: bytes, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    form, layout, width, is_squeezed, listed, first, base = _HEAD.unpack_from(data)
    begin = _HEAD.size + 8 * listed
    planes = zlib.decompress(data[begin:]) if is_squeezed else data[begin:]
    length = count - 1 if layout == _STEPS else count
    table = np.zeros((length, 8), np.uint8)
    if width:
        table[:, :width] = np.frombuffer(planes, np.uint8).reshape(width, length).T
    bits: _Bits = table.view("<u8").reshape(-1).astype(np.uint64)
    if layout == _LISTED:
        bits = np.frombuffer(data, "<u8", listed, _HEAD.size).astype(np.uint64)[bits]
    else:
        bits += np.uint64(base)
    if layout == _STEPS:
        bits = np.cumsum(np.concatenate([np.array([first], np.uint64), bits]), dtype=np.uint64)
    if kind.kind != "f":
        return bits.view(np.int64).astype(kind)
    return bits.view(np.float64) if form == _BITS else bits.view(np.int64).astype(np.float64)


def _as_bits(values: NDArray[Any]) -> tuple[int, _Bits]:
    """Return numbers as 64 bits each: whole ones by their values, else floats by their bits."""
    if values.dtype.kind != "f":
        return _WHOLE, values.astype(np.int64).view(np.uint64)
    floats = np.ascontiguousarray(values, np.float64)
    if (np.abs(floats) < _MOST_EXACT).all():  # and none is not a number
        whole = floats.astype(np.int64)
        if np.array_equal(whole.astype(np.float64).view(np.uint64), floats.view(np.uint64)):
            return _WHOLE, whole.view(np.uint64)
    return _BITS, floats.view(np.uint64)


def _span(bits: _Bits) -> tuple[int, int]:
    """Return the least of some signed numbers, and how many bytes differences from it have."""
    signed = bits.view(np.int64)
    least, most = int(signed.min()), int(signed.max())
    return least % _AROUND, -(-(most - least).bit_length() // 8)
