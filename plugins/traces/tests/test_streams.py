"""Schedules with several streams: what overlaps overlaps, and nothing is begun too early."""

from __future__ import annotations

import gzip
import json

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import Query, Registry
from parcast.errors import FileError, UnsupportedError
from parcast.testing import cases
from parcast_traces.readers import read_trace
from parcast_traces.readers.playing import trace_of
from parcast_traces.readers.schedules import Schedule, Step
from parcast_traces.to_program import program
from parcast_traces.trace.columns import START

CASES = cases(60)


def names(trace):
    return [trace.name(number) for number in range(trace.count)]


def test_streams_of_a_schedule_overlap(tmp_path):
    path = tmp_path / "streams.goal"
    path.write_text(
        "num_ranks 1\nrank 0 {\na: calc 100 cpu 0\nb: calc 70 cpu 1\nc: calc 30 cpu 1\n"
        "d: calc 5 cpu 2\nd requires a\nd requires c\n}\n"
    )
    trace = read_trace(path)
    assert trace.ends.tolist() == [105.0]
    assert any("compute at the same time" in note for note in trace.notes)


def test_a_collective_is_begun_beside_computation_and_waited_for_where_it_is_needed(tmp_path):
    def node(number, kind, duration, tid, *needs, **attr):
        return {"Id": number, "Name": "k", "NodeType": kind, "runtime": duration,
                "data_deps": list(needs), "is_cpu_op": False, "tid": tid, **attr}  # fmt: skip

    together = {"comm_type": 0, "comm_size": 4096}
    nodes = [
        node(1, 4, 100, 7),
        node(2, 7, 90, 20, 1, **together),
        node(3, 4, 200, 7, 1),
        node(4, 7, 90, 20, 3, **together),
        node(5, 4, 10, 7, 2, 3, 4),
    ]
    for rank in range(2):
        (tmp_path / f"c.{rank}.json").write_text(json.dumps({"workload_graph": nodes}))
    trace = read_trace(tmp_path / "c.0.json")
    assert names(trace)[:4] == ["iallreduce", "iallreduce", "waitall", "finalize"]
    assert trace.events.times[:4, START].tolist() == [100_000, 300_000, 300_000, 310_000]
    workload = Registry().workload(tmp_path / "c.0.json")
    _, notes = program(workload, query(workload))
    assert any(
        "4 nonblocking collectives are timed where they are begun; what is computed" in n
        for n in notes
    )
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "c.0.json.gz").write_bytes(
        gzip.compress(json.dumps({"workload_graph": nodes}).encode())
    )
    trace = read_trace(lone)  # the first beside the third, then the second
    assert trace.ends.tolist() == [400_000]
    assert "2 collectives and messages take as long as recorded" in trace.notes[0]


def query(workload):
    registry = Registry()
    return Query(workload=workload, machine=registry.machine("ibm-sp2"), p=workload.processes)


def test_kernels_say_the_collective_where_nothing_else_does(tmp_path):
    node = {"Id": 1, "Name": "ncclKernel_AllGather_RING_LL", "NodeType": 7, "data_deps": []}
    for rank in range(2):
        (tmp_path / f"c.{rank}.json").write_text(json.dumps({"workload_graph": [node]}))
    trace = read_trace(tmp_path)
    assert names(trace)[0] == "iallgather"
    assert "1 collectives do not say their bytes" in trace.notes[0].replace("2 ", "1 ")


def test_a_message_between_beginning_and_wait_keeps_the_collective_at_its_wait(tmp_path):
    # rank 0 sends after it began the sum, rank 1 receives before: to block would be a deadlock
    begin = {"kind": "iallreduce", "bytes": 8, "request": 1}
    wait = {"kind": "wait", "requests": [1]}
    ranks = [
        [begin, {"kind": "send", "peer": 1, "bytes": 8}, wait],
        [{"kind": "recv", "peer": 0, "bytes": 8}, begin, wait],
    ]
    timed = [[{**call, "t_start": at, "t_end": at} for at, call in enumerate(r)] for r in ranks]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"nranks": 2, "unit": "1 us", "ranks": timed}))
    workload = Registry().workload(path)
    _, notes = program(workload, query(workload))
    assert any("where they are waited for" in note for note in notes)


