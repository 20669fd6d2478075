"""Propagation against a re-simulation of random programs that knows no delays."""

import random
from itertools import pairwise

import attrs
import numpy as np
import pytest

from parcast.errors import ParcastError
from parcast.testing import cases, seeds
from parcast_perturb.path import critical_path
from parcast_perturb.perturbation import (
    Addition,
    Arrivals,
    Extra,
    Perturbation,
    Recorded,
    Semantics,
)
from parcast_perturb.propagation.running import propagate
from parcast_traces.readers.neutral import trace_of
from parcast_traces.trace.calls import EXPECT, NOTICE
from parcast_traces.trace.columns import END, NAME

from .programs import Costs, changed, neutral, random_program, simulate

PROGRAMS = cases(120)

CHANGES = (
    {},
    {"noise": 7, "latency": 30, "per_byte": 1},
    {"noise": -5, "latency": -20, "compute": -100},
    {"compute": 11, "latency": 100},
)


def recorded(costs):
    return Recorded(
        overhead=costs.o, latency=costs.latency, per_byte=costs.per_byte, eager_max=costs.eager_max
    )


def made(seed, *, one_sided=False):
    rng, program = random.Random(seed), random_program(seed, one_sided=one_sided)
    costs = Costs(o=rng.choice([0, 10]), latency=50, per_byte=1,
                  eager_max=rng.choice([100, 1 << 40]))  # fmt: skip
    return rng, program, costs, trace_of(neutral(program, costs), "random")


def openings(trace):
    """Return each rank's events with which calls open, and which events are whole calls."""
    names, found = trace.events.whole[:, NAME], []
    for begin, end in pairwise(trace.events.offsets):
        places, opening = [], None
        for row in range(begin, end):
            opening = row - begin if opening is None else opening
            if names[row] < NOTICE:
                places.append(opening)
            opening = opening if names[row] == EXPECT else None
        found.append(places)
    return found, names < NOTICE


@pytest.mark.parametrize("part", range(3))
def test_clocked_is_the_perturbed_run_and_upper_and_lower_hold_it(part):
    for seed in seeds(PROGRAMS)[part::3]:
        rng, program, costs, trace = made(seed, one_sided=seed % 4 == 3)
        first, whole = openings(trace)
        for change in CHANGES:
            rank = rng.randrange(trace.size)
            place = (rank, rng.randrange(len(program[0][rank])))
            extra = {place: rng.choice([-800, 500])} if change else {}
            before = [Extra(r, first[r][n], delta) for (r, n), delta in extra.items()]
            added = Perturbation.of(**change, extra=tuple(before))
            run = simulate(program, changed(costs, **change), extra)
            want = np.array([event["t_end"] for events in run for event in events])
            found = {
                policy: trace.events.times[:, END]
                + propagate(trace, added, recorded(costs), policy, every_end=True).ends[:, 0]
                for policy in ("clocked", "upper", "lower")
            }
            found = {policy: ends[whole] for policy, ends in found.items()}
            assert (found["clocked"] == want).all(), (seed, change)
            assert (found["lower"] <= want).all(), (seed, change)
            assert (want <= found["upper"]).all(), (seed, change)


def test_without_clocks_offsets_of_clocks_change_nothing():
    for seed in seeds(40):
        rng, program, costs, trace = made(seed)
        data = neutral(program, costs)
        for events in data["ranks"]:
            offset = rng.randint(-(10**6), 10**6)
            for event in events:
                event["t_start"] += offset
                event["t_end"] += offset
        shifted = trace_of(data, "shifted")
        added = Perturbation.of(**CHANGES[1])
        for policy in ("upper", "lower"):
            first, second = (
                propagate(one, added, recorded(costs), policy).final for one in (trace, shifted)
            )
            assert (first == second).all()


def test_the_order_of_running_changes_nothing():
    added = Perturbation(noise=(Addition(values=np.arange(65536.0) % 97),))
    for seed in seeds(30):
        *_, costs, trace = made(seed)
        finals = [
            propagate(trace, added, recorded(costs), "clocked", replications=3, quantum=quantum)
            for quantum in (1, 5, 10**6)
        ]
        assert all((one.final == finals[0].final).all() for one in finals)


