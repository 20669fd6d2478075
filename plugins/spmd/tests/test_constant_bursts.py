"""Constant bursts: the closed forms equal a simulation of every job, event by event."""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast_spmd
from parcast import Registry
from parcast.model.phases import CONSTANT
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.fork_join import Rounds, rounds
from parcast_spmd.options import AioOptions
from parcast_spmd.solvers.aio import solve_bus

TIMES = st.integers(0, 40).map(lambda k: Fraction(k, 8))


def simulate(
    jobs: int, delay: Fraction, service: Fraction, count: int
) -> tuple[Fraction, Fraction]:
    """Return makespan and mean time at the queue, playing every arrival in order of time."""
    arrivals = [(delay, job, 1) for job in range(jobs)]
    heapq.heapify(arrivals)
    free = end = at_queue = Fraction(0)
    while arrivals:
        arrival, job, done = heapq.heappop(arrivals)
        free = max(free, arrival) + service
        at_queue += free - arrival
        end = max(end, free)
        if done < count:
            heapq.heappush(arrivals, (free + delay, job, done + 1))
    return end, at_queue / jobs


@given(st.integers(1, 9), TIMES, TIMES, st.integers(1, 8))
def test_the_rounds_equal_a_simulation_of_every_job(
    jobs: int, delay: Fraction, service: Fraction, count: int
) -> None:
    found = rounds(jobs, delay, service, count)  # type: ignore[arg-type]
    assert (found.time, found.queuing) == simulate(jobs, delay, service, count)


def test_part_of_a_round_is_that_part_of_its_times() -> None:
    assert rounds(3, 2.0, 1.0, 0.25) == Rounds(0.25 * 5, 0.25 * 2)


