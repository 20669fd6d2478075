"""OTF2's traps, in archives that the package writes: threads, many requests in a call, and more."""

import numpy as np
import pytest

from parcast import Machine, Query
from parcast.errors import FileError, UnsupportedError
from parcast.model.machine import Network, Processor
from parcast_traces.errors import TraceError
from parcast_traces.readers import read_trace
from parcast_traces.readers.otf2 import walking
from parcast_traces.readers.otf2.calls import compiled_walk
from parcast_traces.to_program import program
from parcast_traces.trace.columns import BYTES, END, FIRST, INTO, OUT, START
from parcast_traces.workload import workload

otf2 = pytest.importorskip("otf2")

MACHINE = Machine(name="m", parts={"processor": Processor(rate=1e9), "network": Network()})


class Archive:
    """An archive of two ranks, each with two threads."""

    def __init__(self, tmp_path):
        self.path = tmp_path / "archive"
        self.closing = otf2.writer.open(str(self.path), timer_resolution=1_000_000)

    def __enter__(self):
        self.made = self.closing.__enter__()
        self.define = self.made.definitions
        node = self.define.system_tree_node("node")
        groups = [self.define.location_group(f"rank {rank}", system_tree_parent=node)
                  for rank in range(2)]  # fmt: skip
        self.threads = [
            self.define.location(f"thread {number // 2}", group=groups[number % 2])
            for number in range(4)
        ]
        first, kinds, mpi = self.threads[:2], otf2.GroupType, otf2.Paradigm.MPI
        self.define.group("", kinds.COMM_LOCATIONS, paradigm=mpi, members=first)
        self.world, self.back, self.alone = (
            self.define.comm("", self.define.group("", kind, paradigm=mpi, members=members))
            for kind, members in (
                (kinds.COMM_GROUP, first), (kinds.COMM_GROUP, first[::-1]), (kinds.COMM_SELF, []),
            )
        )  # fmt: skip
        self.regions = {}
        return self

    def __exit__(self, *given):
        return self.closing.__exit__(*given)

    def region(self, name):
        return self.regions.setdefault(name, self.define.region(name))

    def call(self, thread, name, start, end, *records):
        writer = self.made.event_writer_from_location(self.threads[thread])
        writer.enter(start, self.region(name))
        for word, *arguments in records:
            getattr(writer, word)(start, *arguments)
        writer.leave(end, self.region(name))

    def exchange(self, tag=3, comm=None, peers=(1, 0), at=0):
        comm = comm or self.world
        self.call(0, "MPI_Send", at, at + 9, ("mpi_send", peers[0], comm, tag, 8))
        self.call(1, "MPI_Recv", at, at + 9, ("mpi_recv", peers[1], comm, tag, 8))

    def trace(self):
        return read_trace(self.path / "traces.otf2")


def names(trace):
    return [trace.name(event) for event in range(trace.count)]


def test_threads_fold_into_their_rank_and_that_is_said(tmp_path):
    with Archive(tmp_path) as made:
        made.exchange()
        made.call(2, "MPI_Send", 20, 25, ("mpi_send", 1, made.world, 4, 16))
        made.call(1, "MPI_Recv", 20, 29, ("mpi_recv", 0, made.world, 4, 16))
        made.call(0, "MPI_Send", 30, 35, ("mpi_send", 1, made.world, 5, 24))
        made.call(1, "MPI_Recv", 30, 39, ("mpi_recv", 0, made.world, 5, 24))
    trace = made.trace()
    assert names(trace) == ["send"] * 3 + ["recv"] * 3
    assert trace.events.times[:3, [START, END]].tolist() == [[0, 9], [20, 25], [30, 35]]
    assert trace.events.times[:3, BYTES].tolist() == [8, 16, 24]
    said = " ".join(trace.notes)
    assert "merged into their rank" in said
    assert "1 threads that do not call MPI" in said


def test_threads_that_call_at_one_time_are_refused(tmp_path):
    with Archive(tmp_path) as made:
        made.exchange()
        made.call(2, "MPI_Barrier", 5, 12)
    with pytest.raises(UnsupportedError, match="rank 0, event 1: two threads"):
        made.trace()


def test_ranks_are_relative_to_their_communicator(tmp_path):
    with Archive(tmp_path) as made:
        made.exchange(comm=made.back, peers=(0, 1))  # of the communicator (1, 0)
        made.call(0, "MPI_Sendrecv", 20, 29, ("mpi_send", 0, made.alone, 1, 8),
                  ("mpi_recv", 0, made.alone, 1, 8))  # fmt: skip
    trace = made.trace()
    assert trace.channels.target[trace.events.whole[0, OUT]] == 1
    itself = trace.events.whole[1, [OUT, INTO]]
    assert itself[0] == itself[1]
    assert trace.channels.source[itself[0]] == trace.channels.target[itself[0]] == 0


