"""Runs become a dataset that others predict, and the same command measures anew."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import parcast_score
from parcast import Prediction, Registry, SolverEntry, hookimpl
from parcast.errors import FileError, SolveError
from parcast.files import read_dataset
from parcast_score.board import predictors, score
from parcast_score.page import html
from parcast_score.runs import measure

WORKLOAD = """
name = "loop"
[[phase]]
bursts = 3
parallel = 1e9
"""
MACHINE = {"name": "host", "processor": {"rate": "2 GFLOP/s"}, "nodes": {"count": 1}}


class Clock:
    """A clock: runs at two processes at most, and every run takes a little longer."""

    runs = 0

    def supports(self, query):
        return "2 cores" if query.p > 2 else None

    def solve(self, query):
        Clock.runs += 1
        time = 1.5 / query.p + 0.001 * Clock.runs
        return Prediction(time=time, ci=(time * 1.01, time * 1.2))


@hookimpl
def parcast_solvers():
    yield SolverEntry("clock", "phases", "clock_plugin:Clock", "Measures.")


@pytest.fixture
def registry(monkeypatch):
    plugin = ModuleType("clock_plugin")
    plugin.Clock, plugin.parcast_solvers = Clock, parcast_solvers
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    return Registry([parcast_score, plugin])


def test_runs_are_a_dataset_and_measured_anew(registry, tmp_path):
    (tmp_path / "loop.toml").write_text(WORKLOAD)
    folder, workload = tmp_path / "runs", str(tmp_path / "loop.toml")
    refused = measure(registry, folder, [workload], MACHINE, (1, 2, 4), "clock")
    assert refused == ["loop at p=4: 2 cores"]
    first = read_dataset(folder)
    assert first.calibrating == ()
    assert [item.point.size for item in first.blind] == [1, 2]
    assert first.blind[0].low == first.blind[0].seconds < first.blind[0].high
    scored = score(registry, first, "clock")
    assert scored.blind.answered == 2
    assert 0 < scored.blind.worst < 0.01
    assert html([scored], lambda _: []).count("<svg") == 2  # of sizes, as nothing calibrates
    assert list(predictors(registry, first, ())) == []  # no family is installed here
    measure(registry, folder, [workload], MACHINE, (1, 2), "clock")
    assert read_dataset(folder).blind[0].seconds > first.blind[0].seconds


def test_another_dataset_is_not_written_over(registry, tmp_path):
    (tmp_path / "loop.toml").write_text(WORKLOAD)
    workload = str(tmp_path / "loop.toml")
    (tmp_path / "dataset.toml").write_text("name = 'mine'")
    with pytest.raises(FileError, match="holds another dataset"):
        measure(registry, tmp_path, [workload], MACHINE, (1,), "clock")
    with pytest.raises(SolveError, match="loop at p=8: 2 cores"):
        measure(registry, tmp_path / "runs", [workload], MACHINE, (8,), "clock")
    assert not (tmp_path / "runs").exists()
