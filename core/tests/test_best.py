"""Which row is best: among estimates, and among runs of the same work."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from parcast import Registry, SolverEntry
from parcast.program.reader import read_source
from parcast.testing import cases, seeds

MACHINES = [
    {"name": name, "processor": {"rate": rate}, "cost": {"price": price}}
    for name, rate, price in (("fast", 10, "9 USD/h"), ("cheap", 1, "0.1 USD/h"))
]


def test_a_lower_bound_is_never_best(make_registry, workload):
    bound = SolverEntry("bound.one", "phases", "parcast_tests:Bound", "0.5 s, and not below.")
    registry = make_registry("works", entries=[bound])
    results = registry.compare(workload, MACHINES, p=[1, 2], d=1)
    assert min(results.rows, key=lambda row: row.time).solver == "bound.one"
    assert len(results.best()) == 2
    assert all("by works.one" in one for one in results.best())
    assert registry.compare(workload, MACHINES, p=[1, 2], d=1, solvers="bound").best() == []


def test_the_fastest_machine_is_not_that_of_the_most_hopeful_method(make_registry):
    hopeful = SolverEntry("hopeful", "phases", "parcast_tests:Hopeful", "Less than a second.")
    registry = make_registry("works", entries=[hopeful])
    flat = {"name": "w", "phase": [{"parallel": 5}]}
    results = registry.compare(flat, MACHINES, p=2, d=1)
    assert min(results.rows, key=lambda row: row.time).solver == "hopeful"
    assert results.best()[0] == (
        "fastest: w on fast, p=2, d=1 by works.one: 250 ms; hopeful says w on cheap, p=2, d=1: 1 ms"
    )


def test_runs_of_unequal_work_are_not_ranked(make_registry):
    scaled = {"name": "w", "parameters": {"n": 4}, "phase": [{"parallel": "n"}]}
    registry = make_registry("works")

    def best(**asked):
        return registry.compare(scaled, MACHINES, p=[1, 2, 4], d=1, **asked).best()

    assert [one.split(" by ")[0] for one in best()] == [
        "fastest: w on fast, p=4, d=1", "cheapest: w on cheap, p=1, d=1",
    ]  # fmt: skip
    weak = best(settings={"n": "4*p"})
    assert [one.split(" by ")[0] for one in weak] == [
        f"{word}: w on {name}, p={p}, d=1, n={4 * p}"
        for word, name in (("fastest", "fast"), ("cheapest", "cheap"))
        for p in (1, 2, 4)
    ]
    (study,) = {one.split(":")[0] for one in best(settings={"n": 3})} - {"cheapest"}
    assert study == "fastest"


def test_a_workload_that_grows_with_p_by_itself_is_not_ranked_over_p(make_registry):
    weak = {"name": "w", "phase": [{"parallel": "3*p"}]}
    (one, _, _) = make_registry("works").compare(
        weak, [{**one, "cost": {"power": "1 W"}} for one in MACHINES], p=[2, 4, 8], d=1,
    ).best()[:3]  # fmt: skip
    assert one.startswith("fastest: w on fast, p=2")


@pytest.mark.parametrize("seed", seeds(cases(15)))
def test_every_best_row_has_rivals_of_its_own_work_alone(make_registry, seed):
    """Draw workloads, strong and weak; who is told to be best is so among its equals."""
    drawn = random.Random(seed)
    parallel = drawn.choice(["n", "n*p", "n/p", "n + p - p", "n*sqrt(p)", "0"])
    serial = drawn.choice(["0", "n", "n/p"])
    workload = {
        "name": "w", "parameters": {"n": drawn.randint(1, 9)},
        "phase": [{"parallel": parallel, "serial": serial, "cycles": drawn.choice([1, "p"])}],
    }  # fmt: skip
    p = sorted(drawn.sample([1, 4, 9, 16], 3))
    results = make_registry("works").compare(workload, MACHINES, p=p, d=1)
    work = {}
    for row in results.rows:
        (phase,) = workload["phase"]
        n, size = workload["parameters"]["n"], row.p
        root = Fraction(round(size**0.5))
        values = {"n": Fraction(n), "p": Fraction(size), "sqrt": lambda _, root=root: root}
        cycles = eval(str(phase["cycles"]), {}, values)
        amounts = [eval(text, {}, values) * cycles for text in (parallel, serial)]
        work[row.machine, row.p] = tuple(amounts) if any(amounts) else ("at", size)
    told = [one for one in results.best() if one.startswith("fastest")]
    groups = {}
    for row in results.rows:
        groups.setdefault(work[row.machine, row.p], []).append(row)
    assert len(told) == len(groups)
    for rows in groups.values():
        least = min(rows, key=lambda row: row.time)
        assert any(one.startswith(f"fastest: w on {least.machine}, p={least.p},") for one in told)


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("compute(n / size)", True),
        ("compute(n)", False),
        ("elapse(n / size)", True),
        ("compute(n / size)\n    write(n)", False),
        ("barrier()", False),
        ("for t in pool(range(24)):\n        compute(n)", True),
    ],
)
def test_programs_are_ranked_over_p_where_all_do_the_same_together(source, same):
    program = read_source(f"def program(rank, size, n=24):\n    {source}\n", "w.py", "w")
    registry = Registry([])
    from parcast.comparison.grid import Scenario
    from parcast.comparison.rows import work_of
    from parcast.comparison.settings import Settings

    line = Scenario(
        workload=program, machine=registry.machine(MACHINES[0]), settings=Settings({}, {}, {})
    )
    first, second = (work_of(line.query(registry, p, 1)) for p in (2, 4))
    assert (bool(first) and first == pytest.approx(second)) is same
