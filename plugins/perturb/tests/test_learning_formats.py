"""Traces of machine learning: Chakra's own tools wrote its files, PyTorch those of gloo.

Those of NCCL, which takes graphics processors, follow Kineto's format.
"""

import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast.testing import cases
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers import read_trace
from parcast_traces.readers.protobuf import MalformedError, fields, packed
from parcast_traces.trace.columns import BYTES, END, START

from .timed import with_times

FILES = Path(__file__).parent / "files"
CHAKRA = FILES / "chakra"
CASES = cases(60)


@pytest.mark.parametrize("suffix", ["et", "json"])
def test_a_pipeline_of_chakra_is_timed(suffix):
    # 0: forward 100 us, sends, 50 us more; 1: forward 200, 30 with what came; then a sum
    trace = read_trace(CHAKRA / f"pipeline.0.{suffix}")
    known = Recorded(latency=1000.0, per_byte=1.0)
    timed = with_times(trace, known, 1.0)
    arrives = 100_000 + 1000 + 4096
    begins = max(200_000, arrives) + 30_000
    assert timed.ends.tolist() == [begins + 1000 + 65536] * 2
    assert trace.events.times[0, BYTES] == 4096
    slower = with_times(trace, Recorded(latency=200_000.0, per_byte=0.0), 1.0)
    assert slower.ends.max() == 100_000 + 200_000 + 30_000 + 200_000


def test_nodes_of_the_generator_are_read():
    assert read_trace(CHAKRA / "two_comp_nodes_dependent.1.et").ends.tolist() == [10_000, 10_000]
    barrier = read_trace(CHAKRA / "BARRIER.0.et")
    assert [barrier.name(event) for event in range(3)] == ["ibarrier", "waitall", "finalize"]


@pytest.mark.parametrize("cut", [1, 20, 60, 150])
def test_files_of_chakra_that_are_cut_off_are_told(tmp_path, cut):
    for file in CHAKRA.glob("pipeline.*.et"):
        shutil.copy(file, tmp_path)
    path = tmp_path / "pipeline.1.et"
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    with pytest.raises((FileError, TraceError), match=r"cut off|no execution trace|unmatched|inc"):
        read_trace(path)
    path.unlink()
    with pytest.raises(FileError, match=r"there are files of 1"):
        read_trace(tmp_path / "pipeline.0.et")


def test_nodes_without_time_are_refused(tmp_path):
    node = {"id": 1, "type": "COMP_NODE", "attr": [{"name": "num_ops", "int64Val": "7"}]}
    path = tmp_path / "a.0.json"
    path.write_text(json.dumps({"version": "1"}) + json.dumps(node))
    with pytest.raises(UnsupportedError, match="no duration"):
        read_trace(path)
    path.write_text(json.dumps({"id": 1, "type": "COMP_NODE", "dataDeps": ["9"]}))
    with pytest.raises(FileError, match="waits for node 9"):
        read_trace(path)
    path.write_text(json.dumps({"id": 1, "type": "COMP_NODE", "durationMicros": "-5"}))
    with pytest.raises(FileError, match="node 1 takes -5 us, less than no time"):
        read_trace(path)


def test_what_the_host_does_for_a_collective_is_computation(tmp_path):
    # as the converter of PyTorch's traces writes a collective twice: of the host and of the device
    host = {"id": 1, "type": "COMM_COLL_NODE", "durationMicros": "85",
            "attr": [{"name": "is_cpu_op", "boolVal": True}]}  # fmt: skip
    (tmp_path / "a.0.json").write_text(json.dumps(host))
    assert read_trace(tmp_path / "a.0.json").ends.tolist() == [85_000]
    (tmp_path / "a.0.json").write_text(json.dumps({**host, "ctrlDeps": [3]}))
    assert read_trace(tmp_path / "a.0.json").notes[0].startswith("control dependencies")
    attribute = b"\x0a\x09is_cpu_op\xd8\x01\x01"  # a bool in field 27
    node = b"\x08\x01\x18\x07\x38\x55\x52" + bytes([len(attribute)]) + attribute
    (tmp_path / "b.0.et").write_bytes(b"\x00" + bytes([len(node)]) + node)
    assert read_trace(tmp_path / "b.0.et").ends.tolist() == [85_000]


