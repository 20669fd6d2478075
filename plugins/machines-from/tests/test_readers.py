"""Outputs are recognized by what they say, and wrong lines are refused by their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcast.errors import FileError
from parcast_machines_from.reading import read_all, read_file

OSU = """\
Lmod is automatically replacing "a" with "b".
[node7:12] warning: no transport found
mpirun -np 64 -N 32 osu_latency
# OSU MPI Latency Test v5.8
# Size          Latency (us)
0                       1.50
1                       1.52
8192                    4.00
"""
IMB = """\
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
# Benchmarking Allreduce
# #processes = 16
# ( 16 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            4         1000         3.10         3.30         3.20

# All processes entering MPI_Finalize
"""
STREAM = """\
STREAM version $Revision: 5.10 $
Number of Threads requested = 64
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          190000.0     0.008        0.008        0.009
Triad:         200000.5     0.012        0.012        0.013
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""


def write(folder: Path, text: str, name: str = "out.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_osu_is_read_among_banners(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, OSU)).series
    assert (series.benchmark, series.tool, series.processes) == ("latency", "OSU 5.8", 2)
    assert [(value.size, value.line) for value in series.values] == [(0, 6), (1, 7), (8192, 8)]
    assert series.values[2].value == pytest.approx(4e-6)


def test_a_collective_takes_its_processes_from_the_launch(tmp_path: Path) -> None:
    text = OSU.replace("Latency Test", "Allreduce Latency Test")
    (series,) = read_file(write(tmp_path, text)).series
    assert (series.benchmark, series.processes) == ("allreduce", 64)


def test_imb_gives_processes_and_the_average(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, IMB)).series
    assert (series.benchmark, series.processes, series.tool) == ("allreduce", 16, "IMB 2021.3")
    assert series.values[-1].value == pytest.approx(3.2e-6)


def test_stream_gives_the_triad(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, STREAM)).series
    assert (series.benchmark, series.processes) == ("triad", 64)
    assert series.values[0].value == pytest.approx(200000.5e6)
    assert series.values[0].line == 5


def test_a_row_that_the_end_of_the_file_cuts_is_no_value(tmp_path: Path) -> None:
    whole = read_file(write(tmp_path, OSU))
    for cut in range(1, len("                    4.00\n")):
        reading = read_file(write(tmp_path, OSU[:-cut]))
        if cut == 1:
            assert reading.series == whole.series
            continue
        assert [value.size for value in reading.series[0].values] == [0, 1]
        assert any(":8:" in note for note in reading.notes)


def test_rows_of_two_runs_are_refused_by_their_line(tmp_path: Path) -> None:
    text = OSU + "0                       1.50\n"
    with pytest.raises(FileError, match=r"out.txt:9: 0 bytes follow 8192"):
        read_file(write(tmp_path, text))


def test_a_value_that_is_no_number_is_refused_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"out.txt:7: value is nan, and must be a finite"):
        read_file(write(tmp_path, OSU.replace("1.52", "nan")))


@pytest.mark.parametrize(
    "text", ["hello\n", "# a comment\n1 2\n3 4\n", "#include <mpi.h>\n", "size,latency\n1,2\n"]
)
def test_what_is_no_output_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match="no output that is read"):
        read_file(write(tmp_path, text))


def test_a_failed_stream_is_refused(tmp_path: Path) -> None:
    text = STREAM.replace("Solution Validates", "Failed Validation on array a[]")
    with pytest.raises(FileError, match=r"out.txt:6: STREAM says that its results are wrong"):
        read_file(write(tmp_path, text))


def test_of_a_folder_unknown_files_are_left_out_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, OSU)
    write(tmp_path, "hello\n", "notes.txt")
    reading = read_all([tmp_path])
    assert len(reading.series) == 1
    assert any("notes.txt" in note for note in reading.notes)
