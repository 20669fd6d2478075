"""Paraver: the file that Extrae made of ``files/calls.c``, and changes of it and of small ones."""

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers import read_trace
from parcast_traces.readers.paraver import matching
from parcast_traces.trace.columns import BYTES, END, FIRST, START

from .test_mpi_formats import CALLS, FILES, messages

SEND, RECV, ISEND, IRECV, WAIT, BARRIER, BCAST, SPLIT = 1, 2, 3, 4, 5, 8, 7, 23
HEADERS = "#Paraver (21/11/2026 at 22:07):900_ns:1(2):1:2({0}:1,1:1),1\nc:1:1:2:1:2\n"
HEADER, TWO = HEADERS.format(1), HEADERS.format(2)


def call(rank, start, end, value, said="", thread=1, kind=1):
    at = f"2:{rank + 1}:1:{rank + 1}:{thread}"
    return [f"{at}:{start}:5000000{kind}:{value}{said}", f"{at}:{end}:5000000{kind}:0"]


def message(sent, posted, got, size=8, tag=3):
    return [f"3:1:1:1:1:{sent}:{sent}:2:1:2:1:{posted}:{got}:{size}:{tag}"]


def prv(tmp_path, *records, header=HEADER):
    path = tmp_path / "a.prv"
    path.write_text(header + "".join(f"{line}\n" for one in records for line in one))
    return path


def names(trace):
    return [trace.name(event) for event in range(trace.count)]


def test_extrae_tells_the_same_run_as_the_other_tools():
    trace, other = (read_trace(FILES / name) for name in ("paraver/calls.prv", "tracer"))
    found = Counter(names(trace))
    assert found.pop("request_free") == CALLS["isend"]
    # of the two waits one is for a send, which Paraver does not say
    assert found.pop("call") == 12 + 1
    assert found == {**CALLS, "wait": 1}
    assert messages(trace) == messages(other)
    groups = [
        sorted(tuple(comm) for comm in one.communicators if len(comm) > 1) for one in (trace, other)
    ]
    assert groups[0] == groups[1]
    called, first = names(trace), trace.events.whole[:, FIRST].tolist()
    assert {both for both in zip(called, first, strict=True) if both[0] in ("bcast", "reduce")} == {
        ("bcast", 2),
        ("reduce", 1),
    }
    for policy in ("upper", "lower"):
        same = propagate(trace, Perturbation(), Recorded(), policy, every_end=True)
        assert not same.ends.any()
    assert trace.tick == 1e-9
    assert any("9 sends are freed" in note for note in trace.notes)


def test_a_receive_that_does_not_block_is_waited_for_where_it_came(tmp_path):
    trace = read_trace(prv(
        tmp_path, call(0, 10, 20, ISEND), call(0, 30, 40, WAIT), call(1, 5, 7, IRECV),
        call(1, 8, 60, WAIT), message(10, 7, 60), call(1, 61, 62, 62),
    ))  # the first call begins at 5  # fmt: skip
    assert names(trace) == ["isend", "request_free", "call", "irecv", "wait", "iprobe"]
    assert trace.events.times[3:5, [START, END]].tolist() == [[0, 2], [3, 55]]
    later = propagate(trace, Perturbation.of(latency=7), Recorded(), "upper")
    assert later.final[:, 0].tolist() == [0, 7]


def test_calls_that_touch_get_their_own_messages(tmp_path):
    trace = read_trace(prv(
        tmp_path, call(0, 0, 5, SEND), call(0, 5, 9, SEND), call(1, 0, 5, IRECV),
        call(1, 5, 5, IRECV), call(1, 5, 9, 6), message(0, 5, 9, size=16), message(5, 5, 9),
    ))  # fmt: skip
    assert trace.events.times[:2, BYTES].tolist() == [16, 8]


def test_threads_fold_into_their_rank_and_that_is_said(tmp_path):
    folded = [call(0, 0, 9, SEND), call(1, 0, 9, RECV), message(0, 0, 9)]
    trace = read_trace(prv(tmp_path, *folded, call(0, 20, 21, 62, thread=2), header=TWO))
    assert names(trace) == ["send", "iprobe", "recv"]
    assert trace.notes[0].startswith("of 1 ranks several threads call MPI")
    with pytest.raises(UnsupportedError, match="another thread of the rank calls"):
        read_trace(prv(tmp_path, [call(0, 0, 9, SEND)[0]], call(0, 3, 4, 62, thread=2), header=TWO))


COMM = ":50100001:8:50100002:8:50100004:1"
SENT = [*call(0, 0, 9, SEND), *call(1, 0, 9, RECV)]


