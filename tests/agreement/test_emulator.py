"""emulator.tc in its ideal mode is the reference: every end, every part (row 1).

So are its processes, and its compiled kernels.
"""

import pytest

import parcast_workloads
from parcast import Query, Registry
from parcast.model.costs import Costs
from parcast.program.matching.prepare import matched_program
from parcast.testing import by_sweep, random_program, seeds
from parcast_emulator.program_run import compiled_run, process_run

from .topologies import random_topology

REGISTRY = Registry()
SHIPPED = Registry([parcast_workloads]).workloads


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_every_end_and_part_is_that_of_the_reference(contention, eager, programs):
    for seed in seeds(programs // 6):
        assert_agrees(random_program(seed, contention=contention, eager=eager))


def test_receives_of_any_message_are_decided_alike(programs):
    for seed in seeds(programs // 6):
        made = random_program(seed, wildcards=True)
        assert_agrees(made)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_tasks_of_pools_go_to_the_same_processes(contention, programs):
    for seed in seeds(programs // 6):
        made = random_program(seed, contention=contention, pools=True, wildcards=True)
        assert_agrees(made, (process_run,))


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_all_that_a_network_may_say_is_followed(contention, programs):
    for seed in seeds(programs // 3):
        pools = seed % 3 == 0
        made = random_program(
            seed, contention=contention, network=True, wildcards=seed % 2 == 0, pools=pools
        )
        assert_agrees(made, (process_run,) if pools else (process_run, compiled_run))


def test_messages_share_links_as_in_exact_arithmetic(programs):
    for seed in seeds(programs // 2):
        pools = seed % 3 == 0
        topology = random_topology(seed) if seed % 4 else None
        made = random_program(
            seed, contention="fair", wildcards=seed % 2 == 0, pools=pools, topology=topology,
            decimal=seed % 5 == 0,
        )  # fmt: skip
        exact = by_sweep(*made.exact)
        for engine in (process_run,) if made.unrolled.pools else (process_run, compiled_run):
            run = engine(made.query, 0.0)
            run.run()
            assert run.ends == pytest.approx([*map(float, exact.ends)], rel=1e-11), made.source
            for spent, parts in zip(run.parts, exact.parts, strict=True):
                near = pytest.approx([*map(float, parts.values())], abs=1e-11 * max(run.ends))
                assert spent.values() == near, made.source


def test_what_is_simultaneous_is_as_in_exact_arithmetic(programs):
    """Decimals, whose sums are rounded: the ends are those of fractions all the same."""
    for seed in seeds(programs // 3):
        made = random_program(seed, decimal=True, wildcards=True, pools=seed % 3 == 0)
        exact = by_sweep(*made.exact)
        for engine in (process_run,) if made.unrolled.pools else (process_run, compiled_run):
            done = engine(made.query, 0.0)
            done.run()
            assert done.ends == pytest.approx([*map(float, exact.ends)], rel=1e-11), made.source
            for found, parts in zip(done.parts, exact.parts, strict=True):
                near = pytest.approx([*map(float, parts.values())], abs=1e-11 * max(done.ends))
                assert found.values() == near, made.source


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
    (row,) = REGISTRY.compare(
        workload, machine, p=4, d=3, solvers="emulator", elasticities=False
    ).rows
    assert row.solver == "emulator.tc"
    query = Query(workload=workload, machine=machine, p=4, d=3)
    unrolled = matched_program(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    assert row.time == pytest.approx(reference.time, rel=1e-12)
    means = reference.mean_parts.values()
    assert row.parts.values() == pytest.approx(means, rel=1e-12, abs=1e-12 * row.time)
