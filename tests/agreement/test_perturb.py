"""perturb.clocked is the reference: every end (row 1); upper and lower hold it (row 2)."""

import attrs
import numpy as np
import pytest

import parcast_workloads
from parcast import Query, Registry
from parcast.comparison.lowering import lower
from parcast.model.costs import Costs
from parcast.program.matching.prepare import matched
from parcast.program.reference.fixed_order import is_decided_by_timing
from parcast.testing import by_sweep, random_program
from parcast_perturb.from_program import ZERO
from parcast_perturb.perturbation import Perturbation, Semantics
from parcast_perturb.propagation.running import propagate
from parcast_perturb.solvers import Clocked, Lower, Upper

REGISTRY = Registry()
SHIPPED = Registry([parcast_workloads]).workloads
WITHOUT = ("io",)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
def test_every_end_is_that_of_the_reference(eager, programs):
    for seed in range(programs // 2):
        made = random_program(seed, contention="none", eager=eager, without=WITHOUT)
        ready = lower(REGISTRY.lowerings, made.query, "trace")[0]
        content = ready.workload.content
        reference = by_sweep(made.expanded, made.costs)
        known = attrs.evolve(ZERO, eager_max=content.eager_limit)
        found = propagate(
            content.trace,
            Perturbation(event=content.added),
            known,
            "clocked",
            Semantics(protocol="rendezvous"),
        )
        ends = content.trace.ends + found.final[:, 0]
        assert tuple(ends.tolist()) == reference.ends, made.source
        done = Clocked().solve(ready)
        assert done.time == reference.time, made.source
        means = np.mean([one.values() for one in reference.parts], axis=0)
        assert done.parts.values() == pytest.approx(tuple(means), rel=1e-9, abs=1e-9), made.source
        if not reference.start:  # a warm-up has bounds of its own
            assert Lower().solve(ready).time <= reference.time <= Upper().solve(ready).time


def test_what_timing_decides_is_as_in_the_reference(programs):
    for seed in range(programs // 4):
        made = random_program(
            seed, contention="none", pools=True, wildcards=True, without=["start", "weights"]
        )
        ready, _, notes = lower(REGISTRY.lowerings, made.query, "trace")
        reference = by_sweep(made.expanded, made.costs)
        assert is_decided_by_timing(made.expanded) or not notes
        found = Clocked().solve(ready)
        assert found.time == pytest.approx(reference.time, rel=1e-13), made.source
        assert found.parts.values() == pytest.approx(reference.mean_parts.values(), abs=1e-12)


@pytest.mark.parametrize("name", list(SHIPPED))
def test_shipped_programs_take_the_time_of_the_reference(name):
    workload, machine = REGISTRY.workload(name), REGISTRY.machine("ibm-sp2")
    if workload.kind != "program":
        pytest.skip("phases, which become a program by a lowering that is no part of this")
    machine = REGISTRY.machine({**machine.data, "network": {**machine.data["network"],
                                                            "contention": "none"}})  # fmt: skip
    (row,) = REGISTRY.compare(workload, machine, p=4, d=3, solvers="perturb").rows
    query = Query(workload=workload, machine=machine, p=4, d=3)
    unrolled = matched(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    assert row.solver == "perturb.clocked"
    assert row.time == pytest.approx(reference.time, rel=1e-12)
