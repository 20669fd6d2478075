"""Datasets of the scoreboard and ensembles of profiles are runs, as tables of times are."""

from __future__ import annotations

import contextlib
import json
import random
import re
from types import ModuleType

import pytest

import parcast_scaling
from parcast import Registry, Resource, hookimpl
from parcast.cli import app as command
from parcast.errors import FileError, ParcastError
from parcast_scaling.datasets import read_series
from parcast_scaling.reading import read_recorded, read_times

GRAPH = {
    "0": {"data": {"name": "main"}, "children": [1, 2], "parents": []},
    "1": {"data": {"name": "solve"}, "children": [3], "parents": [0]},
    "2": {"data": {"name": "MPI_Bcast"}, "children": [], "parents": [0]},
    "3": {"data": {"name": "halo"}, "children": [], "parents": [1]},
}

#: Processes, and seconds of each node by itself, in a mean process.
PROFILES = ((4, (1.0, 6.0, 0.5, 2.0)), (8, (0.5, 3.0, 0.75, 1.25)), (8, (0.5, 3.25, 0.75, 1.25)),
            (16, (0.25, 1.5, 1.0, 0.75)))  # fmt: skip


def ensemble(column="Avg time/rank", profiles=PROFILES, key="mpi.world.size"):
    """Return what Thicket writes, with times in one column."""
    rows, metadata = [], []
    for number, (p, own) in enumerate(profiles):
        values = list(own)
        if "inclusive" in column or column in {"Avg time/rank", "Max time/rank", "time (inc)",
                                               "Total time"}:  # fmt: skip
            values[1] += own[3]
            values[0] += values[1] + own[2]
        if column.startswith("sum#") or column == "Total time":
            values = [p * value for value in values]
        rows += [{"node": node, "profile": -number, "name": "x", column: value}
                 for node, value in enumerate(values)]  # fmt: skip
        metadata.append({"profile": -number, key: p, "cluster": "c", "side": 10 * p})
    return {"graph": [GRAPH], "dataframe_indices": ["node", "profile"], "dataframe": rows,
            "metadata": metadata}  # fmt: skip


@pytest.mark.parametrize(
    "column",
    ["Avg time/rank", "Max time/rank", "Avg time/rank (exc)", "time (inc)", "time", "Total time",
     "sum#inclusive#sum#time.duration", "sum#sum#time.duration"],
)  # fmt: skip
def test_an_ensemble_of_profiles_has_a_run_of_each(column, tmp_path):
    file = tmp_path / "e.json"
    file.write_text(json.dumps(ensemble(column)))
    times = read_times(str(file))
    assert [(run.p, run.seconds) for run in times.runs] == [
        (p, pytest.approx(sum(own))) for p, own in PROFILES
    ]
    assert column in times.remarks[0]


def test_regions_without_a_time_of_their_own_are_what_they_call(tmp_path):
    data = ensemble()
    data["dataframe"] = [row for row in data["dataframe"] if row["node"] != 0]
    data["dataframe"][0]["extra"] = None
    (tmp_path / "e.json").write_text(json.dumps(data))
    first = read_times(str(tmp_path / "e.json")).runs[0]
    assert first.seconds == pytest.approx(6 + 2 + 0.5)


