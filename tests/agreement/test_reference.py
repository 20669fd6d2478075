"""The cost table of docs/program.md: what its two plain evaluators promise.

All numbers of the random programs are dyadic, so equal means ``==``. A test names the row of
the table "What must agree" that it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import attrs
import numpy as np
import pytest

from parcast import Registry
from parcast.model.costs import Costs
from parcast.model.placement import Placement
from parcast.program import Operation, Site, Unrolled
from parcast.program.matching.collectives import algorithms
from parcast.program.matching.expansion import expand
from parcast.program.reader import read_source
from parcast.program.reference.process_sweep import steps_of
from parcast.program.unroll import unroll
from parcast.testing import RandomProgram, Reference, by_events, by_sweep, random_program, seeds

from .topologies import random_topology

#: Disks are served first come, first served, so these programs have an order to change.
DISKS = ("io",)
CONTENTION = ["none", "endpoint", "bus"]


def random_programs(count: int, **options) -> Iterator[RandomProgram]:
    for seed in seeds(count):
        yield random_program(seed, **options)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", CONTENTION)
def test_both_evaluators_agree_on_every_end_and_part(contention, eager, programs):
    for made in random_programs(programs, contention=contention, eager=eager):
        assert_agree(made)


def test_both_evaluators_agree_on_wildcards(programs):
    for made in random_programs(programs, wildcards=True):
        assert_agree(made)


@pytest.mark.parametrize("contention", CONTENTION)
def test_both_evaluators_agree_on_tasks_of_pools(contention, programs):
    taken = 0
    for made in random_programs(programs // 6, contention=contention, pools=True, wildcards=True):
        assert_agree(made)
        taken += sum(pool.tasks for pool in made.expanded.pools)
    assert taken > programs // 12


def test_what_is_simultaneous_is_as_in_exact_arithmetic(programs):
    """Decimals, whose sums are rounded: the ends are those of fractions all the same."""
    for made in random_programs(programs, decimal=True, wildcards=True, pools=True):
        exact = by_sweep(*made.exact)
        assert exact == by_events(*made.exact), made.source
        ends, last = [*map(float, exact.ends)], float(max(exact.ends))
        parts = [[float(one) for one in parts.values()] for parts in exact.parts]
        for evaluate in (by_sweep, by_events):
            found = evaluate(made.expanded, made.costs)
            assert found.ends == pytest.approx(ends, rel=1e-11), made.source
            spent = np.array([one.values() for one in found.parts])
            assert spent == pytest.approx(np.array(parts), abs=1e-11 * last), made.source


@pytest.mark.parametrize("contention", [*CONTENTION, "fair"])
def test_both_evaluators_agree_on_all_that_a_network_may_say(contention, programs):
    """Sizes, levels, headers, ports, transfers that wait, overhead by message, shared links."""
    for seed in seeds(programs // 4):
        features = {"wildcards": True, "pools": True} if seed % 2 else {}
        if contention in ("none", "fair") and seed % 4 == 1:
            features["topology"] = random_topology(seed)
        made = random_program(
            seed, contention=contention, network=True, decimal=seed % 4 > 1, **features
        )
        exact = by_sweep(*made.exact)
        assert exact == by_events(*made.exact), made.source
        ends, last = [*map(float, exact.ends)], float(max(exact.ends))
        parts = [[float(seconds) for seconds in spent.values()] for spent in exact.parts]
        for evaluate in (by_sweep, by_events):
            rounded = evaluate(made.expanded, made.costs)
            assert rounded.ends == pytest.approx(ends, rel=1e-11), made.source
            spent = np.array([spent.values() for spent in rounded.parts])
            assert spent == pytest.approx(np.array(parts), abs=1e-11 * last), made.source


def test_messages_are_taken_in_the_order_of_exact_arithmetic(programs):
    for made in random_programs(programs // 3, decimal=True, wildcards=True):
        exact, floats = steps_of(*made.exact), steps_of(made.expanded, made.costs)
        taken = [[[step.source for step in own] for own in lists] for lists in (exact, floats)]
        assert taken[0] == taken[1], made.source


def assert_agree(made: RandomProgram) -> None:
    swept, simulated = by_sweep(made.expanded, made.costs), by_events(made.expanded, made.costs)
    assert swept == simulated, made.source
    for parts in swept.parts:
        assert sum(parts.values()) == swept.time, made.source
        assert min(parts.values()) >= 0, made.source
    assert sum(swept.mean_parts.values()) == pytest.approx(swept.time, rel=1e-12)


def test_parts_sum_to_the_time_exactly_with_fractions_that_are_not_dyadic(programs):
    for made in random_programs(programs // 3):
        exact = in_fractions(made.costs, Fraction(1, 3))
        unrolled = in_whole_numbers(made.expanded)
        swept = by_sweep(unrolled, exact)
        assert swept == by_events(unrolled, exact), made.source
        assert all(sum(parts.values()) == swept.time for parts in swept.parts), made.source
        assert isinstance(swept.time, Fraction | int)


def test_row_5_one_process_takes_the_sum_of_what_it_does(programs):
    for made in random_programs(programs // 2, size=1, without=["start", "shifts"]):
        operations, costs = made.expanded.rank(0), made.costs
        alone = by_sweep(made.expanded, costs)
        assert alone.time == sum(seconds_alone(one, costs) for one in operations), made.source
        assert alone.parts[0].synchronization == 0


def seconds_alone(operation: Operation, costs: Costs) -> float:
    """Return what an operation of one process takes that has nobody to send to."""
    given = operation.arguments
    match operation.op:
        case "compute":
            return float(costs.compute(0, given["flops"], given["bytes"]))
        case "elapse":
            return given["seconds"]
        case "read" | "write":
            return costs.piece(given["bytes"], given["file"])
    return 0


def test_row_6_contention_is_never_faster(programs):
    for made in random_programs(programs, without=DISKS):
        free = times(made, contention="none")
        for contention in ("endpoint", "bus"):
            slower = times(made, contention=contention)
            assert no_later(free, slower), made.source


def times(made: RandomProgram, **changes) -> Reference:
    return by_sweep(made.expanded, attrs.evolve(made.costs, **changes))


def no_later(first: Reference, second: Reference) -> bool:
    return all(a <= b for a, b in zip(first.ends, second.ends, strict=True))


@pytest.mark.parametrize("contention", CONTENTION)
def test_row_8_all_times_scaled_scale_the_answer(contention, programs):
    for made in random_programs(programs // 3, contention=contention, wildcards=True):
        plain, slow = (
            by_sweep(made.expanded, made.costs),
            by_sweep(longer(made).expanded, slowed(made)),
        )
        assert slow.time == 8 * plain.time, made.source
        assert slow.ends == tuple(8 * end for end in plain.ends)
        assert slow.parts == tuple(parts * 8 for parts in plain.parts), made.source


def longer(made: RandomProgram) -> RandomProgram:
    """Return a program that lets eight times as much time elapse, in collectives too."""
    source = re.sub(r"elapse\((.*)\)$", r"elapse(8 * (\1))", made.source, flags=re.MULTILINE)
    network = made.machine.network
    slower = {
        name: bandwidth and bandwidth / 8
        for name in ("reduction_bandwidth", "copy_bandwidth", "own_bandwidth")
        for bandwidth in (getattr(network, name),)
    }
    calls = ("overhead", "overhead_receive", "overhead_per_byte")  # of messages to oneself
    slower |= {name: (value := getattr(network, name)) and 8 * value for name in calls}
    slower["sizes"] = tuple(
        attrs.evolve(
            size,
            **{name: (value := getattr(size, name)) and 8 * value for name in calls[:2]},
        )
        for size in network.sizes
    )
    parts = {**made.machine.parts, "network": attrs.evolve(network, **slower)}
    return attrs.evolve(made, source=source, machine=attrs.evolve(made.machine, parts=parts))


def slowed(made: RandomProgram) -> Costs:
    """Return costs with every time eight times as long."""
    costs = made.costs
    names = "startup per_byte local_startup local_per_byte overhead overhead_receive "
    names += "overhead_per_byte disk_startup disk_per_byte"
    longer = {name: 8 * getattr(costs, name) for name in names.split()}
    placement = attrs.evolve(costs.placement, speed=costs.placement.speed / 8)
    for name in ("memory_bandwidth", "core_bandwidth"):
        longer[name] = getattr(costs, name) and getattr(costs, name) / 8
    return attrs.evolve(costs, placement=placement, **longer)


def test_row_9_faster_is_never_slower_without_contention(programs):
    for made in random_programs(programs // 2, contention="none", without=DISKS):
        costs = made.costs
        plain = times(made)
        faster = [
            {"per_byte": costs.per_byte / 2},
            {"startup": 0},
            {"overhead": costs.overhead / 4},
            {"overhead_receive": costs.overhead_receive / 4},
            {"rate": costs.rate * 2},
        ]
        for change in faster:
            assert no_later(times(made, **change), plain), (change, made.source)


def test_row_11_waiting_for_receives_is_never_faster_without_contention(programs):
    for made in random_programs(programs // 2, contention="none", without=DISKS):
        found = [times(made, eager_limit=limit) for limit in (np.inf, 512, -1)]
        assert all(map(no_later, found, found[1:])), made.source


STARTUP, PER_BYTE, BYTES = Fraction(5), Fraction(1, 7), 11


def log2_up(p: int) -> int:
    return (p - 1).bit_length()


def log2_down(p: int) -> int:
    return p.bit_length() - 1


def message(n: float) -> Fraction:
    return STARTUP + n * PER_BYTE


#: What a collective of p processes takes where all arrive together, without overheads.
CLOSED: dict[str, Callable[[int], Fraction]] = {
    "barrier": lambda p: log2_up(p) * message(0),
    "allreduce": lambda p: log2_up(p) * message(BYTES),
    "scan": lambda p: log2_up(p) * message(BYTES),
    "allgather": lambda p: log2_up(p) * STARTUP + (p - 1) * BYTES * PER_BYTE,
    "bcast": lambda p: log2_down(p) * message(BYTES),
    "reduce": lambda p: log2_down(p) * message(BYTES),
    "alltoall": lambda p: log2_up(p) * (STARTUP + BYTES * p * PER_BYTE / 2),
    "reduce_scatter": lambda p: log2_up(p) * (STARTUP + BYTES * p * PER_BYTE / 2),
    "allreduce tree": lambda p: 2 * log2_down(p) * message(BYTES),
    "allreduce ring": lambda p: 2 * (p - 1) * (STARTUP + BYTES * PER_BYTE / p),
    "allgather ring": lambda p: (p - 1) * message(BYTES),
    "alltoall pairwise": lambda p: (p - 1) * message(BYTES),
    "reduce_scatter pairwise": lambda p: (p - 1) * message(BYTES),
    "scan linear": lambda p: (p - 1) * message(BYTES),
    "bcast linear": lambda p: message(BYTES),
    "reduce linear": lambda p: message(BYTES),
    "gather linear": lambda p: message(BYTES),
    "scatter linear": lambda p: message(BYTES),
}


@pytest.mark.parametrize("named", CLOSED)
def test_row_15_collectives_take_their_closed_forms(named):
    for p in range(2, 34):
        assert collective(named, p) == pytest.approx(float(CLOSED[named](p)), rel=1e-12)


@pytest.mark.parametrize("name", ["gather", "scatter"])
def test_row_15_gather_and_scatter_take_all_bytes_once_at_powers_of_two(name):
    for p in (2, 4, 8, 16, 32):
        whole = log2_up(p) * STARTUP + (p - 1) * BYTES * PER_BYTE
        assert collective(name, p) == pytest.approx(float(whole), rel=1e-12)


def collective(named: str, p: int) -> float:
    """Return what a collective takes, by the algorithm named after it or the default one."""
    name, _, algorithm = named.partition(" ")
    arguments = "" if name == "barrier" else str(BYTES)
    content = read_source(f"def program(rank, size):\n    {name}({arguments})\n").content
    expanded = expand(unroll(content.tree, p, {}), algorithms(named if algorithm else None))
    placement = Placement(np.arange(p), np.ones(p), np.ones(p, dtype=int), p)
    costs = Costs(placement=placement, startup=float(STARTUP), per_byte=float(PER_BYTE))
    return by_sweep(expanded, costs).time


def test_row_16_relabelled_processes_take_their_times_along_without_contention(programs):
    for made in random_programs(programs // 2, contention="none", without=DISKS):
        order = Random(made.seed).sample(range(made.size), made.size)  # rank -> its new label
        plain, moved = by_sweep(made.expanded, made.costs), relabelled(made, order)
        assert [moved.ends[order[rank]] for rank in range(made.size)] == list(plain.ends)
        assert [moved.parts[order[rank]] for rank in range(made.size)] == list(plain.parts)


def relabelled(made: RandomProgram, order: list[int]) -> Reference:
    lists: list[list[Operation]] = [[] for _ in order]
    for rank, listed in enumerate(made.expanded.by_rank()):
        for one in listed:
            peers = {k: order[v] for k, v in one.arguments.items() if k in {"src", "dst"}}
            moved = attrs.evolve(one, arguments={**one.arguments, **peers})
            lists[order[rank]].append(moved)
    old, back = made.costs.placement, np.argsort(order)
    placement = Placement(old.node[back], old.speed[back], old.sharing[back], old.nodes)
    program = Unrolled.of_ranks(lists, made.expanded.sites)
    return by_sweep(program, attrs.evolve(made.costs, placement=placement))


@pytest.mark.parametrize("contention", CONTENTION)
def test_row_16_split_computation_and_operations_of_no_time_change_nothing(contention, programs):
    for made in random_programs(programs // 3, contention=contention, wildcards=True):
        lists = [rewritten(listed) for listed in made.expanded.by_rank()]
        program = Unrolled.of_ranks(lists, made.expanded.sites)
        assert by_sweep(program, made.costs) == by_sweep(made.expanded, made.costs), made.source


def rewritten(listed: list[Operation]) -> list[Operation]:
    """Return a rank's operations with computation cut in two, and a pause before each."""
    made: list[Operation] = []
    places: list[int] = []
    for one in listed:
        made.append(Operation(one.site, "elapse", {"seconds": 0}))
        made.append(Operation(one.site, "region", {"name": "here"}))
        if one.op == "compute":
            half = {name: value / 2 for name, value in one.arguments.items()}
            made += [attrs.evolve(one, arguments=half)] * 2
        else:
            made.append(attrs.evolve(one, requests=tuple(places[at] for at in one.requests)))
        places.append(len(made) - 1)
    return made


