"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest

import parcast_pamela
from parcast import Registry
from parcast.testing import check_family, check_plugin, check_solver, check_workload, turn
from parcast.testing.queries import standard_queries

REGISTRY = Registry([parcast_pamela])


def test_the_package_conforms() -> None:
    check_plugin(parcast_pamela)


#: Models of few events, for the simulator
SMALL = {"machine-repair", "unit-pipeline", "branching", "memory-banks", "vector-scale"}


@pytest.mark.parametrize("name", list(REGISTRY.solvers))
def test_a_solver_conforms(name: str) -> None:
    queries = [
        query
        for query in standard_queries(REGISTRY, "pamela")
        if query.d == 1
        and query.machine.storage.layout == "bus"
        and (name != "pamela.sim" or query.workload.name in SMALL)
    ]
    check_solver(REGISTRY, name, turn(queries, 6), absolute="a model has times of its own")


def test_the_family_conforms() -> None:
    assert set(check_family(REGISTRY, "pamela", standard_queries(REGISTRY, "pamela"))) == {
        "pamela.bound"
    }


@pytest.mark.parametrize("name", list(REGISTRY.workloads))
def test_a_workload_conforms(name: str) -> None:
    check_workload(REGISTRY, name)
