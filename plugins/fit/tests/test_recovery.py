"""Known parameters come back, and 95 % intervals cover them as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from parcast.comparison.settings import Settings
from parcast.quantities.replications import student_t
from parcast_fit import fit
from parcast_fit.estimates import solve
from parcast_fit.observations import observe
from parcast_fit.parameters import read_parameters
from parcast_fit.problem import make_problem

P = (1, 2, 4, 8, 16, 32, 64, 128)
FREE = ("processor.rate", "network.startup")
TRUE = {"processor.rate": 1e9, "network.startup": 1e-3}


def times(registry, workload, machine, noise=0.0, seed=0, p=P):
    rows = registry.compare(workload, machine, solvers="adds", p=p).rows
    drawn = np.random.default_rng(seed).standard_normal(len(rows))
    return [
        {"p": r.p, "time": r.time * np.exp(noise * e)} for r, e in zip(rows, drawn, strict=True)
    ]


def test_exact_times_give_the_parameters_back_from_far_off(registry, workload, machine):
    found = fit(
        registry, workload, machine, times(registry, workload, machine),
        free=[*FREE, "network.bandwidth"], solver="adds",
        settings={"processor.rate": "20 GFLOP/s", "network.startup": "10 us",
                  "network.bandwidth": "200 MB/s"},
    )  # fmt: skip
    assert found.status == "ok"
    assert found.used == pytest.approx({**TRUE, "network.bandwidth": 1e7}, rel=1e-6)
    assert found.errors.rms < 1e-8
    assert found.identifiability.rank == 3
    assert found.held_out.p == 128
    assert found.held_out.errors.rms < 1e-6


def test_each_point_says_what_binds_there(registry, workload, machine):
    found = fit(
        registry, workload, machine, times(registry, workload, machine), free=FREE, solver="adds"
    )  # fmt: skip
    bound = [one.binding for one in found.points]
    assert bound[0] == "work"
    assert bound == sorted(bound, reverse=True)  # then messages, once the work is shared
    assert [one.binding for one in found.held_out.points] == ["messages"]
    assert found.to_dict()["points"][0]["binding"] == "work"


def test_95_percent_intervals_cover_the_truth_in_90_to_99_percent(registry, workload, machine):
    work, mach = registry.workload(workload), registry.machine(machine)
    none = Settings({}, {}, {})
    names = Settings({}, dict.fromkeys(FREE, 0), {})
    exact = times(registry, workload, machine, p=(1, 4, 16, 32, 128))
    covered = dict.fromkeys(FREE, 0)
    for seed in range(100):
        drawn = np.random.default_rng(seed).standard_normal(len(exact))
        noisy = [
            {**one, "time": one["time"] * np.exp(0.05 * e)}
            for one, e in zip(exact, drawn, strict=True)
        ]
        seen = observe(registry, work, mach, noisy, none)
        free = read_parameters(registry, FREE, {}, seen.queries, names)
        problem = make_problem(registry, "adds", none, free, seen)
        found = solve(problem, "profile", 0)
        for j, name in enumerate(FREE):
            one, ends = found.problem.parameters[j], found.intervals[j]
            covered[name] += ends.low <= one.inner(TRUE[name]) <= ends.high
    assert all(88 <= count <= 99 for count in covered.values()), covered


def test_a_profile_of_a_linear_parameter_is_its_exact_interval(registry, machine):
    """With few percent of noise ln T is linear in ln rate: estimate +- t s / sqrt(n)."""
    workload = {"name": "only work", "phase": [{"parallel": 1e10}]}
    measured = times(registry, workload, machine, noise=0.03, seed=3)
    found = fit(registry, workload, machine, measured, free="processor.rate", solver="adds")
    logs = np.log([one["time"] * one["p"] / 10 for one in measured])
    width = student_t(0.95, len(P) - 1) * logs.std(ddof=1) / np.sqrt(len(P))
    (one,) = found.estimates
    assert np.log(one.used / 1e9) == pytest.approx(-logs.mean(), abs=1e-8)
    assert np.log([one.low / one.used, one.high / one.used]) == pytest.approx(
        [-width, width], rel=1e-3
    )
    errors = [point.error for point in found.points]
    assert found.errors.rms == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert found.errors.paper == pytest.approx(found.errors.rms / np.sqrt(len(P)))


def test_a_bootstrap_agrees_with_the_profile_and_repeats_with_its_seed(registry, workload, machine):
    measured = times(registry, workload, machine, 0.03, 5) + times(
        registry, workload, machine, 0.03, 6
    )
    asked = {"free": "processor.rate", "solver": "adds"}
    profile = fit(registry, workload, machine, measured, **asked).estimates[0]
    first, again = (
        fit(registry, workload, machine, measured, interval="bootstrap", **asked).estimates[0]
        for _ in range(2)
    )
    assert first == again
    assert first.high - first.low == pytest.approx(profile.high - profile.low, rel=0.35)


def test_repeated_runs_count_and_tell_their_scatter(registry, workload, machine):
    one = times(registry, workload, machine, 0.02, 1)
    found = fit(
        registry, workload, machine, one + times(registry, workload, machine, 0.02, 2),
        free="processor.rate", solver="adds",
    )  # fmt: skip
    assert len(found.points) == 2 * len(P)
    assert 0.005 < found.repeatability < 0.05


def test_a_parameter_that_the_data_push_below_0_stays_at_its_bound(registry, workload, machine):
    measured = [
        {"p": one["p"], "time": one["time"] - 6 * one["p"] ** 0.5 * 1.5e-3 * (one["p"] > 1)}
        for one in times(registry, workload, machine)
    ]
    found = fit(registry, workload, machine, measured, free="network.startup", solver="adds")
    (one,) = found.estimates
    assert (one.state, one.used) == ("at bound", 0.0)


def test_bounds_are_kept(registry, workload, machine):
    found = fit(
        registry, workload, machine, times(registry, workload, machine), free="processor.rate",
        solver="adds", bounds={"processor.rate": "1.1 GFLOP/s..3 GFLOP/s"},
        settings={"processor.rate": 2e9},
    )  # fmt: skip
    assert found.estimates[0].used == pytest.approx(1.1e9)
    assert found.estimates[0].state == "at bound"


def test_exact_derivatives_of_a_solver_are_used(registry, workload, machine, monkeypatch):
    import parcast_cheap

    def derivatives(self, query, names):
        (phase,) = query.workload.content.at(query)
        work = phase.parallel / query.p + phase.serial
        return {"processor.rate": -work / query.machine.processor.rate**2}

    measured = times(registry, workload, machine, 0.02, 4)
    asked = {"free": FREE, "solver": "adds"}
    plain = fit(registry, workload, machine, measured, **asked)
    monkeypatch.setattr(parcast_cheap.Adds, "derivatives", derivatives, raising=False)
    exact = fit(registry, workload, machine, measured, **asked)
    assert exact.identifiability.exact_derivatives == ("processor.rate",)
    assert exact.used == pytest.approx(plain.used, rel=1e-6)
    monkeypatch.setattr(
        parcast_cheap.Adds,
        "derivatives",
        lambda *asked: {"processor.rate": -2 * derivatives(*asked)["processor.rate"]},
    )
    wrong = fit(registry, workload, machine, measured, **asked)
    assert wrong.identifiability.singular_values != exact.identifiability.singular_values


def test_a_jacobian_is_one_batch(registry, workload, machine, monkeypatch):
    import parcast_cheap

    sizes = []
    plain = parcast_cheap.Adds.solve_many
    monkeypatch.setattr(
        parcast_cheap.Adds, "solve_many", lambda self, qs: sizes.append(len(qs)) or plain(self, qs)
    )
    fit(registry, workload, machine, times(registry, workload, machine), free=FREE, solver="adds")
    assert 5 * len(P) in sizes  # the point itself and two shifts of each of two parameters
