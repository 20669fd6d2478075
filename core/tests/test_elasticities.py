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
'''


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
