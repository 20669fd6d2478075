"""emulator.tc in its ideal mode is the reference: every end, every part (row 1).

So are its processes, and its compiled kernels.
"""

import pytest

import parcast_workloads
from parcast import Query, Registry
from parcast.model.costs import Costs
from parcast.program.matching.prepare import matched
from parcast.testing import by_sweep, random_program
from parcast_emulator.program_run import compiled_run, process_run

REGISTRY = Registry()
SHIPPED = Registry([parcast_workloads]).workloads


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_every_end_and_part_is_that_of_the_reference(contention, eager, programs):
    for seed in range(programs // 6):
        assert_agrees(random_program(seed, contention=contention, eager=eager))


def test_receives_of_any_message_are_decided_alike(programs):
    for seed in range(programs // 6):
        made = random_program(seed, wildcards=True, without=["colors", "loops"])
        assert_agrees(made)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_tasks_of_pools_go_to_the_same_processes(contention, programs):
    for seed in range(programs // 6):
        made = random_program(seed, contention=contention, pools=True, wildcards=True)
        assert_agrees(made, (process_run,))


def assert_agrees(made, engines=(process_run, compiled_run)):
    reference = by_sweep(made.expanded, made.costs)
    for engine in engines:
        done = engine(made.query, 0.0)
        done.run()
        assert (done.time, done.start) == (reference.time, reference.start), made.source
        assert tuple(done.ends) == reference.ends, made.source
        assert tuple(done.parts) == reference.parts, made.source


@pytest.mark.parametrize("name", list(SHIPPED))
def test_shipped_programs_take_the_time_of_the_reference(name):
    workload, machine = REGISTRY.workload(name), REGISTRY.machine("ibm-sp2")
    if workload.kind != "program":
        pytest.skip("phases, which become a program by a lowering that is no part of this")
    (row,) = REGISTRY.compare(workload, machine, p=4, d=3, solvers="emulator").rows
    assert row.solver == "emulator.tc"
    query = Query(workload=workload, machine=machine, p=4, d=3)
    unrolled = matched(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    # where two ask a pool at once, the last bits of sums decide who is the first
    near = 1e-12 if not matched(query, pools=True).native.pools else 1e-5
    assert row.time == pytest.approx(reference.time, rel=near)
    means = reference.mean_parts.values()
    assert row.parts.values() == pytest.approx(means, rel=1e-12, abs=near * row.time)
