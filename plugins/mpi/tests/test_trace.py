"""Traces: every call of a C program and of an mpi4py program, cut traces, and what goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from parcast import UnsupportedError
from parcast.cli import main
from parcast_mpi import library
from parcast_mpi.tracing import building
from parcast_traces.trace.calls import ALL, CALLS, EXSCAN
from parcast_traces.tracer.runs import read_run

from .test_reading import neutral

HERE = Path(__file__).parent

#: Calls of each rank in calls.c; what the ranks do differently comes after.
BOTH = {
    "init": 1, "finalize": 1, "sendrecv": 3, "irecv": 6, "isend": 45, "issend": 1,
    "waitall": 3, "waitany": 1, "testany": 1, "testall": 3, "wait": 2,
    "comm_split": 1, "comm_dup": 1, "bcast": 1, "barrier": 1, "reduce": 1, "allreduce": 1,
    "gather": 1, "gatherv": 1, "scatter": 1, "allgather": 1, "alltoall": 1, "alltoallv": 1,
    "reduce_scatter": 1, "reduce_scatter_block": 1, "scan": 1, "ibarrier": 1, "iallreduce": 1,
}  # fmt: skip
FIRST = {"send": 4, "ssend": 1, "recv": 40}
SECOND = {"recv": 45, "probe": 2}

#: What one process contributes to the collectives of calls.c.
BYTES = {
    "bcast": 16, "barrier": 0, "reduce": 16, "allreduce": 24, "gather": 4, "gatherv": 8,
    "scatter": 4, "allgather": 4, "alltoall": 5, "alltoallv": 8, "reduce_scatter": 8,
    "reduce_scatter_block": 12, "scan": 8, "ibarrier": 0, "iallreduce": 48,
}  # fmt: skip


def compiled(mpi: library.Library, source: str, folder: Path, *options: str) -> str:
    mpicc = library.find_tool("mpicc")
    assert mpicc, "the MPI library has no mpicc"
    (folder / "program.c").write_text(source)
    program = str(folder / "program")
    subprocess.run([mpicc, "-o", program, str(folder / "program.c"), *options], check=True)
    return program


@pytest.fixture(scope="module")
def traced(mpi: library.Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    program = compiled(mpi, (HERE / "calls.c").read_text(), folder)
    command = ["mpi", "trace", "-n", "2", "-o", str(folder / "trace"), "--", program]
    parcast = [sys.executable, "-m", "parcast"]
    done = subprocess.run([*parcast, *command], capture_output=True, text=True, check=True)
    assert done.stderr.count("one-sided calls are not recorded") == 1
    return folder / "trace"


def messages(found: dict[str, Any]) -> tuple[Any, Any]:
    """Return the bytes sent and received by channel: source, destination, tag, communicator."""
    sent, received = defaultdict(list), defaultdict(list)
    for rank, events in enumerate(found["ranks"]):
        for e in events:
            if "send" in e["kind"]:
                sent[rank, e["peer"], e["tag"], e["comm"]].append(e["bytes"])
            if e["kind"] in {"recv", "irecv"}:
                received[e["peer"], rank, e["tag"], e["comm"]].append(e["bytes"])
            if e["kind"] == "sendrecv":
                received[e["src"], rank, e["rtag"], e["comm"]].append(e["rbytes"])
    return sent, received


def test_a_c_program_is_recorded_call_by_call(traced: Path) -> None:
    trace = read_run(traced)
    assert trace.whole
    assert trace.comparable
    found = neutral(trace)
    for events, own in zip(found["ranks"], (FIRST, SECOND), strict=True):
        counts = Counter(event["kind"] for event in events)
        counts.pop("call")  # what has no partner: PROC_NULL, cancelled, making of persistent ones
        assert 1 <= counts.pop("waitsome") <= 2  # a matter of timing
        assert counts == {**BOTH, **own}
        assert {e["kind"]: e["bytes"] for e in events if e["kind"] in BYTES} == BYTES


def test_every_message_is_received_as_it_was_sent(traced: Path) -> None:
    sent, received = messages(neutral(read_run(traced)))
    assert sent == received
    assert sent[0, 1, 5, 0] == [24, 4]
    assert sent[1, 0, 1, 0] == [16]
    assert sent[1, 0, 20, 0] == list(range(40))
    assert sent[0, 1, 12, 0] == [14] * 3
    (back,) = [numbers for *_, tag, numbers in sent if tag == 3]
    assert back
    assert sent[0, 1, 3, back] == [15]
    (later,) = {number for *_, tag, number in sent if tag == 4}
    assert later not in {0, back}  # of MPI_Comm_idup
    assert sent[0, 1, 4, later] == sent[1, 0, 4, later] == [16]


def test_communicators_have_the_same_number_on_all_ranks(traced: Path) -> None:
    found = neutral(read_run(traced))
    roots = [{e["comm"]: e["root"] for e in events if e["kind"] == "bcast"}
             for events in found["ranks"]]  # fmt: skip
    assert roots[0] == roots[1]
    ((number, root),) = roots[0].items()
    assert root == 1  # the first of the ranks in reverse
    assert found["comms"][str(number)] == [1, 0]
    assert Counter(map(tuple, found["comms"].values())) == {(0,): 1, (1,): 1, (1, 0): 3}


def test_requests_are_completed_once_and_times_do_not_go_back(traced: Path) -> None:
    for events in neutral(read_run(traced))["ranks"]:
        made = [e["request"] for e in events if "request" in e]
        done = [n for e in events for n in e.get("completed", e.get("requests", []))]
        assert sorted(made) == sorted(done)
        assert {n for e in events for n in e.get("requests", [])} <= set(made)
        assert len(set(made)) == len(made)
        times = [time for e in events for time in (e["t_start"], e["t_end"])]
        assert times == sorted(times)


#: Calls of the program that all ranks of a communicator do, and wait for.
TOGETHER = frozenset(name for name, kind in CALLS.items() if ALL <= kind <= EXSCAN)


def test_a_trace_becomes_json_and_otf2(traced: Path, tmp_path: Path) -> None:
    if not (find_spec("otf2") or os.environ.get("CI")):
        pytest.skip("otf2 is not installed: pip install 'parcast-mpi[otf2]'")
    import otf2

    assert main(["mpi", "convert", str(traced), str(tmp_path / "t.json")]) == 0
    found = json.loads((tmp_path / "t.json").read_text())
    assert found == neutral(read_run(traced))
    assert main(["mpi", "convert", str(traced), str(tmp_path / "t.otf2")]) == 0
    sent, received, counts = Counter(), Counter(), Counter()
    with otf2.reader.open(str(tmp_path / "t.otf2" / "traces.otf2")) as archive:
        assert archive.timer_resolution == 1_000_000_000
        for location, event in archive.events:
            rank = int(location.group.name.split()[-1])
            name = type(event).__name__
            counts[name] += 1
            if name in {"MpiSend", "MpiIsend"}:
                peer = event.communicator.group.members[event.receiver]
                sent[rank, int(peer.group.name.split()[-1]), event.msg_tag, event.msg_length] += 1
            if name in {"MpiRecv", "MpiIrecv"}:
                peer = event.communicator.group.members[event.sender]
                received[
                    int(peer.group.name.split()[-1]), rank, event.msg_tag, event.msg_length
                ] += 1
    assert sent == received
    assert sum(sent.values()) == sum(map(len, messages(found)[0].values()))
    assert counts["Enter"] == counts["Leave"] == sum(map(len, found["ranks"]))
    assert counts["MpiIsend"] == counts["MpiIsendComplete"] == 92
    assert counts["MpiIrecv"] == counts["MpiIrecvRequest"] == 12
    together = sum(one["kind"] in TOGETHER for rank in found["ranks"] for one in rank)
    assert counts["MpiCollectiveBegin"] == counts["MpiCollectiveEnd"] == together
    assert counts["NonBlockingCollectiveRequest"] == counts["NonBlockingCollectiveComplete"] == 4


PYTHON = """
import sys
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
other, data = 1 - world.rank, np.zeros(1000)
for step in range(50):  # under MPICH these are the calls with large counts
    if world.rank == 0:
        world.Send(data, other, step); world.Recv(data, other, step)
    else:
        world.Recv(data, other, step); world.Send(data, other, step)
