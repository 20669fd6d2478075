"""What solvers state as their cost, by rank against the processor time that they take."""

from __future__ import annotations

import time

import numpy as np

from parcast import Registry
from parcast.comparison import Scenario, Settings, Task, resolve
from parcast.plugins.kernels import compiling

PROGRAMS = ("stencil2d", "ring-matmul", "allreduce-steps", "transpose", "pipeline", "token-ring")
SOLVERS = (
    "emulator.tc", "pamela.bound", "pamela.sim", "perturb.clocked", "petri.mean", "spmd.sio",
)  # fmt: skip


def tasks(registry):
    for program in PROGRAMS:
        for machine in ("ibm-sp2", "fat-tree-hdr"):
            scenario = Scenario(
                workload=registry.workload(program),
                machine=registry.machine(machine),
                settings=Settings.sort({}, registry, []),
            )
            for p in (4, 16, 64):
                query = scenario.query(registry, p, 1)
                for name in SOLVERS:
                    task = resolve(registry, name, query, scenario.settings)
                    if isinstance(task, Task):
                        yield name, task.query


def seconds(solver, query):
    """Return the least processor time of two solves, after one that loads what it needs."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        solver.solve(query)
        times.append(time.process_time() - begun)
    return min(times[1:])


def rank_correlation(pairs):
    first, second = (
        np.unique(column, return_inverse=True)[1] for column in zip(*pairs, strict=True)
    )
    return np.corrcoef(first, second)[0, 1]


def test_stated_costs_are_in_the_order_of_processor_times():
    registry = Registry()
    pairs: dict[str, list[tuple[float, float]]] = {}
    with compiling():
        for name, query in tasks(registry):
            solver = registry.solver(name)
            pairs.setdefault(name, []).append((solver.cost(query), seconds(solver, query)))
    everything = [pair for listed in pairs.values() for pair in listed]
    assert len(everything) > 150
    assert rank_correlation(everything) > 0.75
    for name in ("emulator.tc", "perturb.clocked", "petri.mean"):
        assert rank_correlation(pairs[name]) > 0.6, name
