"""One program, recorded by liballprof, DUMPI, parcast's own tracer, and SimGrid's of SMPI.

``files/calls.c`` is the program, on four ranks. DUMPI also recorded what a receive from any source
got; the file of liballprof has a named source there.
"""

import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from parcast.errors import FileError, UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers import read_trace
from parcast_traces.trace.calls import ALL
from parcast_traces.trace.columns import BYTES, END, KIND, OUT, START

FILES = Path(__file__).parent / "files"
RECORDED = ["allprof/calls-0.txt", "dumpi/calls-0000.txt", "tracer"]
CALLS = {
    "irecv": 9, "isend": 9, "waitall": 8, "barrier": 8, "init": 4, "comm_split": 4, "sendrecv": 4,
    "allreduce": 4, "bcast": 4, "reduce": 4, "finalize": 4, "send": 2, "wait": 2, "recv": 2,
}  # fmt: skip


def messages(trace):
    whole, channels = trace.events.whole, trace.channels
    sends = np.flatnonzero((whole[:, KIND] < ALL) & (whole[:, OUT] >= 0))
    of = whole[sends, OUT]
    sizes = trace.events.times[sends, BYTES].tolist()
    return Counter(
        zip(
            channels.source[of].tolist(), channels.target[of].tolist(),
            channels.tag[of].tolist(), sizes, strict=True,
        )
    )  # fmt: skip


def copied(tmp_path, folder):
    shutil.copytree(FILES / folder, tmp_path / folder)
    return tmp_path / folder


@pytest.mark.parametrize("name", RECORDED)
def test_three_tools_tell_the_same_run(name):
    trace = read_trace(FILES / name)
    found = Counter(trace.name(event) for event in range(trace.count))
    found.pop("call", None)  # questions for ranks and sizes
    assert found == CALLS
    ring = {(rank, (rank + 1) % 4, 7, 64.0): 2 for rank in range(4)}
    ring |= {(rank, (rank + 1) % 4, 5, 8.0): 1 for rank in range(4)}
    assert messages(trace) == {**ring, (0, 2, 3, 16.0): 1, (1, 3, 3, 16.0): 1, (1, 0, 9, 64.0): 1}
    halves = sorted(one.tolist() for one in trace.communicators if len(one) == 2)
    assert halves[0] == [0, 2]
    assert [1, 3] in halves
    for policy in ("upper", "lower"):
        same = propagate(trace, Perturbation(), Recorded(), policy, every_end=True)
        assert not same.ends.any()


def test_simgrid_s_own_tracer_tells_the_messages_of_the_same_program():
    trace = read_trace(FILES / "simgrid" / "calls.tit")  # of smpirun -trace-ti
    right = [(rank, (rank + 1) % 4) for rank in range(4)]
    ring = {(*ends, 7, 64.0): 2 for ends in right} | {(*ends, 0, 8.0): 1 for ends in right}
    assert messages(trace) == {**ring, (0, 2, 3, 16.0): 1, (1, 3, 3, 16.0): 1, (1, 0, 9, 64.0): 1}
    found = Counter(trace.name(event) for event in range(trace.count))
    without = {"comm_split"}  # which its tracer leaves out
    assert found == {name: count for name, count in CALLS.items() if name not in without}


def test_liballprof_s_receives_from_any_source_get_the_messages_of_those_that_name_them(tmp_path):
    named = read_trace(FILES / "allprof" / "calls-0.txt")
    for file in copied(tmp_path, "allprof").iterdir():
        text = re.sub(r"(MPI_Irecv:.*):(\d):(7|9):", r"\1:-1:-1:", file.read_text())
        assert text.count(":-1:-1:") > 1
        file.write_text(text)
    wild = read_trace(tmp_path / "allprof" / "calls-0.txt")
    assert messages(wild) == messages(named)
    assert (wild.events.whole == named.events.whole).all()
    assert any("receives from any source" in note for note in wild.notes)


def test_times_are_those_of_the_files():
    trace = read_trace(FILES / "allprof" / "calls-0.txt")
    text = (FILES / "allprof" / "calls-0.txt").read_text().splitlines()
    barrier = [line.split(":") for line in text if line.startswith("MPI_Barrier")][-1]
    times = trace.events.times[: trace.events.offsets[1]]
    begin, end = times[-2, [START, END]]
    assert end - begin == float(barrier[-1]) - float(barrier[1])
    assert trace.tick == 1e-6


