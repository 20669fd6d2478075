"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import pytest

import parcast_perturb
from parcast import Query
from parcast.program.reader import read_source
from parcast.testing import UNIT_MACHINE, check_family, check_plugin, check_solver, check_workload

SOURCE = '''"""A ring with work, a warm-up and a sum."""

def program(rank, size, n=4):
    compute(n)
    start()
    if size > 1:
        send((rank + 1) % size, 8 * n)
        recv((rank - 1) % size)
    r = irecv((rank - 1) % size, 1)
    isend((rank + 1) % size, 2, 1)
    compute(n * (rank + 1))
    waitall()
    allreduce(8)
'''


@pytest.mark.parametrize("policy", ["clocked", "upper", "lower"])
def test_the_package_conforms(policy):
    registry = check_plugin(parcast_perturb)
    workload = read_source(SOURCE, "ring.py", "ring")
    machine = registry.machine(UNIT_MACHINE)
    queries = [Query(workload=workload, machine=machine, p=p) for p in (1, 2, 3, 4)]
    assert len(check_solver(registry, f"perturb.{policy}", queries)) == 4
    assert set(check_family(registry, "perturb", queries)) == {"perturb.clocked"}


def test_the_token_ring_conforms():
    check_workload(check_plugin(parcast_perturb), "token-ring")
