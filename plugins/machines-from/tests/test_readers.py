"""Outputs are recognized by what they say, and wrong lines are refused by their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcast import Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import at_level, read_all, read_file
from parcast_machines_from.records import Reading, Series, Value

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


HEAD = "role,system,application,nodes,message_bytes,metric,median,unit"


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


def test_a_stream_without_a_word_of_threads_is_of_one_process(tmp_path: Path) -> None:
    alone = STREAM.replace("Number of Threads requested = 64\n", "")
    ranks = alone.replace("Function ", "Number of MPI ranks = 64\nFunction ")
    older = alone.replace("STREAM version $Revision: 5.10 $\n", "")
    counts = [
        read_file(write(tmp_path, text)).series[0].processes for text in (alone, ranks, older)
    ]
    assert counts == [1, None, None]


def test_an_output_that_was_indented_is_read(tmp_path: Path) -> None:
    indented = "".join(f"    {line}\n" for line in HPL.splitlines())
    (series,) = read_file(write(tmp_path, indented)).series
    assert (series.benchmark, series.processes) == ("hpl", 32)


def test_outputs_from_which_no_number_follows_say_which_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7.1\n"
    rates += (
        "# [ pairs: 48 ] [ window size: 64 ]\n# Size   MB/s   Messages/s\n1 58.09 58086503.51\n"
    )
    assert main(["machine", "from", str(write(tmp_path, rates))]) == 2
    said = capsys.readouterr().err
    assert "out.txt" in said
    assert "no number of a machine follows from that alone; add, for " in said
    assert "a ping-pong between two nodes (osu_latency)" in said


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


NCCL = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid   1 on a device  0 [0000:04:00] NVIDIA H100
#  Rank  1 Group  0 Pid   2 on a device  1 [0000:05:00] NVIDIA H100
#  Rank  2 Group  0 Pid   3 on b device  0 [0000:04:00] NVIDIA H100
#  Rank  3 Group  0 Pid   4 on b device  1 [0000:05:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
     1048576        262144     float     sum      -1    100.0   10.00   15.00      0    101.0
     2097152        524288     float     sum      -1    180.0   12.00   18.00      0    181.0
"""
HPL = """\
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       50000   192     4     8             100.00              8.3200e+02
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.7e-03 ...... PASSED
"""
IOR = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
nodes               : 4
tasks               : 64
access              : single-shared-file
Max Write: 1000.00 MiB/sec (1048.58 MB/sec)
Max Read:  2000.00 MiB/sec (2097.15 MB/sec)
"""
SLURM = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=64
   CPUAlloc=0 CPUTot=256 Sockets=2 Boards=1
NodeName=n2 Arch=x86_64 CoresPerSocket=64
   CPUAlloc=0 CPUTot=256 Sockets=2 Boards=1
"""
FIO = """\
{
  "fio version" : "fio-3.28",
  "jobs" : [
    {
      "jobname" : "seq",
      "read" : {"bw_bytes" : 0},
      "write" : {"bw_bytes" : 500000000}
    }
  ]
}
"""
BABEL = """\
BabelStream
Version: 4.0
Implementation: OpenMP
Function    MBytes/sec  Min (sec)   Max         Average
Triad       250000.5    0.00321     0.00330     0.00325
"""
OUTPUTS = {"osu": OSU, "imb": IMB, "stream": STREAM, "nccl": NCCL, "hpl": HPL, "ior": IOR,
           "slurm": SLURM, "fio": FIO, "babel": BABEL}  # fmt: skip


def test_an_nccl_test_without_a_name_is_told_by_its_rates(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, NCCL)).series
    assert (series.benchmark, series.processes, series.nodes) == ("allreduce", 4, 2)
    assert series.memory == "device"
    assert series.values[1].value == pytest.approx(180e-6)
    other = NCCL.replace("15.00", "7.50").replace("18.00", "9.00").replace("sum ", "none")
    with pytest.raises(FileError, match="no line names the NCCL test"):
        read_file(write(tmp_path, other))


def test_hpl_ior_fio_and_slurm(tmp_path: Path) -> None:
    (hpl,) = read_file(write(tmp_path, HPL)).series
    assert (hpl.processes, hpl.values[0].value) == (32, 832e9)
    with pytest.raises(FileError, match=r":4: HPL's residual is wrong"):
        read_file(write(tmp_path, HPL.replace("PASSED", "FAILED")))
    writes, reads = read_file(write(tmp_path, IOR)).series
    assert (writes.benchmark, reads.benchmark) == ("write-shared", "read-shared")
    assert writes.values[0].value == 1000 * 2**20
    (fio,) = read_file(write(tmp_path, FIO)).series
    assert (fio.benchmark, fio.values[0].value) == ("write", 5e8)
    facts = {fact.key: fact.value for fact in read_file(write(tmp_path, SLURM)).facts}
    assert facts == {"nodes.cores": 128, "nodes.count": 2, "levels.socket": 64}


