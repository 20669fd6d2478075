"""A cheap solver of phases, so that the tests need no other plugin."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import parcast_scaling
from parcast import Parts, Prediction, Registry, SolverEntry, hookimpl


class Adds:
    """Work and messages add up."""

    def supports(self, query):
        return None

    def solve(self, query):
        (phase,) = query.workload.content.at(query)
        machine = query.machine
        compute = (phase.parallel / query.p + phase.serial) / machine.processor.rate
        sent = phase.messages * machine.network.startup + phase.bytes / machine.network.bandwidth
        parts = Parts(compute=compute, communication=sent)
        return Prediction(time=parts.total, parts=parts)


@pytest.fixture(scope="session")
def registry():
    module = ModuleType("parcast_adds")
    module.Adds = Adds
    module.parcast_solvers = hookimpl(
        lambda: [SolverEntry("adds", "phases", "parcast_adds:Adds", "It adds up.")]
    )
    module.parcast_solvers.__name__ = "parcast_solvers"
    sys.modules["parcast_adds"] = module
    registry = Registry([module, parcast_scaling])
    assert registry.problems == ()
    return registry


@pytest.fixture
def machine():
    return {
        "name": "m",
        "processor": {"rate": "1 GFLOP/s"},
        "network": {"startup": "1 ms", "bandwidth": "10 MB/s"},
        "storage": {"disks": 4},
    }
