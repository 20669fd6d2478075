"""Regions: each event's innermost one, in every format that tells it, and sums over them."""

import json

import numpy as np
import pytest

from parcast.cli import main
from parcast_perturb.report import summed
from parcast_traces.readers import read_trace
from parcast_traces.writers import write_trace

from .test_learning_formats import kernel, kineto
from .test_paraver import RECV, SEND, call, message, prv

PCF = """
EVENT_TYPE
9    60000019    User function
VALUES
0   End
1   main
2   halo

EVENT_TYPE
0    70000001    Caller at level 1
0    70000002    Caller at level 2
VALUES
7   inner

EVENT_TYPE
0    80000001    Caller line at level 1
VALUES
9   12 (halo.c)
"""


def neutral(tmp_path):
    """Rank 1 waits in ``halo`` for a message of rank 0, and both meet in ``solve``."""
    first = [
        {"kind": "send", "peer": 1, "bytes": 8, "t_start": 100, "t_end": 110, "region": "halo"},
        {"kind": "allreduce", "bytes": 8, "t_start": 120, "t_end": 200, "region": "solve"},
        {"kind": "finalize", "t_start": 210, "t_end": 211},
    ]
    second = [
        {"kind": "recv", "peer": 0, "bytes": 8, "t_start": 20, "t_end": 130, "region": "halo",
         "site": "west"},
        {"kind": "allreduce", "bytes": 8, "t_start": 190, "t_end": 200, "region": "solve"},
        {"kind": "finalize", "t_start": 205, "t_end": 206},
    ]  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"unit": "1 us", "ranks": [first, second]}))
    return path


def function(rank, time, number):
    return [f"2:{rank + 1}:1:{rank + 1}:1:{time}:60000019:{number}"]


def paraver(tmp_path):
    said = ":70000001:7:70000002:1:80000001:9"
    path = prv(
        tmp_path, function(0, 0, 1), function(0, 1, 2), call(0, 2, 5, SEND), function(0, 6, 0),
        call(0, 7, 8, 62), function(0, 8, 0), call(0, 9, 10, 62), call(1, 0, 9, RECV, said),
        message(2, 0, 9),
    )  # fmt: skip
    path.with_suffix(".pcf").write_text(PCF)
    return path


def annotated(tmp_path):
    def span(name, ts, dur, **more):
        return {"ph": "X", "cat": "user_annotation", "name": name, "ts": ts, "dur": dur, **more}

    def device(name, ts, dur):
        return span(name, ts, dur, cat="gpu_user_annotation", pid=0, tid=7)

    stream = {"pid": 0, "tid": 7}
    rank = [
        device("ProfilerStep#3", 0, 100), device("backward", 0, 50),
        span("of another thread", 0, 90, pid=0, tid=1), device("nccl:all_reduce", 10, 5),
        kernel("allreduce", 10, 5) | stream, kernel("allreduce", 60, 5) | stream,
        kernel("allreduce", 160, 5) | stream,
    ]  # fmt: skip
    return kineto(tmp_path, rank, rank)


def archive(tmp_path):
    pytest.importorskip("otf2")
    write_trace(read_trace(neutral(tmp_path)), tmp_path / "a.otf2")
    return tmp_path / "a.otf2"


def saved(tmp_path):
    write_trace(read_trace(neutral(tmp_path)), tmp_path / "a.trace")
    return tmp_path / "a.trace"


TOLD = ["halo", "solve", ""]


@pytest.mark.parametrize(
    ("write", "regions", "sites"),
    [
        (neutral, TOLD * 2, {"send in halo", "west in halo", "allreduce in solve", "finalize"}),
        (saved, TOLD * 2, {"send in halo", "west in halo", "allreduce in solve", "finalize"}),
        (archive, TOLD * 2, {"MPI_Send in halo", "MPI_Recv in halo", "MPI_Allreduce in solve",
                             "MPI_Finalize"}),
        (paraver, ["halo", "main", "", "inner"], {"send in halo", "iprobe in main", "iprobe",
                                                  "recv at 12 (halo.c) in inner"}),
        (annotated, ["", "backward", "ProfilerStep", "", ""] * 2, {"allreduce in backward",
                     "allreduce in ProfilerStep", "allreduce", "init", "finalize"}),
    ],
)  # fmt: skip
def test_every_event_has_its_innermost_region(tmp_path, write, regions, sites):
    trace = read_trace(write(tmp_path))
    assert [trace.regions[site] for site in trace.events.whole[:, -1]] == regions
    assert set(trace.sites) == sites


def test_what_is_absorbed_and_made_is_told_of_regions(tmp_path, capsys):
    path = neutral(tmp_path)
    assert main(["perturb", "run", str(path), "--latency", "30us", "--json"]) == 0
    where = json.loads(capsys.readouterr().out)["where"]
    # the message makes rank 1 30 later, 10 before rank 0 would leave the sum without it; the stage
    # of the sum adds 30
    assert where["regions"] == {
        "halo": {"absorbed": 0, "made": 30}, "solve": {"absorbed": 0, "made": 90},
    }  # fmt: skip
    for part in ("sites", "ranks"):
        sums = [sum(one[word] for one in where[part].values()) for word in ("absorbed", "made")]
        assert sums == [0, 120]
    assert main(["perturb", "run", str(path), "--latency", "30us"]) == 0
    said = capsys.readouterr().out
    assert "region                          absorbed            made" in said
    assert main(["perturb", "run", str(prv(tmp_path))]) == 0
    assert "region" not in capsys.readouterr().out


def test_sites_of_one_region_are_added_up():
    moved = np.array([[1.0, 2.0], [10.0, 0.0], [0.0, 0.0], [0.0, 40.0]])
    assert summed(["halo", "", "lost", "halo"], moved) == {"halo": (1, 42), "": (10, 0)}


def test_what_otf2_cannot_say_of_the_code_is_told(tmp_path):
    pytest.importorskip("otf2")
    losses = write_trace(read_trace(neutral(tmp_path)), tmp_path / "a.otf2")
    assert losses == ("the time before the first call", "call sites")
    path = tmp_path / "b.json"
    path.write_text(neutral(tmp_path).read_text().replace('"halo"', '"MPI_halo"'))
    losses = write_trace(read_trace(path), tmp_path / "b.otf2")
    assert "regions whose names begin with MPI_" in losses
    assert set(read_trace(tmp_path / "b.otf2").regions) == {"", "solve"}
    assert "call sites and regions" in write_trace(read_trace(path), tmp_path / "b.goal")
