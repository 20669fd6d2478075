"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest

import parcast_pamela
from parcast import Registry
from parcast.testing import check_family, check_plugin, check_solver, check_workload
from parcast.testing.queries import standard_queries

REGISTRY = Registry([parcast_pamela])


def test_the_package_conforms() -> None:
    check_plugin(parcast_pamela)


@pytest.mark.parametrize("name", list(REGISTRY.solvers))
def test_a_solver_conforms(name: str) -> None:
    check_solver(REGISTRY, name, absolute="a model has times of its own")


def test_the_family_conforms() -> None:
    assert set(check_family(REGISTRY, "pamela", standard_queries(REGISTRY, "pamela"))) == {
        "pamela.bound"
    }


@pytest.mark.parametrize("name", list(REGISTRY.workloads))
def test_a_workload_conforms(name: str) -> None:
    check_workload(REGISTRY, name)