@pytest.mark.parametrize(
    ("records", "error", "said"),
    [
        ([SENT], TraceError, "unmatched_send: line 3: rank 0, event 0 .send.: .*MPI_PROC_NULL"),
        ([SENT, message(0, 0, 9), message(0, 0, 9)], TraceError, "unmatched_send: line 8"),
        ([SENT, message(0, 20, 9)], TraceError, "unmatched_recv: line 7: no call of rank 1 posts"),
        ([SENT[:1]], TraceError, "never_left: rank 0, event 0 .send.: it never ends; is the file"),
        ([call(0, 9, 3, SEND)], TraceError, "negative_duration: rank 0, event 0"),
        ([call(0, 0, 9, 62), call(0, 5, 11, 62)], TraceError, "time_backwards: rank 0, event 1"),
        ([call(0, 0, 9, 65, kind=4)], UnsupportedError, "event 0 .50000004:65.: one-sided"),
        ([call(0, 0, 9, 61)], UnsupportedError, "event 0 .MPI_Probe.: .*whom it waits for"),
        ([call(0, 0, 9, 155, kind=2)], UnsupportedError, "event 0 .50000002:155.: .*whom it"),
        ([call(0, 0, 9, SPLIT, kind=3)], UnsupportedError, "ranks 0 and 1 make communicators"),
        ([call(0, 0, 9, BARRIER, kind=2)], UnsupportedError, "does not record its communicator"),
        ([call(0, 0, 9, BARRIER, COMM, kind=2)], TraceError, "collective_incomplete: rank 0"),
        ([call(0, 0, 9, BARRIER, COMM[:-1] + "7", kind=2)], UnsupportedError, "communicator 7"),
        ([call(r, 0, 9, BCAST, COMM, kind=2) for r in (0, 1)], UnsupportedError, "is the root"),
        ([[call(0, 0, 9, SEND)[1]]], FileError, ":3: rank 0 ends a call that it did not begin"),
        ([["2:1:1:1:1:9:50100001:8"]], FileError, ":3: .*and is in none"),
        ([["2:1:1:3:1:9:50000001:1"]], FileError, ":3: task 3 is none of 1 to 2"),
        ([["2:1:2:1:1:9:50000001:1"]], UnsupportedError, "applications 1 and 2 both call MPI"),
        ([["2:1:1:1:1:9:50000001"]], FileError, ":3: .*cut off"),
        ([["3:1:1:1:1:0:0:2:1:2:1"]], FileError, ":3: a communication has 15 fields.*cut off"),
        ([["c:1:2:3:1:2"]], FileError, ":3: communicator 2 has not 3 members"),
        ([["2:1:1:1:1:x:50000001:1"]], FileError, ":3: 'x' must be a whole number"),
        ([["hello"]], FileError, ":3: 'hello' is no record"),
    ],
)
def test_what_is_wrong_or_not_told_is_one_sentence(tmp_path, records, error, said):
    with pytest.raises(error, match=said) as caught:
        read_trace(prv(tmp_path, *records))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("window", [1, 100])
def test_messages_of_two_communicators_are_refused_where_they_cross(tmp_path, monkeypatch, window):
    monkeypatch.setattr(matching, "_WINDOW", window)
    path = prv(
        tmp_path, call(0, 0, 5, SEND), call(0, 6, 9, SEND), call(1, 0, 5, RECV),
        call(1, 6, 9, RECV), message(0, 6, 9), message(6, 0, 5),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"rank 0, event 1 .send.: its message to rank 1"):
        read_trace(path)


def test_what_has_no_communication_is_with_nobody_where_the_file_is_whole(tmp_path):
    """The ends of a row of two ranks: one shifts to the right, and both then post to the left."""
    calls = [
        call(0, 0, 5, 41), call(1, 0, 9, 41), message(0, 0, 9), call(0, 10, 11, ISEND),
        call(0, 12, 13, WAIT), call(1, 10, 11, IRECV), call(1, 12, 13, 41), call(1, 14, 15, WAIT),
    ]  # fmt: skip
    last = [call(rank, 20, 21, 32, kind=3) for rank in (0, 1)]
    trace = read_trace(prv(tmp_path, *calls, *last))
    assert names(trace) == [
        "send", "call", "call", "finalize", "recv", "call", "call", "call", "finalize",
    ]  # fmt: skip
    assert any(note.startswith("6 sends and receives") for note in trace.notes)
    with pytest.raises(TraceError, match=r"unmatched_recv: .*not every rank comes"):
        read_trace(prv(tmp_path, *calls, last[0]))


def test_names_of_unknown_calls_come_from_beside(tmp_path):
    path = prv(tmp_path, call(0, 0, 9, 155, kind=2))
    path.with_suffix(".pcf").write_text(
        (FILES / "paraver" / "calls.pcf").read_text()
        + "\nEVENT_TYPE\n9    50000002    MPI Collective Comm\nVALUES\n155   MPI_Iallreduce\n"
    )
    with pytest.raises(UnsupportedError, match=r"event 0 .MPI_Iallreduce."):
        read_trace(path)


