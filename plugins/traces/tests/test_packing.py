"""Packed columns: every number comes back as it was, and a table of them is read as an array is."""

import numpy as np
import pytest

from parcast.errors import FileError, UnsupportedError
from parcast.testing import cases
from parcast_traces import readers
from parcast_traces.trace import packed_table
from parcast_traces.trace.packed_table import PackedTable, Store
from parcast_traces.trace.packing import pack, unpack


def random_column(draws, count):
    """Return numbers of one of many shapes, of any type that traces have."""
    span = int(draws.choice([1, 2, 200, 70_000, 1 << 40, 1 << 62]))
    whole = draws.integers(-span, span, count)
    shapes = (
        lambda: whole.astype(np.int32),
        lambda: whole,
        lambda: whole.view(np.uint64),
        lambda: whole % 2 == 0,
        lambda: np.cumsum(np.abs(whole) // count).astype(float),
        lambda: np.cumsum(draws.random(count)),
        lambda: draws.normal(size=count) * 10.0 ** int(draws.integers(-300, 300)),
        lambda: draws.choice([np.inf, -np.inf, np.nan, -0.0, 0.0, 4096.0, 2.0**53], count),
        lambda: np.full(count, draws.choice([np.inf, -0.0, 7.25, np.nan])),
    )
    return shapes[int(draws.integers(len(shapes)))]()


def test_every_number_comes_back():
    for seed in range(cases(300)):
        draws = np.random.default_rng(seed)
        count = int(draws.choice([1, 2, 3, 50, 700]))
        columns = [random_column(draws, count) for _ in range(5)]
        column = unpack(pack(columns), count, [values.dtype for values in columns])
        for number, values in enumerate(columns):
            read = column(number)
            assert read.dtype == values.dtype
            assert read.tobytes() == values.tobytes()


@pytest.fixture
def tables():
    """Return a table of random numbers, and the same packed in blocks that came in any order."""
    draws = np.random.default_rng(4)
    table = draws.integers(-99, 99, (60, 3)).astype(np.int32)
    begins = np.array([0, 7, 8, 30, 60])
    store, order = Store(), [2, 0, 3, 1]
    for block in order:
        store.add(list(table[begins[block] : begins[block + 1]].T))
    packed = PackedTable(
        blocks=np.argsort(order), begins=begins, shape=table.shape, dtype=table.dtype,
        columns_of=lambda block: store.columns(block, [table.dtype] * 3),
    )  # fmt: skip
    return table, packed


def test_a_packed_table_is_read_as_an_array_is(tables):
    table, packed = tables
    mask = table[:, 0] > 0
    for index in (
        5, -1, slice(None), slice(6, 9), slice(8, 30), slice(50, 99), slice(9, 9), slice(1, 40, 7),
        [3, 59, 3, 8], mask, (7, 2), (slice(5, 35), 1), (slice(5, 35), [2, 0]),
        (slice(None), slice(1)), (np.array([40, 2, 7]), 1), (np.empty(0, np.int64), 2),
        (mask, 2), (slice(3, 3), 1),
    ):  # fmt: skip
        expected = table[index]
        assert np.array_equal(packed[index], expected), index
        assert packed[index].shape == expected.shape, index
    assert np.array_equal(np.asarray(packed), table)
    assert (len(packed), packed.size, packed.nbytes) == (len(table), table.size, table.nbytes)


def test_documents_that_do_not_fit_in_memory_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text('{"ranks": [[{"kind": "init", "t_start": 0, "t_end": 1}]]}')
    assert readers.read_trace(path).count == 1
    monkeypatch.setattr(readers, "free_memory", lambda: 4 * path.stat().st_size)
    with pytest.raises(FileError, match=r"neutral JSON is one document, which takes 5 times"):
        readers.read_trace(path)


def test_what_does_not_fit_in_memory_is_refused(tables, monkeypatch):
    _, packed = tables
    monkeypatch.setattr(packed_table, "_SMALL", 0)
    monkeypatch.setattr(packed_table, "free_memory", lambda: 2000)
    assert packed[3:40].shape == (37, 3)
    with pytest.raises(UnsupportedError, match=r"60 events.*would be in memory at once"):
        packed.copy()
