"""DUMPI's binary files: what they hold is what `dumpi2ascii` prints of them."""

import re
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast_traces.readers import read_trace
from parcast_traces.readers.dumpi.binary import File
from parcast_traces.readers.dumpi.calls import calls_of

TEXTS = sorted((Path(__file__).parents[2] / "perturb/tests/files/dumpi").glob("*.txt"))
MAGIC = b"\xff\xaa\xddDUMPI"
#: The calls of the texts, by the numbers that `funclabels.h` gives them.
LABELS = {
    "Send": 0, "Recv": 1, "Isend": 8, "Irecv": 12, "Wait": 13, "Waitall": 18, "Sendrecv": 33,
    "Barrier": 52, "Bcast": 53, "Reduce": 62, "Allreduce": 65, "Comm_size": 81, "Comm_rank": 82,
    "Comm_split": 86, "Init": 124, "Finalize": 125,
}  # fmt: skip
STATUS = re.compile(r"bytes=(-?\d+), cancelled=(\d+), source=(-?\d+), tag=(-?\d+)")
#: Bytes of the types, by their numbers.
WIDTHS = [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8]


def packed_field(line):
    """Return an argument as DUMPI stores it: its size is that of its type's name."""
    kind, _, value = line.partition("=")
    kind = kind.split()[0]
    if kind == "string":
        text = value.strip('[]"').encode()
        return struct.pack(">i", len(text)) + text
    if kind == "MPI_Status":
        found = [tuple(map(int, one)) for one in STATUS.findall(value)]
        return struct.pack(">i", len(found)) + b"".join(
            struct.pack(">iibbi", size, source, cancelled, 0, tag)
            for size, cancelled, source, tag in found
        )
    numbers = [int(number) for number in re.findall(r"-?\d+", value.partition(" (")[0])]
    if "requests[" in line:
        return struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    form = {"MPI_Comm": ">h", "MPI_Datatype": ">h", "MPI_Op": ">b"}.get(kind, ">i")
    return struct.pack(form, numbers[0])


def packed(text, version=(1, 1, 0)):
    """Return the binary file of what `dumpi2ascii` printed."""
    body, origin, fields = b"", None, []
    for line in text.splitlines():
        edge = re.match(r"MPI_(\w+) (entering|returning) at walltime (\d+)\.(\d+), cputime "
                        r"(\d+)\.(\d+)", line)  # fmt: skip
        if not edge:
            fields.append(packed_field(line))
            continue
        wall, cpu = [int(edge[3]), int(edge[4])], [int(edge[5]), int(edge[6])]
        origin = wall[0] if origin is None else origin
        wall[0] -= origin
        if edge[2] == "entering":
            begun, fields = (cpu, wall), []
        else:
            body += struct.pack(">hBh", LABELS[edge[1]], 0x4F, 0)
            for start, end in zip(begun, (cpu, wall), strict=True):
                body += struct.pack(">HIHI", *start, *end)
            body += b"".join(fields)
    content = MAGIC + struct.pack(">ii", 0, origin) + body + struct.pack(">h", 293)
    header = len(content)
    content += struct.pack(">bbbqhhii", *version, origin, 0, 0, 0, 0)
    sizes = len(content)
    content += struct.pack(f">i{len(WIDTHS)}i", len(WIDTHS), *WIDTHS)
    return content + MAGIC + struct.pack(">7q", sizes, 0, 0, header, 8, 0, 0)


def test_binary_files_hold_the_run_that_their_texts_tell(tmp_path):
    for text in TEXTS:
        (tmp_path / f"{text.stem}.bin").write_bytes(packed(text.read_text()))
        printed, stored = calls_of(text), File(tmp_path / f"{text.stem}.bin").calls()
        for one, other in zip(printed, stored, strict=True):
            assert (one.name, one.start, one.end) == (other.name, other.start, other.end)
    trace, expected = read_trace(tmp_path), read_trace(TEXTS[0])
    assert trace.about["format"] == "DUMPI"
    assert (trace.events.whole == expected.events.whole).all()
    assert (trace.events.times == expected.events.times).all()