@pytest.mark.parametrize("layout", ["bus", "cluster"])
def test_row_17_more_disks_are_never_slower(layout):
    for seed in seeds(40):
        program, costs = one_write_each(Random(seed), layout)
        found = [by_sweep(program, attrs.evolve(costs, disks=d)) for d in (1, 2, 4, 8, 16)]
        assert all(map(no_later, found[1:], found)), seed


def test_row_17_a_cluster_with_a_disk_for_every_process_has_private_disks():
    for seed in seeds(40):
        program, costs = one_write_each(Random(seed), "cluster")
        found = by_sweep(program, attrs.evolve(costs, disks=8))
        for end, (compute, write) in zip(found.ends, program.by_rank(), strict=True):
            own = compute.arguments["flops"] + 1 + write.arguments["bytes"]
            assert end == own


def one_write_each(random: Random, layout: str) -> tuple[Unrolled, Costs]:
    p = random.randint(1, 8)
    lists = [
        [
            Operation(0, "compute", {"flops": random.randint(0, 9), "bytes": 0}),
            Operation(0, "write", {"bytes": random.randint(0, 9), "file": "own"}),
        ]
        for _ in range(p)
    ]
    placement = Placement(np.arange(p), np.ones(p), np.ones(p, dtype=int), p)
    costs = Costs(placement=placement, rate=1.0, disk_startup=1.0, disk_per_byte=1.0, layout=layout)
    return Unrolled.of_ranks(lists, (Site("written"),)), costs


