"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest

import parcast_spmd
from parcast import Registry
from parcast.plugins import load
from parcast.testing import check_plugin, check_solver, standard_queries, turn

REGISTRY = Registry([parcast_spmd])


def test_the_package_conforms() -> None:
    check_plugin(parcast_spmd)


@pytest.mark.parametrize("name", list(REGISTRY.solvers))
def test_a_solver_conforms(name: str) -> None:
    solver = load(REGISTRY.solvers[name].target)()
    if reason := getattr(solver, "missing", lambda: None)():
        pytest.skip(reason)
    queries = standard_queries(REGISTRY, "phases")
    # Simulations are slow, and the queries much alike
    check_solver(REGISTRY, name, turn(queries, 18 if name == "spmd.sim" else 3))
