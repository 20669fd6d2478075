"""Outputs of accelerators, ports, products and file operations; cut ends give no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcast import Registry
from parcast.errors import FileError
from parcast_machines_from.checking.intervals import Compared
from parcast_machines_from.checking.predicting import Checked
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.picturing import as_results
from parcast_machines_from.reading import read_all, read_file

MIXBENCH = """\
mixbench/read-only (v0.03-2)
------------------------ Device specifications ------------------------
Device:              Accelerator One
Total global mem:    16000 MB
------------------------ CSV data ------------------------
Experiment ID, Single Precision ops,,,, Double precision ops,,,, Half precision ops,,,, Integer operations,,,
Compute iters, Flops/byte, ex.time,  GFLOPS, GB/sec, Flops/byte, ex.time,  GFLOPS, GB/sec, Flops/byte, ex.time,  GFLOPS, GB/sec, Iops/byte, ex.time,   GIOPS, GB/sec
   0, 0.250, 0.30, 120.00, 480.00, 0.125, 0.50, 60.00, 490.00, 0.500, 0.00, -nan, inf, 0.250, 0.30, 120.0, 480.0
 256, 128.2, 2.00, 9000.0, 70.00, 64.1, 70.0, 300.00, 4.00, 0.500, 0.00, inf, inf, 128.2, 2.30, 7000.0, 58.0
----------------------------------------------------------
"""  # noqa: E501
TOPOLOGY = """\
        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity
GPU0     X      NV12    SYS     0-23    0
GPU1    NV12     X      PIX     24-47   1
NIC0    SYS     PIX      X
"""
NVLINK = "GPU 0: One (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n"
IBSTAT = """\
CA 'mlx5_0'
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
CA 'mlx5_1'
\tPort 1:
\t\tState: Down
\t\tRate: 40
"""
ERT = """\
   900.0 FP64 GFLOPs EMP
META_DATA
OPENMP_THREADS 2
MPI_PROCS      18

  5000.0 L1 EMP
   100.0 DRAM EMP
META_DATA
OPENMP_THREADS 2
MPI_PROCS      18
"""
PRODUCT = """\
 -> Solution check PASSED successfully.
Multiply time:        1.5 seconds
GFLOP/s rate:         960.000000 GF/s
"""
MDTEST = """\
mdtest-3.3.0 was launched with 64 total task(s) on 4 node(s)
SUMMARY rate: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   File creation             :       6000.0       4000.0       5000.0        900.0
   File read                 :          0.0          0.0          0.0          0.0