def test_runs_of_ior_4_and_mdtest_4_in_one_file(tmp_path: Path) -> None:
    """Of runs without lines of their own maxima the summary counts; mdtest 4 writes no colons."""
    row = "write 1189.47 1189.47 1189.47 0.00" + " 1" * 22
    ops = "10062.223 10062.223 10062.223 0.000"
    text = f"""{IOR}
IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O
nodes               : 1
tasks               : 10
access              : file-per-process

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev
{row}
mdtest-4.1.0+dev was launched with 10 total task(s) on 1 node(s)
SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   File creation                {ops}
   File stat                    0.000 0.000 0.000 0.000
"""
    items = read_file(write(tmp_path, text)).series
    assert [(item.benchmark, item.tool, item.processes) for item in items] == [
        ("write-shared", "IOR 3.3.0", 64),
        ("read-shared", "IOR 3.3.0", 64),
        ("write", "IOR 4.1.0+dev", 10),
        ("file-creation", "mdtest 4.1.0+dev", 10),
    ]
    assert items[2].values[0].value == 1189.47 * 2**20


def test_processes_of_a_node_of_open_mpis_launcher(tmp_path: Path) -> None:
    text = "$ mpirun -n 144 -N 36 osu_allreduce\n# OSU MPI Allreduce Latency Test v7.5\n"
    rows = "# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n4 11.69\n8 15.34\n"
    (series,) = read_file(write(tmp_path, text + rows)).series
    assert series.nodes == 4


def test_babelstream_on_an_accelerator_is_no_memory_of_a_node(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, BABEL)).series
    assert (series.tool, series.memory) == ("BabelStream 4.0", "host")
    (series,) = read_file(write(tmp_path, BABEL.replace("OpenMP", "CUDA"))).series
    assert series.memory == "device"


def test_a_document_with_examples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"out.txt:1: a document with examples"):
        read_file(write(tmp_path, f"```\n{OSU}```\n"))


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_cut_or_mixed_is_read_or_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    text = OUTPUTS[name]
    whole = read_file(write(tmp_path, text))
    expected = {
        (item.benchmark, value.size, value.value) for item in whole.series for value in item.values
    }
    for stop in range(1, len(text)):
        try:
            reading = read_file(write(tmp_path, text[:stop]))
        except FileError:
            continue
        values = {
            (item.benchmark, value.size, value.value)
            for item in reading.series
            for value in item.values
        }
        assert values <= expected, (stop, values - expected)


IMB_OF_MANY = """\
# Benchmarking PingPong
# #processes = 2
# ( 254 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.65         0.00
         1024         1000         1.30       787.69

"""


def test_a_ping_pong_of_the_first_of_many_is_not_taken_as_between_nodes(tmp_path: Path) -> None:
    path = tmp_path / "pingpong.out"
    path.write_text(IMB_OF_MANY)
    reading = read_file(path)
    result = estimate(reading, "m", {"node": 128})
    assert "network" not in result.data
    assert [note for note in result.notes if "pingpong.out: pairs" in note and "--within" in note]
    far = estimate(at_level(reading, "network"), "m", {"node": 128}).data["network"]
    near = estimate(at_level(reading, "node"), "m", {"node": 128}).data["network"]
    assert far["startup"] == near["startup"]  # of the only node
    path.write_text(f"srun -N 1 -n 128 IMB-MPI1 PingPong\n{IMB_OF_MANY}")
    assert read_file(path).series[0].within == "node"


IMB_PAIRS = """\
# Benchmarking Uniband
# #processes = {processes}
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
         1024         1000      9000.00      8789062
        65536         1000     30000.00       457763

"""