def test_protobuf_s_wire_format():
    # the examples of its documentation: 150 in field 1, "testing" in 2, packed 3, 270, 86942 in 6
    assert list(fields(bytes.fromhex("089601"))) == [(1, 150)]
    assert list(fields(bytes.fromhex("120774657374696e67"))) == [(2, b"testing")]
    (number, data), *_ = fields(bytes.fromhex("3206038e029ea705"))
    assert (number, packed(data)) == (6, [3, 270, 86942])
    for wrong in ("08", "1207", "0b", "09000000"):
        with pytest.raises(MalformedError):
            list(fields(bytes.fromhex(wrong)))


def kernel(name, start, taken, **args):
    return {
        "ph": "X", "cat": "kernel", "name": f"ncclDevKernel_{name}", "ts": start, "dur": taken,
        "args": {"Collective name": name, "dtype": "BFloat16", "In msg nelems": 512,
                 "Group size": 2, **args},
    }  # fmt: skip


def kineto(tmp_path, *ranks):
    for rank, events in enumerate(ranks):
        info = {"backend": "nccl", "rank": rank, "world_size": len(ranks)}
        data = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": list(events)}
        (tmp_path / f"trace-{rank}.json").write_text(json.dumps(data))
    return tmp_path / "trace-0.json"


def test_kernels_of_nccl_are_calls(tmp_path):
    other = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1060, "dur": 30}
    path = kineto(
        tmp_path,
        [kernel("allreduce", 1000.0, 50.5), other, kernel("send", 1100, 5, **{"Dst Rank": 1})],
        [kernel("_allgather_base", 2020, 1), kernel("recv", 2090, 15, **{"Src Rank": 0})],
    )
    with pytest.raises(TraceError, match="collective_mismatch: rank 1, event 1"):
        read_trace(path)
    path = kineto(
        tmp_path,
        [kernel("allreduce", 1000.0, 50.5), other, kernel("send", 1100, 5, **{"Dst Rank": 1})],
        [kernel("allreduce", 2020, 30.5), kernel("recv", 2090, 15, **{"Src Rank": 0})],
    )
    trace = read_trace(path)
    assert [trace.name(event) for event in range(8)] == [
        "init", "allreduce", "send", "finalize", "init", "allreduce", "recv", "finalize",
    ]  # fmt: skip
    assert trace.events.times[:, BYTES].tolist() == [0, 1024, 1024, 0, 0, 1024, 0, 0]
    same = propagate(trace, Perturbation(), Recorded(), "upper", every_end=True)
    assert not same.ends.any()
    # rank 0 waited 20 longer in the sum, so noise of 15 in its gap before does not pass it
    assert np.ptp(propagate(trace, Perturbation.of(latency=7), Recorded(), "upper").final) == 7


def test_a_run_of_gloo_that_pytorch_recorded_is_read(tmp_path):
    # two processes: barrier, two sums of 256 floats, a broadcast, a gathering, with shapes recorded
    trace = read_trace(FILES / "kineto" / "gloo-0.json")
    names = ["init", "barrier", "allreduce", "allreduce", "allreduce", "allgather", "finalize"]
    assert [trace.name(event) for event in range(14)] == 2 * names
    assert trace.events.times[:, BYTES].tolist() == 2 * [0, 0, 1024, 1024, 1024, 1024, 0]
    assert not propagate(trace, Perturbation(), Recorded(), "upper", every_end=True).ends.any()
    for number in range(2):
        text = (FILES / "kineto" / f"gloo-{number}.json").read_text()
        (tmp_path / f"a-{number}.json").write_text(text.replace('"gloo:broadcast"', '"gloo:send"'))
        (tmp_path / f"b-{number}.json").write_text(text.replace('["float"]', '["odd"]'))
    with pytest.raises(UnsupportedError, match="event 4: gloo:send ends when the message"):
        read_trace(tmp_path / "a-0.json")
    with pytest.raises(UnsupportedError, match="event 2: gloo:all_reduce is of types"):
        read_trace(tmp_path / "b-0.json")