def test_what_counts_processes_and_the_work_is_named(tmp_path):
    (tmp_path / "e.json").write_text(json.dumps(ensemble(key="nprocs")))
    with pytest.raises(FileError, match=r"no mpi.world.size or .* say which is p: .*#p=NAME"):
        read_times(str(tmp_path / "e.json"))
    times = read_times(f"{tmp_path / 'e.json'}#p=nprocs,n=side")
    assert times.varies
    assert [(run.p, run.n) for run in times.runs] == [(4, 40), (8, 80), (8, 80), (16, 160)]
    with pytest.raises(FileError, match=r"'main' is neither p=NAME nor n=NAME"):
        read_times(f"{tmp_path / 'e.json'}#main")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"node": 1,', '"node": 0,', "node 0 of profile 0 stands twice"),
        ('"Avg time/rank": 9.5', '"Avg time/rank": -9.5', "-9.5 of profile 0, node 0, must be a"),
        ('"Avg time/rank"', '"visits"', "no column of time, of 'Max time/rank'"),
        ('"mpi.world.size": 4', '"mpi.world.size": "many"', "mpi.world.size = 'many' must be a"),
        ('"mpi.world.size": 4', '"mpi.world.size": 4.5', "4.5 must be a whole number, 1 or more"),
        ('"metadata"', '"statsframe"', "not what Thicket's to_json() writes"),
    ],
)
def test_what_is_wrong_with_an_ensemble_is_a_sentence(old, new, sentence, tmp_path):
    (tmp_path / "e.json").write_text(json.dumps(ensemble()).replace(old, new))
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_times(str(tmp_path / "e.json"))


def test_mutilated_ensembles_are_read_or_refused(tmp_path):
    whole = json.dumps(ensemble())
    for seed in range(60):
        draw, text = random.Random(seed), list(whole)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 4)] = draw.choice(["", "1e999", "null", '"', "]", "-"])
        (tmp_path / "e.json").write_text("".join(text))
        with contextlib.suppress(ParcastError):
            times = read_times(str(tmp_path / "e.json"))
            assert times is None or all(run.seconds > 0 for run in times.runs)


DATASET = """
name = "mine"
summary = "Two codes"
source = "made up"
licence = "facts"
method = "by hand"
unit = "ms"
counts = "nodes"
remarks = ["The cluster was shared."]
[split]
blind = "largest"
[columns]
group = "text"
"""

POINTS = "series,size,value,group\n" + "".join(
    f"{name},{p},{1000 * (work / p + fixed):.6g},{group}\n"
    for name, group, work, fixed in (
        ("a|x", "a", 80, 1),
        ("b|x", "b", 9, 0.2),
        ("b|y", "b", 9, 0.3),
    )
    for p in (1, 2, 4, 8, 16)
)


@pytest.fixture
def registry(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "dataset.toml").write_text(DATASET)
    (tmp_path / "mine" / "points.csv").write_text(POINTS)
    module = ModuleType("parcast_mine")
    module.parcast_measurements = hookimpl(lambda: [Resource("by-hand", tmp_path / "mine")])
    module.parcast_measurements.__name__ = "parcast_measurements"
    return Registry([module, parcast_scaling])


def test_a_series_of_a_dataset_by_name_and_by_folder(registry, tmp_path):
    for spec in ("by-hand#a", "by-hand#a|x", f"{tmp_path}/mine#a"):
        times = read_series(registry, spec)
        assert [(run.p, run.seconds) for run in times.runs] == [(1, 81), (2, 41), (4, 21), (8, 11)]
        assert [(run.p, run.seconds) for run in times.blind] == [(16, 6)]
        assert (times.counts, times.varies) == ("nodes", False)
    both = read_series(registry, "by-hand#b")  # a group: each size was run twice
    assert len(both.runs) == 8
    assert read_series(registry, "stencil2d") is None
    for spec, sentence in (
        ("by-hand", "by-hand has 2 series (a, b); name one, such as 'by-hand#a'"),
        ("by-hand#c", "no series of mine is 'c'. There are a, b"),
    ):
        with pytest.raises(FileError, match=re.escape(sentence)):
            read_series(registry, spec)