def test_replications_are_each_their_own_run():
    *_, costs, trace = made(3)
    values = np.random.default_rng(1).exponential(40, 65536)
    added = Perturbation(noise=(Addition(values=values),), compute=(Addition(values=values),))
    many = propagate(trace, added, recorded(costs), "upper", replications=4, seed=9).final
    one = propagate(trace, added, recorded(costs), "upper", replications=1, seed=9).final
    assert (many[:, :1] == one).all()
    assert len({tuple(column) for column in many.T}) == 4
    other = propagate(trace, added, recorded(costs), "upper", replications=1, seed=10).final
    assert (other != one).any()


def test_one_constant_for_each_replication_is_a_sweep():
    *_, costs, trace = made(5)
    sweep = Perturbation(latency=(Addition(np.array([0.0, 10.0, 25.0])),))
    found = propagate(trace, sweep, recorded(costs), "clocked", replications=3).final
    for column, latency in enumerate((0, 10, 25)):
        alone = propagate(trace, Perturbation.of(latency=latency), recorded(costs), "clocked")
        assert (found[:, column] == alone.final[:, 0]).all()


def test_noise_of_some_ranks_only_is_added_there():
    *_, costs, trace = made(8)
    some = Perturbation(compute=(Addition(5.0, ranks=(1,)),))
    offsets = trace.events.offsets
    same = Perturbation.of(
        extra=tuple(Extra(1, event, 5.0) for event in range(1, int(offsets[2] - offsets[1])))
    )
    first, second = (
        propagate(trace, one, recorded(costs), "clocked").final for one in (some, same)
    )
    assert (first == second).all()


def test_the_paths_numbers_are_the_slope_of_the_makespan():
    """A small step further along each addition changes the makespan by what is on the path."""
    checked = 0
    for seed in seeds(120):
        *_, costs, trace = made(seed, one_sided=seed % 4 == 3)
        base = {"noise": 3.0, "latency": 17.0, "per_byte": 0.37, "compute": 1.1}
        found = propagate(trace, Perturbation.of(**base), recorded(costs), "clocked", causes=True)
        ends = trace.ends + found.final[:, 0]
        path = critical_path(trace, found.cause, int(ends.argmax()))
        slopes = {
            "latency": path.messages, "per_byte": path.bytes,
            "noise": sum(path.calls.values()), "compute": sum(path.gaps.values()),
        }  # fmt: skip
        words = {"latency": "latencies", "per_byte": "bytes", "noise": "calls", "compute": "gaps"}
        for name, word in words.items():
            assert sum(one.get(word, 0) for one in path.sites.values()) == slopes[name]
        for name, slope in slopes.items():
            steps = []
            for step in (-1e-4, 1e-4):
                more = Perturbation.of(**{**base, name: base[name] + step})
                moved = propagate(trace, more, recorded(costs), "clocked").final[:, 0]
                steps.append(((trace.ends + moved).max() - ends.max()) / step)
            low, high = steps
            assert low - 1e-3 <= slope <= high + 1e-3, (seed, name)
            checked += high - low < 1e-3
    assert checked > 400


def test_a_butterfly_of_constants_is_never_above_the_paper_and_equal_where_all_are_even():
    for seed in seeds(60):
        *_, costs, trace = made(seed)
        paper, butterfly = (
            propagate(trace, Perturbation.of(**CHANGES[1]), recorded(costs), "clocked",
                      Semantics(collectives=word)).final
            for word in ("paper", "butterfly")
        )  # fmt: skip
        assert (butterfly <= paper).all()
    events = [[{"kind": "allreduce", "bytes": 8, "t_start": 0, "t_end": 100}] for _ in range(5)]
    even = trace_of({"ranks": events}, "even")
    for word in ("paper", "butterfly"):
        found = propagate(even, Perturbation.of(**CHANGES[1]), Recorded(), "upper",
                          Semantics(collectives=word))  # fmt: skip
        assert found.final[:, 0].tolist() == [3 * (7 + 30) + 8] * 5


