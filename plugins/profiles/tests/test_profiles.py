"""Profiles keep every second that their tool wrote, by region, and say what they do not know."""

from __future__ import annotations

import contextlib
import random
import re
import sqlite3
import struct
import tarfile
import tracemalloc
import zlib
from io import BytesIO

import pytest

from parcast import ParcastError, Registry
from parcast.errors import FileError
from parcast.testing import cases
from parcast_profiles.readers import pipit_csv
from parcast_profiles.readers import projections as projections_reader
from parcast_profiles.workload import read

from .written import WRITERS, by_name, caliper, cube, nsight, projections, random_times, tau

REGISTRY = Registry()
MACHINE = {"processor": {"rate": "3 GFLOP/s"}, "network": {"startup": "1 us",
           "bandwidth": "1 GB/s"}, "nodes": {"count": 64}}  # fmt: skip


@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("seed", range(4))
def test_regions_have_the_seconds_that_were_written(tool, seed, tmp_path):
    ranks = 1 + seed
    times = random_times(seed, ranks)
    profile = read(WRITERS[tool](tmp_path, times, ranks)).content.profile
    expected = {name: seconds for name, seconds in by_name(times).items() if seconds}
    found = {region.name: region.seconds for region in profile.regions if region.seconds}
    if tool == "TAU":  # what MPI calls has its own name there
        expected = {}
        for path, seconds in times.items():
            expected[path[-1]] = expected.get(path[-1], 0.0) + sum(seconds)
        expected = {name: seconds for name, seconds in expected.items() if seconds}
    assert found == pytest.approx(expected, abs=1e-5)
    assert profile.processes == ranks
    assert profile.seconds == pytest.approx(sum(map(sum, times.values())), abs=1e-5)
    assert all(region.communicates == region.name.startswith("MPI_") for region in profile.regions)
    if tool == "CUBE, threads":
        assert any(f"{2 * ranks} further threads" in note for note in profile.notes)


@pytest.mark.parametrize("seed", range(6))
def test_every_solver_keeps_the_time_of_a_process(seed, tmp_path):
    ranks, times = 4, random_times(seed, 4)
    file = caliper(tmp_path, times, ranks)
    whole = sum(map(sum, times.values())) / ranks
    mpi = sum(s for name, s in by_name(times).items() if name.startswith("MPI_")) / ranks
    for settings, expected in (
        ({}, whole),
        ({"speed": 4}, mpi + (whole - mpi) / 4),
        ({"mpi": 0.5}, whole - mpi / 2),
    ):
        rows = REGISTRY.compare(file, MACHINE, solvers="spmd.sio,pamela.bound,emulator.tc",
                                settings=settings).rows  # fmt: skip
        assert [row.time for row in rows] == pytest.approx([expected] * 3, rel=1e-4)
    (row,) = REGISTRY.compare(file, MACHINE, solvers="spmd.sio").rows
    assert row.p == ranks
    assert row.parts.communication == pytest.approx(mpi, abs=1e-4)
    told = "does not tell their messages" if mpi else "tells no communication apart"
    assert any(told in note for note in row.notes)
    (row,) = REGISTRY.compare(file, MACHINE, solvers="spmd.sio", p=8).rows
    assert "a profile of 4 processes says nothing of p=8; give -p 4" in row.message


def test_many_short_regions_are_one_phase_and_nothing_is_lost(tmp_path):
    times = {("main",): [1.0], **{("main", f"f{n}"): [0.001 * n] for n in range(300)}}
    file = caliper(tmp_path, times, 1)
    (row,) = REGISTRY.compare(file, MACHINE, solvers="spmd.sio").rows
    assert row.time == pytest.approx(sum(own for (own,) in times.values()), rel=1e-4)


