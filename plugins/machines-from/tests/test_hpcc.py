"""HPC Challenge: what its summary tells of a core and of a node, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast.testing import cases
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import read_file
from parcast_machines_from.records import Reading

HPCC = """\
This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
T/V                N    NB     P     Q               Time                 Gflops
WR01C2R4       60000    80     2     2            1158.43              1.243e+02
Function      Rate (GB/s)   Avg time     Min time     Max time
Triad:         2.7177       0.1
Begin of Summary section.
VersionMajor=1
Success=1
CommWorldProcs=36
HPL_Tflops=0.12431
HPL_time=1158.43
HPL_nprow=2
HPL_npcol=2
DGEMM_N=17320
StarDGEMM_Gflops=29.2902
SingleDGEMM_Gflops=35.7153
STREAM_VectorSize=300000000
STREAM_Threads=1
StarSTREAM_Copy=3.1629
StarSTREAM_Triad=2.71765
SingleSTREAM_Triad=10.7778
MaxPingPongLatency_usec=0.834465
End of Summary section.
End of HPC Challenge tests.
"""


def read(folder: Path, text: str) -> Reading:
    path = folder / "hpccoutf.txt"
    path.write_text(text)
    return read_file(path)


def numbers_of(reading: Reading, **levels: int) -> dict[str, object]:
    return {number.key: number.value for number in estimate(reading, "m", levels).numbers}


def test_a_full_node_tells_rate_boost_and_memory(tmp_path: Path) -> None:
    reading = read(tmp_path, HPCC)
    assert numbers_of(reading, node=36) == {
        "nodes.cores": 36,
        "nodes.memory_bandwidth": "97.84 GB/s",
        "nodes.core_bandwidth": "10.78 GB/s",
        "processor.rate": "29.29 GFLOP/s",
        "processor.boost": 1.219,
    }
    assert numbers_of(reading, node=18)["nodes.memory_bandwidth"] == "48.92 GB/s"
    (note,) = reading.notes
    assert note.endswith("left out: ping-pongs (within a node and between two alike)")
    data = estimate(reading, "m", {"node": 36}).data
    checked = check_machine(Registry(), Registry().machine(data), reading, limit=36, samples=0)
    assert {item.benchmark for item in checked.compared} == {
        "gemm", "gemm-core", "triad-all", "triad-core",
    }  # fmt: skip
    assert all(abs(item.error) < 1e-3 for item in checked.compared)


def test_of_processes_that_do_not_fill_nodes_no_number_of_a_node_is_taken(tmp_path: Path) -> None:
    reading = read(tmp_path, HPCC)
    unfilled = estimate(reading, "m", {"node": 32})
    keys = {number.key for number in unfilled.numbers}
    assert keys == {"nodes.cores", "nodes.core_bandwidth"}
    assert [text for text in unfilled.open if "36 processes do not fill nodes of 32" in text]
    unknown = estimate(reading, "m", {})
    assert {number.key for number in unknown.numbers} == {"nodes.core_bandwidth"}
    told = [text for text in unknown.open if "36 processes tell it with --level node=N" in text]
    assert [text.partition(":")[0] for text in told] == ["processor.rate", "nodes.memory_bandwidth"]


def test_processes_that_draw_what_one_alone_does_have_a_node_each(tmp_path: Path) -> None:
    reading = read(tmp_path, HPCC.replace("=2.71765", "=10.5"))
    assert "nodes.memory_bandwidth" not in numbers_of(reading, node=18)
    assert "processor.rate" not in numbers_of(reading, node=18)
    assert numbers_of(reading, node=36)["nodes.memory_bandwidth"] == "378 GB/s"


@pytest.mark.parametrize(
    ("before", "after", "benchmark", "reason"),
    [
        ("DGEMM_N=17320", "DGEMM_N=81", "gemm", "DGEMM (81 rows, and 500 have the full rate)"),
        ("Size=300000000", "Size=6666", "triad", "STREAM (vectors of 0.15 MiB fit caches)"),
        ("HPL_time=1158.43", "HPL_time=0.04", "hpl", "HPL (0.04 s are too short for a rate)"),
        ("Threads=1", "Threads=4", "gemm", "DGEMM and STREAM (processes of 4 threads)"),
    ],
)
def test_what_tells_no_rate_is_left_out_with_a_reason(
    tmp_path: Path, before: str, after: str, benchmark: str, reason: str
) -> None:
    reading = read(tmp_path, HPCC.replace(before, after))
    assert not [item for item in reading.series if item.benchmark.startswith(benchmark)]
    assert reason in reading.notes[0]


def test_a_short_linpack_alone_tells_no_rate(tmp_path: Path) -> None:
    text = "T/V  N  NB  P  Q  Time  Gflops\nWR01C2R4  200  80  1  2  0.04  1.2e-01\n"
    with pytest.raises(FileError, match=r":2: HPL of 0.04 s is too short for a rate$"):
        read(tmp_path, text)


def test_wrong_results_and_outputs_without_a_summary_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FileError, match=r":8: HPC Challenge says that a result is wrong"):
        read(tmp_path, HPCC.replace("Success=1", "Success=0"))
    with pytest.raises(FileError, match=r":15: StarDGEMM_Gflops is 'x', and must be a number"):
        read(tmp_path, HPCC.replace("29.2902", "x"))
    path = tmp_path / "cut.txt"
    path.write_text(HPCC.partition("Begin of")[0])
    assert main(["machine", "from", str(path)]) == 2
    assert "cut.txt: HPC Challenge ended before its summary" in capsys.readouterr().err


def test_tests_that_did_not_run_have_no_rate(tmp_path: Path) -> None:
    text = HPCC.replace("=29.2902", "=-1").replace("=2.71765", "=-1")
    names = {item.benchmark for item in read(tmp_path, text).series}
    assert names == {"hpl", "gemm-core", "triad-core"}


@pytest.mark.parametrize("stop", range(len(HPCC)))
def test_a_cut_output_says_nothing_else(tmp_path: Path, stop: int) -> None:
    whole = {(item.benchmark, item.values) for item in read(tmp_path, HPCC).series}
    try:
        cut = read(tmp_path, HPCC[:stop])
    except FileError:
        return
    assert {(item.benchmark, item.values) for item in cut.series} <= whole


@settings(deadline=None, max_examples=cases(25))
@given(
    cores=st.integers(2, 64),
    nodes=st.integers(1, 8),
    star=st.floats(1, 90),
    triad=st.floats(0.5, 9.6),
    single=st.floats(1, 3),
)
def test_numbers_are_those_of_the_run(
    tmp_path_factory: pytest.TempPathFactory,
    cores: int,
    nodes: int,
    star: float,
    triad: float,
    single: float,
) -> None:
    text = HPCC.replace("Procs=36", f"Procs={cores * nodes}").replace("29.2902", str(star))
    text = text.replace("35.7153", str(star * single)).replace("2.71765", str(triad))
    reading = read(tmp_path_factory.mktemp("run"), text)
    machine = Registry().machine(estimate(reading, "m", {"node": cores}).data)
    assert machine.processor.rate == pytest.approx(star * 1e9, rel=1e-3)
    assert machine.processor.boost == pytest.approx(max(1.0, single), abs=1e-3)
    assert machine.nodes.memory_bandwidth == pytest.approx(triad * cores * 1e9, rel=1e-3)


@settings(deadline=None, max_examples=cases(40))
@given(at=st.integers(0, len(HPCC) - 1), text=st.text("0-9.=eE+nainf\n -Szx", max_size=4))
def test_any_change_is_read_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, at: int, text: str
) -> None:
    folder, registry, refusal = tmp_path_factory.mktemp("changed"), Registry(), ""
    try:
        reading = read(folder, HPCC[:at] + text + HPCC[at + len(text) :])
    except FileError as error:
        refusal = str(error)
    else:
        for levels in ({}, {"node": 36}):
            result = estimate(reading, "m", levels)
            if result.numbers:
                registry.machine(result.data)
    assert "\n" not in refusal