@pytest.mark.parametrize(
    ("folder", "change", "said"),
    [
        ("allprof", ("MPI_Send:", "MPI_Sned:"), "unmatched_recv: rank 2"),
        ("allprof", (":2:10,8,8:1:3:", ":2:10,8,8:9:3:"), "the peer is 9, and"),
        ("allprof", ("MPI_Wait:", "MPI_Test:"), "does not say all of MPI_Test"),
        ("allprof", ("10,8,8", "10"), "a type is number,size,extent"),
        ("allprof", ("MPI_Init:", "what\nMPI_Init:"), "is no call of liballprof"),
        ("dumpi", ("MPI_Send returning", "MPI_Recv returning"), "is the file damaged"),
        ("dumpi", ("int dest=1\nint tag=3", "int tag=3"), "send lacks dest"),
        ("dumpi", ("14 (MPI_DOUBLE)", "31 (user-defined-datatype)"), "the size of type"),
        ("dumpi", ("MPI_Comm comm=4", "MPI_Comm comm=9"), "communicator 9 was not made"),
        ("dumpi", ("request=[3]\nMPI_Isend", "request=[2]\nMPI_Isend"), "request_reused: rank 0"),
        ("dumpi", ("returning at walltime 52", "returning at walltime 12"), "negative_duration"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_place(tmp_path, folder, change, said):
    files = sorted(copied(tmp_path, folder).iterdir())
    files[0].write_text(files[0].read_text().replace(*change))
    with pytest.raises((FileError, TraceError, UnsupportedError), match=said) as caught:
        read_trace(files[0])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", RECORDED)
def test_a_rank_without_file_is_told(tmp_path, name):
    folder = copied(tmp_path, name.partition("/")[0])
    for file in folder.glob("*-*1.t*"):
        file.unlink()
    with pytest.raises(FileError, match="rank 1"):
        read_trace(tmp_path / name)


@pytest.mark.parametrize("name", RECORDED)
def test_the_last_rank_without_file_is_told(tmp_path, name):
    folder = copied(tmp_path, name.partition("/")[0])
    for file in folder.glob("*-*3.t*"):
        file.unlink()
    with pytest.raises(FileError, match="rank 3 has no file here"):
        read_trace(tmp_path / name)


@pytest.mark.parametrize("name", RECORDED)
def test_a_file_that_is_cut_off_is_told(tmp_path, name):
    folder = copied(tmp_path, name.partition("/")[0])
    file = min(folder.glob("*-*0.t*"))
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 6 // 10])
    with pytest.raises((FileError, TraceError), match=r"cut off|unmatched|leak|incomplete"):
        read_trace(tmp_path / name)


def test_a_rank_that_does_not_come_to_its_end_is_told(tmp_path):
    for name in ("allprof/calls-3.txt", "dumpi/calls-0003.txt"):
        file = copied(tmp_path, name.partition("/")[0]) / name.partition("/")[2]
        text = file.read_text()
        assert not [note for note in read_trace(file).notes if "MPI_Finalize" in note]
        file.write_text(text[: text.index("MPI_Finalize")])
        assert any(
            note.startswith("rank 3 begins with MPI_Init and does not")
            for note in read_trace(file).notes
        )
    record = copied(tmp_path, "tracer") / "rank-3.trace"
    record.write_bytes(record.read_bytes()[:-1])
    with pytest.raises(FileError, match="rank 3: it is cut off inside record"):
        read_trace(record)


def test_what_came_first_is_told_to_be_kept():
    notes = read_trace(FILES / "dumpi" / "calls-0000.txt").notes
    assert notes[-1].startswith("2 receives from any source or of any tag keep the messages")


def test_a_damaged_record_is_told(tmp_path):
    file = copied(tmp_path, "tracer") / "rank-2.trace"
    data = bytearray(file.read_bytes())
    data[64 + 8 : 64 + 16] = b"\0" * 8  # the first record ends before it starts
    file.write_bytes(data)
    with pytest.raises(FileError, match="record 0 is damaged"):
        read_trace(file)
    file.write_bytes(b"PARCAST1" + b"\x09" * 56)
    with pytest.raises(FileError, match="version"):
        read_trace(file)