def test_metrics_of_hpctoolkit_as_they_were_sampled_are_those_of_first_threads(tmp_path):
    columns = "".join(
        f'<Metric i="{n}" n="CPUTIME (sec).[{rank},{thread}]" v="raw" t="nil"/>'
        for n, (rank, thread) in enumerate([(0, 0), (0, 1), (1, 0)])
    )
    path = tmp_path / "experiment.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE HPCToolkitExperiment [\n<!ELEMENT M EMPTY>\n]>\n'
        '<HPCToolkitExperiment version="2.0"><Header n="a.out"/><SecCallPathProfile><SecHeader>'
        f"<MetricTable>{columns}</MetricTable>"
        '<ProcedureTable><Procedure i="1" n="main"/><Procedure i="2" n="MPI_Send"/>'
        "</ProcedureTable></SecHeader><SecCallPathProfileData>"
        '<PF i="1" s="1" n="1"><S i="2" s="2"><M n="0" v="2.5"/><M n="1" v="9"/></S>'
        '<PF i="3" s="1" n="2"><S i="4" s="2"><M n="0" v="0.5"/><M n="2" v="0.25"/></S></PF></PF>'
        "</SecCallPathProfileData></SecCallPathProfile></HPCToolkitExperiment>"
    )
    profile = read(path).content.profile
    assert {region.name: region.seconds for region in profile.regions} == {
        "main": 2.5, "MPI_Send": 0.75,
    }  # fmt: skip
    assert (profile.processes, profile.by_rank) == (2, (3.0, 0.25))
    assert any("9 s" in note for note in profile.notes)


def test_logs_of_projections_have_methods_and_idle_time(tmp_path):
    times = {("main",): [1.0, 2.0], ("main", "solve"): [0.25, 0.5], ("main", "solve", "f"): [0, 3]}
    profile = read(projections(tmp_path, times, 2)).content.profile
    found = {region.name: region.seconds for region in profile.regions if region.seconds}
    assert found == pytest.approx({"main": 3.0, "f": 3.0, "solve": 0.75, "idle": 0.014})
    assert profile.communication == pytest.approx(0.014)
    (tmp_path / "run.prj.1.log").unlink()
    profile = read(tmp_path / "run.prj.sts").content.profile
    assert any("the logs of 1 of 2 processors are missing" in note for note in profile.notes)
    (tmp_path / "run.prj.0.log").write_text("2 4 x\n")
    with pytest.raises(FileError, match=r"run\.prj\.0\.log:1: '2 4 x' is no record"):
        read(tmp_path / "run.prj.sts")


def test_calls_within_calls_take_memory_as_they_are_many(tmp_path):
    table, depth = tmp_path / "events.csv", 5000
    lines = [f"{at}, Enter, f{at % 9}, 0" for at in range(depth)]
    lines += [f"{depth + at}, Leave, f{(depth - 1 - at) % 9}, 0" for at in range(depth)]
    table.write_text("\n".join(["Timestamp (s), Event Type, Name, Process", *lines]))
    tracemalloc.start()
    profile = read(table).content.profile
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert profile.seconds == 2 * depth - 1
    assert most < 8e6  # 100 MB where each call has its whole path


def test_more_open_calls_than_memory_has_room_for_are_refused(tmp_path, monkeypatch):
    table = tmp_path / "events.csv"
    head = "Timestamp (s), Event Type, Name, Process\n"
    monkeypatch.setattr(pipit_csv, "_MOST_HELD", 9)
    table.write_text(head + "1, Enter, f, 0\n1, Leave, f, 0\n" * 20)
    with pytest.raises(FileError, match="no region in it took any time"):
        read(table)
    for line in ("1, Enter, f, 0\n", "1, Enter, f, {0}\n1, Leave, f, {0}\n",
                 "{0}, Enter, f{0}, 0\n{0}.5, Leave, f{0}, 0\n"):  # fmt: skip
        table.write_text(head + "".join(line.format(number) for number in range(20)))
        with pytest.raises(FileError, match=r"csv:\d+: over 9 processes, regions of each and"):
            read(table)
    monkeypatch.setattr(projections_reader, "_MOST_HELD", 9)
    path = projections(tmp_path, {("main",): [1.0]}, 1)
    (tmp_path / "run.prj.0.log").write_text("2 4 1 5\n" * 20)
    with pytest.raises(FileError, match=r"log:10: over 9 methods, or begins without their ends"):
        read(path)