world.Allreduce(MPI.IN_PLACE, data)
world.bcast({"an": "object"})
if len(sys.argv) > 1 and world.rank == 1:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
"""


def test_an_mpi4py_program_is_recorded(mpi: library.Library, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PYTHON)
    command = [sys.executable, str(tmp_path / "program.py")]
    assert main(["mpi", "trace", "-n", "2", "-o", str(tmp_path / "t"), "--", *command]) == 0
    found = neutral(read_run(tmp_path / "t"))
    sent, received = messages(found)
    assert sent == received
    assert sent[0, 1, 7, 0] == [8000]
    for events in found["ranks"]:
        counts = Counter(event["kind"] for event in events)
        assert (counts["send"], counts["recv"], counts["allreduce"]) == (50, 50, 1)
        assert counts["bcast"] == 2  # the length of the object, and the object


def test_a_rank_that_dies_leaves_its_trace(
    mpi: library.Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_text(PYTHON)
    command = [sys.executable, str(tmp_path / "program.py"), "die"]
    assert main(["mpi", "trace", "-n", "2", "-o", str(tmp_path / "t"), "--", *command]) == 1
    said = capfd.readouterr().err
    assert "parcast: the command ended with code" in said
    assert "parcast: rank 1 did not come to MPI_Finalize; its 1" in said
    counts = Counter(e["kind"] for e in neutral(read_run(tmp_path / "t"))["ranks"][1])
    assert (counts["send"], counts["bcast"], counts["barrier"]) == (50, 2, 0)


FULL = """
#define _GNU_SOURCE
#include <mpi.h>
#include <errno.h>
#include <unistd.h>
#include <sys/syscall.h>
ssize_t write(int file, const void *from, size_t length) {
    static int windows;
    if (length == 1 << 18 && ++windows > 2) { errno = ENOSPC; return -1; }
    return syscall(SYS_write, file, from, length);
}
int main(int n, char **w) {
    MPI_Init(&n, &w);
    for (int i = 0; i < 20000; i++) MPI_Send(0, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def test_a_full_disk_cuts_the_trace_and_not_the_program(
    mpi: library.Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = compiled(mpi, FULL, tmp_path, "-rdynamic")
    assert main(["mpi", "trace", "-n", "1", "-o", str(tmp_path / "t"), "--", program]) == 0
    captured = capfd.readouterr()
    assert "the trace of rank 0 ends here: No space left on device" in captured.err
    assert "parcast: rank 0 could not write all of its trace" in captured.err
    (one,) = read_run(tmp_path / "t").ranks
    assert one.full
    assert len(one.rows) == 3 * (1 << 18) // 64  # two windows, and the tail


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("trace -n 1 -o {} -- no-such-program", 2, "no-such-program: there is no such command"),
        ("trace -n 1 -o {}/old -- true", 2, "old holds a trace already"),
        ("trace -n 1 -o {}/new -- true", 1, "the command called no MPI_Init"),
        ("trace -n 0 -o {} -- true", 2, "greater than or equal to 1"),
        ("trace -n 1 -o /proc/x -- true", 2, "/proc/x cannot be made"),
        ("trace -n 1 --mpiexec nompi -o {}/n -- true", 1, "'nompi' is no command"),
        ("convert {}/old {}/x.csv", 2, "a trace is written as .json or .otf2"),
        ("convert {}/none {}/x.json", 2, "none is no folder with a trace"),
        ("convert {}/old /nowhere/x.json", 2, "there is no folder /nowhere"),
    ],
)
def test_bad_input_is_one_sentence(
    mpi: library.Library, command: str, code: int, said: str, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "rank-0.trace").touch()
    assert main(["mpi", *command.replace("{}", str(tmp_path)).split()]) == code
    captured = capfd.readouterr()
    assert captured.err.startswith("parcast: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_a_compiler_that_cannot_is_quoted(tmp_path: Path) -> None:
    fake = tmp_path / "mpicc"
    fake.write_text("#!/bin/sh\necho 'pmpi.c:9: fatal error: mpi.h: No such file' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(UnsupportedError, match=r"mpi\.h: No such file; install a C compiler"):
        building.tracer(str(fake))
    with pytest.raises(UnsupportedError, match="cannot be run: No such file"):
        building.tracer(str(tmp_path / "none"))


def test_without_a_compiler_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("parcast_mpi.tracing.running.find_tool", lambda _name: None)
    assert main(["mpi", "trace", "-o", str(tmp_path / "t"), "--", "true"]) == 1
    assert "there is none: pip install 'parcast-mpi[mpich]'" in capsys.readouterr().err
