"""What solvers state as their cost, beside the operations that they follow.

How near stated costs are to processor times is measured by ``core/benchmarks/costs.py``.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from parcast import Registry
from parcast.comparison import Scenario, Settings, Task, resolve
from parcast.program.matching import matched_program

PROGRAMS = ("stencil2d", "ring-matmul", "allreduce-steps", "transpose", "pipeline", "token-ring")
FOLLOWING = ("emulator.tc", "perturb.clocked", "petri.mean")
FORMULAS = ("pamela.bound", "spmd.sio")
PROCESSES = (4, 16, 64)


@pytest.mark.parametrize("program", PROGRAMS)
def test_stated_costs_grow_with_what_is_followed_and_are_least_for_formulas(program):
    registry = Registry()
    scenario = Scenario(
        workload=registry.workload(program),
        machine=registry.machine("ibm-sp2"),
        settings=Settings.sort({}, registry, []),
    )
    operations, costs = [], {name: [] for name in FOLLOWING + FORMULAS}
    for p in PROCESSES:
        query = scenario.query(registry, p, 1)
        operations.append(matched_program(query).unrolled.count())
        for name, stated in costs.items():
            task = resolve(registry, name, query, scenario.settings)
            assert isinstance(task, Task), task
            stated.append(registry.solver(name).cost(task.query))
    for name in FOLLOWING:
        for (few, more), (less, cost) in zip(
            pairwise(operations), pairwise(costs[name]), strict=True
        ):
            assert few < more
            assert less < cost < less * more / few * 1.01, name  # an answer itself has a cost too
    for name in FORMULAS:
        assert max(costs[name]) < min(min(costs[other]) for other in FOLLOWING), name