def test_ranks_of_a_schedule_may_have_gaps(tmp_path):
    path = tmp_path / "gaps.goal"
    text = "num_ranks 4\nrank 0 {\nsend 8b to 3 tag 1\n}\nrank 3 {\nrecv 8b from 0 tag 1\n}\n"
    path.write_text(text)
    trace = read_trace(path)
    assert (trace.size, trace.count) == (4, 8)
    assert "2 of 4 ranks have no steps" in trace.notes[0]
    path.write_text(text.replace("num_ranks 4", "num_ranks 5"))
    with pytest.raises(FileError, match="rank 4 of 0 to 4 is missing"):
        read_trace(path)
    path.write_text("num_ranks 9999999\nrank 9999998 {\ncalc 1\n}\n")
    with pytest.raises(FileError, match=r"9,999,998 of 9,999,999 ranks have no steps"):
        read_trace(path)


def test_a_graph_without_times_is_refused(tmp_path):
    path = tmp_path / "graph.json.gz"
    nodes = [{"id": 1, "name": "record_param_comms"}, {"id": 2, "name": "aten::mm"}]
    text = json.dumps({"schema": "1.1.0", "pid": 3, "nodes": nodes})
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(UnsupportedError, match=r"2 nodes, 1 of communication.* no times"):
        read_trace(path)


@st.composite
def graphs(draw):
    """Return steps of computation on up to three streams, in an order that can be done."""
    count = draw(st.integers(1, 9))
    steps = [
        Step("calc", draw(st.integers(1, 50)), cpu=draw(st.integers(0, 2))) for _ in range(count)
    ]
    for number in range(1, count):
        for edges in (steps[number].ended, steps[number].begun):
            edges.extend(draw(st.lists(st.integers(0, number - 1), max_size=2)))
    return steps


def simulated(steps):
    """Return when all is done, second by second: lowest numbers first on an idle stream."""
    begun, ended, running, clock = set(), set(), {}, 0
    while len(ended) < len(steps):
        moved = True
        while moved:
            moved = False
            for number, step in enumerate(steps):
                ready = ended.issuperset(step.ended) and begun.issuperset(step.begun)
                if number not in begun and ready and step.cpu not in running:
                    running[step.cpu] = [number, step.size]
                    begun.add(number)
                    moved = True
                    break
        clock += 1
        for stream, (number, left) in list(running.items()):
            running[stream] = [number, left - 1]
            if left == 1:
                ended.add(number)
                del running[stream]
    return clock


@settings(max_examples=CASES, deadline=None)
@given(steps=graphs())
def test_streams_take_as_long_as_a_plain_simulation_says(steps):
    copies = [attrs.evolve(step, ended=[*step.ended], begun=[*step.begun]) for step in steps]
    trace = trace_of(Schedule("a case", (copies,)))
    assert trace.ends.tolist() == [simulated(steps)]


@pytest.mark.parametrize(
    "text",
    [
        '{"workload_graph": [{"Id": 1e400, "NodeType": 4}]}',
        '{"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 1e400}]}',
        '{"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": 3}]}',
        '{"workload_graph": ' + "[" * 100_000,
        '{"workload_graph": [{"Id": 1, "NodeType": 5, "comm_size": 1, "comm_dst": 1000000000}]}',
        '{"workload_graph": [{"Id": 1, "NodeType": 4}',
    ],
)
def test_hostile_graphs_are_one_sentence(tmp_path, text):
    path = tmp_path / "c.0.json"
    path.write_text(text)
    with pytest.raises(FileError, match=r"c\.0\.json") as error:
        read_trace(path)
    assert len(str(error.value)) < 500
