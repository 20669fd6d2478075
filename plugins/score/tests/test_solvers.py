"""Solvers as predictors: what is fitted comes from the points that calibrate alone."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType

import attrs
import pytest

import parcast_score
from parcast import Prediction, Registry, SolverEntry, hookimpl
from parcast.files import read_dataset
from parcast.model import Measured, Point, Question
from parcast.testing import seeds
from parcast_score import board
from parcast_score.baselines import work_line
from parcast_score.board import score

MACHINE = """
name = "m"
[processor]
rate = "1 GFLOP/s"
[network]
startup = "10 us"
bandwidth = "1 GB/s"
contention = "none"
"""
WORKLOAD = """
name = "w"
[parameters]
work = 1e9
steps = 10
[[phase]]
bursts = "steps"
parallel = "work"
messages = 2
bytes = "1 MB"
"""
TABLE = """
name = "made"
summary = "Made by a formula"
source = "this test"
licence = "CC0-1.0"
method = "computed"
unit = "s"
counts = "processes"
[split]
blind = "largest"
[columns]
steps = "1"
[modeling]
workload = "w.toml"
machine = "m.toml"
p = "size"
settings = ["steps"]
fit = "work"
solvers = ["plain"]
"""


class Plain:
    """work steps / p and messages: the phases' numbers as they stand."""

    def supports(self, query):
        return None

    def solve(self, query):
        (phase,) = query.workload.content.at(query)
        messages = phase.bursts * phase.messages * 1e-4 if query.p > 1 else 0.0
        time = phase.bursts * phase.parallel / query.p / 1e9 + messages
        return Prediction(time=time, binding="processor" if messages < time / 2 else "network")


@hookimpl
def parcast_solvers():
    yield SolverEntry("plain", "phases", "plain_plugin:Plain", "As it stands.")


@pytest.fixture
def registry(monkeypatch):
    plugin = ModuleType("plain_plugin")
    plugin.Plain, plugin.parcast_solvers = Plain, parcast_solvers
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    return Registry([parcast_score, plugin])


def dataset_of(tmp_path, work, table=TABLE):
    lines = [
        f"a,{p},{steps * work / p / 1e9 + (2e-4 * steps if p > 1 else 0):.12g},{steps}"
        for p, steps in ((1, 10), (4, 20), (16, 30))
    ]
    (tmp_path / "points.csv").write_text("series,size,value,steps\n" + "\n".join(lines) + "\n")
    (tmp_path / "dataset.toml").write_text(table)
    (tmp_path / "w.toml").write_text(WORKLOAD)
    (tmp_path / "m.toml").write_text(MACHINE)
    return read_dataset(tmp_path)


def test_the_fitted_number_is_the_one_the_points_were_made_of(registry, tmp_path):
    for seed in seeds(5):
        work = 10 ** random.Random(seed).uniform(6, 12)
        scored = score(registry, dataset_of(tmp_path, work), "plain")
        assert scored.blind.answered == 1
        assert scored.blind.worst == pytest.approx(0, abs=1e-4)
        assert scored.calibrated.worst == pytest.approx(0, abs=1e-4)


def test_without_a_fit_the_workload_is_as_it_stands(registry, tmp_path):
    data = dataset_of(tmp_path, 2e9, TABLE.replace('fit = "work"\n', ""))
    scored = score(registry, data, "plain")
    assert scored.blind.bias == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('fit = "work"', 'fit = "wrok"', "modeling.fit = 'wrok' is no parameter above 0"),
        ('"w.toml"', '"{code}.toml"', "there is no column 'code'"),
        ('"m.toml"', '"nowhere"', "No machine is called 'nowhere'"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_told_of_every_point(
    registry, tmp_path, old, new, message
):
    scored = score(registry, dataset_of(tmp_path, 2e9, TABLE.replace(old, new)), "plain")
    assert scored.blind.answered == 0
    (reason,) = scored.blind.refused
    assert message in reason


def test_a_fit_that_no_number_meets_is_refused(registry, tmp_path):
    dataset_of(tmp_path, 1e9)
    lines = "".join(f"a,{p},0.001,10\n" for p in (4, 8, 16))  # messages alone take 0.002 s
    (tmp_path / "points.csv").write_text("series,size,value,steps\n" + lines)
    scored = score(registry, read_dataset(tmp_path), "plain")
    (reason,) = scored.blind.refused
    assert "whatever work is, predictions are longer than what is measured" in reason


def test_a_predictor_that_fails_has_failed_at_every_point(registry, tmp_path, monkeypatch):
    data = dataset_of(tmp_path, 2e9)
    monkeypatch.setattr(board, "_predict", lambda *_: lambda question: 1 / 0)
    assert list(score(registry, data, "ideal").blind.refused) == [
        "ZeroDivisionError('division by zero')"
    ]
    monkeypatch.setattr(board, "_predict", lambda *_: lambda question: [])
    assert list(score(registry, data, "ideal").blind.refused) == ["0 predictions for 3 points"]


def test_a_line_of_work_per_size_is_found(tmp_path):
    for seed in seeds(20):
        draw = random.Random(seed)
        fixed, rate = draw.uniform(0, 5), draw.uniform(0.1, 5)
        points = [
            Point(f"s{i}", draw.randrange(1, 64), draw.uniform(1, 99), {"group": "g"})
            for i in range(6)
        ]
        known = [Measured(point, fixed + rate * point.work / point.size) for point in points]
        question = Question(
            dataset="d", counts="nodes", calibrating=tuple(known[:4]), points=tuple(points)
        )
        found = [prediction.time for prediction in work_line(question)]
        assert found == pytest.approx([item.seconds for item in known])


def test_the_bottleneck_is_the_part_that_decides_most_of_the_time():
    """As runs with a faster network and with faster processors show it, on a star and on a bus."""
    registry = Registry()
    dataset = read_dataset(Path(str(registry.measurements["smpi"].path)))
    chosen = {("ring|star", 32): "processor", ("ring|bus", 32): "network"}
    blind = [item for item in dataset.blind if (item.point.series, item.point.size) in chosen]
    assert [item.bottleneck for item in blind] == list(chosen.values())
    for solver in ("pamela", "spmd"):
        scored = score(registry, attrs.evolve(dataset, blind=tuple(blind)), solver)
        assert [answer.prediction.binding for answer in scored.answers] == list(chosen.values())
        assert scored.blind.bottlenecks == (2, 2)


def test_a_peer_that_is_not_installed_is_asked_when_named_alone(registry, tmp_path, monkeypatch):
    dataset = dataset_of(tmp_path, 1e9)
    monkeypatch.setattr(Plain, "missing", lambda _: "pip install plain brings it", raising=False)
    assert board.absent(registry, dataset)["plain"] == "pip install plain brings it"
    assert "plain" not in list(board.predictors(registry, dataset, ()))
    assert list(board.predictors(registry, dataset, ["plain"])) == ["plain"]
    monkeypatch.setattr(Plain, "missing", lambda _: None)
    assert "plain" in list(board.predictors(registry, dataset, ()))


def test_what_a_dataset_names_and_nobody_knows_is_said(registry, tmp_path):
    table = TABLE.replace('["plain"]', '["plain", "plane"]').replace("m.toml", "n.toml")
    dataset = dataset_of(tmp_path, 1e9, table)
    assert board.absent(registry, dataset)["plane"] == (
        "no solver of this name is installed. Did you mean 'plain'?"
    )
    (reason,) = score(registry, dataset, "plain").blind.refused
    assert reason.startswith("modeling.machine = 'n.toml': ")