@pytest.mark.parametrize("slow", range(4))
def test_a_straggler_of_a_gloo_run_is_named(tmp_path, capsys, slow):
    # sums end 100 us after the last rank comes, on clocks that differ by days
    draw, now = random.Random(slow), 0.0
    events = [[] for _ in range(4)]
    for step in range(20):
        computes = [1000 + draw.uniform(0, 60) + 250 * (rank == slow) for rank in range(4)]
        end = now + max(computes) + 100
        for rank, work in enumerate(computes):
            clock = rank * 1e11
            spans = [("cpu_op", "aten::mm", now, work, 1),
                     ("user_annotation", f"ProfilerStep#{step}", now, end - now, 1),
                     ("cpu_op", "gloo:all_reduce", now + work, end - now - work, 2)]  # fmt: skip
            for cat, name, ts, dur, tid in spans:
                args = {"Input Dims": [[256]], "Input type": ["float"]}
                events[rank].append({"ph": "X", "cat": cat, "name": name, "ts": clock + ts,
                                     "dur": dur, "tid": tid, "args": args})  # fmt: skip
        now = end
    for rank, own in enumerate(events):
        info = {"backend": "gloo", "rank": rank, "world_size": 4}
        text = json.dumps({"distributedInfo": info, "traceEvents": own})
        (tmp_path / f"worker.{rank}.pt.trace.json").write_text(text)
    assert main(["perturb", "slowest", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    cost = re.search(
        rf"rank {slow} is the slowest: it computes (\S+) s longer than the others", text
    )
    assert cost, text
    assert "within their noise" not in text
    assert float(cost[1]) == pytest.approx(20 * 250e-6, rel=0.15)


def test_what_kineto_does_not_say_is_refused(tmp_path):
    def wrong(*events, said, error=UnsupportedError):
        with pytest.raises(error, match=said):
            read_trace(kineto(tmp_path, *events))

    one = kernel("allreduce", 0, 50)
    wrong([kernel("magic", 0, 1)], [one], said="does not say which collective")
    wrong([kernel("send", 0, 1)], [one], said="does not say its peer")
    wrong([kernel("allreduce", 0, 1, **{"Group size": 1})], [one], said="process group of 1")
    wrong([kernel("allreduce", 0, 1, dtype="Odd")], [one], said="whose size is not known")
    other = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1000, "dur": 90}
    wrong([one], [other], said="rank 1 never calls it", error=TraceError)
    wrong([one], [], said="trace-1.json has no event that takes time", error=FileError)
    wrong([{**one, "ts": None}], [], said="has no ts or dur", error=FileError)
    path = kineto(tmp_path, [one], [one])
    (tmp_path / "trace-1.json").unlink()
    with pytest.raises(FileError, match="rank 1 has no file here"):
        read_trace(path)


def events_of(names, times):
    """Return events of a file: computation of any kind, and collectives, end to end or apart."""
    found, at = [], 0.0
    for name, (pause, taken) in zip(names, times, strict=False):
        at += pause
        one = kernel("allreduce", at, taken, **{"Group size": 1})
        if name != "allreduce":
            one = {"ph": "X", "cat": name, "name": "aten::mm", "ts": at, "dur": taken}
        found.append(one)
        at += taken
    return found


KINDS = ["kernel", "cpu_op", "gpu_memcpy", "user_annotation", "allreduce"]
TIMES = st.tuples(st.integers(0, 1000), st.integers(0, 1000))


@settings(max_examples=CASES, deadline=None)
@given(names=st.lists(st.sampled_from(KINDS), max_size=8), times=st.lists(TIMES, min_size=8))
def test_no_time_of_a_profile_is_lost(tmp_path_factory, names, times):
    events = events_of(names, times)
    path = tmp_path_factory.mktemp("kineto") / "a-0.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    if not events:
        with pytest.raises(FileError, match="no event that takes time"):
            read_trace(path)
        return
    trace = read_trace(path)
    spans = [(one["ts"], one["ts"] + one["dur"]) for one in events]
    whole = max(end for _, end in spans) - min(start for start, _ in spans)
    assert (trace.ends - trace.begins).tolist() == [whole]
    together = [one for one in events if "args" in one]
    inside = trace.events.times[:, END] - trace.events.times[:, START]
    assert inside.sum() == sum(one["dur"] for one in together)
    assert trace.count == len(together) + 2
    assert any("no communication is recorded" in note for note in trace.notes) == (not together)


def test_one_rank_of_many_is_no_run_of_one(tmp_path):
    path = tmp_path / "a-0.json"
    for alone in (kernel("allreduce", 0, 5), {"ph": "X", "name": "gloo:all_reduce", "ts": 0,
                                             "dur": 5}):  # fmt: skip
        alone.get("args", {}).pop("Group size", None)
        path.write_text(json.dumps({"traceEvents": [alone]}))
        with pytest.raises(UnsupportedError, match="no other rank's file is here"):
            read_trace(path)
        shutil.copy(path, tmp_path / "a-1.json")
        assert any("2 is assumed" in note for note in read_trace(path).notes)
        (tmp_path / "a-1.json").unlink()
        info = {"rank": 0, "world_size": 1}
        path.write_text(json.dumps({"distributedInfo": info, "traceEvents": [alone]}))
        assert read_trace(path).ends.tolist() == [5]
