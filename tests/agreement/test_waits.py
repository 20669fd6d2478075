"""Which part of a time imbalance and the jobs of others take, beside what is left."""

from __future__ import annotations

from functools import partial

import attrs
import numpy as np
import pytest

from parcast import Registry
from parcast.analysis import improvements
from parcast.comparison import Settings, resolve, solve_all
from parcast.comparison.elasticities import REST, Solved
from parcast.comparison.grid import Question
from parcast.comparison.waits import BACKGROUND, IMBALANCE, balanced, waits
from parcast.program.reader import read_source
from parcast.testing import random_program

from .enough_seeds import seeds_until

REGISTRY = Registry()
NOTHING = Settings({}, {}, {})
RESOLVE = partial(resolve, REGISTRY)

UNEVEN = '''
def program(rank, size, steps=4):
    """One process has twice the work of all others."""
    for step in range(steps):
        compute(2e9 if rank == 0 else 1e9)
        barrier()
'''


def target(**background):
    machine = {
        "name": "shared",
        "processor": {"rate": "1 GFLOP/s"},
        "nodes": {"count": 8},
        "network": {"startup": "0 s", "bandwidth": "1 GB/s", "contention": "none"},
    }
    return machine | ({"background": background} if background else {})


@pytest.fixture
def uneven(tmp_path):
    (tmp_path / "uneven.py").write_text(UNEVEN)
    return str(tmp_path / "uneven.py")


@pytest.mark.parametrize("solver", ["emulator", "petri.mean", "pamela", "perturb"])
def test_imbalance_is_what_even_work_saves(uneven, solver):
    """Of 8 s, the mean of 5 s is left where each of four processes has the same work."""
    (row,) = REGISTRY.compare(uneven, target(), p=4, solvers=solver).rows
    assert row.details["waits"] == pytest.approx({IMBALANCE: 3 / 8, REST: 5 / 8})


def test_jobs_of_others_come_first(uneven):
    """At half of each core 8 s are 16 s."""
    (row,) = REGISTRY.compare(uneven, target(utilization=0.5), p=4, solvers="petri.mean").rows
    parts = {BACKGROUND: 1 / 2, IMBALANCE: 3 / 16, REST: 5 / 16}
    assert row.details["waits"] == pytest.approx(parts)


def test_advice_says_what_each_wait_costs(uneven):
    what_if = improvements(REGISTRY, uneven, target(utilization=0.5), "petri.mean", p=4)
    gains = {row.number: row.gain for row in what_if.improvements}
    assert gains["no background"] == pytest.approx(1 / 2)
    assert gains["no imbalance"] == pytest.approx(11 / 16)
    assert gains["processor.rate"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("solver", ["emulator", "petri.mean", "pamela", "perturb"])
@pytest.mark.parametrize("seed", range(3))
def test_work_is_dealt_out_between_meetings(tmp_path, seed, solver):
    """Of steps that wait for the longest, the sum of the means is left."""
    work = np.random.default_rng(seed).integers(0, 4, (5, 4)).astype(float)
    work[0] = 2, 0, 0, 0  # one process prepares for all, as in a program by Amdahl's law
    work[1] = 0, 3, 1, 1
    lines = ["def program(rank, size):", '    """Steps of unlike work."""']
    for step in work.tolist():
        for rank, seconds in enumerate(step):
            if seconds:
                lines += [f"    if rank == {rank}:", f"        compute({seconds}e9)"]
        lines.append("    barrier()")
    (tmp_path / "steps.py").write_text("\n".join(lines))
    (row,) = REGISTRY.compare(str(tmp_path / "steps.py"), target(), p=4, solvers=solver).rows
    assert row.time == pytest.approx(work.max(1).sum())
    assert row.details["waits"][REST] == pytest.approx(work.mean(1).sum() / row.time)


def test_work_that_goes_round_is_uneven(tmp_path):
    """All have the same in all, and wait in each step for the one whose turn it is."""
    source = UNEVEN.replace("rank == 0", "rank == step")
    (tmp_path / "turns.py").write_text(source)
    (row,) = REGISTRY.compare(str(tmp_path / "turns.py"), target(), p=4, solvers="emulator").rows
    assert row.details["waits"] == pytest.approx({IMBALANCE: 3 / 8, REST: 5 / 8})


def test_even_programs_have_no_such_part(tmp_path):
    (tmp_path / "even.py").write_text("def program(rank, size):\n    compute(1e9)\n")
    (row,) = REGISTRY.compare(str(tmp_path / "even.py"), target(), p=4, solvers="emulator").rows
    assert "waits" not in row.details


EVEN = """
def program(rank, size, n=3):
    for step in range(n):
        compute(1e9 * n, bytes=8 * step)
        elapse(0.5)
        barrier()
"""


def test_what_is_not_uneven_has_nothing_to_even(programs):
    even = 0
    for seed in seeds_until(2 * programs, lambda: even > programs // 40):
        query = random_program(seed).query
        steps = attrs.evolve(query, workload=read_source(EVEN, "even.py", "even"))
        for asked in (query, steps):
            if not asked.workload.content.may_be_uneven(asked):
                even += 1
                assert balanced(asked) is None, seed
    assert even > programs // 40


def test_random_programs_are_evened_and_their_parts_sum_to_one(programs):
    compared = 0
    for seed in seeds_until(programs // 12, lambda: compared > programs // 80):
        query = random_program(seed, without={"start"}).query
        even = balanced(query)
        if even is None:
            continue
        assert balanced(even) is None, seed  # nothing is left to even
        task = RESOLVE("emulator.tc", query, NOTHING)
        (outcome,) = solve_all(REGISTRY, [task])
        solved = Solved(Question(query, "emulator.tc", NOTHING), task, outcome)
        ((parts),) = waits(REGISTRY, [solved], RESOLVE)
        if parts:
            compared += 1
            assert sum(parts.values()) == pytest.approx(1)
            (after,) = solve_all(REGISTRY, [RESOLVE("emulator.tc", even, NOTHING)])
            left = after.prediction.time / outcome.prediction.time
            assert parts[REST] == pytest.approx(left)
    assert compared > programs // 80
