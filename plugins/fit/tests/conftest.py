"""Two cheap solvers, so that the tests need no other plugin."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import parcast_fit
from parcast import Parts, Prediction, Registry, SolverEntry, hookimpl


class Adds:
    """Work, messages, bytes and I/O add up."""

    def supports(self, query):
        return "takes at most 512 processes" if query.p > 512 else None

    def solve(self, query):
        return self.solve_many([query])[0]

    def solve_many(self, queries):
        made = []
        for query in queries:
            (phase,) = query.workload.content.at(query)
            machine = query.machine
            compute = (phase.parallel / query.p + phase.serial) / machine.processor.rate
            sent = (
                phase.messages * machine.network.startup + phase.bytes / machine.network.bandwidth
            )
            parts = Parts(compute=compute, communication=sent, io=phase.io_bytes / query.d)
            details = {"binds": "work" if compute > 2 * sent else "messages"}
            made.append(Prediction(time=parts.total, parts=parts, details=details))
        return made


class Queues:
    """The paper's BUS-AIO by mean value analysis: a delay, the bus and the I/O node."""

    def supports(self, query):
        return None

    def solve(self, query):
        (phase,) = query.workload.content.at(query)
        network, storage = query.machine.network, query.machine.storage
        compute = phase.parallel / query.p + phase.serial
        transfer = phase.bytes / network.bandwidth
        level = network.contention_level
        delay = compute + phase.messages * network.startup + (1 - level) * transfer
        demands = np.array([
            level * transfer,
            storage.startup + phase.io_bytes / storage.bandwidth / query.d / query.p,
        ])  # fmt: skip
        lengths = np.zeros(2)
        for jobs in range(1, query.p + 1):
            response = demands * (1 + lengths)
            lengths = jobs / (delay + response.sum()) * response
        parts = Parts(compute, delay - compute + response[0], response[1])
        return Prediction(time=parts.total, parts=parts)


@pytest.fixture(scope="session")
def registry():
    module = ModuleType("parcast_cheap")
    module.Adds, module.Queues = Adds, Queues
    module.parcast_solvers = hookimpl(
        lambda: [
            SolverEntry("adds", "phases", "parcast_cheap:Adds", "It adds up."),
            SolverEntry("queues", "phases", "parcast_cheap:Queues", "It queues."),
        ]
    )
    module.parcast_solvers.__name__ = "parcast_solvers"
    sys.modules["parcast_cheap"] = module
    made = Registry([module, parcast_fit])
    assert made.problems == ()
    return made


@pytest.fixture
def machine():
    return {
        "name": "m",
        "processor": {"rate": "1 GFLOP/s"},
        "network": {"startup": "1 ms", "bandwidth": "10 MB/s"},
        "storage": {"disks": 4},
    }


@pytest.fixture
def workload():
    return {
        "name": "w",
        "parameters": {"work": 1e10, "serial": 2e8},
        "phase": [{"parallel": "work", "serial": "serial", "messages": "6*sqrt(p)",
                   "bytes": "1e6"}],
    }  # fmt: skip