def test_a_line_that_would_fill_memory_is_refused(tmp_path):
    log = projections(tmp_path, {("main",): [1.0]}, 1)
    (tmp_path / "run.prj.0.log").write_text("PROJECTIONS-RECORD 9\n" + "6 " * (1 << 19))
    with pytest.raises(FileError, match=r"log:2: no line of a profile has a megabyte"):
        read(log)
    table = tmp_path / "events.csv"
    table.write_text("Timestamp (s), Event Type, Name, Process\n1, Enter, " + "a" * (1 << 20))
    with pytest.raises(FileError, match=r"csv:2: no line of a profile has a megabyte"):
        read(table)


def test_kernels_of_several_streams_take_no_longer_than_the_run(tmp_path):
    file = nsight(
        tmp_path,
        kernels=[("gemm", 1000, 5000), ("gemm", 3000, 9000), ("relu", 9000, 9500)],
        copies=[(20000, 21000)],
        collectives=[("MPI_Allreduce", 10000, 12000)],
    )
    workload = read(file)
    profile = workload.content.profile
    found = {region.name: round(region.seconds * 1e9) for region in profile.regions}
    # 1000 .. 21000 without 1000 .. 9500, 10000 .. 12000 and 20000 .. 21000
    assert found == {"gemm": 8000, "host alone": 8500, "MPI_Allreduce": 2000,
                     "copies of memory": 1000, "relu": 500}  # fmt: skip
    assert workload.data["kernel"] == "3, 1.05e-05 s"
    assert round(profile.seconds * 1e9) == 20000  # as long as the run
    assert profile.processes == 1
    assert any("2e-06 s of kernels, copies and calls run beside" in note for note in profile.notes)
    assert workload.data["span"] == "2e-05 s"
    assert profile.communication == pytest.approx(2e-6)


def test_an_export_without_kernels_says_what_it_has(tmp_path):
    file = nsight(tmp_path, kernels=[], copies=[], collectives=[])
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE OSRT_API (start INTEGER, end INTEGER)")
        connection.execute("INSERT INTO OSRT_API VALUES (1, 5)")
    connection.close()
    with pytest.raises(FileError, match="calls of MPI are in it, only 1 calls of the system; trac"):
        read(file)


def test_graphs_of_kernels_take_time_and_those_of_nccl_communicate(tmp_path):
    file = nsight(tmp_path, kernels=[("ncclDevKernel_AllReduce", 5000, 7000)], copies=[],
                  collectives=[], graphs=[(1000, 4000), (7000, 9000)])  # fmt: skip
    profile = read(file).content.profile
    found = {region.name: round(region.seconds * 1e9) for region in profile.regions}
    assert found == {"graphs of kernels": 5000, "ncclDevKernel_AllReduce": 2000, "host alone": 1000}
    assert profile.communication == pytest.approx(2e-6)


def test_processes_that_run_at_once_each_take_as_long_as_the_run(tmp_path):
    file = nsight(tmp_path, kernels=[("gemm", 0, 6000), ("gemm", 2000, 8000, 78)], copies=[],
                  collectives=[])  # fmt: skip
    profile = read(file).content.profile
    found = {region.name: round(region.seconds * 1e9) for region in profile.regions}
    assert found == {"gemm": 12000, "host alone": 4000}
    assert (profile.processes, round(profile.seconds * 1e9)) == (2, 16000)


def test_processes_that_only_ask_for_devices_are_no_ranks(tmp_path):
    file = nsight(tmp_path, kernels=[("gemm", 0, 6000)], copies=[], collectives=[])
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
                           "(start INTEGER, end INTEGER, globalTid INTEGER)")  # fmt: skip
        for process in (77, 90, 91):
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 9000, ?)",
                               ((process << 24) + 3,))  # fmt: skip
    connection.close()
    profile = read(file).content.profile
    assert (profile.processes, round(profile.seconds * 1e9)) == (1, 9000)
    assert any(
        note.startswith("2 further processes, of which no kernels") for note in profile.notes
    )


