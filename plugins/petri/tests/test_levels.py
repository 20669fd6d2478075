"""The three levels on one model: a ring of processes on loaded nodes."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

import parcast_petri
from parcast import Registry
from parcast.program.reader import read_source
from parcast.testing import cases, check_family, check_solver, random_program, turn

CASES = json.loads((Path(__file__).parent / "loads.json").read_text())
REGISTRY = Registry([parcast_petri])
RING = """
def program(rank, size, s1=0.01, s2=0.1, s3=0.005):
    compute(s1)
    send((rank + 1) % size, 1)
    compute(s2)
    for step in range(size - 1):
        recv((rank - 1) % size)
        compute(s3)
        if step < size - 2:
            send((rank + 1) % size, 1)
        compute(s2)
"""
#: 4 % in CI, less at night, with as many more runs.
RUNS = {"petri.tolerance": 0.04 / cases(1) ** 0.5}
FORK = """
def program(rank, size, work=1):
    compute(work)
"""


def law(background) -> str:
    mean = background["mean_demand"]
    return {
        "exp": f"exp:{mean}s",
        "exp_fine": f"exp:{mean}s",
        "h2scv4": f"hyper:4,{mean}s",
        "pareto2.5": f"pareto:2.5,{mean}s",
    }[background["kind"]]


def machine(**background):
    return REGISTRY.machine(
        {
            "name": "loaded",
            "processor": {"rate": 1},
            "network": {"startup": 0.04658, "bandwidth": 1e30},
            "background": background,
        }
    )


def ask(text, solver, machine, p, **settings):
    workload = read_source(text, "ring.py", "ring")
    (row,) = REGISTRY.compare(
        workload, machine, p=p, solvers=[solver], settings=settings, elasticities=False
    ).rows
    return row


def ring(case, solver, **settings):
    network = {**machine().data["network"], "startup": case["message_time"]}
    loaded = machine(nodes=case["background"]["utilization"], demand=law(case["background"]))
    loaded = REGISTRY.machine({**loaded.data, "network": network})
    length = {"s2": case["segments"]["S2"]}
    return ask(RING, solver, loaded, case["P"], **length, **settings)


def near(row, truth):
    """Tell whether a mean is within 4 standard errors or 0.5 % of the true one."""
    error = truth["std"] / row.details["replications"] ** 0.5
    return abs(row.time - truth["mean"]) < max(4 * error, 0.005 * truth["mean"])


@pytest.mark.parametrize("case", turn(CASES["rings"], 2), ids=lambda case: case["name"])
def test_rings_with_loaded_nodes(case):
    mean = ring(case, "petri.mean")
    assert mean.time == pytest.approx(case["mean_only_prediction"], rel=1e-12)
    several = sum(used > 0 for used in case["background"]["utilization"]) > 1
    assert any("nodes are loaded" in note for note in mean.notes) == several
    explicit, truth = ring(case, "petri.explicit", **RUNS), case["sim"]
    assert near(explicit, truth)
    rough = 5 / explicit.details["replications"] ** 0.5
    assert explicit.std == pytest.approx(truth["std"], rel=rough)
    assert explicit.quantiles["0.5"] == pytest.approx(truth["quantiles"]["0.5"], rel=rough)
    assert explicit.quantiles["0.95"] == pytest.approx(truth["quantiles"]["0.95"], rel=rough)
    assert sum(explicit.parts.values()) == pytest.approx(explicit.time, rel=1e-9)


@pytest.mark.parametrize("case", turn(CASES["independent"], 2), ids=lambda case: case["name"])
def test_the_law_of_each_computation_alone_is_too_small_as_known(case):
    alike = case["name"].removeprefix("E2_").replace("m0.05_all0.5", "m0.05_all0.3")
    (asked,) = (one for one in CASES["rings"] if one["name"] == alike)
    asked = {**asked, "background": {**asked["background"], "utilization": [0.5] * asked["P"]}}
    sampled = ring(asked, "petri.sampled", **RUNS)
    assert near(sampled, case["indep_segments"])
    assert sampled.std == pytest.approx(case["indep_segments"]["std"], rel=0.5)
    if "0.05" in case["name"]:  # the others are among the rings
        assert near(ring(asked, "petri.explicit", **RUNS), case["truth"])


@pytest.mark.parametrize(
    ("case", "p"),
    turn(product(CASES["fork_joins"], ["1", "2", "4", "8", "16", "64"]), 2),
    ids=lambda value: value["name"] if isinstance(value, dict) else value,
)
def test_the_maximum_of_independent_processes(case, p):
    loaded = machine(utilization=case["background"]["utilization"], demand=law(case["background"]))
    for solver in ["petri.sampled", "petri.explicit"][: 1 + (p in "24")]:
        row = ask(FORK, solver, loaded, int(p), work=case["demand"], **RUNS)
        assert near(row, case["means"][p])
        assert row.std == pytest.approx(case["means"][p]["std"], rel=0.5)


def test_one_loaded_node_is_answered_by_its_mean():
    case = {**CASES["rings"][0]}
    case["background"] = {**case["background"], "utilization": [0.5, 0, 0, 0]}
    row = ring(case, "petri")
    assert row.solver == "petri.mean"
    assert row.time == pytest.approx(2 * case["dedicated_time"], rel=1e-12)
    assert ring(CASES["rings"][0], "petri").solver == "petri.explicit"


def test_processes_that_share_a_loaded_core_share_what_its_jobs_leave():
    crowded = {**machine(utilization=0.5, demand="exp:1s").data, "nodes": {"count": 1}}
    crowded["nodes"]["oversubscribe"] = True
    row = ask(FORK, "petri.mean", REGISTRY.machine(crowded), 3)
    assert row.time == pytest.approx(3 / (1 - 0.5))


def test_a_deadline_has_a_probability_and_seeds_repeat():
    case = CASES["rings"][0]
    settings = {"petri.explicit.deadline": case["sim"]["quantiles"]["0.5"]}
    rows = [ring(case, "petri.explicit", **settings) for _ in range(2)]
    assert rows[0].details["deadline"]["probability"] == pytest.approx(0.5, abs=0.08)
    assert rows[0].time == rows[1].time


@pytest.mark.parametrize(
    ("background", "message"),
    [
        ({"utilization": 1}, "utilization = 1 leaves a process no time"),
        ({"nodes": [0.5, 1.5]}, r"nodes\[1\] = 1.5 leaves a process no time"),
        ({"demand": "exponential"}, "not a number with a unit"),
        ({"demand": "0s"}, "need some CPU time"),
        ({"arrivals": "hyper:4"}, "needs the form"),
        ({"used": 0.5}, "used"),
    ],
)
def test_backgrounds_without_a_meaning_are_refused(background, message):
    with pytest.raises(Exception, match=message):
        machine(**background)


def test_solvers_keep_their_promises():
    queries = [random_program(seed, steps=4, without=["elapse"]).query for seed in range(4)]
    for name in ("petri.mean", "petri.sampled", "petri.explicit"):
        check_solver(REGISTRY, name, queries)
    check_family(REGISTRY, "petri", queries)


def test_jobs_of_a_node_on_which_nothing_computes_take_nothing_from_the_program():
    source = "def program(rank, size):\n    if rank:\n        compute(10)\n    barrier()\n"
    machine = {
        "processor": {"rate": 1},
        "network": {"startup": 0.5, "bandwidth": 1, "contention": "none"},
    }
    loaded = {**machine, "background": {"nodes": [0.5, 0, 0], "demand": "exp:1s"}}
    times = [
        REGISTRY.predict(read_source(source), one, "petri.explicit", p=3).time
        for one in (machine, loaded)
    ]
    assert times == [11, 11]