PHASE = {
    "cycles": 6,
    "bursts": 3,
    "parallel": 8.0,
    "serial": 0.25,
    "messages": 2,
    "bytes": 1.0,
    "distribution": "constant",
}
MACHINE = {
    "processor": {"rate": 1.0},
    "network": {"startup": 0.125, "bandwidth": 2.0, "contention": "none"},
    "storage": {"bandwidth": 8.0, "startup": 0.5},
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([parcast_spmd])


@pytest.mark.parametrize("p", [1, 2, 4, 8, 16, 32])
def test_without_contention_constant_bursts_simply_add_up(registry: Registry, p: int) -> None:
    found = registry.predict({"phase": [PHASE]}, MACHINE, "spmd", p=p)
    sent = 0.0 if p == 1 else 2 * 0.125 + 1.0 / 2.0
    assert found.time == 6 * 3 * (8.0 / p + 0.25 + sent)
    assert found.parts is not None
    assert found.parts.synchronization == 0
    assert found.lower is None


@pytest.mark.parametrize("p", [2, 4, 8])
def test_a_shared_bus_makes_constant_bursts_queue(registry: Registry, p: int) -> None:
    bus = {**MACHINE, "network": {**MACHINE["network"], "contention": "bus"}}
    found = registry.predict({"phase": [PHASE]}, bus, "spmd.sio", p=p)
    cycle, _ = simulate(p, Fraction(8) / p + Fraction(1, 4) + Fraction(1, 4), Fraction(1, 2), 3)
    assert found.time == pytest.approx(float(6 * cycle), rel=1e-14)


@pytest.mark.parametrize("p", [2, 4, 8])
def test_constant_bursts_queue_exactly_for_one_disk(registry: Registry, p: int) -> None:
    phase = {**PHASE, "io": "async", "io_bytes": 32.0}
    found = registry.predict({"phase": [phase]}, MACHINE, "spmd.bus", p=p, d=1)
    delay = 3 * (Fraction(8) / p + Fraction(1, 4) + Fraction(3, 4))
    whole, _ = simulate(p, delay, Fraction(1, 2) + Fraction(4) / p, 6)
    assert found.time == pytest.approx(float(whole), rel=1e-14)


def test_constant_bursts_at_two_queues_say_that_the_answer_is_not_exact(registry: Registry) -> None:
    bus = {**MACHINE, "network": {**MACHINE["network"], "contention": "bus"}}
    phase = {**PHASE, "io": "async", "io_bytes": 32.0}
    found = registry.predict({"phase": [phase]}, bus, "spmd.bus", p=8, d=1)
    assert found.lower is not None
    assert found.time is not None
    assert found.lower < found.time
    assert "product form" in found.notes[0]


def test_uniform_bursts_cost_less_waiting_in_a_group_than_exponential_ones(
    registry: Registry,
) -> None:
    times = {}
    for law in ("constant", "uniform", "exponential"):
        phase = {**PHASE, "group": 4, "distribution": law, "io": "async"}
        times[law] = registry.predict({"phase": [phase]}, MACHINE, "spmd", p=8).parts
    means = {law: parts.synchronization / parts.compute for law, parts in times.items()}
    assert means["constant"] == 0
    assert means["uniform"] == pytest.approx(2 * 4 / 5 - 1)
    assert means["exponential"] == pytest.approx(1 / 2 + 1 / 3 + 1 / 4)


@given(
    p=st.sampled_from([1, 2, 4, 8]),
    clusters=st.sampled_from([1, 2]),
    bursts=st.integers(1, 4),
    cycles=st.integers(1, 5),
    numbers=st.tuples(*[st.integers(0, 16).map(lambda k: k / 8)] * 4),
    law=st.sampled_from(["constant", "uniform", "exponential"]),
    io=st.sampled_from(["sync", "async"]),
    layout=st.sampled_from(["bus", "cluster"]),
)
def test_bounds_bracket_the_time_and_contention_never_helps(
    registry: Registry,
    p: int,
    clusters: int,
    bursts: int,
    cycles: int,
    numbers: tuple[float, ...],
    law: str,
    io: str,
    layout: str,
) -> None:
    parallel, sent, written, access = numbers
    phase = {
        "cycles": cycles,
        "bursts": bursts,
        "parallel": parallel,
        "bytes": sent,
        "io_bytes": written,
        "io": io,
        "distribution": law,
    }
    network = {"startup": 0.125, "bandwidth": 2.0}
    storage = {"bandwidth": 4.0, "startup": access, "layout": layout}
    d = clusters if p % clusters == 0 else 1
    times = []
    for level in (0.0, 0.25, 0.5, 1.0, None):
        stated = {} if level is None else {"contention_level": level}
        machine = {"processor": {"rate": 1.0}, "network": {**network, **stated}, "storage": storage}
        found = registry.predict({"phase": [phase]}, machine, "spmd", p=p, d=d)
        assert found.time is not None
        assert found.parts is not None
        assert min(found.parts.values()) >= 0
        assert found.parts.total == pytest.approx(found.time, rel=1e-12)
        assert found.lower is None or found.lower <= found.time * (1 + 1e-12)
        assert found.upper is None or found.time <= found.upper * (1 + 1e-12)
        times.append(found.time)
    assert all(b >= a * (1 - 1e-12) for a, b in pairwise(times[:-1]))


def simulate_two(
    jobs: int, delay: float, network: float, count: int, disk: float, cycles: int
) -> float:
    """Return the makespan of jobs that pass ``count`` times delay and network, then the disk."""
    events = [(delay, job, 0, 0) for job in range(jobs)]
    heapq.heapify(events)
    free = [0.0, 0.0]
    end = 0.0
    while events:
        now, job, step, cycle = heapq.heappop(events)
        station = 0 if step < count else 1
        free[station] = max(free[station], now) + (network, disk)[station]
        end = max(end, free[station])
        step, cycle = (step + 1, cycle) if station == 0 else (0, cycle + 1)
        if cycle < cycles:
            heapq.heappush(events, (free[station] + delay * (step < count), job, step, cycle))
    return end


@given(
    st.integers(2, 8), st.integers(1, 3), st.integers(1, 5), *[st.integers(1, 24).map(float)] * 3
)
def test_the_lower_bound_of_two_queues_is_below_every_simulation(
    jobs: int, count: int, cycles: int, delay: float, network: float, disk: float
) -> None:
    phase = Demands(
        model="bus",
        cycles=cycles,
        bursts=count,
        groups=jobs,
        disks=1,
        compute=delay,
        joining=0.0,
        free=0.0,
        shared=network,
        io=disk,
        distribution=CONSTANT,
        options=AioOptions(),
    )
    (found,) = solve_bus([phase])
    assert found.lower is not None
    assert found.lower <= simulate_two(jobs, delay, network, count, disk, cycles) * (1 + 1e-12)
    assert found.lower <= found.time


def test_a_phase_that_waits_most_is_bound_by_synchronization_not_by_a_third_busy_network(
    registry: Registry,
) -> None:
    phase = {"bursts": 5, "parallel": 64.0, "bytes": 0.02, "distribution": "exponential"}
    bus = {**MACHINE, "network": {**MACHINE["network"], "contention": "bus"}}
    found = registry.predict({"phase": [phase]}, bus, "spmd", p=64)
    assert found.details["phases"][0]["utilization"]["network"] < 0.5
    assert found.binding == "synchronization"
