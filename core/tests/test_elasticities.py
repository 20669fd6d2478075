"""Whom a comparison asks again, with each number of the machine a little better."""

from __future__ import annotations

import pytest

from parcast import Lowering, SolverEntry

SOLVERS = '''
import attrs

from parcast import Prediction, Workload

class Traces:
    """A test."""

    def supports(self, query):
        return None

    def cost(self, query):
        return 0.5

    def solve(self, query):
        return Prediction(time=1 / query.machine.processor.rate, binding="processor")

def to_trace(workload, query):
    return Workload(name=workload.name, kind="trace", content=workload.content), ()

def cheap(query):
    return 0.5

def dear(query):
    return 1.75


class Either:
    """The time of the sooner of two: what is faster in either number is faster by all of it."""

    def supports(self, query):
        return None

    def cost(self, query):
        return 0.01

    def solve(self, query):
        machine = query.machine
        time = min(1e6 / machine.processor.rate, 1e6 / machine.network.bandwidth)
        return Prediction(time=time, binding="processor")
'''


def test_two_numbers_of_which_either_would_do_have_half_of_the_time_each(
    make_registry, workload, tmp_path, monkeypatch
):
    (tmp_path / "either_of_tests.py").write_text(SOLVERS)
    monkeypatch.syspath_prepend(tmp_path)
    entry = SolverEntry("phases.either", "phases", "either_of_tests:Either", "A test.")
    registry = make_registry(entries=[entry])
    table = {"name": "even", "processor": {"rate": 1e9}, "network": {"bandwidth": 1e9}}
    (row,) = registry.compare(workload, registry.machine(table), p=2).rows
    parts = row.details["elasticities"]
    assert parts.pop("rest", 0.0) == pytest.approx(0, abs=1e-9)
    assert parts == pytest.approx({"processor.rate": 0.5, "network.bandwidth": 0.5})


@pytest.mark.parametrize(("cost", "asked_again"), [(None, True), ("cheap", True), ("dear", False)])
def test_converting_again_counts(
    cost, asked_again, make_registry, workload, machine, tmp_path, monkeypatch
):
    (tmp_path / "conversions_of_tests.py").write_text(SOLVERS)
    monkeypatch.syspath_prepend(tmp_path)
    here = "conversions_of_tests"
    target = None if cost is None else f"{here}:{cost}"
    way = Lowering("phases", "trace", f"{here}:to_trace", "A test.", cost=target)
    entries = [SolverEntry("traces.one", "trace", f"{here}:Traces", "A test.")]
    registry = make_registry(entries=entries, hooks={"parcast_lowerings": lambda: [way]})
    (row,) = registry.compare(workload, machine, p=2).rows
    assert row.binding == ("processor.rate" if asked_again else "processor")
    assert any("would take too long" in note for note in row.notes) is not asked_again


@pytest.mark.parametrize(
    ("parts", "binding", "note"),
    [
        ("Parts(io=1.0, compute=0.5)", "storage", "bottleneck: the largest part of the time; "),
        ("None", None, "bottleneck: not known; "),
    ],
)
def test_a_bottleneck_that_is_not_asked_for_is_the_largest_part_or_said_to_be_unknown(
    parts, binding, note, make_registry, workload, machine, tmp_path, monkeypatch
):
    solver = SOLVERS.replace('binding="processor"', f"parts={parts}").replace("0.5\n", "9.0\n", 1)
    name = f"parts_{binding}_of_tests"
    (tmp_path / f"{name}.py").write_text(solver.replace("import Pred", "import Parts, Pred"))
    monkeypatch.syspath_prepend(tmp_path)
    way = Lowering("phases", "trace", f"{name}:to_trace", "A test.")
    entries = [SolverEntry("traces.one", "trace", f"{name}:Traces", "A test.")]
    registry = make_registry(entries=entries, hooks={"parcast_lowerings": lambda: [way]})
    (row,) = registry.compare(workload, machine, p=2).rows
    assert row.binding == binding
    assert any(line.startswith(note) for line in row.notes)