def test_a_startall_is_several_calls_and_requests_are_used_again(tmp_path):
    with Archive(tmp_path) as made:
        for at in (0, 100):
            made.call(0, "MPI_Startall", at, at + 9, *(
                ("mpi_isend", 1, made.world, tag, 8, tag) for tag in (1, 2)))  # fmt: skip
            made.call(0, "MPI_Waitall", at + 20, at + 29, ("mpi_isend_complete", 1),
                      ("mpi_isend_complete", 2))  # fmt: skip
            made.call(1, "MPI_Startall", at, at + 9, ("mpi_irecv_request", 7),
                      ("mpi_irecv_request", 8))  # fmt: skip
            made.call(1, "MPI_Waitall", at + 20, at + 29,
                      ("mpi_irecv", 0, made.world, 2, 8, 8),
                      ("mpi_irecv", 0, made.world, 1, 8, 7))  # fmt: skip
    trace = made.trace()
    assert names(trace) == ["isend", "isend", "waitall"] * 2 + ["irecv", "irecv", "waitall"] * 2
    tags = trace.channels.tag[trace.events.whole[6:8, INTO]]
    assert tags.tolist() == [1, 2]  # in the order of the posts
    assert trace.requests.tolist() == [2, 2]


def test_collectives_that_do_not_block_end_where_they_are_waited_for(tmp_path):
    with Archive(tmp_path) as made:
        for rank in (0, 1):
            made.call(rank, "MPI_Ibcast", 0, 9, ("non_blocking_collective_request", 4))
            made.call(rank, "MPI_Wait", 20, 29, ("non_blocking_collective_complete",
                      otf2.CollectiveOp.BCAST, made.back, 0, 8, 8, 4))  # fmt: skip
    trace = made.trace()
    assert names(trace) == ["ibcast", "wait"] * 2
    assert trace.communicators[trace.events.whole[0, OUT]].tolist() == [1, 0]
    assert trace.events.whole[0, FIRST] == 0  # the root's place: rank 1


def test_collectives_of_one_rank_alone_are_calls_that_take_their_time(tmp_path):
    # as SST's own tests have them, on MPI_COMM_SELF
    op = otf2.CollectiveOp
    with Archive(tmp_path) as made:
        made.call(0, "MPI_Barrier", 0, 5, ("mpi_collective_end", op.BARRIER, made.alone, 0, 0, 0))
        made.call(0, "MPI_Bcast", 7, 9, ("mpi_collective_end", op.BCAST, made.alone, 0, 8, 8))
        made.call(0, "MPI_Iallreduce", 9, 12, ("non_blocking_collective_request", 4))
        made.call(0, "MPI_Isend", 12, 13, ("mpi_isend", 1, made.world, 3, 8, 5))
        made.call(0, "MPI_Waitall", 20, 29, ("non_blocking_collective_complete", op.ALLREDUCE,
                  made.alone, 2**32 - 1, 8, 8, 4), ("mpi_isend_complete", 5))  # fmt: skip
        made.call(1, "MPI_Recv", 0, 35, ("mpi_recv", 0, made.world, 3, 8))
    trace = made.trace()
    assert names(trace) == ["call", "call", "call", "isend", "waitall", "recv"]
    assert trace.events.times[:3, [START, END]].tolist() == [[0, 5], [7, 9], [9, 12]]
    asked = Query(workload=workload(trace, tmp_path), machine=MACHINE, p=2)
    made, notes = program(asked.workload, asked)
    spent = [
        one.arguments["seconds"] for one in made.content.at(asked).rank(0) if one.op == "elapse"
    ]
    assert sum(spent) == pytest.approx((5 + 2 + 2 + 3 + 7) * 1e-6)
    assert any("3 calls that are not modeled, 10 us of all ranks" in note for note in notes)


def test_cancelled_requests_have_no_message_and_forgotten_sends_are_given_up(tmp_path):
    with Archive(tmp_path) as made:
        made.call(0, "MPI_Irecv", 0, 5, ("mpi_irecv_request", 1))
        made.call(0, "MPI_Wait", 10, 12, ("mpi_request_cancelled", 1))
        made.call(0, "MPI_Isend", 20, 22, ("mpi_isend", 1, made.world, 3, 8, 2))
        made.call(1, "MPI_Recv", 0, 90, ("mpi_recv", 0, made.world, 3, 8))
    trace = made.trace()
    assert names(trace) == ["call", "waitall", "isend", "request_free", "recv"] or names(trace) == [
        "call",
        "wait",
        "isend",
        "request_free",
        "recv",
    ]
    assert any("1 sends are never waited for" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("calls_", "error", "said"),
    [
        ([("MPI_Win_fence", "rma_wait_change")], UnsupportedError, "one-sided"),
        ([("MPI_Irecv", "mpi_irecv_request", 1)], UnsupportedError, "event 0: a request never"),
        ([("MPI_Wait", "mpi_isend_complete", 9)], TraceError, "unknown_request: rank 0, event 0"),
        ([("main", "mpi_isend_complete", 9)], FileError, "record outside any MPI call"),
    ],
)
def test_wrong_archives_are_one_sentence(tmp_path, calls_, error, said):
    with Archive(tmp_path) as made:
        window = (made.define.rma_win("w", made.world),) if "rma" in calls_[0][1] else ()
        for at, (name, word, *arguments) in enumerate(calls_):
            made.call(0, name, at, at + 1, (word, *window, *arguments))
    with pytest.raises(error, match=said) as caught:
        made.trace()
    assert "\n" not in str(caught.value)


