"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest
from parcast.testing import check_plugin, check_solver

import parcast_spmd
from parcast import Registry

REGISTRY = Registry([parcast_spmd])


def test_the_package_conforms() -> None:
    check_plugin(parcast_spmd)


@pytest.mark.parametrize("name", list(REGISTRY.solvers))
def test_a_solver_conforms(name: str) -> None:
    check_solver(REGISTRY, name)