def test_pairs_that_may_be_on_one_node_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "uniband.out"
    path.write_text(IMB_PAIRS.format(processes=32))
    reading = read_file(path)
    assert [note for note in estimate(reading, "m", {}).notes if "uniband.out: pairs" in note]
    registry = Registry()
    machine = registry.machine("milan-hdr")
    checked = check_machine(registry, machine, reading, limit=64, samples=0)
    assert not checked.compared
    assert any("--within node=FILE" in note for note in checked.notes)
    near = check_machine(registry, machine, at_level(reading, "node"), limit=64, samples=0)
    assert {item.within for item in near.compared} == {"node"}
    network = {"startup": "1 us", "bandwidth": "9 GB/s"}
    machine = registry.machine({"name": "m", "nodes": {"cores": 32}, "network": network})
    near = check_machine(registry, machine, at_level(reading, "node"), limit=64, samples=0)
    assert not near.compared  # windows within a node would pass no port, at any rate
    assert any("states nothing of messages within a node" in note for note in near.notes)
    path.write_text(f"srun -N 1 -n 32 IMB-MPI1 Uniband\n{IMB_PAIRS.format(processes=32)}")
    assert read_file(path).series[0].within == "node"


def test_two_processes_whose_nodes_are_not_stated_are_taken_as_apart_with_a_note(
    tmp_path: Path,
) -> None:
    path = tmp_path / "uniband.out"
    path.write_text(IMB_PAIRS.format(processes=2))
    notes = estimate(read_file(path), "m", {}).notes
    assert [note for note in notes if "taken as between two nodes" in note]
    path.write_text(f"srun -N 2 -n 2 IMB-MPI1 Uniband\n{IMB_PAIRS.format(processes=2)}")
    assert not estimate(read_file(path), "m", {}).notes


def test_placed_pairs_need_no_note_and_more_than_a_node_has_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "uniband.out"
    path.write_text(IMB_PAIRS.format(processes=32))
    apart = estimate(at_level(read_file(path), "network"), "m", {}).notes
    assert not [note for note in apart if "between two nodes" in note]
    near = estimate(at_level(read_file(path), "node"), "m", {"node": 16})
    assert [note for note in near.notes if "32 processes are not within a node of 16" in note]
    assert [note for note in near.notes if "add its ping-pong" in note]
    registry = Registry()
    network = {"startup": 2, "bandwidth": 1, "local": {"startup": 1, "bandwidth": 1}}
    machine = registry.machine({"name": "m", "nodes": {"cores": 16}, "network": network})
    checked = check_machine(
        registry, machine, at_level(read_file(path), "node"), limit=64, samples=0
    )
    assert not checked.compared
    assert any("nodes.cores = 16" in note for note in checked.notes)


@pytest.mark.parametrize(("within", "node"), [("node", 0), ("switch", 1), ("", 4)])
def test_pairs_are_predicted_where_they_were(within: str, node: int) -> None:
    levels = [
        {"name": "node", "size": 8, "startup": "1 us", "bandwidth": "9 GB/s"},
        {"name": "switch", "size": 32, "startup": "2 us", "bandwidth": "9 GB/s"},
    ]
    network = {"startup": "3 us", "bandwidth": "9 GB/s", "levels": levels}
    machine = Registry().machine({"name": "m", "nodes": {"cores": 8}, "network": network})
    value = Value(8, 1e-6, 1)
    series = Series("latency", "s", (value,), "osu.txt", "OSU", processes=2, within=within)
    checked = check_machine(Registry(), machine, Reading((series,)), limit=2, samples=0)
    assert checked.compared[0].predicted == pytest.approx(
        (1 + (node > 0) + (node > 1)) * 1e-6, rel=0.01
    )


def test_files_named_by_a_pattern_may_be_of_other_programs(tmp_path: Path) -> None:
    for name in ("build.out", "setup.out"):
        (tmp_path / name).write_text(f"make: nothing to be done for {name}\n")
    (tmp_path / "osu.out").write_text(OSU)
    names = ("build.out", "osu.out", "setup.out")
    reading = read_all([tmp_path / name for name in names])
    assert [item.benchmark for item in reading.series] == ["latency"]
    (note,) = reading.notes
    assert "build.out, " in note
    assert "setup.out: no output that is read" in note
    with pytest.raises(FileError, match=r"build.out: no output"):
        read_all([tmp_path / "build.out"])


def test_levels_of_another_machine_with_other_nodes_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "osu.out"
    path.write_text(OSU)
    others = Registry().machine("milan-hdr")
    result = estimate(read_file(path), "m", {"node": 32}, others)
    assert "levels" not in result.data["network"]
    assert any("network.levels of milan-hdr is left out" in note for note in result.notes)
    assert "nodes.memory_bandwidth" in result.taken
    assert "network.startup" not in result.taken
    assert "levels" in estimate(read_file(path), "m", {"node": 128}, others).data["network"]