def test_row_19_the_blocks_hold_what_the_ranks_do(programs):
    for made in random_programs(programs // 2):
        unrolled = made.unrolled
        listed = unrolled.by_rank()
        assert listed == [unrolled.rank(rank) for rank in range(made.size)]
        assert sum(map(len, listed)) == unrolled.count()
        rebuilt = Unrolled.of_ranks(listed, unrolled.sites)
        assert rebuilt.by_rank() == listed


def in_fractions(costs: Costs, factor: Fraction) -> Costs:
    """Return exact costs, their times multiplied by a factor."""
    times = {
        field.name: Fraction(value) * factor
        for field in attrs.fields(Costs)
        if isinstance(value := getattr(costs, field.name), float) and value < np.inf
    }
    speed = np.array([Fraction(one) for one in costs.placement.speed], dtype=object)
    placement = attrs.evolve(costs.placement, speed=speed)
    return attrs.evolve(costs, placement=placement, **{**times, "eager_limit": costs.eager_limit})


def in_whole_numbers(unrolled: Unrolled) -> Unrolled:
    """Return the same operations with amounts as fractions, which keep all others exact."""
    exact = {"bytes", "flops", "seconds"}
    lists = [
        [
            attrs.evolve(
                one,
                arguments={k: Fraction(v) if k in exact else v for k, v in one.arguments.items()},
            )
            for one in listed
        ]
        for listed in unrolled.by_rank()
    ]
    return Unrolled.of_ranks(lists, unrolled.sites)


@pytest.mark.parametrize(("p", "time"), [(1, 4), (2, 8)])
def test_a_process_that_has_ended_keeps_its_core_from_boosting_another(p, time):
    """docs/files.md: the mapping counts, all along."""
    registry = Registry()
    text = "def program(rank, size):\n    if rank == 0:\n        compute(8)\n"
    source = read_source(text, "b.py", "b")
    machine = {"name": "m", "processor": {"rate": 1, "boost": 2}, "nodes": {"count": 1, "cores": 2},
               "network": {"startup": 1, "bandwidth": 1}}  # fmt: skip
    rows = registry.compare(source, machine, p=p).rows
    times = {row.solver: row.time for row in rows if row.time is not None}
    assert {"emulator.tc", "petri.mean", "perturb.clocked"} <= times.keys()
    assert set(times.values()) == {time}
