"""Traces from files: by real tools where these can be had, else written here by the format."""

import json
from pathlib import Path

import numpy as np
import pytest

from parcast.errors import FileError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers import columnar, neutral, read_trace
from parcast_traces.trace.columns import BYTES, END, KIND, OUT, START

from .programs import Costs, random_program
from .programs import neutral as as_neutral
from .timed import with_times

TRACES = Path(__file__).parents[4] / "shared" / "traces"
needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason="no traces by others here")

#: The cost that the ranks of actions.tit pay in the tests.
UNIT = Recorded(overhead=0.0, latency=2.0, per_byte=0.5)

TIT = """
# two ranks
0 init
1 init
0 compute 100
0 send 1 0 4 0
1 irecv 0 0 4 0
1 compute 30
1 test 0 1 0
1 wait 0 1 0
0 allreduce 1 7
1 allreduce 1 7
0 isend 1 5 2 6
1 recv 0 5 2 6
0 bcast 3 1 6
1 bcast 3 1 6
0 finalize
1 finalize
"""


def tit(tmp_path, text=TIT, name="a.tit"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_actions_are_timed_on_a_machine(tmp_path):
    trace = with_times(read_trace(tit(tmp_path)), UNIT, 1.0)
    # the message of 32 bytes is there at 118; the sum of a byte, as `init` says of what has no
    # type, ends 2.5 later, its 7 operations follow; 2 bytes take 3; rank 0 then waits for the
    # broadcast of rank 1, of 3 bytes
    assert trace.ends.tolist() == [127.5 + 3 + 3.5, 127.5 + 3]
    doubles = read_trace(tit(tmp_path, TIT.replace("init", "init 1")))
    ends = with_times(doubles, UNIT, 1.0).ends.tolist()
    assert ends == [131 + 3 + 3.5, 131 + 3]  # of eight bytes
    assert any("tests complete nothing" in note for note in trace.notes)
    assert any("are freed" in note for note in trace.notes)


def test_the_line_of_a_call_is_its_site(tmp_path):
    # as SMPI's tracer writes it when asked for (smpi/trace-call-location)
    said = read_trace(tit(tmp_path, "0 init\n0 location a.c 7\n0 barrier\n0 barrier\n"))
    assert said.sites == ("init", "barrier at a.c:7", "barrier")
    assert said.count == 3


def test_an_index_lists_the_files_of_ranks(tmp_path):
    lines = TIT.splitlines()
    for rank in "01":
        text = "\n".join(line for line in lines if line.startswith(rank))
        tit(tmp_path, text, f"rank{rank}.txt")
    index = tit(tmp_path, "rank0.txt\nrank1.txt\n", "index.txt")
    one, two = read_trace(index), read_trace(tit(tmp_path))
    assert (one.events.times == two.events.times).all()
    sent = [
        [found.channel(out) for out in found.events.whole[:, OUT].tolist() if out >= 0]
        for found in (one, two)
    ]
    assert sent[0] == sent[1]  # only the numbers of channels depend on the order of the files
    (tmp_path / "rank1.txt").unlink()
    with pytest.raises(FileError, match=r"'rank1\.txt' is neither an action"):
        read_trace(index)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("0 init\n2 init\n", "rank 1 of 0 to 2 has no actions"),
        ("0 ini\n", "there is no action 'ini'"),
        ("0 send 1\n", "send lacks an argument"),
        ("0 compute much\n", "'much' must be a number"),
        ("0 wait 0 1 2\n", "no request 0 1 2 is open"),
        ("0\n", "an action is a rank and a word"),
        ("0 send 0 0 8 99\n", "type '99'"),
        ("0 recv -7 0 8\n", "'-7' is no rank; any source is -333"),
        ("0 recv 0 -7 8\n", "'-7' is no tag; any tag is -444"),
        ("0 send 1 0 8\n1 init\n", "unmatched_send: rank 0, event 0"),
    ],
)
def test_wrong_actions_are_one_sentence(tmp_path, text, said):
    with pytest.raises((FileError, TraceError), match=said):
        read_trace(tit(tmp_path, text))


def test_a_long_binary_file_is_refused_at_its_beginning(tmp_path):
    path = tmp_path / "huge.tit"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a gigabyte of zeros, none of it on disk
    with pytest.raises(FileError, match="no line of a trace has a megabyte"):
        read_trace(path)
    with pytest.raises(FileError, match="1,024 MiB"):
        neutral.read(path)


@needs_traces
@pytest.mark.parametrize(
    ("name", "messages", "count"),
    [("actions_with_isend", 3, 3e6), ("actions_waitall", 3, 8_000), ("actions_bcast", 0, 0)],
)
def test_traces_of_simgrid_have_their_messages(name, messages, count):
    trace = read_trace(TRACES / "tit" / f"{name}.txt")
    sends = (trace.events.whole[:, KIND] >= 1) & (trace.events.whole[:, KIND] < 7)
    assert sends.sum() == messages
    assert trace.events.times[sends, BYTES].sum() == count


@needs_traces
def test_an_archive_of_scorep_has_its_messages():
    pytest.importorskip("otf2")
    trace = read_trace(TRACES / "otf2-ping-pong" / "traces.otf2")
    sends = trace.events.whole[:, KIND] == 1
    assert sends.sum() == 16
    ranks = trace.events.rank_of(np.flatnonzero(sends))
    sizes = trace.events.times[sends, BYTES]
    assert [sizes[ranks == rank].sum() for rank in (0, 1)] == [4_177_920, 4_177_920]
    assert trace.tick == 1 / 2_095_197_216
    for policy in ("upper", "lower"):
        found = propagate(trace, Perturbation(), Recorded(), policy, every_end=True)
        assert not found.ends.any()