def test_busy_time_is_the_union_of_intervals_by_chance(tmp_path):
    for seed in range(cases(30)):
        rng = random.Random(seed)
        spans = [(rng.randrange(300), rng.randrange(1, 60), rng.choice([77, 78]))
                 for _ in range(rng.randint(1, 30))]  # fmt: skip
        kernels = [(f"k{at % 3}", at, at + long, owner) for at, long, owner in spans]
        profile = read(nsight(tmp_path, kernels, [], [])).content.profile
        busy = sum(len({instant for at, long, owner in spans if owner == process
                        for instant in range(at, at + long)}) for process in (77, 78))  # fmt: skip
        own = sum(region.seconds for region in profile.regions if region.name != "host alone")
        assert round(own * 1e9) == busy


@pytest.mark.parametrize(
    ("unit", "values", "factor", "note"),
    [
        ("", ("2000000.000000", "1000000"), 1e-6, "taken as microseconds"),
        ("", ("2.5", "0.5"), 1.0, "taken as seconds"),
        ("msec", ("3000", "1000"), 1e-3, None),
    ],
)
def test_units_are_the_file_s_or_are_said_to_be_assumed(unit, values, factor, note, tmp_path):
    lines = [
        "__rec=node,id=20,attr=10,data=276,parent=3", "__rec=node,id=21,attr=8,data=r,parent=20",
        "__rec=node,id=30,attr=8,data=attribute.unit,parent=3",
        f"__rec=node,id=31,attr=30,data={unit},parent=5" if unit else "",
        f"__rec=node,id=32,attr=8,data=sum#time.duration,parent={31 if unit else 5}",
        "__rec=node,id=50,attr=21,data=main", "__rec=node,id=51,attr=21,data=f,parent=50",
        f"__rec=ctx,ref=50,attr=32,data={values[0]}", f"__rec=ctx,ref=51,attr=32,data={values[1]}",
    ]  # fmt: skip
    (tmp_path / "a.cali").write_text("\n".join(lines))
    profile = read(tmp_path / "a.cali").content.profile
    assert profile.seconds == pytest.approx(sum(map(float, values)) * factor)
    assert (note is None) == ("states no unit" not in " ".join(profile.notes))
    assert note is None or note in " ".join(profile.notes)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.cali", b"__rec=ctx,ref=5\n", "no time of regions is in it"),
        ("a.cali", b"__rec=ctx,ref=500\n", "refers to node 500"),
        ("a.cali", b"__rec=node,id=x,attr=8\n", "a.cali:1: "),
        ("a.cali", b"hello\n", "it begins as no profile does"),
        ("b.sqlite", b"SQLite format 3\0" + bytes(84), "no export of Nsight Systems"),
        ("c.cubex", bytes(257) + b"ustar", "no archive of CUBE, or damaged"),
        ("d.json", b'{"column_metadata": 3}', "this is no profile of Caliper in JSON"),
        ("profile.0.0.0", b"2 templated_functions_MULTI_TIME\n", "it ends after 0 of 2 functions"),
        ("profile.0.0.0", b"1 templated_functions_MULTI_PAPI_FP_OPS\n", "counts PAPI_FP_OPS"),
        (
            "profile.0.0.0",
            b"1 templated_functions_MULTI_Cache misses\n",
            "counts Cache misses, and",
        ),
        ("profile.0.0.0", b"1 templated_functions_MULTI_BGP Timers\n", "it ends after 0 of 1 f"),
        ("experiment.xml", b"<!DOCTYPE HPCToolkitExperiment><a>", "experiment.xml:1: not valid"),
        (
            "experiment.xml",
            b'<!DOCTYPE HPCToolkitExperiment [<!ENTITY a "b">]><c/>',
            "declares entities",
        ),
        ("experiment.xml", b"<!DOCTYPE HPCToolkitExperiment><a/>", "no exclusive time"),
        ("e.csv", b"Timestamp (s), Name\n", "there is no column 'event type'"),
        (
            "e.csv",
            b"Timestamp (s), Event Type, Name, Process\n1, Enter, f, 0\n2, Leave, g, 0\n",
            "e.csv:3: 'g' is left, and was not entered last",
        ),
        (
            "e.csv",
            b"Timestamp (s), Event Type, Name, Process\n2, Enter, f, 0\n1, Leave, f, 0\n",
            "e.csv:3: 'f' is before the event above it",
        ),
        ("f.sts", b"PROJECTIONS_ID\n", "how many PROCESSORS"),
        ("f.sts", b"PROJECTIONS_ID\nPROCESSORS 2\n", "its logs, such as f.0.log.gz"),
    ],
)
def test_damage_is_one_sentence(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=re.escape(sentence)) as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "shown", "words"),
    [("met_time", "Time", ""), ("visits", "Visits", "no metric 'time', whose others are: visits")],
)
def test_the_metric_of_time_has_its_name_or_is_shown_by_it(name, shown, words, tmp_path):
    path = cube(tmp_path, random_times(1, 2), 2)
    expected = read(path).content.profile.regions
    with tarfile.open(path) as archive:
        members = {one.name: archive.extractfile(one).read() for one in archive.getmembers()}
    metric = f"<uniq_name>{name}</uniq_name><disp_name>{shown}</disp_name>".encode()
    members["anchor.xml"] = members["anchor.xml"].replace(b"<uniq_name>time</uniq_name>", metric)
    with tarfile.open(path, "w") as archive:
        for member, content in members.items():
            entry = tarfile.TarInfo(member)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    if words:
        with pytest.raises(FileError, match=words):
            read(path)
    else:
        assert read(path).content.profile.regions == expected