@pytest.mark.parametrize("size", [8, 6])
def test_butterfly_against_stages_by_hand(size):
    events = [[{"kind": "allreduce", "bytes": 8, "t_start": 0, "t_end": 100}] for _ in range(size)]
    trace = trace_of({"ranks": events}, "one call")
    values = np.random.default_rng(2).exponential(20, 65536)
    added = Perturbation(noise=(Addition(values=values),))
    semantics = {word: Semantics(collectives=word) for word in ("paper", "butterfly")}
    found = {
        word: propagate(trace, added, Recorded(), "upper", one, replications=2000).final
        for word, one in semantics.items()
    }
    stages = (size - 1).bit_length()
    rng, ratio = np.random.default_rng(3), {}
    drawn = rng.choice(values, (2000, stages, size))
    ratio["paper"] = drawn.sum(axis=1).max(axis=1).mean()
    at = np.zeros((2000, size))
    for k in range(stages):
        at = at + drawn[:, k]
        at = np.maximum(at, np.roll(at, 1 << k, axis=1))
    ratio["butterfly"] = at.max(axis=1).mean()
    for word, values in found.items():
        assert values.max(axis=0).mean() == pytest.approx(ratio[word], rel=0.03)
    assert ratio["butterfly"] > ratio["paper"]


def test_the_papers_rules_have_no_slack():
    events = [
        [{"kind": "send", "peer": 1, "bytes": 8, "t_start": 0, "t_end": 10}],
        [{"kind": "recv", "peer": 0, "bytes": 8, "t_start": 1000, "t_end": 1010}],
    ]
    trace = trace_of({"ranks": events}, "late receiver")
    finals = {
        rules: propagate(trace, Perturbation.of(latency=100), Recorded(overhead=10), "upper",
                         Semantics(rules=rules)).final[:, 0].tolist()
        for rules in ("paper", "corrected")
    }  # fmt: skip
    assert finals == {"paper": [200, 100], "corrected": [0, 100]}


def test_what_comes_in_time_interrupts_gaps_and_costs_less_together():
    """Ranks that meet after every lap wait for the one that was struck, lap after lap."""
    ranks = [
        [{"kind": "barrier", "t_start": 1000 * lap + 990, "t_end": 1000 * (lap + 1)}
         for lap in range(200)] for _ in range(8)
    ]  # fmt: skip
    trace, mean = trace_of({"ranks": ranks, "clocks": "comparable"}, "laps"), {}
    for periodic in (True, False):
        for together in (True, False):
            strikes = Arrivals(interval=4000, length=30, periodic=periodic, together=together)
            added = Perturbation(compute=(Addition(arrivals=strikes),))
            found = propagate(trace, added, Recorded(), "upper", replications=20, seed=5).final
            assert (found[0] % 30 == 0).all()
            mean[periodic, together] = found[0].mean() / 30
    assert mean[True, True] == pytest.approx(199 * 990 / 4000, abs=1)  # 50 strikes, few in calls
    assert mean[False, True] == pytest.approx(199 * 990 / 4000, abs=4)
    assert mean[True, False] > 3 * mean[True, True]
    assert mean[False, False] > 3 * mean[False, True]
    apart = trace_of({"ranks": ranks}, "apart")
    added = Perturbation(compute=(Addition(arrivals=attrs.evolve(strikes, together=True)),))
    with pytest.raises(ParcastError, match="leave out ',together'"):
        propagate(apart, added, Recorded(), "upper")


def test_ends_are_consistent_within_a_rank():
    *_, costs, trace = made(11)
    found = propagate(trace, Perturbation.of(**CHANGES[3]), recorded(costs), "upper",
                      every_end=True)  # fmt: skip
    ends = trace.events.times[:, END] + found.ends[:, 0]
    for a, b in pairwise(trace.events.offsets):
        assert (np.diff(ends[a:b]) >= 0).all()