def archive(tmp_path, *, cut=False):
    """Write an archive of two ranks: irecv and isend, waits, a sum, a message to itself."""
    otf2 = pytest.importorskip("otf2")
    path = tmp_path / "archive"
    with otf2.writer.open(str(path), timer_resolution=1_000_000) as made:
        define = made.definitions
        root = define.system_tree_node("node")
        locations = [
            define.location(f"thread {rank}", group=define.location_group(
                f"rank {rank}", system_tree_parent=root))
            for rank in range(2)
        ]  # fmt: skip
        define.group("", otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI,
                     members=locations)  # fmt: skip
        world, alone = (
            define.comm("", define.group("", kind, paradigm=otf2.Paradigm.MPI, members=members))
            for kind, members in (
                (otf2.GroupType.COMM_GROUP, locations), (otf2.GroupType.COMM_SELF, [])
            )
        )  # fmt: skip
        regions = {}

        def call(rank, name, start, end, *records):
            writer = made.event_writer_from_location(locations[rank])
            region = regions.setdefault(name, define.region(name))
            writer.enter(start, region)
            for word, arguments in records:
                getattr(writer, word)(start, **arguments)
            writer.leave(end, region)

        message = {"communicator": world, "msg_tag": 3, "msg_length": 8}
        call(0, "MPI_Irecv", 0, 10, ("mpi_irecv_request", {"request_id": 1}))
        call(0, "MPI_Wait", 30, 90, ("mpi_irecv", {"request_id": 1, "sender": 1, **message}))
        if not cut:
            call(1, "MPI_Isend", 40, 50,
                 ("mpi_isend", {"request_id": 1, "receiver": 0, **message}))  # fmt: skip
            call(1, "MPI_Wait", 60, 61, ("mpi_isend_complete", {"request_id": 1}))
        for rank in range(2):
            call(rank, "MPI_Allreduce", 100 + rank, 120, ("mpi_collective_begin", {}), (
                "mpi_collective_end", {
                    "collective_op": otf2.CollectiveOp.ALLREDUCE, "communicator": world,
                    "root": 2**32 - 1, "size_sent": 8, "size_received": 8}))  # fmt: skip
        call(0, "MPI_Sendrecv", 130, 150,
             ("mpi_send", {"receiver": 0, **message, "communicator": alone}),
             ("mpi_recv", {"sender": 0, **message, "communicator": alone}))  # fmt: skip
    return path / "traces.otf2"


def test_archives_keep_post_order_and_communicators(tmp_path):
    trace = read_trace(archive(tmp_path))
    assert [trace.name(event) for event in range(trace.count)] == [
        "irecv", "wait", "allreduce", "sendrecv", "isend", "wait", "allreduce",
    ]  # fmt: skip
    assert trace.events.times[0, [START, END]].tolist() == [0, 10]
    found = propagate(trace, Perturbation.of(latency=5), Recorded(), "upper")
    # rank 0 came to the sum 1 before rank 1 and so has 1 to spare; its last message adds 5
    assert found.final[:, 0].tolist() == [5 + 5 - 1 + 5, 5 + 5 - 1]


def test_an_archive_without_a_rank_s_calls_is_refused(tmp_path):
    with pytest.raises(TraceError, match="unmatched_recv: rank 0, event 0"):
        read_trace(archive(tmp_path, cut=True))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    pytest.importorskip("otf2")
    path = tmp_path / "x.otf2"
    path.write_text("no archive")
    with pytest.raises(FileError, match="cannot be read as OTF2"):
        read_trace(path)


def saved(tmp_path, seed=6):
    data = as_neutral(random_program(seed), Costs(o=10, latency=50, per_byte=1))
    (tmp_path / "a.json").write_text(json.dumps({"unit": "1 us", **data}))
    trace = read_trace(tmp_path / "a.json")
    columnar.write(trace, tmp_path / "a.trace")
    return trace, tmp_path / "a.trace"


def test_columns_give_back_what_was_written(tmp_path):
    trace, path = saved(tmp_path)
    again = read_trace(path)
    added, known = Perturbation.of(noise=3, latency=9), Recorded(overhead=10, latency=50)
    for quantum in (1, 64):
        finals = [
            propagate(one, added, known, "upper", quantum=quantum).final for one in (trace, again)
        ]
        assert (finals[0] == finals[1]).all()
    assert (again.sites, again.labels, again.tick) == (trace.sites, trace.labels, trace.tick)


@pytest.mark.parametrize("harm", ["cut", "flip", "header", "other"])
def test_columns_that_are_not_whole_are_refused(tmp_path, harm):
    _, path = saved(tmp_path)
    data = bytearray(path.read_bytes())
    if harm == "cut":
        data = data[:-4096]
    elif harm == "flip":
        data[4096 * 3] ^= 1
    elif harm == "header":
        data = data[:40]
    else:
        data[:4] = b"what"
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"cut off or changed|no trace in columns"):
        read_trace(path)


def test_nothing_is_left_of_columns_that_cannot_be_written(tmp_path):
    trace, _ = saved(tmp_path)
    before = set(tmp_path.iterdir())
    (tmp_path / "folder.trace").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        columnar.write(trace, tmp_path / "folder.trace")
    assert set(tmp_path.iterdir()) == before | {tmp_path / "folder.trace"}


@pytest.mark.parametrize("name", ["nowhere.json", "a.xyz", "."])
def test_what_is_no_trace_is_refused(tmp_path, name):
    (tmp_path / "a.xyz").write_text("x")
    with pytest.raises(FileError):
        read_trace(tmp_path / name)
