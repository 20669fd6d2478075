"""A speedup's reference is lowered at its own p, not at the point's."""

from __future__ import annotations

import sys
import types

import attrs
import pytest

from parcast import Lowering, Prediction, Query, Registry, SolverEntry, Workload, hookimpl


class Solver:
    def supports(self, query: Query) -> str | None:
        return None

    def solve(self, query: Query) -> Prediction:
        return Prediction(time=query.workload.content / query.p)


def spell_out(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Double the work beyond one process: the content depends on p."""
    return attrs.evolve(workload, kind="spelled", content=8.0 * min(query.p, 2)), ()


@hookimpl
def parcast_solvers() -> list[SolverEntry]:
    return [SolverEntry("spelled", "spelled", "spelled_code:Solver", "Content over p.")]


@hookimpl
def parcast_lowerings() -> list[Lowering]:
    return [Lowering("phases", "spelled", "spelled_code:spell_out", "Spelled out.")]


def test_the_reference_is_lowered_at_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    code = types.ModuleType("spelled_code")
    vars(code).update(Solver=Solver, spell_out=spell_out)
    monkeypatch.setitem(sys.modules, "spelled_code", code)
    registry = Registry([sys.modules[__name__]])
    machine = {"name": "m", "processor": {"rate": 1}}
    rows = registry.compare({"name": "w", "phase": [{}]}, machine, p=[1, 4]).rows
    assert [row.time for row in rows] == [8.0, 4.0]
    assert [row.speedup for row in rows] == [1.0, 2.0]
