"""Every shipped program is right at every p, whatever the machine's eager limit."""

from __future__ import annotations

import numpy as np
import pytest

import parcast_workloads
from parcast import Query, Registry
from parcast.model.costs import Costs
from parcast.program.matching.channels import NOTHING
from parcast.program.matching.prepare import matched_program
from parcast.program.source.operations import RECEIVES, SENDS
from parcast.program.summary import tally
from parcast.testing import by_sweep, turn

REGISTRY = Registry([parcast_workloads])
PROGRAMS = [name for name, one in REGISTRY.workloads.items() if one.path.name.endswith(".py")]


def query(name: str, p: int, eager_limit: float | None = None, **parameters: float) -> Query:
    network = {"startup": 1, "bandwidth": 1}
    if eager_limit is not None:
        network["eager_limit"] = eager_limit
    machine = REGISTRY.machine({"name": "unit", "network": network})
    workload = REGISTRY.workload(name)
    return Query(workload=workload, machine=machine, p=p, parameters=parameters)


def test_eight_programs_and_two_variants_ship() -> None:
    assert PROGRAMS == [
        "allreduce-steps",
        "checkpointing-stencil",
        "master-worker",
        "master-worker-any",
        "master-worker-pool",
        "pipeline",
        "ring-matmul",
        "stencil2d",
        "transpose",
        "tree-reduction",
    ]


@pytest.mark.parametrize("eager_limit", [None, 0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_to_its_end_with_any_number_of_processes(
    name: str, eager_limit: float | None
) -> None:
    for p in turn(range(1, 34), 3):
        matched = matched_program(query(name, p, eager_limit), pools=True)
        sends, takes = (matched.columns.among(ops) for ops in (SENDS, RECEIVES))
        assert (matched.matching.sent_to[sends] != NOTHING).all()
        assert (matched.matching.received_from[takes] != NOTHING).all()


@pytest.mark.parametrize("p", [1, 2, 3, 8, 12, 64])
def test_the_work_of_a_ring_is_that_of_the_matrix_product(p: int) -> None:
    found = tally(REGISTRY.workload("ring-matmul").content.at(query("ring-matmul", p, n=64)))
    assert found.flops.sum() == pytest.approx(2 * 64**3)
    assert found.sent.sum() == pytest.approx(8 * 64**2 * (p - 1))


@pytest.mark.parametrize("p", [1, 2, 3, 8, 12, 49, 64])
def test_a_stencil_sends_both_ways_over_every_cut(p: int) -> None:
    at = query("stencil2d", p, n=840, steps=1)
    found = tally(at.workload.content.at(at))
    across = max(i for i in range(1, p + 1) if p % i == 0 and i * i <= p)
    along = p // across
    assert found.sent.sum() == pytest.approx(2 * 8 * 840 * (across - 1 + along - 1))
    assert found.flops.sum() == pytest.approx(5 * 840**2)


@pytest.mark.parametrize("name", ["master-worker", "master-worker-any"])
@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_a_farm_does_every_task_once(name: str, p: int) -> None:
    at = query(name, p, tasks=20, work=10, data=4, result=2)
    found = tally(at.workload.content.at(at))
    workers = found.flops if p == 1 else found.flops[1:]
    assert workers.sum() == 200
    if p > 1:
        assert found.messages[0] == found.messages[1:].sum() == 20
        assert np.ptp(workers) <= 10


@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_a_pool_does_every_task_once_and_evenly(p: int) -> None:
    network = {"startup": 2**-10, "bandwidth": 2**20}
    machine = REGISTRY.machine({"name": "m", "processor": {"rate": 1}, "network": network})
    workload = REGISTRY.workload("master-worker-pool")
    at = Query(workload=workload, machine=machine, p=p, parameters={"tasks": 24, "work": 10})
    unrolled = matched_program(at, pools=True).unrolled
    computed = [part.compute for part in by_sweep(unrolled, Costs.of(at, unrolled.needs())).parts]
    assert sum(computed) == 10 * (8 * 1 + 8 * 2 + 8 * 3)
    assert max(computed) - min(computed) <= 30


@pytest.mark.parametrize("p", [1, 2, 3, 8, 13])
def test_a_tree_takes_every_vector_once(p: int) -> None:
    at = query("tree-reduction", p, n=10, work=0)
    found = tally(at.workload.content.at(at))
    assert found.messages.tolist() == [0] + [1] * (p - 1)
    assert found.flops.sum() == 10 * (p - 1)


def test_a_checkpoint_holds_the_whole_grid() -> None:
    at = query("checkpointing-stencil", 6, n=60, steps=50, interval=10)
    assert tally(at.workload.content.at(at)).accessed.sum() == pytest.approx(5 * 8 * 3600)
