"""liballprof's traces of which one rank's file stands for others."""

import pytest

from parcast.errors import FileError, UnsupportedError
from parcast_traces.readers import read_trace

BARRIER, BCAST = "MPI_Barrier:{}:5641280,{},{}:{}", "MPI_Bcast:{}:5:12:13,2,2:0:5641280,{},{}:{}"


def written(folder, positions, calls=(BCAST, BARRIER)):
    for rank, position in enumerate(positions):
        body = [
            call.format(2 * at + 1 + rank, position, len(positions), 2 * at + 2 + rank)
            for at, call in enumerate(calls)
        ]
        lines = ["# liballprof", "MPI_Init:-:1:1:0", *body, f"MPI_Finalize:{2 * len(calls) + 9}:-"]
        (folder / f"run-{rank}.dat").write_text("\n".join(lines) + "\n")
    return folder / "run-0.dat"


def test_copies_of_rank_0_s_file_are_refused_or_taken_for_the_like_of_it(tmp_path):
    path = written(tmp_path, [0, 0, 0, 0])
    with pytest.raises(FileError, match=r"run-1.dat:3: .* rank 0, .* says 1; .*--assume-alike"):
        read_trace(path)
    trace = read_trace(path, assume_alike=True)
    assert trace.notes == (
        "rank 0 stands for the 3 ranks whose files are copies of its file (--assume-alike)",
    )
    (tmp_path / "own").mkdir()
    own = read_trace(written(tmp_path / "own", [0, 1, 2, 3]), assume_alike=True)
    assert not own.notes
    assert (own.events.whole == trace.events.whole).all()
    assert (own.events.times == trace.events.times).all()


@pytest.mark.parametrize("alike", [False, True])
def test_another_rank_s_file_is_refused_anyhow(tmp_path, alike):
    path = written(tmp_path, [0, 2, 1])
    with pytest.raises(FileError, match=r"this is rank 2, and the file's name says 1$"):
        read_trace(path, assume_alike=alike)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("MPI_Send:{}:5:1:10,8,8:1:3:5641280,{},{}:{}", "MPI_Send"),
        ("MPI_Comm_split:{}:5641280,{},{}:1:1:140:{}", "MPI_Comm_split"),
    ],
)
def test_what_depends_on_the_rank_has_no_like(tmp_path, call, named):
    path = written(tmp_path, [0, 0], (BARRIER, call))
    with pytest.raises(UnsupportedError, match=rf"run-1.dat:4: .* its {named} would be of rank 0"):
        read_trace(path, assume_alike=True)
