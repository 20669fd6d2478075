from __future__ import annotations

import parcast_daly
import pytest

from parcast import Registry
from parcast.testing import check_machine, check_plugin, check_solver, check_workload


@pytest.fixture(scope="module")
def registry() -> Registry:
    return check_plugin(parcast_daly)


def test_the_solver_keeps_what_a_solver_promises(registry: Registry) -> None:
    predictions = check_solver(registry, "daly")
    assert any(prediction.time for prediction in predictions)


def test_the_machine_and_the_workload_are_described(registry: Registry) -> None:
    check_machine(registry, "failing-nodes")
    check_workload(registry, "long-job")