@pytest.mark.parametrize(
    "tool", ["Caliper", "Caliper JSON", "TAU", "HPCToolkit", "CUBE, packed", "Pipit"]
)
def test_mutilated_files_are_read_or_refused(tool, tmp_path):
    times = random_times(3, 2)
    path = WRITERS[tool](tmp_path, times, 2)
    file = next(
        one for one in (path, path / "profile.0.0.0", path / "experiment.xml") if one.is_file()
    )
    whole = file.read_bytes()
    for seed in range(60):
        draw, data = random.Random(seed), bytearray(whole)
        for _ in range(draw.randint(1, 5)):
            at = draw.randrange(len(data))
            data[at : at + draw.randint(0, 9)] = draw.randbytes(draw.randint(0, 3))
        file.write_bytes(data[: draw.randint(len(data) // 2, len(data))])
        sentence = ""
        try:
            read(file)
        except ParcastError as error:
            sentence = str(error)
        assert "\n" not in sentence


def test_values_that_unpack_to_more_than_there_is_room_for_are_refused(tmp_path):
    path = cube(tmp_path, random_times(1, 2), 2, packed=True)
    with tarfile.open(path) as archive:
        members = [(one.name, archive.extractfile(one).read()) for one in archive.getmembers()]
    bomb = zlib.compress(bytes(200 << 20))
    data = b"ZCUBEX.DATA" + struct.pack("<4q", 1, 0, 0, len(bomb)) + bomb
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            content = data if name == "4.data" else content  # noqa: PLW2901
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    with pytest.raises(FileError, match="more values than call paths and locations"):
        read(path)


def test_folders_and_files_without_a_suffix_are_recognized_by_their_content(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    times = random_times(2, 3)
    tau(folder, times, 3)
    assert REGISTRY.workload(folder).kind == "profile"
    assert REGISTRY.workload(folder / "profile.1.0.0").content.profile.processes == 3
    (folder / "profile.1.0.0").unlink()
    profile = REGISTRY.workload(folder).content.profile
    assert any("1 ranks, such as 1, are missing" in note for note in profile.notes)
    with contextlib.suppress(OSError):
        caliper(tmp_path, times, 3).rename(tmp_path / "run.data")
    assert REGISTRY.workload(tmp_path / "run.data").data["format"].startswith("Caliper")
