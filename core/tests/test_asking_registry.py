"""Whoever asks, everything below uses the plugins and machines of that registry alone."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from parcast import Machine, ParcastError, Prediction, Registry, Resource, SolverEntry, hookimpl
from parcast.testing import cases, seeds

ROOT = Path(__file__).parents[2]

#: Who begins: the command, a worker that is sent what another process asks, and one that compiles.
BEGINNERS = {"cli/app.py", "cli/options.py", "study/work.py", "testing/plugin.py", "warming.py"}

MACHINE = {"processor": {"rate": 1}}
WORKLOAD = {"name": "w", "phase": [{"parallel": 1}]}


@attrs.frozen(kw_only=True)
class Before:
    before: Machine | None = None
    word: str = ""


class Moves:
    """The time is the rate of the machine that the option names."""

    def supports(self, query):
        return None if query.options.before else "name a machine: moves.before"

    def solve(self, query):
        return Prediction(time=query.options.before.processor.rate)


@pytest.fixture
def third_party(monkeypatch, tmp_path):
    """Return a function that makes a registry with a solver and machines that nobody installed."""
    monkeypatch.setitem(sys.modules, "parcast_moving", module := ModuleType("parcast_moving"))
    module.Moves, module.Before = Moves, Before

    def make(rates):
        plugin = ModuleType("parcast_moving_plugin")
        for name, rate in rates.items():
            text = json.dumps({"name": name, "processor": {"rate": rate}})
            (tmp_path / f"{name}.json").write_text(text)
        machines = [Resource(name, tmp_path / f"{name}.json") for name in rates]
        options = "parcast_moving:Before"
        solver = SolverEntry("moves.one", "phases", "parcast_moving:Moves", "", options=options)
        plugin.parcast_machines = hookimpl(lambda: machines)
        plugin.parcast_solvers = hookimpl(lambda: [solver])
        return Registry([plugin])

    return make


@pytest.mark.parametrize("prefix", ["moves", "moves.one"])
def test_an_option_finds_a_machine_of_the_registry_that_asks(third_party, tmp_path, prefix):
    registry = third_party({"mymachine": 7, "d": 5})
    (tmp_path / "old.json").write_text('{"processor": {"rate": 3}}')
    name = f"{prefix}.before"
    names = ["mymachine", "d", str(tmp_path / "old.json"), registry.machine("mymachine")]
    rows = [registry.compare(WORKLOAD, MACHINE, p=1, settings={name: one}).rows[0] for one in names]
    assert [row.time for row in rows] == [7, 5, 3, 7]
    assert [row.params[name] for row in rows] == ["mymachine", "d", "old", "mymachine"]
    assert registry.predict(WORKLOAD, MACHINE, "moves", settings={name: "d"}).time == 5
    with pytest.raises(ParcastError, match=rf"{name}: No machine is called 'mymachin'.*mymachine"):
        registry.compare(WORKLOAD, MACHINE, p=1, settings={name: "mymachin"})


def test_a_study_knows_a_machine_by_its_numbers(third_party, tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(
        'workload = "w.json"\nmachine = "m.json"\np = [1]\n'
        '[set]\n"moves.before" = ["mymachine", "old.json"]\n'
    )
    (tmp_path / "w.json").write_text(json.dumps(WORKLOAD))
    (tmp_path / "m.json").write_text(json.dumps(MACHINE))
    (tmp_path / "old.json").write_text('{"name": "old", "processor": {"rate": 3}}')
    spec = importlib.util.find_spec("json")  # of any file, so that answers are kept
    monkeypatch.setattr(sys.modules["parcast_moving"], "__spec__", spec)
    for rate in (7, 8):
        results = third_party({"mymachine": rate}).study(
            tmp_path / "study.toml", executor="threads:2", cache=tmp_path / "cache"
        )
        assert [row.time for row in results.rows] == [rate, 3]
        shown = results.to_dict()["provenance"]["settings"]
        assert shown == {"moves.before": ["mymachine", "old"]}


@pytest.mark.parametrize("seed", seeds(cases(20)))
def test_registries_with_the_same_names_never_meet(third_party, seed):
    drawn = random.Random(seed)
    names = ["a", "b", "ibm-sp2", "p", "1", "exp:1", "=x", "27 +- 1", "true"]
    asked = []
    for _ in range(3):
        rates = {name: drawn.randint(1, 99) for name in drawn.sample(names, 3)}
        asked.append((third_party(rates), drawn.choice(list(rates)), rates))
    for registry, name, rates in drawn.sample(asked, 3):
        expected = json.loads(Path(str(registry.machines[name].path)).read_text())
        found = registry.compare(WORKLOAD, MACHINE, p=1, settings={"moves.before": name})
        assert found.rows[0].time == expected["processor"]["rate"]
        assert name in rates


def test_nothing_below_a_registry_makes_one():
    made = [
        path.as_posix()
        for path in [*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Registry"
    ]
    wrong = [path for path in made if not any(path.endswith(f"/{one}") for one in BEGINNERS)]
    assert wrong == []
    assert len(made) >= len(BEGINNERS)
