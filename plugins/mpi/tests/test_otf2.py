"""No call, and no time in one, is lost on the way to an OTF2 archive without being told."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.cli import main
from parcast.testing import cases
from parcast_traces.readers.tracer import trace_of
from parcast_traces.tracer.records import CODES, NONE
from parcast_traces.tracer.runs import RECORD_TYPE, read_run
from parcast_traces.writers import write_trace

from .test_reading import written

pytestmark = pytest.mark.skipif(
    not (find_spec("otf2") or os.environ.get("CI")), reason="otf2 is not installed"
)

CASES = cases(25)

#: Calls of which nothing but a name and a time is told, and those that all ranks do.
ALONE = ("init", "finalize", "call", "iprobe")
TOGETHER = ("barrier", "allreduce", "comm_split", "comm_dup", "comm_create", "bcast", "alltoallv")


@settings(max_examples=CASES, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.sampled_from([*ALONE, *TOGETHER, "probe"]), st.integers(0, 99)), min_size=1
    )
)
def test_every_call_comes_back_with_its_time(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, int]]
) -> None:
    import otf2

    folder = tmp_path_factory.mktemp("otf2")
    for rank in range(2):
        rows = np.zeros(len(calls), RECORD_TYPE)
        rows["call"] = [CODES[name] for name, _ in calls]
        rows["end"] = np.cumsum([taken + 1 for _, taken in calls])
        rows["start"] = rows["end"] - [taken for _, taken in calls]
        rows["peer"] = [0 if name in ("bcast", "probe") else NONE for name, _ in calls]
        written(folder, rows, rank, 2)
    trace = trace_of(read_run(folder), "run", checked=False)
    losses = write_trace(trace, folder / "a.otf2")
    assert losses == ("that the clocks of all ranks are one",)
    spent: dict[str, int] = defaultdict(int)
    counts, kinds, entered = Counter[str](), Counter[str](), dict[object, int]()
    with otf2.reader.open(str(folder / "a.otf2" / "traces.otf2")) as archive:
        for location, event in archive.events:
            kinds[type(event).__name__] += 1
            if isinstance(event, otf2.events.Enter):
                entered[location] = event.time
            elif isinstance(event, otf2.events.Leave):
                name = event.region.name.removeprefix("MPI_").lower()
                counts[name] += 1
                spent[name] += event.time - entered[location]
    expected = Counter(name for name, _ in calls)
    assert counts == {name: 2 * count for name, count in expected.items()}
    for name in expected:
        assert spent[name] == 2 * sum(taken for kind, taken in calls if kind == name)
    assert kinds["MpiCollectiveEnd"] == 2 * sum(expected[name] for name in TOGETHER)
    assert kinds["MpiProbe"] == 2 * expected["probe"]


def test_what_an_archive_cannot_hold_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = np.zeros(3, RECORD_TYPE)
    rows["start"], rows["end"] = np.arange(3), np.arange(3) + 1
    rows["call"] = [CODES[name] for name in ("isend", "request_free", "recv")]
    rows["request"] = [1, 1, 0]
    written(tmp_path, rows)
    assert main(["mpi", "convert", str(tmp_path), str(tmp_path / "a.otf2")]) == 0
    assert "note: lost: when sends are freed" in capsys.readouterr().out
