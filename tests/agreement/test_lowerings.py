"""Ways between kinds of workloads commute: a program that went by a trace is still that program."""

import pytest

from parcast import Query, Registry
from parcast.comparison.lowering import lower
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_events, by_sweep, random_program, seeds

REGISTRY = Registry()


def test_a_program_that_was_a_trace_between_ends_when_it_does(programs):
    for seed in seeds(programs // 4):
        made = random_program(seed, contention="none")
        through = lower(REGISTRY.lowerings, made.query, "trace")[0]
        back: Query = lower(REGISTRY.lowerings, through, "program")[0]
        unrolled = matched_program(back).unrolled
        found = by_sweep(unrolled, Costs.of(back, unrolled.needs(), WHOLE_NETWORK))
        reference = by_sweep(made.expanded, made.costs)
        assert (found.ends, found.start) == (reference.ends, reference.start), made.source
        if seed % 5 == 0:  # the slower evaluator
            assert (
                by_events(unrolled, Costs.of(back, unrolled.needs(), WHOLE_NETWORK)).ends
                == reference.ends
            )


#: A program whose ranks and iterations share their blocks as a trace; times are dyadic.
STEPS = """
def program(rank, size, steps=20):
    for step in range(steps):
        if rank > 0:
            isend(rank - 1, 4096)
            irecv(rank - 1)
        if rank < size - 1:
            isend(rank + 1, 4096)
            irecv(rank + 1)
        waitall()
        compute(65536)
        if step % 10 == 9:
            allreduce(1024)
"""
MACHINE = {
    "name": "dyadic",
    "processor": {"rate": 2**20},
    "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "none", "overhead": 2**-9},
}


def test_every_family_takes_as_long_for_a_program_that_was_a_trace():
    machine = REGISTRY.machine(MACHINE)
    query = Query(workload=read_source(STEPS, "s.py", "s"), machine=machine, p=8)
    back = lower(REGISTRY.lowerings, lower(REGISTRY.lowerings, query, "trace")[0], "program")[0]
    unrolled = back.workload.content.recorded
    assert len({id(block) for block in unrolled.blocks}) < len(unrolled.blocks) / 4
    solvers = "emulator.tc,petri.mean,perturb,pamela.bound,spmd"
    rows, others = (
        {row.solver: row for row in REGISTRY.compare(one, machine, p=8, solvers=solvers).rows}
        for one in (query.workload, back.workload)
    )
    for solver in ("emulator.tc", "petri.mean", "perturb.clocked"):
        assert others[solver].time == rows[solver].time, others[solver].message
    for solver in ("pamela.bound", "spmd.sio"):  # of the same sums
        assert others[solver].time == pytest.approx(rows[solver].time, rel=1e-12)
