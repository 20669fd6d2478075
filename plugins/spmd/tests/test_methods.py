"""The methods of synchronous I/O end to end: reference cases, laws of bursts, messages."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

import parcast_spmd
from parcast import Registry, Status
from parcast.testing import seeds, turn

from .test_full_models import CASES as FULL
from .test_full_models import machine, workload

SIO = [case for case in FULL if "ctmc_exact_T_cpu_plus_com" in case["reference"]]
UNIT = {
    "name": "m",
    "processor": {"rate": 1.0},
    "network": {"startup": 0.25, "bandwidth": 2.0, "contention_level": 0.5},
    "storage": {"bandwidth": 4.0},
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([parcast_spmd])


def ask(
    registry: Registry, phases: list[Any], p: int = 8, *, binding: bool = False, **settings: object
) -> Any:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    (row,) = registry.compare(
        {"name": "w", "phase": phases},
        UNIT,
        p=p,
        d=1,
        solvers="spmd",
        settings=given,
        elasticities=binding,
    ).rows
    return row


@pytest.mark.parametrize("case", SIO, ids=lambda case: case["id"])
def test_the_markov_chain_answers_the_full_models_exactly(registry: Registry, case: Any) -> None:
    (row,) = registry.compare(
        workload(case), machine(case), p=case["p"], d=case["d"],
        solvers="spmd.sio", settings={"spmd.sio.method": "ctmc"},
        elasticities=False,
    ).rows  # fmt: skip
    exact = case["reference"]
    joined = float(exact["ctmc_exact_T_cpu_plus_com"])
    assert row.time == pytest.approx(joined + float(exact["T_io"]), rel=1e-9)
    assert row.time - row.parts.io == pytest.approx(joined, rel=1e-9)
    eq16 = float(exact["T_cpu_plus_com"])
    error = float(exact["eq16_error_vs_ctmc_percent"])
    assert 100 * (eq16 / joined - 1) == pytest.approx(error, rel=1e-3, abs=1e-4)


#: BTIO class A on the SP-2, seconds of five steps and a write, as the printed parameters give it
#: by eq. 16, and as a simulation by others has five constant steps with an exponential network.
PRINTED = {4: 19.46, 9: 12.71, 16: 9.43, 25: 7.63, 36: 6.56, 49: 5.89, 64: 5.49}
CONSTANT = {4: 9.70, 9: 4.97, 16: 3.34, 25: 2.58, 36: 2.20, 49: 2.16, 64: 2.43}
VOLUMES = {4: 1.406, 9: 1.250, 16: 1.097, 25: 0.882, 36: 0.781, 49: 0.745, 64: 0.691}


def btio(volume: float) -> dict[str, Any]:
    """Return BTIO as printed in section 5.1.1, each process sending ``volume`` MB a step."""
    return {
        "bursts": 5,
        "parallel": 6.9,
        "serial": 0.08,
        "messages": "6*sqrt(p)",
        "bytes": volume,
        "io_bytes": 10.0,
    }


SP2 = {
    "name": "sp2",
    "processor": {"rate": 1.0},
    "network": {"startup": 150e-6, "bandwidth": 1 / 0.037, "contention_level": 0.23},
    "storage": {"bandwidth": 10.0, "disks": 3},
}


@pytest.mark.parametrize("p", PRINTED)
def test_btio_by_the_printed_parameters(registry: Registry, p: int) -> None:
    given = {"phase": [btio(p ** (-1 / 6))]}
    found = registry.predict(given, SP2, "spmd", p=p, d=3)
    assert f"{found.time:.2f}" == f"{PRINTED[p]:.2f}"


@pytest.mark.parametrize("p", turn(CONSTANT, 4))
def test_btio_with_constant_steps_is_that_of_another_simulation(registry: Registry, p: int) -> None:
    given = {"phase": [{**btio(VOLUMES[p]), "distribution": "constant"}]}
    (row,) = registry.compare(
        given, SP2, p=p, d=3, solvers="spmd.sio",
        settings={"spmd.sio.service": "exponential", "spmd.sio.tolerance": 0.002},
        elasticities=False,
    ).rows  # fmt: skip
    assert row.time == pytest.approx(CONSTANT[p], rel=0.006)


def sampled_by_numpy(law: str, bursts: int, groups: int, members: int) -> float:
    """Return the mean time until the last group has done its bursts, where nothing queues."""
    from parcast.quantities.distributions import Distribution

    shape = Distribution.read(law, "1")
    size = 20_000 * groups * bursts * members
    drawn = shape.sample(np.random.default_rng(4), size).reshape(-1, groups, bursts, members)
    return float(drawn.max(axis=3).sum(axis=2).max(axis=1).mean() / shape.mean)


@pytest.mark.parametrize("method", ["auto", "eq16", "ctmc", "fixed-cycles"])
def test_a_phase_of_nothing_but_io_takes_its_time_by_every_method(
    registry: Registry, method: str
) -> None:
    row = ask(registry, [{"cycles": 3, "io_bytes": 8}], spmd_sio_method=method)
    assert row.time == 3 * 8 / 4.0
    assert "range" not in row.details
    assert not row.notes


@pytest.mark.parametrize("law", ["exponential", "erlang:4,1", "uniform:1,3", "sampled:1,1,4"])
@pytest.mark.parametrize("group", [1, 2])
def test_fixed_cycles_follow_the_law_of_the_workload(
    registry: Registry, law: str, group: int
) -> None:
    phase = {"bursts": 3, "serial": 2.0, "messages": 1, "group": group, "distribution": law}
    row = ask(registry, [phase], spmd_sio_method="fixed-cycles")
    wanted = 3 * 0.25 + 2.0 * sampled_by_numpy(law, 3, 8 // group, group)
    assert row.time == pytest.approx(wanted, rel=0.02)
    exactly = group == 1 and law in {"exponential", "erlang:4,1"}
    assert (row.ci is None) == exactly


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("law", ["uniform", "constant", "erlang:2,1", "uniform:1,3"])
def test_the_default_is_within_the_bounds_of_the_law(registry, law, seed):
    """An answer for bursts of another law may be beyond what those that are stated can take."""
    random = Random(seed)
    phase = {
        "cycles": random.randint(1, 30),
        "bursts": random.randint(1, 6),
        "parallel": random.uniform(1, 20),
        "serial": random.uniform(0, 2),
        "messages": random.randint(0, 3),
        "bytes": random.choice([0, random.uniform(0, 2)]),
        "group": random.choice([1, 2]),
        "io_bytes": random.choice([0, random.uniform(0, 20)]),
        "distribution": law,
    }
    p, settings = random.choice([2, 4, 8]), {"spmd.tolerance": 0.02}
    asked = {"phase": [phase]}
    sio = registry.predict(asked, UNIT, "spmd.sio", p=p, settings=settings)
    bounds = registry.predict(asked, UNIT, "spmd.bounds", p=p)
    assert bounds.lower * 0.99 <= sio.time <= bounds.upper * 1.01, phase


def test_a_law_that_is_not_exponential_is_played_by_default(registry: Registry) -> None:
    phase = {"bursts": 3, "serial": 2.0, "bytes": 1.0}
    methods = {}
    for law in ("exponential", "uniform", "constant", "erlang:2,1", "sampled:1,2"):
        row = ask(registry, [{**phase, "distribution": law}])
        methods[law] = row.details["phases"][0]["method"]
    assert methods == {
        "exponential": "eq16",
        "uniform": "fixed-cycles",
        "constant": "constant",
        "erlang:2,1": "fixed-cycles",
        "sampled:1,2": "fixed-cycles",
    }


def test_more_regular_bursts_take_less_time(registry: Registry) -> None:
    phase = {"bursts": 4, "serial": 2.0, "bytes": 1.0}
    laws = ("constant", "erlang:16,1", "erlang:4,1", "exponential")
    times = [
        ask(registry, [{**phase, "distribution": law}], spmd_sio_method="fixed-cycles").time
        for law in laws
    ]
    assert times == sorted(times)
    assert times[-1] < ask(registry, [phase]).time


def test_phases_of_several_kinds_add_up(registry: Registry) -> None:
    one = {"bursts": 3, "serial": 2.0, "bytes": 1.0, "cycles": 4, "distribution": "erlang:2,1"}
    other = {"serial": 1.0, "bytes": 1.0, "io": "async", "io_bytes": 8.0}
    both = ask(registry, [one, other])
    apart = [ask(registry, [phase]) for phase in (one, other)]
    assert both.solver == "spmd.mixed"
    assert both.time == pytest.approx(sum(row.time for row in apart))
    width = both.ci[1] - both.ci[0]
    assert width == pytest.approx(apart[0].ci[1] - apart[0].ci[0])
    once = ask(registry, [{**one, "cycles": 1}])
    assert apart[0].std == pytest.approx(2 * once.std, rel=1e-12)
    twice = ask(registry, [one, one])
    narrow = ask(registry, [one])
    assert twice.std == pytest.approx(math.sqrt(2) * narrow.std, rel=0.05)
    exact = ask(registry, [one, other], spmd_mixed_sio="ctmc", spmd_mixed_aio="linearizer")
    assert [phase["method"] for phase in exact.details["phases"]] == ["ctmc", "linearizer"]


def test_the_seed_decides(registry: Registry) -> None:
    given = {"phase": [{"bursts": 3, "serial": 2.0, "bytes": 1.0, "distribution": "erlang:2,1"}]}
    times = [registry.predict(given, UNIT, "spmd.sio", p=8, seed=seed).time for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]


def test_the_tolerance_is_kept_or_said_to_be_missed(registry: Registry) -> None:
    phase = {"bursts": 3, "serial": 2.0, "bytes": 1.0, "distribution": "erlang:2,1"}
    fine = ask(registry, [phase], spmd_sio_tolerance=0.004)
    assert (fine.ci[1] - fine.ci[0]) / 2 <= 0.004 * fine.time
    coarse = ask(registry, [phase], spmd_sio_tolerance=0.0001, spmd_sio_most=2000)
    assert coarse.status is Status.NOT_CONVERGED
    assert "of the time to either side and wider than asked" in coarse.message
    steady = {**phase, "io": "async", "io_bytes": 4.0}
    (row,) = registry.compare(
        {"phase": [steady]}, UNIT, p=8, d=1, solvers="spmd.sim",
        settings={"spmd.sim.tolerance": 1e-5, "spmd.sim.most": 50_000},
        elasticities=False,
    ).rows  # fmt: skip
    assert row.status is Status.NOT_CONVERGED


@pytest.mark.parametrize(
    ("phase", "settings", "reason"),
    [
        ({"bursts": 2.5}, {"spmd.sio.method": "fixed-cycles"}, "2.5 bursts in a cycle cannot be"),
        ({"bursts": 0.5}, {"spmd.sio.method": "ctmc"}, "takes one burst or more per I/O, not 0.5"),
        ({}, {"spmd.sio.method": "eq16", "spmd.sio.service": "constant"}, "no other law of"),
        ({}, {"spmd.sio.method": "ctmc", "spmd.sio.service": "constant"}, "no other law of"),
    ],
)
def test_what_a_method_cannot_take_is_a_reason(
    registry: Registry, phase: dict[str, Any], settings: Any, reason: str
) -> None:
    given = {"phase": [{"bursts": 3, "serial": 2.0, "bytes": 1.0, **phase}]}
    (row,) = registry.compare(
        given, UNIT, p=8, d=1, solvers="spmd", settings=settings, elasticities=False
    ).rows
    assert row.status is Status.REFUSED
    assert reason in row.message


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ({"bursts": 0.5}, "a geometric number of bursts has a mean of 1 or more, not 0.5"),
        ({"bursts": 1.5, "distribution": "uniform"}, "1.5 bursts in a cycle cannot be simulated"),
        ({"cycles": 2.5, "io": "async"}, "2.5 cycles cannot be simulated as a whole"),
    ],
)
def test_what_cannot_be_played_is_a_reason(
    registry: Registry, phase: dict[str, Any], reason: str
) -> None:
    given = {"phase": [{"serial": 2.0, "bytes": 1.0, **phase}]}
    settings = {"spmd.sim.span": "whole"}
    (row,) = registry.compare(
        given, UNIT, p=8, d=1, solvers="spmd.sim", settings=settings, elasticities=False
    ).rows
    assert row.status is Status.REFUSED
    assert reason in row.message


def test_a_whole_run_counts_the_wait_for_the_last(registry: Registry) -> None:
    phase = {"cycles": 20, "serial": 2.0, "bytes": 1.0, "io": "async", "io_bytes": 4.0}
    times = {}
    for span in ("steady", "whole"):
        (row,) = registry.compare(
            {"phase": [phase]}, UNIT, p=8, d=1, solvers="spmd.sim",
            settings={"spmd.sim.span": span},
        elasticities=False,
    ).rows  # fmt: skip
        times[span] = row
    assert times["whole"].time > 1.1 * times["steady"].time
    assert times["whole"].parts.synchronization > 0
    assert times["steady"].parts.synchronization == 0


def test_an_open_level_is_told_from_random_runs(registry: Registry) -> None:
    given = {"phase": [{"bursts": 3, "serial": 2.0, "bytes": 1.0, "distribution": "erlang:2,1"}]}
    open_level = {**UNIT, "network": {"startup": 0.25, "bandwidth": 2.0}}
    found = registry.predict(given, open_level, "spmd", p=8)
    assert (found.lower, found.upper) == (None, None)
    assert "at 0 and 1 it is about" in found.notes[-1]


def test_the_range_says_how_pessimistic_equation_16_is(registry: Registry) -> None:
    given = {"phase": [btio(VOLUMES[64])]}
    equal, random = registry.predict(given, SP2, "spmd", p=64, d=3).details["range"]
    assert random / equal == pytest.approx(2.4, abs=0.05)
    near = {"phase": [{**btio(VOLUMES[64]), "parallel": 0.0, "serial": 0.0}]}
    equal, random = registry.predict(near, SP2, "spmd", p=64, d=3).details["range"]
    assert random / equal == pytest.approx(1.1, abs=0.05)


def test_a_phase_without_queues_says_that_the_end_is_not_counted(registry: Registry) -> None:
    given = {"serial": 1.0, "io": "async", "cycles": 3}
    (note,) = ask(registry, [given]).notes
    assert "waiting for the last process at the end is not counted" in note
    assert not ask(registry, [{**given, "distribution": "constant"}]).notes
    assert not ask(registry, [given], p=1).notes


def test_cycles_are_independent(registry: Registry) -> None:
    """The deviation of a run of 9 is 3 times that of one, the interval 9 times as wide."""
    given = {"serial": 1.0, "distribution": "weibull:2,1"}
    chosen = {"spmd_sio_method": "fixed-cycles"}
    one = ask(registry, [given], **chosen)
    nine = ask(registry, [{**given, "cycles": 9}], **chosen)
    assert nine.time == pytest.approx(9 * one.time, rel=1e-12)
    assert nine.std == pytest.approx(3 * one.std, rel=1e-12)
    assert nine.ci == pytest.approx([9 * end for end in one.ci], rel=1e-12)


HUGE = [
    ({"serial": 1.0, "bytes": 1e-12}, 10**15, {}, "equation 16 has a term for each of 1,000"),
    ({"serial": 1.0, "bytes": 1e-12, "io_bytes": 1.0, "io": "async"}, 10**12, {}, "at a disk"),
    ({"serial": 1.0, "bytes": 1.0}, 10**12, {"spmd.sio.method": "ctmc"}, "up to 20000"),
]


@pytest.mark.parametrize(("given", "p", "chosen", "said"), HUGE)
@pytest.mark.parametrize("layout", ["bus", "cluster"])
def test_what_would_take_for_ever_is_refused(registry, given, p, chosen, said, layout) -> None:
    machine = {**UNIT, "storage": {"bandwidth": 4.0, "layout": layout}}
    found = registry.predict({"phase": [given]}, machine, "spmd", p=p, d=1, settings=chosen)
    assert found.status is Status.REFUSED
    assert said in found.message


def test_a_huge_p_has_an_answer_where_all_wait_for_the_network(registry: Registry) -> None:
    found = ask(registry, [{"serial": 1.0, "bytes": 8.0}], p=10**15)
    assert found.time == pytest.approx(2e15, rel=1e-9)


@pytest.mark.parametrize("io", ["sync", "async"])
def test_no_more_bursts_are_played_than_allowed(registry: Registry, io: str) -> None:
    given = {"phase": [{"serial": 1.0, "bytes": 0.1, "io": io, "io_bytes": 1.0, "bursts": 4}]}
    found = registry.predict(given, UNIT, "spmd.sim", p=10**6, settings={"spmd.sim.most": 10**6})
    assert found.status is Status.REFUSED
    assert "at most 1,000,000 are allowed" in found.message
    few = {"spmd.sim.most": 40_000, "spmd.sim.tolerance": 1e-6}
    found = registry.predict(given, UNIT, "spmd.sim", p=20, settings=few)
    (phase,) = found.details["phases"]
    played = phase.get("runs", 0) * 80 + phase.get("cycles", 0) * 4 * 40 / 32
    assert 20_000 <= played <= 40_000


def test_a_station_that_sets_the_pace_binds_though_more_time_is_spent_elsewhere(registry) -> None:
    """Eight passages of 1 s after 7 s: computing is the largest part, 6 of 15 s."""
    one = {"serial": 6.0, "bytes": 4.0, "distribution": "constant"}
    found = ask(registry, [one], binding=True)
    assert found.parts.values() == pytest.approx((6.0, 5.5, 0.0, 3.5))
    assert found.details["binding"] == "network"
    slower = ask(registry, [{**one, "serial": 7.5}], binding=True)
    assert slower.details["binding"] == "processor"


def test_the_time_of_random_bursts_stands_beside_that_of_equal_ones(registry: Registry) -> None:
    """What people see first of btio: from constant bursts to those of equation 16."""
    row = registry.predict({"phase": [btio(VOLUMES[64])]}, SP2, "spmd.sio", p=64, d=3)
    alike = {"phase": [{**btio(VOLUMES[64]), "distribution": "constant"}]}
    equal = registry.predict(alike, SP2, "spmd.sio", p=64, d=3)
    assert row.details["range"] == pytest.approx([equal.time, row.time])
    assert any('that (distribution = "constant")' in note for note in row.notes)
    assert "range" not in equal.details
