"""What ranks spend is in the events that are read, in the program, and in every file written."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import Query, Registry
from parcast.testing import cases
from parcast_traces import workload as traced
from parcast_traces.readers import read_trace
from parcast_traces.readers.neutral import trace_of
from parcast_traces.to_program import program
from parcast_traces.trace.columns import END, START
from parcast_traces.writers import write_trace

CASES = cases(40)
MACHINE = Registry().machine({
    "name": "m", "processor": {"rate": "1 GFLOP/s"},
    "network": {"startup": 0.0, "bandwidth": "1 GB/s"},
})  # fmt: skip

#: Calls that a rank makes by itself, and those of all.
ALONE = ("call", "iprobe")
TOGETHER = ("barrier", "allreduce", "allgatherv", "alltoallv", "gatherv", "scatterv")

SPANS = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))


@st.composite
def recorded(draw):
    """Return a trace of ranks that call the same collectives, with calls of their own between."""
    size = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from(TOGETHER), max_size=4))
    ranks = []
    for _ in range(size):
        calls = ["init"]
        for name in names:
            calls += [*draw(st.lists(st.sampled_from(ALONE), max_size=2)), name]
        at, events = draw(st.integers(0, 100)), []
        for call in [*calls, "finalize"]:
            gap, taken = draw(SPANS)
            at += gap
            event = {"kind": call, "t_start": at, "t_end": at + taken}
            if call in TOGETHER and call != "barrier":
                same = call in ("allreduce", "barrier")
                event["bytes"] = 8 if same else draw(st.integers(0, 4000))
            events.append(event)
            at += taken
        ranks.append(events)
    return {"nranks": size, "unit": "1 ns", "ranks": ranks}


@settings(max_examples=CASES, deadline=None)
@given(data=recorded())
def test_a_program_has_all_that_a_rank_did_by_itself(data):
    trace = trace_of(data, "x")
    asked = Query(workload=traced.workload(trace, Path("x.json")), machine=MACHINE, p=trace.size)
    made, notes = program(asked.workload, asked)
    spent = sum(
        one.arguments["seconds"]
        for listed in made.content.recorded.by_rank() for one in listed if one.op == "elapse"
    )  # fmt: skip
    own = 0
    for events in data["ranks"]:
        for before, event in pairwise(events):
            own += event["t_start"] - before["t_end"]
            own += (event["t_end"] - event["t_start"]) * (event["kind"] in ALONE)
    assert spent == pytest.approx(own * 1e-9, abs=1e-15)
    inside = sum(one["t_end"] > one["t_start"] for events in data["ranks"] for one in events
                 if one["kind"] in ALONE)  # fmt: skip
    assert any(f"{inside:,} calls that are not modeled" in note for note in notes) == bool(inside)
    bytes_ = [sorted(one.get("bytes", 0) for one in events if one["kind"] in TOGETHER)
              for events in data["ranks"]]  # fmt: skip
    kept = [sorted(one.arguments.get("bytes", 0) for one in listed if one.op in TOGETHER)
            for listed in made.content.recorded.by_rank()]  # fmt: skip
    assert kept == bytes_


def spans(trace):
    """Return of each rank what it spent in calls, and what between them."""
    times, found = trace.events.times, []
    for first, last in pairwise(trace.events.offsets.tolist()):
        mine = times[first:last]
        between = mine[1:, START] - mine[:-1, END]
        found.append([(mine[:, END] - mine[:, START]).sum(), between.sum()])
    return np.array(found)


@settings(max_examples=CASES, deadline=None)
@given(data=recorded(), suffix=st.sampled_from([".trace", ".otf2", ".tit", ".goal"]))
def test_a_file_has_all_time_or_tells_what_it_lost(tmp_path_factory, data, suffix):
    if suffix == ".otf2":
        pytest.importorskip("otf2")
    trace = trace_of(data, "x")
    path = tmp_path_factory.mktemp("spans") / f"a{suffix}"
    losses = write_trace(trace, path)
    again = read_trace(path)
    before, after = spans(trace), spans(again) * (again.tick or 1e-9) * 1e9
    if not any("how long calls took" in one for one in losses):
        assert np.allclose(before, after, rtol=0, atol=1e-6)
        return
    assert np.allclose(before[:, 1], again.ends, rtol=0, atol=1e-6)  # work, in ns or operations
    assert suffix in (".tit", ".goal")
