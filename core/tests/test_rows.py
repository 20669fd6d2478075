"""Rows that are alike: as ``numpy.unique`` says, whatever the columns hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.quantities import distinct_rows

WHOLE = st.integers(-5, 5) | st.sampled_from([-(2**62), 2**62, 2**40])


@given(
    rows=st.lists(st.tuples(WHOLE, WHOLE, st.sampled_from([0.0, 0.1, 2.5, 1e300]), WHOLE)),
)
def test_distinct_rows_are_those_of_numpy(rows: list[tuple[int, int, float, int]]) -> None:
    columns = [np.array([row[at] for row in rows]) for at in range(4)]
    first, kind = distinct_rows(columns)
    expected = sorted(set(rows))
    assert [rows[at] for at in first] == expected
    assert [expected[number] for number in kind] == rows
    assert all(rows.index(rows[at]) == at for at in first)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.float64])
def test_no_rows_are_of_no_kind(kind: type) -> None:
    first, number = distinct_rows([np.zeros(0, kind)] * 2)
    assert not len(first)
    assert not len(number)