@pytest.mark.parametrize(("bandwidth", "told"), [("340 GB/s", True), ("340 PB/s", False)])
def test_a_comparison_says_that_what_binds_is_another_machines(
    tmp_path: Path, bandwidth: str, told: bool
) -> None:
    registry = Registry()
    nodes = {"cores": 36, "memory_bandwidth": bandwidth}
    others = registry.machine({"name": "elsewhere", "processor": {"rate": 1e9}, "nodes": nodes})
    data = estimate(read_file(write(tmp_path, OSU)), "m", {"node": 36}, others).data
    assert data["sources"]["nodes.memory_bandwidth"] == "assumed: elsewhere's, not measured"
    work = {"name": "w", "phase": [{"parallel": 1e6, "memory_bytes": 1e12}]}
    (row,) = registry.compare(work, data, p=36, solvers="emulator.tc").rows
    texts = [note for note in row.notes if "is elsewhere's, not measured" in note]
    assert (
        bool([note for note in texts if note.startswith("nodes.memory_bandwidth, which b")]) is told
    )
    assert texts or told


@pytest.mark.parametrize(
    ("unit", "seconds"), [("us", 4e-6), ("µs", 4e-6), ("ms", 4e-3), ("ns", 4e-9), ("s", 4.0)]
)
def test_a_header_states_the_unit(tmp_path: Path, unit: str, seconds: float) -> None:
    (series,) = read_file(write(tmp_path, OSU.replace("(us)", f"({unit})"))).series
    assert series.values[2].value == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OSU.replace("(us)", "(cycles)"), "out.txt:5: the unit is 'cycles'; known are us, ns, ms"),
        (OSU.replace("8192", "8K  "), "out.txt:8: the size is '8K'; write it in bytes"),
        (
            OSU.replace("1.52", "1,52"),
            "out.txt:7: value is '1,52', and must be a number; write",
        ),
        (
            f"{HEAD}\ninput,,latency,1,8,mpi measure,1.1,weeks\n",
            "out.txt:2: unit is 'weeks'; use ns, us",
        ),
        ("{}", "out.txt: no output that is read"),
    ],
)
def test_odd_inputs_are_refused_by_their_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(FileError) as refused:
        read_file(write(tmp_path, text))
    assert reason in str(refused.value)


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="the folder has no files"):
        read_all([tmp_path])
    write(tmp_path, "hello")
    with pytest.raises(FileError, match=r"no file here is an output that is read: .*out\.txt"):
        read_all([tmp_path])


def test_a_file_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    first, second = write(tmp_path, OSU, "a.txt"), write(tmp_path, OSU, "b.txt")
    reading = read_all([tmp_path])
    assert len(reading.series) == 1
    assert reading.notes == (f"{second}: the same bytes as {first}; read once",)
    assert len(read_all([first, first]).series) == 1


def test_a_ping_pong_of_one_size_tells_no_bandwidth(tmp_path: Path) -> None:
    text = OSU.partition("1      ")[0]
    result = estimate(read_file(write(tmp_path, text)), "m", {"node": 32})
    assert not [number for number in result.numbers if number.key.startswith("network")]
    assert any("a ping-pong of 0 B alone tells no bandwidth" in note for note in result.notes)


def test_outputs_of_one_node_make_a_machine_of_one(tmp_path: Path) -> None:
    pairs = "".join(f"{n} {1.0 + n / 1e4:.2f}\n" for n in (8, 1024, 65536, 1 << 20))
    rates = "".join(f"{n} {n / (0.4 + n / 1.1e4):.2f}\n" for n in (8, 1024, 65536, 1 << 20))
    latency = write(tmp_path, f"# OSU MPI Latency Test v7.3\n# Size Latency (us)\n{pairs}", "l.txt")
    window = write(
        tmp_path, f"# OSU MPI Bandwidth Test v7.3\n# Size Bandwidth (MB/s)\n{rates}", "w.txt"
    )
    reading = at_level(read_all([latency, window]), "node")
    result = estimate(reading, "m", {"node": 8})
    numbers = {number.key: number.value for number in result.numbers}
    assert numbers["nodes.count"] == 1
    assert numbers["network.bandwidth"]
    assert numbers["network.overhead_per_byte"]
    assert "network.port_bandwidth" not in numbers  # which messages within a node do not pass
    elsewhere = estimate(at_level(reading, "network"), "m", {"node": 8})
    assert "nodes.count" not in {number.key for number in elsewhere.numbers}
