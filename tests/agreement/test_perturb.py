"""perturb.clocked is the reference: every end (row 1); upper and lower hold it (row 2)."""

import attrs
import numpy as np
import pytest

import parcast_workloads
from parcast import Query, Registry
from parcast.comparison.lowering import lower
from parcast.model import WHOLE_NETWORK
from parcast.model.costs import Costs
from parcast.model.query import is_lower_bound
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.program.reference import frozen
from parcast.program.reference.fixed_order import is_decided_by_timing
from parcast.program.unroll.blocks import Operation, Unrolled
from parcast.testing import by_sweep, random_program, seeds
from parcast_perturb.from_program import NO_NETWORK
from parcast_perturb.machine_costs import Noise
from parcast_perturb.perturbation import Perturbation, Semantics
from parcast_perturb.propagation.running import propagate
from parcast_perturb.solvers import Clocked, Options, lower_bound, upper_bound

from .enough_seeds import seeds_until
from .topologies import random_topology

REGISTRY = Registry()
SHIPPED = Registry([parcast_workloads]).workloads


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
def test_every_end_is_that_of_the_reference(eager, programs):
    for seed in seeds(programs // 2):
        made = random_program(seed, contention="none", eager=eager)
        ready = lower(REGISTRY.lowerings, made.query, "trace")[0]
        content = ready.workload.content
        reference = by_sweep(made.expanded, made.costs)
        known = attrs.evolve(NO_NETWORK, eager_max=content.eager_limit)
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
        low, high = lower_bound().solve(ready).time, upper_bound().solve(ready).time
        assert low <= reference.time <= high, made.source


def on_network(seed, **choices):
    """Return a program on a network that says all that a message graph follows, or a topology."""
    topology = random_topology(seed) if seed % 2 else None
    made = random_program(seed, contention="none", network=True, topology=topology, **choices)
    network = attrs.evolve(made.machine.network, contention="none", overhead_by="call")
    machine = attrs.evolve(made.machine, parts={**made.machine.parts, "network": network})
    query = attrs.evolve(made.query, machine=machine)
    costs = Costs.of(query, made.expanded.needs(), WHOLE_NETWORK)
    return query, by_sweep(made.expanded, costs), made.source


def test_sizes_levels_headers_topologies_and_eager_that_waits_are_those_of_the_reference(programs):
    stated = set()
    for seed in seeds(programs):
        query, reference, source = on_network(seed, wildcards=seed % 3 == 0, pools=seed % 5 == 0)
        network = query.machine.network
        stated |= {"sizes"} if network.sizes else set()
        stated |= {"levels"} if network.levels else set()
        stated |= {"header"} if network.header else set()
        stated |= {network.eager}
        ready = lower(REGISTRY.lowerings, query, "trace")[0]
        found = Clocked().solve(ready)
        assert found.time == pytest.approx(reference.time, rel=1e-12, abs=1e-15), source
        parts = reference.mean_parts.values()
        assert found.parts.values() == pytest.approx(parts, rel=1e-9, abs=1e-9), source
        low, high = lower_bound().solve(ready).time, upper_bound().solve(ready).time
        assert low * (1 - 1e-12) <= reference.time <= high * (1 + 1e-12), source
    assert stated == {"sizes", "levels", "header", "waits", "buffered"}


def test_of_waits_that_pay_by_message_there_is_a_lower_bound():
    made = random_program(1, contention="none")
    network = attrs.evolve(made.machine.network, paid_by="wire", overhead_by="message")
    machine = attrs.evolve(made.machine, parts={**made.machine.parts, "network": network})
    ready = lower(REGISTRY.lowerings, attrs.evolve(made.query, machine=machine), "trace")[0]
    assert "overhead_by = 'message'" in upper_bound().supports(ready)
    assert is_lower_bound(Clocked().solve(ready))


@pytest.mark.parametrize("contention", ["fair", "endpoint", "bus"])
def test_no_run_is_faster_than_messages_that_share_nothing(contention, programs):
    answered, below, refused = 0, 0, 0
    for seed in seeds_until(
        programs // 3,
        lambda: bool(refused) and answered > programs // 30 and below > programs // 300,
    ):
        topology = random_topology(seed) if contention == "fair" and seed % 2 else None
        chance = random_program(
            seed,
            contention=contention,
            network=True,
            topology=topology,
            wildcards=seed % 5 == 0,
            without=["start"] if seed % 3 else [],
        )
        ready = lower(REGISTRY.lowerings, chance.query, "trace")[0]
        if reason := Clocked().supports(ready):
            assert "start() on there is no bound" in reason
            refused += 1
            continue
        found = Clocked().solve(ready)
        reference = by_sweep(chance.expanded, chance.costs).time
        assert found.time <= reference * (1 + 1e-11), chance.source
        assert lower_bound().solve(ready).time <= reference * (1 + 1e-11), chance.source
        if ready.workload.content.unshared:
            assert is_lower_bound(found)
            assert "no upper bound" in upper_bound().supports(ready)
            below += found.time < reference * (1 - 1e-9)
            answered += 1
    assert refused
    assert answered > programs // 30
    assert below > programs // 300


def test_files_take_the_time_of_the_reference_at_every_p(programs):
    shared = set()
    for seed in seeds_until(max(20, programs // 4), lambda: len(shared) > 3):
        size, without = 1 + seed % 8, ["collectives", "shifts"]  # so that there is more of files
        made = random_program(seed, size=size, steps=12, contention="none", without=without)
        shared |= {made.size} if '"shared"' in made.source else set()
        reference = by_sweep(made.expanded, made.costs)
        found = Clocked().solve(lower(REGISTRY.lowerings, made.query, "trace")[0])
        assert found.time == pytest.approx(reference.time, rel=1e-13), made.source
        assert found.parts.values() == pytest.approx(reference.mean_parts.values(), abs=1e-12)
    assert len(shared) > 3  # sizes


def disturbed(made, gap):
    """Return a program in which every stretch of computation that lasts takes longer by ``gap``.

    How long files make it wait is as without, which the notes say.
    """
    fixed = frozen(made.expanded, made.costs).unrolled
    more, lists = Operation(0, "elapse", {"seconds": gap}), []
    for rank, operations in enumerate(fixed.by_rank()):
        found, place, busy = [], [], 0.0
        for one in operations:
            if one.op == "compute":
                busy += made.costs.compute(rank, one.arguments["flops"], one.arguments["bytes"])
            elif one.op == "elapse":
                busy += one.arguments["seconds"]
            elif one.op != "region":
                found += [more] * bool(busy > 0)
                busy = 0.0
            place.append(len(found))
            found.append(attrs.evolve(one, requests=tuple(place[back] for back in one.requests)))
        lists.append(found + [more] * bool(busy > 0))
    return Unrolled.of_ranks(lists, fixed.sites)


def noisy(made, **noise):
    machine = attrs.evolve(made.machine, parts={**made.machine.parts, "noise": Noise(**noise)})
    query = attrs.evolve(made.query, machine=machine, options=Options(replications=1))
    return Clocked().solve(lower(REGISTRY.lowerings, query, "trace")[0]).time


def test_noise_falls_on_what_is_computed_and_on_calls_and_on_nothing_else(programs):
    for seed in seeds(programs // 3):
        made = random_program(seed, contention="none")
        in_gaps = by_sweep(disturbed(made, 2.0**-9), made.costs)
        assert noisy(made, computation="0.001953125 s") == in_gaps.time, made.source
        costs = attrs.evolve(
            made.costs,
            overhead=made.costs.overhead + 2.0**-9,
            overhead_receive=made.costs.overhead_receive + 2.0**-9,
        )
        in_calls = by_sweep(frozen(made.expanded, made.costs).unrolled, costs)
        assert noisy(made, calls="0.001953125 s") == in_calls.time, made.source


def test_what_timing_decides_is_as_in_the_reference(programs):
    for seed in seeds(programs // 4):
        made = random_program(seed, contention="none", pools=True, wildcards=True)
        ready, _, notes = lower(REGISTRY.lowerings, made.query, "trace")
        reference = by_sweep(made.expanded, made.costs)
        assert is_decided_by_timing(made.expanded) or not notes
        found = Clocked().solve(ready)
        assert found.time == pytest.approx(reference.time, rel=1e-13), made.source
        assert found.parts.values() == pytest.approx(reference.mean_parts.values(), abs=1e-12)
        low, high = lower_bound().solve(ready).time, upper_bound().solve(ready).time
        assert low <= reference.time * (1 + 1e-13), made.source
        assert high >= reference.time * (1 - 1e-13), made.source


def test_what_is_simultaneous_is_as_in_exact_arithmetic(programs):
    """Decimals, whose sums are rounded: the time is that of fractions all the same."""
    for seed in seeds(programs // 6):
        made = random_program(seed, decimal=True, contention="none", pools=True, wildcards=True)
        ready, *_ = lower(REGISTRY.lowerings, made.query, "trace")
        exact = by_sweep(*made.exact)
        close = {"rel": 1e-11, "abs": 1e-11 * float(max(exact.ends))}
        found = Clocked().solve(ready)
        assert found.time == pytest.approx(float(exact.time), **close), made.source
        parts = [*map(float, exact.mean_parts.values())]
        assert found.parts.values() == pytest.approx(parts, **close), made.source


TOGETHER = """
def program(rank, size):
    if rank == 0:
        irecv(1)
        irecv(2)
        waitall()
    if rank == 1:
        send(0, 400000)
    if rank == 2:
        elapse(0.2)
        send(0, 200000)
"""


def test_of_messages_that_arrive_together_the_first_to_leave_ends_the_wait():
    """0.2 + 0.2 is not 4e5 * 1e-6 in floats; process 0 waits for a message that flies all along."""
    network = {"startup": 0, "bandwidth": 1e6, "contention": "none"}
    machine = {"name": "m", "network": network}
    (row,) = REGISTRY.compare(
        read_source(TOGETHER), machine, p=3, solvers="perturb", elasticities=False
    ).rows
    assert row.time == pytest.approx(0.4)
    assert 3 * row.parts.communication == pytest.approx(0.4)


AFTER_START = """
def program(rank, size):
    compute(1e9)
    write(1e6)
    if rank == 0:
        start()
    compute(1e9)
    write(3e6)
    for task in pool(range(4), bytes=1e6):
        compute(1e9)
"""


@pytest.mark.parametrize("solvers", ["perturb.clocked", "petri.mean", "emulator.tc"])
def test_parts_after_a_warm_up_hold_files_and_fetched_tasks(solvers):
    machine = {
        "name": "m",
        "processor": {"rate": 1e9},
        "network": {"startup": "1 ms", "bandwidth": 1e6, "contention": "none"},
        "storage": {"bandwidth": 1e6, "disks": 1},
    }
    workload = read_source(AFTER_START)
    (row,) = REGISTRY.compare(workload, machine, p=3, d=1, solvers=solvers, elasticities=False).rows
    query = Query(workload=workload, machine=REGISTRY.machine(machine), p=3, d=1)
    unrolled = matched_program(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    assert reference.start > 0
    assert row.parts.values() == pytest.approx(reference.mean_parts.values(), rel=1e-12)


@pytest.mark.parametrize("name", list(SHIPPED))
def test_shipped_programs_take_the_time_of_the_reference(name):
    workload, machine = REGISTRY.workload(name), REGISTRY.machine("ibm-sp2")
    if workload.kind != "program":
        pytest.skip("phases, which become a program by a lowering that is no part of this")
    machine = REGISTRY.machine({**machine.data, "network": {**machine.data["network"],
                                                            "contention": "none"}})  # fmt: skip
    (row,) = REGISTRY.compare(
        workload, machine, p=4, d=3, solvers="perturb", elasticities=False
    ).rows
    query = Query(workload=workload, machine=machine, p=4, d=3)
    unrolled = matched_program(query, pools=True).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    assert row.solver == "perturb.clocked"
    assert row.time == pytest.approx(reference.time, rel=1e-12)
