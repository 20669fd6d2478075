"""A comparison spends no more than its budget on solvers that nobody named."""

from __future__ import annotations

import importlib

import pytest

from parcast import Lowering, SolverEntry, Status
from parcast.cli import main

COSTS = '''
import attrs

from parcast import Prediction

class Costly:
    """A test."""

    def supports(self, query):
        return None

    def cost(self, query):
        return float(query.p)

    def solve(self, query):
        return Prediction(time=1.0)

class Quick(Costly):
    """A test."""

    cost = lambda self, query: 0.0

CONVERTED = []

def convert(workload, query):
    CONVERTED.append(query.p)
    return attrs.evolve(workload, kind="costly"), ()

def twice(workload, query):
    CONVERTED.append("twice")
    return attrs.evolve(workload, kind="twice"), ()

def conversion(query):
    return float(query.p)

class Free(Costly):
    """A test."""

    cost = lambda self, query: None
'''


@pytest.fixture
def registry(make_registry, tmp_path, monkeypatch):
    (tmp_path / "costs_of_tests.py").write_text(COSTS)
    monkeypatch.syspath_prepend(tmp_path)
    entries = [
        SolverEntry("costly.one", "phases", "costs_of_tests:Costly", "A test."),
        SolverEntry("free.one", "phases", "costs_of_tests:Free", "A test."),
    ]
    return make_registry(entries=entries)


def statuses(results):
    return {(row.solver.partition(".")[0], row.p): row.status for row in results.rows}


def test_the_cheap_points_are_solved_first(registry, workload, machine):
    results = registry.compare(workload, machine, p=[8, 1, 4, 2], budget=8)
    refused = {point for point, status in statuses(results).items() if status is Status.REFUSED}
    assert refused == {("costly", 8)}
    (row,) = (row for row in results.rows if row.status is Status.REFUSED)
    assert row.message == (
        "takes about 8 s, and 1 s is left of the budget of 8 s; name it (-s costly.one), or allow "
        "more (--budget)"
    )


def test_a_conversion_beyond_the_budget_is_not_begun(
    make_registry, workload, machine, tmp_path, monkeypatch
):
    (tmp_path / "costs_of_tests.py").write_text(COSTS)
    monkeypatch.syspath_prepend(tmp_path)
    way = Lowering(
        "phases", "costly", "costs_of_tests:convert", "A test.", cost="costs_of_tests:conversion"
    )
    solver = SolverEntry("costly.two", "costly", "costs_of_tests:Quick", "A test.")
    registry = make_registry(entries=[solver], hooks={"parcast_lowerings": lambda: [way]})
    results = registry.compare(workload, machine, p=[1, 4, 2, 8], budget=6)
    refused = [row for row in results.rows if row.status is Status.REFUSED]
    assert [row.p for row in refused] == [2, 8]  # 1 and 4 leave a second
    assert refused[0].message.startswith("takes about 2 s, and 1 s is left of the budget of 6 s")
    assert refused[1].message.startswith("takes about 8 s, beyond the budget of 6 s")
    assert sorted(set(importlib.import_module("costs_of_tests").CONVERTED)) == [1, 4]


def test_where_two_conversions_take_long_nothing_is_asked_again(
    make_registry, workload, machine, tmp_path, monkeypatch
):
    (tmp_path / "costs_of_tests.py").write_text(COSTS)
    monkeypatch.syspath_prepend(tmp_path)
    module = "costs_of_tests"
    ways = [
        Lowering("phases", "costly", f"{module}:convert", "A test.", cost=f"{module}:conversion"),
        Lowering("costly", "twice", f"{module}:twice", "A test.", cost=f"{module}:conversion"),
    ]
    solver = SolverEntry("twice.one", "twice", f"{module}:Quick", "A test.")
    registry = make_registry(entries=[solver], hooks={"parcast_lowerings": lambda: ways})
    asked = importlib.import_module(module).CONVERTED
    asked.clear()
    registry.compare(workload, machine, p=[1], solvers="twice")
    assert asked.count("twice") > 2  # 2 s, as much as elasticities may take for an answer
    asked.clear()
    registry.compare(workload, machine, p=[2], solvers="twice")
    assert asked.count("twice") <= 2


def test_who_is_named_is_asked_whatever_it_costs(registry, workload, machine):
    results = registry.compare(workload, machine, p=[8, 4], solvers="costly", budget=1)
    assert {*statuses(results).values()} == {Status.OK}


def test_without_a_budget_all_are_asked(registry, workload, machine):
    results = registry.compare(workload, machine, p=[800, 4])
    assert {*statuses(results).values()} == {Status.OK}


@pytest.mark.parametrize("text", ["5x", "-1 s", "", "soon"])
def test_a_budget_that_is_no_time_is_refused(text, capsys):
    assert main(["compare", "btio", "ibm-sp2", "-p", "1", "--budget", text]) == 2
    assert "--budget" in capsys.readouterr().err
