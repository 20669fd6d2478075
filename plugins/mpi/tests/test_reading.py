"""Files of traces: cut anywhere, with a tail, from several hosts, damaged or none at all."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import FileError
from parcast.testing import cases
from parcast_traces.readers.tracer import trace_of
from parcast_traces.tracer.records import CODES
from parcast_traces.tracer.runs import (
    HEADER_TYPE,
    RECORD_TYPE,
    RankRecords,
    Run,
    read_rank,
    read_run,
)
from parcast_traces.writers import write_trace


def written(folder: Path, rows: Any, rank: int = 0, size: int = 1) -> Path:
    header = np.zeros(1, HEADER_TYPE)
    header["magic"], header["version"], header["record"] = b"PARCAST1", 1, 64
    header["rank"], header["size"] = rank, size
    path = folder / f"rank-{rank}.trace"
    path.write_bytes(header.tobytes() + rows.tobytes())
    return path


def some_rows() -> Any:
    rows = np.zeros(8, RECORD_TYPE)
    rows["start"], rows["end"] = np.arange(8), np.arange(8) + 1
    calls = "init irecv waitall request request send waitall request"
    rows["call"] = [CODES[name] for name in calls.split()]
    rows["count"][[2, 6]] = 2, 1
    rows["request"][[1, 3, 4, 7]] = 1, 1, 2, 3
    return rows


@settings(max_examples=cases(20), deadline=None)
@given(length=st.integers(64, 64 * 9))
def test_a_cut_trace_is_read_up_to_its_last_whole_call(
    length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("cut"), some_rows())
    path.write_bytes(path.read_bytes()[:length])
    records = (length - 64) // 64
    kept = {3: 2, 4: 2, 7: 6}.get(records, records)  # a wait without all of its requests goes
    found = read_rank(path).rows
    assert (found == some_rows()[:kept]).all()


def test_space_that_was_not_reached_is_no_record(tmp_path: Path) -> None:
    path = written(tmp_path, some_rows())
    path.write_bytes(path.read_bytes() + bytes(1000))
    assert len(read_rank(path).rows) == 8


def test_a_tail_goes_on_where_the_trace_ends_unless_it_is_its_end(tmp_path: Path) -> None:
    rows = some_rows()
    path = written(tmp_path, rows[:5])
    tail = path.with_suffix(".tail")
    tail.write_bytes(rows[5:].tobytes() + bytes(640))
    assert (read_rank(path).rows == rows).all()
    tail.write_bytes(rows[2:5].tobytes())  # died between writing and clearing the window
    assert (read_rank(path).rows == rows[:5]).all()


def neutral(run: Run) -> dict[str, Any]:
    """Return a run in the neutral form, as JSON holds it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "neutral.json"
        assert not write_trace(trace_of(run, "run", checked=False), path)
        values: dict[str, Any] = json.loads(path.read_text())
    return values


def test_ranks_of_other_hosts_begin_by_themselves() -> None:
    rows = some_rows()
    rows["start"] += 100
    rows["end"] += 100
    ranks = tuple(RankRecords(r, 2, True, False, 10**10 * r, rows.copy()) for r in (0, 1))
    run = Run(ranks, {0: (0, 1)})
    assert not run.comparable
    found = neutral(run)
    assert "clocks" not in found
    assert [events[0]["t_start"] for events in found["ranks"]] == [0, 0]


def damaged(folder: Path) -> None:
    rows = some_rows()
    rows["end"][5] = -1
    written(folder, rows)


BAD = {
    "has no rank-N.trace": lambda folder: None,
    "is no trace of parcast": lambda folder: (folder / "rank-0.trace").write_bytes(b"PARCAST" * 20),
    "the run had 2 ranks, and rank 1 has no file here": lambda folder: written(
        folder, some_rows(), size=2
    ),
    "record 5 is damaged; what comes before it can be kept by cutting the file to 384": damaged,
}


@pytest.mark.parametrize("said", BAD)
def test_what_is_no_trace_is_said(said: str, tmp_path: Path) -> None:
    BAD[said](tmp_path)
    with pytest.raises(FileError, match=said):
        read_run(tmp_path)


def test_a_damaged_number_of_ranks_takes_no_memory(tmp_path: Path) -> None:
    written(tmp_path, some_rows(), size=2**31 - 1)
    tracemalloc.start()
    with pytest.raises(FileError, match="had 2147483647 ranks, and rank 1 has no file here"):
        read_run(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