@pytest.mark.parametrize(
    ("header", "error", "said"),
    [
        ("#Paraver", FileError, "does not begin as a trace of Paraver"),
        (HEADER.replace("1:2(", "1:3("), FileError, "has 3 tasks of application 1, and lists 2"),
        (HEADER.replace("_ns", "_fs"), FileError, "no known unit"),
        (HEADER.replace(":1:2(", ":2:2("), FileError, "has no tasks of application 2"),
    ],
)
def test_headers_of_other_files_are_refused(tmp_path, header, error, said):
    with pytest.raises(error, match=said):
        read_trace(prv(tmp_path, header=header))


def test_a_trace_of_no_events_takes_as_long_as_its_header_says(tmp_path):
    trace = read_trace(prv(tmp_path))
    assert names(trace) == ["init", "finalize"] * 2
    assert set((trace.ends - trace.begins).tolist()) == {900}


def test_of_several_applications_the_one_that_calls_mpi_is_read(tmp_path):
    records = [call(0, 0, 9, SEND), call(1, 0, 9, RECV), message(0, 0, 9)]
    alone = read_trace(prv(tmp_path, *records))
    lists = "2:1(2:1),2(1:1,1:1),1"  # as Extrae's merger writes them
    header = HEADER.replace("1:2(1:1,1:1),1", lists).replace("c:1:", "c:2:")
    second = [[re.sub(r"^(.:.):1:|(:\d:\d+:\d+:2):1:", r"\1\2:2:", line) for line in record]
              for record in records]  # fmt: skip
    both = read_trace(prv(tmp_path, ["2:1:1:1:1:5:94000001:7"], *second, header=header))
    assert (both.events.whole == alone.events.whole).all()
    assert (both.events.times == alone.events.times).all()
    assert any("of 2 applications only number 2 calls MPI" in note for note in both.notes)


def test_one_rank_without_mpi_computes_from_the_beginning_to_the_end(tmp_path):
    header = HEADER.replace("1:2(1:1,1:1),1\nc:1:1:2:1:2", "1:1(4:1)")
    trace = read_trace(prv(tmp_path, ["1:1:1:1:1:0:900:1"], ["1:2:1:1:2:0:900:1"], header=header))
    assert names(trace) == ["init", "finalize"]
    assert trace.events.times[1, END] == 900
    assert any("calls no MPI" in note for note in trace.notes)


def test_a_file_that_is_cut_off_is_told(tmp_path):
    with pytest.raises(FileError, match="its 3 lines have no call of MPI; is it cut off"):
        read_trace(prv(tmp_path, ["1:1:1:1:1:0:214868465:2"]))
    text = (FILES / "paraver" / "calls.prv").read_text()
    for share in (0.3, 0.6, 0.75):
        path = Path(tmp_path / "cut.prv")
        path.write_text(text[: int(len(text) * share)])
        with pytest.raises((FileError, TraceError, UnsupportedError)):
            read_trace(path)


def random_messages(seed):
    """Return records of two ranks whose calls touch, and whose receives are waited for later."""
    rng, at, records, posted = random.Random(seed), 0, [], []
    for number in range(rng.randint(5, 40)):
        long = rng.choice([0, 0, 1, 4])
        if rng.random() < 0.6:
            records += [call(1, at, at + long, 4), call(0, at, at + long, rng.choice([1, 3]))]
            posted.append((at, at + long, number % 3))
        elif posted:
            (began, ended, tag), *posted = posted
            records += [call(1, at, at + long, 5), message(began, ended, at, tag=tag)]
        at += long + rng.choice([0, 0, 0, 3])
    for began, ended, tag in posted:
        records += [call(1, at, at, 5), message(began, ended, at, tag=tag)]
        at += 1
    return records


def outcome(path):
    """Return the events of a trace, or why it is refused."""
    try:
        events = read_trace(path).events
    except ParcastError as error:
        return [str(error)]
    return [events.offsets, events.whole, events.times, events.slots]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_calls_in_windows_have_the_messages_of_all_together(tmp_path, monkeypatch, window):
    for seed in range(30):
        path = prv(tmp_path, *random_messages(seed))
        together = outcome(path)
        with monkeypatch.context() as changed:
            changed.setattr(matching, "_WINDOW", window)
            parts = outcome(path)
        assert all(map(np.array_equal, parts, together)), seed


def test_a_message_of_a_rank_without_calls_is_refused(tmp_path):
    path = prv(tmp_path, call(0, 0, 5, 1), message(0, 0, 5))
    with pytest.raises(TraceError, match="no call of rank 1 posts a message at 0"):
        read_trace(path)