def test_a_peer_beyond_the_communicator_and_a_call_without_end_are_told(tmp_path):
    with Archive(tmp_path / "a") as made:
        made.call(0, "MPI_Send", 0, 9, ("mpi_send", 7, made.world, 3, 8))
    with pytest.raises(FileError, match="rank 0, event 0: the peer is 7"):
        made.trace()
    with Archive(tmp_path / "b") as made:
        made.made.event_writer_from_location(made.threads[0]).enter(3, made.region("MPI_Send"))
    with pytest.raises(TraceError, match="never_left: rank 0, event 0: MPI_Send is never left"):
        made.trace()


def test_offsets_of_clocks_that_the_archive_has_are_applied(tmp_path):
    import _otf2

    with Archive(tmp_path) as made:
        made.call(0, "MPI_Send", 100, 109, ("mpi_send", 1, made.world, 3, 8))
        made.call(1, "MPI_Recv", 1100, 1109, ("mpi_recv", 0, made.world, 3, 8))
        made.call(1, "MPI_Test", 5100, 5109)
        writer = made.made.event_writer_from_location(made.threads[1])
        for time, offset in ((1000, -1000), (6000, -1500)):
            _otf2.DefWriter_WriteClockOffset(writer._def_handle, time, offset, 0.0)
    trace = made.trace()
    assert names(trace) == ["send", "recv", "test"]
    # what is between two offsets has one between them; 10 are lost from 1000 to 1100
    assert trace.events.times[:, START].tolist() == [0, -10, 3590]
    assert not trace.comparable


def test_records_that_are_cut_off_are_told_with_their_rank(tmp_path):
    # the library reads on in its memory, which holds the records of the whole file
    with Archive(tmp_path) as made:
        for at in range(0, 200, 10):
            made.exchange(at=at)
    made.trace()
    path = tmp_path / "archive" / "traces" / "1.evt"
    whole = path.read_bytes()
    for length in (*range(0, len(whole), 1 + len(whole) // 100), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"rank 1, .* cut off or changed \(1.evt does not end"):
            made.trace()


def test_records_that_are_lost_are_counted(tmp_path):
    with Archive(tmp_path) as made:
        for at in range(0, 200, 10):
            made.exchange(at=at)
        made.call(0, "solve", 300, 400)
    path = tmp_path / "archive" / "traces" / "1.evt"
    whole = path.read_bytes()
    path.write_bytes(whole[:18] + whole[-2:])  # the header of a chunk, and its end
    with pytest.raises(FileError, match=r"rank 1, .* cut off or changed \(0 of 60 records"):
        made.trace()
    path.unlink()
    with pytest.raises(FileError, match=r"rank 1, .* cut off or changed \(0 of 60 records"):
        made.trace()


def test_compiled_and_plain_walks_are_equal():
    rng = np.random.default_rng(4)
    rows = np.zeros((4000, 8), np.int64)
    depth = 0
    for at in range(len(rows)):
        kind = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12]) if depth else 0
        depth += int(kind == 0) - int(kind == 1)
        rows[at] = [kind, at, *rng.integers(0, 3, 6)]
        rows[at, 2] = 1 if kind in (0, 1) else rows[at, 2]
    found = []
    for walk in (compiled_walk(), walking.walk):
        made = np.zeros((len(rows) + 1, walking.COLUMNS), np.int64)
        done = np.zeros((len(rows) + 1, walking.PARTS), np.int64)
        state = (np.zeros(walking.MOST_DEPTH, np.int64), np.zeros(4, np.int64),
                 np.zeros(walking.COLUMNS, np.int64))  # fmt: skip
        counts = walk(rows, np.array([walking.OTHER, walking.CALLED], np.int8), *state, made, done)
        found.append((counts, made[: counts[0]].tolist(), done[: counts[1]].tolist()))
    assert found[0] == found[1]
    assert found[0][0][0] > 100


def test_what_computes_without_a_call_is_not_read_as_nothing(tmp_path):
    with Archive(tmp_path / "a") as made:
        made.call(0, "solve", 100, 400)
        made.call(1, "solve", 150, 300)
    trace = made.trace()
    assert names(trace) == ["init", "finalize"] * 2
    assert (trace.ends - trace.begins).tolist() == [300, 150]
    with Archive(tmp_path / "b") as made:
        made.exchange()
        made.call(0, "solve", 10, 400)
    assert any("391 us of all ranks together, after" in note for note in made.trace().notes)
    with Archive(tmp_path / "c") as made:
        made.exchange()
        group = made.threads[0].group
        made.define.location("GPU", type=otf2.LocationType.GPU, group=group)
    assert any("1 locations that are no threads" in note for note in made.trace().notes)
