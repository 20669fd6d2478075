"""Every shipped program, every family: the reference without contention, a bound below it."""

from __future__ import annotations

import pytest

import parcast_workloads
from parcast import Query, Registry, Row
from parcast.model.costs import Costs
from parcast.model.machine import Machine
from parcast.program.matching.prepare import matched_program
from parcast.testing import Reference, by_sweep, turn

REGISTRY = Registry()
PROGRAMS = [
    name
    for name in Registry([parcast_workloads]).workloads
    if REGISTRY.workload(name).kind == "program"
]
SIZES = [1, 2, 3, 4, 7, 8, 16]

#: Families whose ideal mode is the reference, and the one that is below it.
EQUAL = ("petri.mean", "perturb.clocked", "emulator.tc")
BOUND = "pamela.bound"

#: Row 12 of the table: balanced, and nothing of a message is hidden behind work.
UNOVERLAPPED = ("allreduce-steps",)


def dyadic(layout: str) -> Machine:
    """Return a machine without contention on which sums are exact in floats."""
    return REGISTRY.machine(
        {
            "name": "dyadic",
            "processor": {"rate": 2**20},
            "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "none"},
            "storage": {"startup": 2**-8, "bandwidth": 2**20, "layout": layout},
        }
    )


def answers(name: str, machine: Machine, p: int, d: int) -> tuple[dict[str, Row], Reference]:
    workload = REGISTRY.workload(name)
    solvers = ",".join((*EQUAL, BOUND, "spmd"))
    rows = REGISTRY.compare(workload, machine, p=p, d=d, solvers=solvers, elasticities=False).rows
    query = Query(workload=workload, machine=machine, p=p, d=d)
    unrolled = matched_program(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    return {row.solver: row for row in rows}, reference


def agree(row: Row, reference: Reference, p: int) -> bool:
    """Tell whether a row is the reference: to the last digit where shares of p are dyadic."""
    if row.time is None:
        return False
    exact = p.bit_count() == 1
    found = [row.time, *row.parts.values()] if row.parts else [row.time]
    known = [reference.time, *reference.mean_parts.values()]
    return found == (known[: len(found)] if exact else pytest.approx(known[: len(found)], 1e-13))


@pytest.mark.parametrize(("name", "p"), turn([(name, p) for name in PROGRAMS for p in SIZES], 3))
def test_families_answer_a_shipped_program_as_the_reference_does(name, p):
    rows, reference = answers(name, dyadic("cluster"), p, d=p)
    for solver in EQUAL:
        row = rows[solver]
        assert agree(row, reference, p), (solver, row.message)
    below = rows[BOUND]
    assert below.time <= reference.time * (1 + 1e-12), below.message
    if name in UNOVERLAPPED:
        (spmd,) = (row for solver, row in rows.items() if solver.startswith("spmd"))
        assert spmd.time == pytest.approx(reference.time, rel=1e-12)


@pytest.mark.parametrize("p", [2, 3, 8])
def test_processes_that_share_disks_wait_alike(p):
    rows, reference = answers("checkpointing-stencil", dyadic("bus"), p, d=1)
    for solver in EQUAL:
        assert agree(rows[solver], reference, p), solver
    assert "who waits for a disk is fixed" in rows["perturb.clocked"].notes[0]