def test_a_file_that_is_cut_or_changed_is_one_sentence(tmp_path):
    whole, path = packed(TEXTS[0].read_text()), tmp_path / "a-0.bin"
    for length in range(8, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="cut off"):
            File(path)
    for at in range(16, len(whole) - 64, 5):
        path.write_bytes(whole[:at] + b"\x7f\xff\xff\xff" + whole[at + 4 :])
        with suppress(ParcastError):
            list(File(path).calls())
    wrong = whole.replace(struct.pack(">hBh", 86, 0x4F, 0), struct.pack(">hBh", 141, 0x4F, 0))
    path.write_bytes(wrong.replace(struct.pack(">hB", 52, 0x4F), struct.pack(">hB", 290, 0x4F)))
    with pytest.raises((FileError, UnsupportedError), match=r"byte \d"):
        list(File(path).calls())


GROUPS = """MPI_Init entering at walltime 1.000000000, cputime 0.1 seconds in thread 0.
MPI_Init returning at walltime 1.000000001, cputime 0.1 seconds in thread 0.
MPI_Comm_group entering at walltime 1.000000002, cputime 0.1 seconds in thread 0.
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Group group=3
MPI_Comm_group returning at walltime 1.000000003, cputime 0.1 seconds in thread 0.
MPI_Group_incl entering at walltime 1.000000004, cputime 0.1 seconds in thread 0.
MPI_Group group=3
int count=3
int ranks[3]=[3, 1, 0]
MPI_Group newgroup=4
MPI_Group_incl returning at walltime 1.000000005, cputime 0.1 seconds in thread 0.
MPI_Comm_create entering at walltime 1.000000006, cputime 0.1 seconds in thread 0.
MPI_Comm oldcomm=2 (MPI_COMM_WORLD)
MPI_Group group=4
MPI_Comm newcomm=5
MPI_Comm_create returning at walltime 1.000000007, cputime 0.1 seconds in thread 0.
MPI_Cart_create entering at walltime 1.000000008, cputime 0.1 seconds in thread 0.
MPI_Comm oldcomm=2 (MPI_COMM_WORLD)
int ndim=2
int dims[2]=[2, 2]
int periods[2]=[0, 0]
int reorder=0
MPI_Comm newcomm=6
MPI_Cart_create returning at walltime 1.000000009, cputime 0.1 seconds in thread 0.
MPI_Cart_sub entering at walltime 1.000000010, cputime 0.1 seconds in thread 0.
int ndim=2
MPI_Comm oldcomm=6
int remain_dims[2]=[1, 0]
MPI_Comm newcomm=7
MPI_Cart_sub returning at walltime 1.000000011, cputime 0.1 seconds in thread 0.
MPI_Type_vector entering at walltime 1.000000012, cputime 0.1 seconds in thread 0.
int count=5
int blocklength=2
int stride=9
MPI_Datatype oldtype=14 (MPI_DOUBLE)
MPI_Datatype newtype=28 (user-defined-datatype)
MPI_Type_vector returning at walltime 1.000000013, cputime 0.1 seconds in thread 0.
MPI_Allreduce entering at walltime 1.000000014, cputime 0.1 seconds in thread 0.
int count=3
MPI_Datatype datatype=28 (user-defined-datatype)
MPI_Op op=3 (MPI_SUM)
MPI_Comm comm=7
MPI_Allreduce returning at walltime 1.000000015, cputime 0.1 seconds in thread 0.
MPI_Comm_rank entering at walltime 1.000000016, cputime 0.1 seconds in thread 0.
MPI_Comm comm=7
int rank=RANK
MPI_Comm_rank returning at walltime 1.000000017, cputime 0.1 seconds in thread 0.
MPI_Finalize entering at walltime 1.000000018, cputime 0.1 seconds in thread 0.
MPI_Finalize returning at walltime 1.000000019, cputime 0.1 seconds in thread 0.
Total keyvals: 0
"""


def written(folder, places):
    for rank, place in enumerate(places):
        text = "version=1.0.0\nmeshdim=0\n" + GROUPS.replace("RANK", str(place))
        (folder / f"run-{rank}.txt").write_text(text)
    return folder


def test_groups_grids_and_types_are_those_that_the_calls_make(tmp_path):
    trace = read_trace(written(tmp_path, [0, 0, 1, 1]))
    members = sorted(one.tolist() for one in trace.communicators)
    assert members == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 2], [1, 3], [3, 1, 0]]
    sizes = trace.events.times[[trace.name(event) == "allreduce" for event in range(trace.count)]]
    assert sizes[:, 2].tolist() == [3 * 10 * 8.0] * 4


def test_ranks_that_a_grid_reorders_are_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="are its ranks reordered"):
        read_trace(written(tmp_path, [1, 0, 1, 1]))
