"""The tracer without a compiler: the same records as the compiled one, for what it can see."""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from parcast import UnsupportedError
from parcast.cli import main
from parcast_mpi import library
from parcast_mpi.tracing.fallback.recorder import WINDOW, Recorder, now
from parcast_mpi.tracing.running import in_python
from parcast_traces.tracer.runs import read_run

from .test_reading import neutral
from .test_trace import messages

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other, data, into = 1 - world.rank, np.zeros(1000), np.zeros(1000)
if world.rank == 0:
    world.Send(data, other, 5); world.Recv(data, other, 5)
else:
    world.Recv(data); world.Send([data, 10, MPI.DOUBLE], other, 5)
world.Allreduce(MPI.IN_PLACE, data)
world.bcast({"an": "object"} if world.rank == 0 else None)
received, sent = world.Irecv(into, other, 9), world.Isend(data, other, 9)
MPI.Request.Waitall([received, sent])
received, sent = world.irecv(source=other), world.isend("text", other)
assert received.wait() == "text"
sent.wait()
if world.rank == 0:
    world.send(obj="by name", dest=other, tag=3); world.Send(buf=data, dest=other, tag=3)
else:
    world.recv(source=other, tag=3); world.Recv(buf=into, source=other, tag=3)
world.Isend(buf=data, dest=other, tag=4).Wait() if world.rank else world.Recv(buf=into, tag=4)
world.Gather(root=1, recvbuf=np.zeros(20) if world.rank else None, sendbuf=np.zeros(10))
world.Reduce(op=MPI.MAX, root=1, recvbuf=into if world.rank else None, sendbuf=data)
back = world.Split(color=0, key=-world.rank)
assert back.sendrecv(3, other, source=other) == 3
back.Gather(np.zeros(2), np.zeros(4) if back.rank == 0 else None, 0)
again = [back.Send_init(buf=data, dest=other, tag=7), back.Recv_init(into)]
for _ in range(2):
    MPI.Prequest.Startall(again)
    MPI.Prequest.Waitall(again)
back.Ibarrier().Wait()
if len(sys.argv) > 1 and world.rank == 1:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    return [sys.executable, str(tmp_path / "program.py")]


def test_it_records_what_the_compiled_one_does(
    mpi: library.Library, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["mpi", "trace", "-n", "2", "-o", str(tmp_path / "c"), "--", *command]) == 0
    monkeypatch.setattr("parcast_mpi.tracing.running.find_tool", lambda _name: None)
    capfd.readouterr()
    assert main(["mpi", "trace", "-n", "2", "-o", str(tmp_path / "p"), "--", *command]) == 0
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "there is none" in said
    assert "recorded in Python" in said
    compiled, fallback = read_run(tmp_path / "c"), read_run(tmp_path / "p")
    assert fallback.whole
    found, expected = neutral(fallback), neutral(compiled)
    assert messages(found) == messages(expected)
    assert messages(found)[0] == messages(found)[1]
    assert found["comms"] == expected["comms"]
    kinds = {"allreduce", "gather", "reduce", "ibarrier"}
    for mine, theirs in zip(found["ranks"], expected["ranks"], strict=True):
        sized = [[(e["kind"], e["bytes"]) for e in r if e["kind"] in kinds] for r in (mine, theirs)]
        assert sized[0] == sized[1]
        made = [e["request"] for e in mine if "request" in e]
        done = [n for e in mine for n in e.get("completed", e.get("requests", []))]
        assert sorted(made) == sorted(done)


def test_a_rank_that_dies_leaves_its_records(
    mpi: library.Library, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parcast_mpi.tracing.running.find_tool", lambda _name: None)
    whole = ["mpi", "trace", "-n", "2", "-o", str(tmp_path / "t"), "--", *command, "die"]
    assert main(whole) == 1
    one = read_run(tmp_path / "t").ranks[1]
    assert not one.ended
    counts = Counter(e["kind"] for e in neutral(read_run(tmp_path / "t"))["ranks"][1])
    assert (counts["gather"], counts["waitall"], counts["barrier"]) == (2, 3, 0)


def test_a_full_disk_ends_the_trace_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder, written, write = Recorder(tmp_path, 0, 1), [], os.write

    def full(file: int, data: bytes) -> int:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(len(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    for _ in range(20_000):
        recorder.record("barrier", now())
    recorder.close()
    assert capsys.readouterr().err == (
        "parcast: the trace of rank 0 ends here: No space left on device\n"
    )
    (one,) = read_run(tmp_path).ranks
    assert one.full
    assert len(one.rows) == 3 * WINDOW // 64  # two windows, and the tail


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python -u a.py 3", "python -u MODULE a.py 3"),
        ("/bin/python3.12 -W ignore -m m", "/bin/python3.12 -W ignore MODULE -m m"),
        ("mpirun -n 2 python -c pass", "mpirun -n 2 python MODULE -c pass"),
    ],
)
def test_a_command_of_python_records_itself(words: str, expected: str) -> None:
    module = "-m parcast_mpi.tracing.fallback"
    made = " ".join(in_python(words.split(), UnsupportedError("no mpicc")))
    assert made == expected.replace("MODULE", module)


@pytest.mark.parametrize("words", ["./a.out", "python", "python -", "pythonic a.py"])
def test_other_commands_need_the_compiler(words: str) -> None:
    with pytest.raises(UnsupportedError, match="no mpicc"):
        in_python(words.split(), UnsupportedError("no mpicc"))
