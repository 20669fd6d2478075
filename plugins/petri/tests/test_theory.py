"""One loaded node: the closed forms against reference values, and simulations against both."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load, read_load
from parcast_petri.slowdown import Slowdown
from parcast_petri.solvers.sampled import core_of, no_closed_form
from parcast_petri.theory.spread import standard_deviation

CASES = json.loads((Path(__file__).parent / "loads.json").read_text())


def load_of(case) -> Load:
    background, mean = case["background"], case["background"]["mean_demand"]
    if "parts" in background:
        laws = tuple(Law("exp", (one,)) for _, one in background["parts"])
        shares = tuple(share * one / mean for share, one in background["parts"])
        return Load(1, background["utilization"], laws, shares)
    spelled = {
        "exp": f"exp:{mean}",
        "h2": f"hyper:{background.get('scv')},{mean}",
        "erlang": f"erlang:{background.get('k')},{mean}",
        "pareto": f"pareto:{background.get('alpha')},{mean}",
    }
    return Load(1, background["utilization"], (Law.read(spelled[background["kind"]]),), (1.0,))


@pytest.mark.parametrize("case", CASES["one_node"], ids=lambda case: case["name"])
def test_mean_spread_and_quantiles_of_one_core(case):
    load, theory, demand = load_of(case), case["theory"], case["demand"]
    assert sum(load.rates()) == pytest.approx(case["background"]["lambda_"])
    assert load.factor() == pytest.approx(theory["expansion_factor"], rel=1e-12)
    assert standard_deviation(load, demand) == pytest.approx(theory["std_stationary"], rel=1e-6)
    if no_closed_form(load):
        assert "not of phase type" in no_closed_form(load)
        return
    core = core_of(load)
    for name, idle in (("quantiles_stationary", False), ("quantiles_empty_start", True)):
        for level in ("0.05", "0.5", "0.99"):
            found = core.quantile(demand, float(level), idle=idle)
            assert found == pytest.approx(theory[name][level], rel=1e-6)
    assert core.atoms(demand, idle=False)[0] == pytest.approx(theory["prob_undisturbed"])


@pytest.mark.parametrize(
    ("text", "second", "third"),
    [
        ("exp:1", 2, 6),
        ("const:1", 1, 1),
        ("sampled:0.5,1.5", 1.25, 1.75),
        ("uniform:0,2", 4 / 3, 2),
        ("gamma:2,1", 1.5, 3),
        ("pareto:6,1", 25 / 24, 125 / 108),
        ("lognormal:1,0.5", 1.25, 1.25**3),
        ("weibull:2,1.1283791671", 4 / math.pi, 1.9098593),
        ("phase:0.3,1", 1.3, None),
    ],
)
def test_the_spread_of_long_demands_is_that_of_moments(text, second, third):
    """Var = 2/(1 - rho)^2 (x E[W] - E[W^2]/2) by the moments of Pollaczek and Khinchine."""
    load, demand = Load(1, 0.5, (Law.read(text),), (1.0,)), 3000.0
    wait = 0.5 * second / (2 * 0.5)
    squared = 2 * wait**2 + 0.5 * (third or 2.0) / (3 * 0.5)
    exact = math.sqrt(2 * (demand * wait - squared / 2)) / 0.5
    found = standard_deviation(load, demand)
    assert found == pytest.approx(exact, rel=2e-7 if third else 1e-3)
    assert standard_deviation(load, 1e12) == pytest.approx(load.spread(1e12))


@pytest.mark.parametrize("demand", [1e-3, 10.0, 2e4, 1e12])
def test_the_laws_of_short_and_endless_demands(demand):
    load = Load(1, 0.5, (Law.read("exp:1"),), (1.0,))
    waits = 0.5 * (demand / 0.5 - -math.expm1(-0.5 * demand) / 0.25)
    spread = math.sqrt(8 * waits)
    assert standard_deviation(load, demand) == pytest.approx(spread, rel=1e-5)
    core = core_of(load)
    levels = (0.5, 0.9, 0.99)
    found = [core.quantile(demand, level) for level in levels]
    assert demand <= found[0] <= found[1] < found[2]
    if demand > 1e4:  # normal, with the skewness of a compound sum
        normal = [2 * demand + z * spread for z in (0.0, 1.281552, 2.326348)]
        assert found == pytest.approx(normal, abs=0.09 * spread)
    if demand == 10:
        idle = Slowdown(load=load, demand=demand, begin="idle").answer()
        assert idle["mean"] == pytest.approx(2 * demand + 2 * math.expm1(-0.5 * demand), rel=1e-6)


@pytest.mark.parametrize("case", CASES["cores"], ids=lambda case: case["name"])
def test_the_factor_of_several_cores_and_processes(case):
    used = case["background_utilization_per_core"]
    load = Load(case["cores"], used, (Law.read("hyper:4,1"),), (1.0,))
    assert load.factor(case["own_processes"]) == pytest.approx(case["expansion_exact"], rel=1e-9)


@pytest.mark.parametrize("text", ["exp:1", "phase:0.3,1", "uniform:0,2", "pareto:2.5,1", "1"])
def test_jobs_in_the_net_have_the_mean_and_spread_of_theory(text):
    load = Load(1, 0.5, (Law.read(text),), (1.0,))
    found = Slowdown(load=load, demand=3.0, runs=3000)._runs()
    deviation = standard_deviation(load, 3.0)
    assert abs(found.mean() - 6.0) < 4.5 * deviation / 3000**0.5
    assert found.std() == pytest.approx(deviation, rel=0.15)


UNDERWAY = {  # by the numbers of the cases: arrivals, demands and scheduling
    "A12": ("hyper:4,1", "exp:1", "ps"),
    "A14_RR_quantum_0.1": ("exponential", "exp:1", "rr:0.1"),
    "A14_RR_quantum_0.1_switch_0.002": ("exponential", "exp:1", "rr:0.1,0.002"),
    "A15": ("exponential", "hyper:4,1", "priority"),
}


@pytest.mark.parametrize("case", CASES["robust"], ids=lambda case: case["name"])
def test_work_underway_is_conserved_whatever_comes_how(case):
    name = case["name"] if "A14" in case["name"] else case["name"][:3]
    arrivals, demand, scheduling = UNDERWAY[name]
    load = read_load(1, case["utilization"], [demand], arrivals, scheduling)
    asked = Slowdown(load=load, demand=case["demand"], runs=700)
    found, truth = asked._runs(), case["sim"]
    assert abs(found.mean() - truth["mean"]) < 4 * truth["std"] / 700**0.5
    assert found.std() == pytest.approx(truth["std"], rel=0.2)
    assert load.factor() * case["demand"] == pytest.approx(truth["mean"], rel=1e-3)
    switching = 1 + load.turns.switch / load.turns.quantum if load.turns else 1
    assert load.jobs()[0] * load.factor() == pytest.approx(switching)  # idle, and what that gives
    known = asked._closed_moments()
    assert known.get("mean", 20.0) == 20
    if "std" in case["theory"]:
        assert known["std"] == pytest.approx(case["theory"]["std"])


def test_many_cores_in_the_net_have_the_factor_of_theory():
    load = Load(4, 0.8, (Law.read("exp:0.1"),), (1.0,))
    found = Slowdown(load=load, demand=2.0, own=3, runs=1000)._runs()
    assert found.mean() == pytest.approx(2 * load.factor(3), rel=0.02)


def test_the_command_gives_what_it_found_and_how(capsys):
    asked = ["petri", "slowdown", "--cores", "1", "--utilization", "0.5", "--demand", "10",
             "--background", "exp:1.0", "--own", "1", "--deadline", "20", "--json"]  # fmt: skip
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["factor"], found["mean"], found["method"]) == (2, 20, "closed form")
    assert found["std"] == pytest.approx(8.006735, rel=1e-5)
    assert found["quantiles"]["0.95"] == pytest.approx(35.644092, rel=1e-6)
    assert 0.5 < found["deadline"] < 0.75


@pytest.mark.parametrize(
    ("laws", "utilization", "message"),
    [
        (["exp:1"], 1.0, "must be above 0 and below 1"),
        (["exp:1"], None, "no --utilization"),
        (["exp:1", "exp:2"], None, "need each its utilization"),
        (["exp:1@x"], None, "LAW@UTILIZATION"),
        (["exp:1@0.3"], 0.5, "the classes use 0.3"),
        (["hyper:0.5,1"], 0.5, "scv must be 1"),
        (["expo:1"], 0.5, "no distribution 'expo'"),
        (["exp:0"], 0.5, "need some CPU time"),
    ],
)
def test_loads_without_a_meaning_are_refused_with_a_sentence(laws, utilization, message):
    with pytest.raises(ParcastError, match=message):
        read_load(1, utilization, laws, "exponential", "ps")


def test_the_command_exits_2_without_a_meaning(capsys):
    assert main(["petri", "slowdown", "--demand", "10", "--background", "exp:1"]) == 2
    assert "no --utilization" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--scheduling", "rr:10ms"], ["--begin", "idle"]])
@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [("demand", "-10s", "-10 s"), ("demand", "0", "0 s"), ("deadline", "-1ms", "-0.001 s")],
)
def test_times_that_are_none_are_refused(capsys, option, value, shown, more):
    asked = {"demand": "1s", "background": "exp:1", "utilization": "0.5", option: value}
    options = [text for name, one in asked.items() for text in (f"--{name}", one)]
    assert main(["petri", "slowdown", *options, *more]) == 2
    assert f"{option} {shown} must be above 0" in capsys.readouterr().err