def test_blind_points_are_predicted_and_never_used(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    arguments = ["scaling", "by-hand#a", "-p", "16", "--json"]
    assert command.main(arguments) == 0
    before = json.loads(capsys.readouterr().out)
    assert [run["seconds"] for run in before["left_out"]] == [6]
    (tmp_path / "mine" / "points.csv").write_text(POINTS.replace("a|x,16,6000", "a|x,16,600"))
    assert command.main(arguments) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["bands"] == before["bands"]
    assert command.main(["scaling", "by-hand#a", "--hold-out", "8", "--to", "16"]) == 0
    out = capsys.readouterr().out
    assert "by-hand#a: 3 runs at nodes = 1, 2, 4;" in out
    assert "nodes=8 left out: 11 s, inside" in out
    assert "nodes=16 left out: 600 ms, outside" in out
    assert "The cluster was shared." in out


def test_blind_points_of_other_work_are_said_to_be_not_compared(
    registry, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    works = {1: 1, 2: 2, 4: 2, 8: 8}
    points = "series,size,value,work\n" + "".join(
        f"a,{p},{100 + p},{work}\n" for p, work in works.items()
    )
    toml = tmp_path / "mine" / "dataset.toml"
    toml.write_text(DATASET.partition("[columns]")[0])
    (tmp_path / "mine" / "points.csv").write_text(points)
    assert command.main(["scaling", "by-hand", "-p", "8"]) == 0
    out = capsys.readouterr().out
    assert "not compared: 1 left out with other work than is predicted" in out
    assert "predicted for the work n = 2 of the largest measured p" in out


def test_work_that_grows_as_p_is_weak_scaling_unasked(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    points = "series,size,value,work\n" + "".join(f"a,{p},{100 + p},{p}\n" for p in (1, 2, 4, 8))
    toml = tmp_path / "mine" / "dataset.toml"
    toml.write_text(DATASET.partition("[columns]")[0])
    (tmp_path / "mine" / "points.csv").write_text(points)
    assert command.main(["scaling", "by-hand", "-p", "8"]) == 0
    plain = capsys.readouterr().out
    assert "nodes=8 left out: 108 ms, inside" in plain
    assert "predicted for a work that grows as p: n = 1 p" in plain
    assert command.main(["scaling", "by-hand", "-p", "8", "--weak"]) == 0
    assert capsys.readouterr().out == plain


def _recorded(folder, ranks, computed):
    """Write a run whose ranks meet, compute so many milliseconds, and meet."""
    calls = [
        {"kind": "barrier", "t_start": start, "t_end": start + 10}
        for start in (100, 110 + computed)
    ]
    run = {"nranks": ranks, "unit": "1 ms", "ranks": [calls] * ranks}
    file = folder / f"run-{ranks}.json"
    file.write_text(json.dumps(run))
    return str(file)


def test_traces_are_times_and_their_amounts_propose_terms(tmp_path, capsys):
    files = [_recorded(tmp_path, p, 4000 / p) for p in (2, 4, 8)]
    times = read_recorded(Registry(), files)
    assert [(run.p, run.seconds) for run in times.runs] == [(2, 2.02), (4, 1.02), (8, 0.52)]
    machine = tmp_path / "m.toml"
    machine.write_text(
        "[processor]\nrate = '1e9'\n[network]\nstartup = '1 us'\nbandwidth = '1 GB/s'\n"
    )
    for options in (["--to", "16"], ["-p", "16"], ["--on", str(machine), "--to", "16"]):
        assert command.main(["scaling", *files, *options]) == 0
        assert "3 runs at p = 2, 4, 8;" in capsys.readouterr().out
    assert command.main(["scaling", *files, "--on", str(machine), "-p", "16"]) == 0
    assert "formula of p" in capsys.readouterr().out
    with pytest.raises(FileError, match=r"stencil2d is no trace, as .* is; give traces alone"):
        read_recorded(Registry(), [*files, "stencil2d"])


def test_files_of_ensembles_are_one_table(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(ensemble(profiles=PROFILES[:1])))
    (tmp_path / "b.json").write_text(json.dumps(ensemble(profiles=PROFILES[1:])))
    assert command.main(["scaling", "a.json", "b.json", "-p", "32", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["p"] for run in answer["runs"]] == [4, 8, 8, 16]
    assert command.main(["scaling", "a.json", "by-hand#a"]) == 2
    assert "are two tables of times" in capsys.readouterr().err
    arguments = ["scaling", "b.json", "a.json", "--worth-measuring", "1", "--measure", "true {p}"]
    assert command.main(arguments) == 2
    assert "--measure adds rows to a table (.csv) of p and time" in capsys.readouterr().err
