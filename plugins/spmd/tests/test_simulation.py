"""The referee: held to exact answers, to a plain event queue, and to its own intervals."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, t

import parcast_spmd
from parcast import Registry, Status
from parcast.model.phases import CONSTANT, EXPONENTIAL
from parcast.plugins.kernels import Kernel
from parcast.quantities.distributions import Distribution
from parcast.quantities.replications import generator
from parcast.testing import cases, turn
from parcast_spmd.models.ctmc import absorption
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.fork_join import rounds
from parcast_spmd.models.order_statistics import mean_maximum
from parcast_spmd.mva.exact_integral import symmetric_clusters
from parcast_spmd.mva.mva_kernels import delay_two_queues
from parcast_spmd.options import SimOptions, SioOptions
from parcast_spmd.simulation.kernel import Runs, Stations, event_kernel
from parcast_spmd.simulation.statistics import make_stations, simulate_steady, simulate_to_the_end
from parcast_spmd.solvers.sio import solve

from .reference import CASES
from .test_full_models import CASES as FULL
from .test_full_models import machine, workload

ROWS = CASES["sio_makespan_exact"]["rows"]
AIO = [case for case in FULL if case["model"] != "SIO" and case["p"] <= 1024]
SIO = [case for case in FULL if case["model"] == "SIO" and case["p"] <= 256]
#: One chance in a thousand that any of the true answers below is called wrong.
EACH = 0.001 / (len(ROWS) + len(AIO) + len(SIO))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([parcast_spmd])


def phase(**changes) -> Demands:
    given = {
        "model": "sio",
        "cycles": 1,
        "bursts": 1,
        "groups": 1,
        "disks": 1,
        "compute": 0.0,
        "joining": 0.0,
        "free": 0.0,
        "shared": 0.0,
        "io": 0.0,
        "distribution": EXPONENTIAL,
        "options": SimOptions(),
    }
    return Demands(**{**given, **changes})


def agrees(ci: tuple[float, float], count: int, exact: float) -> bool:
    """Whether an exact value is in the interval of ``count`` values, widened to 1 - EACH."""
    widened = t.ppf(1 - EACH / 2, count - 1) / t.ppf(0.975, count - 1)
    return abs(sum(ci) / 2 - exact) <= (ci[1] - ci[0]) / 2 * widened


@pytest.mark.parametrize("row", turn(ROWS, 2))
def test_it_agrees_with_exact_makespans(row) -> None:
    z, x = float(Fraction(row["z"])), float(Fraction(row["x"]))
    given = phase(groups=row["P"], bursts=row["n_io"], compute=z, shared=x)
    found = simulate_to_the_end(given, make_stations(given, geometric=True), 1).estimate
    assert found.converged
    assert agrees(found.ci, found.count, float(row["exact_mean_makespan"]))


@pytest.mark.parametrize("case", turn([*AIO, *SIO], 2), ids=lambda case: case["id"])
def test_it_agrees_with_the_full_models(registry: Registry, case) -> None:
    (row,) = registry.compare(
        workload(case),
        machine(case),
        p=case["p"],
        d=case["d"],
        solvers="spmd.sim",
        seed=3,
        elasticities=False,
    ).rows
    assert row.status is Status.OK, row.message
    exact = case["reference"]
    wanted = float(exact["T_cycle"])
    if "ctmc_exact_T_cpu_plus_com" in exact:
        wanted = float(exact["ctmc_exact_T_cpu_plus_com"]) + float(exact["T_io"])
    elif case["model"] == "SIO" and case["p"] > 1:
        (other,) = registry.compare(
            workload(case),
            machine(case),
            p=case["p"],
            d=case["d"],
            solvers="spmd.sio",
            settings={"spmd.sio.method": "ctmc"},
            elasticities=False,
        ).rows
        wanted = other.time
    assert agrees(row.ci, 32 if case["model"] != "SIO" else 1000, wanted)


def covered(answers, exact: float) -> None:
    """Expect 95 % intervals to hold the exact value about as often as they say."""
    held = sum(one.ci[0] <= exact <= one.ci[1] for one in answers)
    # stopping when the interval is narrow costs some coverage
    assert held >= binom.ppf(1e-4, len(answers), 0.93), held


def test_intervals_of_steady_state_hold_the_truth_as_often_as_they_say() -> None:
    z, x, y, jobs = 4.0, 1.0, 0.9, 6
    cycle = jobs / float(delay_two_queues(jobs, z, x, y)[0])
    answers = []
    for seed in range(150):
        given = phase(model="bus", groups=jobs, compute=z, shared=x, io=y, seed=(seed, 0))
        answers.append(simulate_steady(given, make_stations(given, geometric=True)).estimate)
    covered(answers, cycle)


def test_intervals_of_runs_hold_the_truth_as_often_as_they_say() -> None:
    exact = absorption(4, 1.0, 0.5, 3).time
    answers = []
    for seed in range(150):
        options = SimOptions(tolerance=0.03)
        given = phase(groups=4, bursts=3, compute=1, shared=0.5, seed=(seed, 0), options=options)
        answers.append(simulate_to_the_end(given, make_stations(given, geometric=True), 1).estimate)
    covered(answers, exact)


@pytest.mark.parametrize("law", ["exponential", "erlang:4,1", "uniform", "lognormal:1,2"])
def test_steady_state_means_do_not_depend_on_the_law_of_the_delay(law: str) -> None:
    shape = Distribution.read(law, "1")
    given = phase(
        model="clu", groups=12, disks=3, bursts=2, compute=3.0, shared=0.3, io=0.8,
        distribution=shape.scaled(1 / shape.mean),
    )  # fmt: skip
    rate, network, disk = symmetric_clusters(3, 4, 6.0, 0.6, 0.8)
    found = simulate_steady(given, make_stations(given, geometric=False))
    assert agrees(found.estimate.ci, 32, 4 / rate)
    assert found.network == pytest.approx(network, rel=0.05)
    assert found.disk == pytest.approx(disk, rel=0.05)


@pytest.mark.parametrize("law", ["uniform", "erlang:3,1", "weibull:2,1", "sampled:1,2,9"])
def test_without_a_queue_the_makespan_is_the_mean_maximum(law: str) -> None:
    shape = Distribution.read(law, "1")
    shape = shape.scaled(1 / shape.mean)
    given = phase(groups=8, compute=2.0, free=0.5, distribution=shape)
    found = simulate_to_the_end(given, make_stations(given, geometric=False), 1).estimate
    exact = 0.5 + 2.0 * mean_maximum(shape, 8)
    assert agrees(found.ci, found.count, exact)


def test_a_group_waits_for_its_slowest_member() -> None:
    given = phase(
        groups=3, members=4, bursts=2, compute=1.0, options=SioOptions(method="fixed-cycles")
    )
    (found,) = solve([given])
    drawn = np.random.default_rng(1).exponential(1.0, (100_000, 3, 2, 4))
    wanted = drawn.max(axis=3).sum(axis=2).max(axis=1).mean()
    assert found.time == pytest.approx(wanted, rel=0.02)


def two_clusters() -> Stations:
    drawn = np.random.default_rng(2)
    return Stations(
        pace=drawn.uniform(1, 2, (7, 2)),
        shape=EXPONENTIAL,
        constant=0.1,
        network=EXPONENTIAL.scaled(0.3),
        storage=CONSTANT.scaled(0.5),
        bursts=2.5,
        geometric=True,
        disks=np.arange(7) % 2,
        nodes=np.array([0, 0, 0, 1, 1, -1, -1]),
        cores=np.array([2, 1]),
    )


def test_both_forms_of_the_kernel_play_the_same() -> None:
    plain, fast = (Runs(two_clusters(), generator(1, 0), cycles=300, runs=2) for _ in range(2))
    marks = plain.marks(5, 100, form=event_kernel.plain)
    assert np.array_equal(marks, fast.marks(5, 100))
    plain.to_the_end()
    fast.to_the_end()
    assert np.array_equal(plain.total, fast.total)
    assert (plain.total[0] != plain.total[1]).all()


def test_a_long_run_goes_on_in_the_compiled_form(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"plain": 0, "compiled": 0}

    def counting(form: str) -> Callable[..., None]:
        def run(*columns: Any) -> None:
            calls[form] += 1
            event_kernel.plain(*columns)

        return run

    kernel = Kernel(counting("plain"), lambda: counting("compiled"), plain_steps=100_000)
    monkeypatch.setattr("parcast_spmd.simulation.kernel.event_kernel", kernel)
    monkeypatch.setattr("parcast_spmd.simulation.kernel.AHEAD", 1000)
    Runs(two_clusters(), generator(1, 0), cycles=1000).to_the_end()
    assert calls["compiled"] > calls["plain"] > 0


def play_plainly(pace, constant, passage, access, bursts, cycles, disks, nodes, cores, first=1):
    """Return end and times at network, disks and in a crowd, every station with its own list.

    Of two that come at one time, but for rounding, the first job is first; the last, where
    ``first`` is -1.
    """
    events, idle = [], {node: [0.0] * count for node, count in enumerate(cores)}
    free = {"network": 0.0}
    spent = dict.fromkeys(("end", "network", "disk", "crowd"), 0.0)

    def come(now, job, *what):
        heapq.heappush(events, (round(now, 9), first * job, now, job, *what))

    for job, each in enumerate(pace):
        if nodes[job] >= 0:
            come(0.0, job, "node", 0, 0)
        else:
            come(each + constant, job, "network", 0, 0)
    while events:
        _, _, now, job, place, burst, cycle = heapq.heappop(events)
        if place == "node":
            begins = now
            if nodes[job] >= 0:
                begins = max(now, min(idle[nodes[job]]))
                idle[nodes[job]].remove(min(idle[nodes[job]]))
                idle[nodes[job]].append(begins + pace[job])
                spent["crowd"] += begins - now
            come(begins + pace[job] + constant, job, "network", burst, cycle)
        elif place == "network":
            leaves = free["network"] = max(now, free["network"]) + passage
            spent["network"] += leaves - now
            to = "node" if burst + 1 < bursts else "disk"
            come(leaves, job, to, burst + 1, cycle)
        else:
            leaves = free[disks[job]] = max(now, free.get(disks[job], 0.0)) + access
            spent["disk"] += leaves - now
            spent["end"] = max(spent["end"], leaves)
            if cycle + 1 < cycles:
                come(leaves, job, "node", 0, cycle + 1)
    return list(spent.values())


@settings(max_examples=cases(30))
@given(
    seed=st.integers(0, 2**32),
    alone=st.integers(1, 6),
    bursts=st.integers(1, 3),
    cycles=st.integers(1, 4),
    disks=st.integers(1, 3),
    crowd=st.integers(0, 3),
)
@example(seed=828, alone=1, bursts=3, cycles=1, disks=1, crowd=3)  # two come at one time
def test_constant_times_play_as_a_plain_event_queue_does(
    seed, alone, bursts, cycles, disks, crowd
) -> None:
    """``crowd`` equal jobs share a node of two cores; the rest have processors of their own."""
    constant, passage, access, shared, *pace = np.random.default_rng(seed).uniform(
        0.1, 2, 4 + alone
    )
    pace = [*[shared] * crowd, *pace]
    homes = [0] * crowd + [-1] * (len(pace) - crowd)
    places = [0] * crowd + [job % disks for job in range(len(pace) - crowd)]
    given = Stations(
        pace=np.array(pace)[:, None],
        shape=CONSTANT,
        constant=constant,
        network=CONSTANT.scaled(passage),
        storage=CONSTANT.scaled(access),
        bursts=bursts,
        disks=np.array(places),
        nodes=np.array(homes),
        cores=np.array([2]) if crowd else np.empty(0, dtype=int),
    )
    play = Runs(given, generator(0, 0), cycles=cycles, runs=3)
    play.to_the_end()
    asked = pace, constant, passage, access, bursts, cycles, places, homes, [2]
    wanted = play_plainly(*asked)
    # sums of the same numbers may be equal: then who is first decides, and rounding decides that
    assume(play_plainly(*asked, first=-1) == pytest.approx(wanted, rel=1e-9))
    for total in play.total:
        assert total == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@settings(max_examples=cases(20))
@given(st.integers(1, 9), st.floats(0.1, 5), st.floats(0, 5), st.integers(1, 6))
def test_constant_bursts_are_the_closed_form(jobs, z, x, bursts) -> None:
    given = phase(groups=jobs, bursts=bursts, compute=z, shared=x, distribution=CONSTANT)
    found = simulate_to_the_end(given, make_stations(given, geometric=False), 1)
    exact = rounds(jobs, z, x, bursts)
    assert found.estimate.mean == pytest.approx(exact.time, rel=1e-12)
    assert found.network == pytest.approx(exact.queuing, rel=1e-9, abs=1e-9)
    assert found.sampled.std == pytest.approx(0, abs=1e-9)


#: Seconds of five steps of BTIO at p = 4 .. 64 in a simulation by others, delays drawn as a whole.
FIVE_CYCLES = {4: 14.12, 9: 8.15, 16: 5.68, 25: 4.38, 36: 3.66, 49: 3.28, 64: 3.18}
VOLUMES = {4: 1.406, 9: 1.250, 16: 1.097, 25: 0.882, 36: 0.781, 49: 0.745, 64: 0.691}


@pytest.mark.parametrize("p", FIVE_CYCLES)
def test_five_exponential_cycles_of_btio_are_those_of_another_simulation(p: int) -> None:
    transfer = 0.037 * VOLUMES[p]
    delay = 6.9 / p + 0.08 + 150e-6 * 6 * p**0.5 + 0.77 * transfer
    given = phase(
        groups=p, bursts=5, compute=delay, shared=0.23 * transfer,
        options=SimOptions(tolerance=0.005),
    )  # fmt: skip
    found = simulate_to_the_end(given, make_stations(given, geometric=False), 1).estimate
    assert found.mean + 1 / 3 == pytest.approx(FIVE_CYCLES[p], rel=0.015)