"""
MEASURED = """\
[processor]
rate = "3 +- 0.1 GFLOP/s"
[network]
startup = "5 +- 0.1 us"
[host]
name = "here"
[sources]
processor = "measured: POLY1"
network = "measured: ping-pong"
"""


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def test_mixbench_and_topology_make_an_accelerator(tmp_path: Path) -> None:
    underlined = "\t\x1b[4m" + TOPOLOGY.lstrip().replace("\n", "\x1b[0m\n", 1)
    reading = read_all([write(tmp_path, a=MIXBENCH, b=underlined, c=NVLINK)])
    machine = Registry().machine(estimate(reading, "gpu", {}).data)
    accelerator = machine.accelerator
    assert accelerator is not None
    assert dict(accelerator.rates) == {"fp32": 9e12, "fp64": 300e9}  # half is not supported
    assert (accelerator.memory_bandwidth, accelerator.per_node) == (480e9, 2)
    assert accelerator.memory == pytest.approx(16000 * 2**20, rel=1e-3)
    assert accelerator.links is not None
    assert accelerator.links.bandwidth == 50e9


def test_a_memory_faster_than_the_device_has_is_a_cache(tmp_path: Path) -> None:
    text = MIXBENCH.replace("Total global", "Memory bandwidth:    400.00 GB/sec\nTotal global")
    reading = read_file(write(tmp_path, a=text) / "a.txt")
    assert [item.benchmark for item in reading.series] == ["peak", "peak"]
    assert "a.txt:9: the memory's 480 GB/s are more than the 400.00" in reading.notes[0]


def test_an_accelerator_without_its_rates_is_left_out(tmp_path: Path) -> None:
    result = estimate(read_file(write(tmp_path, a=TOPOLOGY) / "a.txt"), "gpu", {})
    assert "accelerator" not in result.data
    assert any(item.startswith("accelerator.rates: mixbench") for item in result.open)


def test_no_cut_end_changes_a_number(tmp_path: Path) -> None:
    """A file that ends anywhere gives what the whole one does, less, or a refusal."""
    for text in (MIXBENCH, TOPOLOGY, IBSTAT, PRODUCT, MDTEST):
        whole = read_file(write(tmp_path, a=text) / "a.txt")
        values = {value.value for item in whole.series for value in item.values}
        values |= {120e9, 60e9, 480e9}  # of mixbench's first row, of its first columns
        facts = {(fact.key, fact.value) for fact in whole.facts}
        for end in range(1, len(text), 3):
            try:
                reading = read_file(write(tmp_path, a=text[:end]) / "a.txt")
            except FileError:
                continue
            assert {v.value for item in reading.series for v in item.values} <= values, text[:end]
            assert {(fact.key, fact.value) for fact in reading.facts} <= facts, text[:end]


def test_rates_of_a_host_count_its_cores(tmp_path: Path) -> None:
    write(tmp_path, a=ERT + ERT.replace("900.0 FP64", "1800.0 FP32"))
    data = estimate(read_all([tmp_path]), "host", {}).data
    assert data["processor"]["rate"] == "25 GFLOP/s"
    assert data["nodes"]["memory_bandwidth"] == "100 +- 1 GB/s"
    write(tmp_path, a=PRODUCT)
    result = estimate(read_all([tmp_path]), "host", {"node": 96})
    assert result.data["processor"]["rate"] == "10 GFLOP/s"
    assert result.data["sources"]["processor.rate"].startswith("assumed: mt-dgemm, a.txt:3")


def test_a_product_that_is_wrong_or_of_another_program_is_none(tmp_path: Path) -> None:
    wrong = PRODUCT.replace("PASSED successfully", "FAILED")
    with pytest.raises(FileError, match=r"a.txt:2: mt-dgemm says"):
        read_file(write(tmp_path, a=wrong) / "a.txt")
    with pytest.raises(FileError, match="no output that is read"):
        read_file(write(tmp_path, a=PRODUCT.replace("Multiply", "Total")) / "a.txt")


def test_mdtest_has_its_iterations_as_repeats(tmp_path: Path) -> None:
    (series,) = read_file(write(tmp_path, a=MDTEST) / "a.txt").series
    value = series.values[0]
    assert (series.benchmark, series.processes, series.nodes) == ("file-creation", 64, 4)
    assert (value.value, value.low, value.high, value.repeats) == (5000, 4000, 6000, 3)


def osu(rate: float) -> str:
    head = "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n"
    return head + "".join(f"{2**k} {rate * 2**k / 2**20:.2f}\n" for k in range(10, 21))


def latency(startup: float) -> str:
    head = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
    return head + "".join(f"{2**k} {startup + 2**k / 1e4:.2f}\n" for k in range(10, 21))


def test_a_port_that_carries_more_than_published_is_told(tmp_path: Path) -> None:
    write(tmp_path, a=latency(2), b=osu(40000), c=IBSTAT)
    notes = estimate(read_all([tmp_path]), "m", {}).notes
    assert any("GB/s of outputs is more than the 25 GB/s of c.txt:6" in note for note in notes)
    write(tmp_path, b=osu(24000))
    notes = estimate(read_all([tmp_path]), "m", {}).notes
    assert not any("more than" in note for note in notes)


def test_a_host_that_was_measured_fills_in_and_is_compared(tmp_path: Path) -> None:
    alone = estimate(read_all([write(tmp_path, a=MEASURED)]), "m", {})
    assert alone.data["network"]["startup"] == "5 +- 0.1 us"
    both = estimate(read_all([write(tmp_path, b=latency(2))]), "m", {})
    assert both.data["processor"]["rate"] == "3 +- 0.1 GFLOP/s"
    assert any("network.startup: outputs say 1.998" in note for note in both.notes)
    same = estimate(read_all([write(tmp_path, b=latency(5))]), "m", {})
    assert not any("apart" in note for note in same.notes)


def test_a_level_that_people_state_otherwise_is_told(tmp_path: Path) -> None:
    text = "Core(s) per socket:  4\nSocket(s):  2\n"
    reading = read_file(write(tmp_path, a=text) / "a.txt")
    assert estimate(reading, "m", {"node": 8}).notes == ()
    notes = estimate(reading, "m", {"node": 96}).notes
    assert notes == ("--level node=96 is taken; a.txt:2 says 8",)


def test_outputs_of_one_benchmark_that_differ_are_told_once(tmp_path: Path) -> None:
    stream = "Number of Threads requested = 8\nFunction  Best Rate MB/s Avg time\nTriad: {} 1 1\n"
    texts = {name: stream.format(rate) for name, rate in (("a", 1e5), ("b", 2e5), ("c", 4e5))}
    notes = estimate(read_all([write(tmp_path, **texts)]), "m", {}).notes
    (note,) = [note for note in notes if "differ" in note]
    assert note.startswith("triad: a.txt:3 and c.txt:3 differ by 300 %")
    assert note.endswith("so do 2 other pairs of outputs")


def test_sums_of_unknown_numbers_of_processes_contradict_nothing(tmp_path: Path) -> None:
    text = latency(2).replace("Latency Test", "Allreduce Latency Test")
    launched = {name: f"mpirun -np {p} osu_allreduce\n" for name, p in (("a", 64), ("b", 64))}
    for head, count in (({"a": "", "b": ""}, 0), (launched, 1)):
        texts = {name: line + text for name, line in head.items()}
        texts["b"] = texts["b"].replace("\n1024 2.10", "\n1024 9.90")
        notes = estimate(read_all([write(tmp_path, **texts)]), "m", {}).notes
        assert sum("differ" in note for note in notes) == count


def test_measured_and_predicted_stand_in_one_row() -> None:
    item = Compared("bandwidth", "B/s", 2, None, "", 1e6, 1e9, 2e9, 1.5e9, 2.5e9, "a.txt:1")
    (row,) = as_results(Checked("m", (item,), ())).rows
    assert (row.measured, row.time, row.ci) == (1e-3, 5e-4, (4e-4, 1e6 / 1.5e9))
    assert row.error == pytest.approx(-0.5)
