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

#: By how much an operation's cost grows over one step of the processes: where links are shared,
#: it grows with all who share them.
GROWTH = {"ibm-sp2": 1.01, "fat-tree-hdr": 2.0}


@pytest.mark.parametrize("machine", GROWTH)
@pytest.mark.parametrize("program", PROGRAMS)
def test_stated_costs_grow_with_what_is_followed_and_are_least_for_formulas(program, machine):
    registry = Registry()
    scenario = Scenario(
        workload=registry.workload(program),
        machine=registry.machine(machine),
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
            assert less < cost < less * more / few * GROWTH[machine], name
    for name in FORMULAS:
        assert max(costs[name]) < min(min(costs[other]) for other in FOLLOWING), name
