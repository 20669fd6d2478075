"""Which number of a machine decides: by every family, and what one would buy."""

from __future__ import annotations

import json
import math
from functools import partial
from random import Random

import attrs
import numpy as np
import pytest

from parcast import Machine, Prediction, Query, Registry
from parcast.analysis import improvements
from parcast.cli import main
from parcast.comparison import Settings, resolve, solve_all
from parcast.comparison.elasticities import (
    MOST_IN_ALL,
    REST,
    STEP,
    Solved,
    cost_of_elasticities,
    elasticities,
)
from parcast.comparison.grid import Question
from parcast.model.numbers import improved, numbers_of
from parcast.testing import cases, random_program, seeds

from .enough_seeds import seeds_until
from .topologies import random_topology

REGISTRY = Registry()
NOTHING = Settings({}, {}, {})
RESOLVE = partial(resolve, REGISTRY)

MEMORY_BOUND = '''
def program(rank, size, n=4096, steps=5):
    """A halo exchange whose updates wait for the memory."""
    rows = n // size
    for step in range(steps):
        if rank > 0:
            isend(rank - 1, 8 * n)
            irecv(rank - 1)
        if rank < size - 1:
            isend(rank + 1, 8 * n)
            irecv(rank + 1)
        waitall()
        compute(6 * rows * n, bytes=24 * rows * n)
        allreduce(8)
'''

DISK_BOUND = '''
def program(rank, size, steps=3):
    """Steps that end by writing what all share."""
    for step in range(steps):
        compute(1e6)
        write(10e6)
        barrier()
'''

MODERN = """
name = "modern"
[processor]
rate = "20 GFLOP/s"
[nodes]
count = 4
cores = 8
memory_bandwidth = "100 GB/s"
[network]
startup = "1.5 us"
bandwidth = "12.5 GB/s"
contention = "endpoint"
[storage]
disks = 2
bandwidth = "1 GB/s"
[cost]
price = "3 EUR/h"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "halo.py").write_text(MEMORY_BOUND)
    (tmp_path / "writing.py").write_text(DISK_BOUND)
    (tmp_path / "modern.toml").write_text(MODERN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def solved(solver: str, query: Query) -> Solved | None:
    task = RESOLVE(solver, query, NOTHING)
    (outcome,) = solve_all(REGISTRY, [task])
    if isinstance(task, Prediction):
        return None
    answer = Solved(Question(query, solver, NOTHING), task, outcome)
    seconds = cost_of_elasticities(REGISTRY, answer)
    return None if seconds is None or seconds > MOST_IN_ALL else answer


def time_of(solver: str, query: Query, machine: Machine) -> float | None:
    changed = attrs.evolve(query, machine=machine)
    (outcome,) = solve_all(REGISTRY, [RESOLVE(solver, changed, NOTHING)])
    return outcome.prediction.time


def jittered(query: Query, seed: int) -> Query:
    """Return the query with numbers that decide nothing at once, as real machines' do not."""
    random, machine = Random(seed), query.machine
    for path in numbers_of(machine):
        machine = improved(machine, [path], random.uniform(0.7, 1.4))
    return attrs.evolve(query, machine=machine)


@pytest.mark.parametrize(
    "solver", ["emulator.tc", "petri.mean", "pamela.bound", "spmd.mixed", "perturb.clocked"]
)
def test_elasticities_are_the_derivatives_of_the_time(solver, programs):
    """Beside 1 % more of each number, and with all numbers together."""
    numbers = beyond = 0
    for seed in seeds_until(programs // 10, lambda: numbers > programs // 10):
        chance = random_program(seed, size=4, without={"start"})
        query = jittered(chance.query, seed)
        answer = solved(solver, query)
        if answer is None:
            continue
        (explained,) = elasticities(REGISTRY, [answer], RESOLVE)
        assert explained is not None
        assert explained.step == STEP
        parts = explained.parts
        assert sum(parts.values()) == pytest.approx(1, abs=1e-5)
        time, machine = answer.outcome.prediction.time, query.machine
        together = improved(machine, numbers_of(machine), 1 / (1 - STEP))
        faster = time_of(solver, query, together)
        assert faster is not None
        share = 1 - faster / time
        known = sum(part for path, part in parts.items() if path != REST)
        assert share / STEP == pytest.approx(known, abs=1e-2)
        for path in numbers_of(machine):
            slower = time_of(solver, query, improved(machine, [path], 1 / 1.01))
            if slower is not None:  # a slower processor may make it too unequal for SPMD
                numbers += 1
                beyond += abs((slower / time - 1) / 0.01 - parts.get(path, 0.0)) > 0.01
    assert numbers > programs // 10
    assert beyond <= 0.1 * numbers  # where 1 % more has others decide


def test_elasticities_hold_where_links_are_shared(programs):
    answered = explicable = 0
    for seed in seeds(max(16, programs // 10)):
        chance = random_program(
            seed, contention="fair", network=True, topology=random_topology(seed)
        )
        answer = solved("emulator.tc", jittered(chance.query, seed))
        if answer is not None:
            answered += 1
            (explained,) = elasticities(REGISTRY, [answer], RESOLVE)
            if explained is not None:  # else a run jumps at large changes, too
                explicable += 1
                assert sum(explained.parts.values()) == pytest.approx(1, abs=1e-5)
    assert explicable > 0.7 * answered


def test_memory_that_decides_is_named(folder, capsys):
    assert (
        main(["compare", "halo.py", "modern.toml", "-p", "8,32", "-s", "emulator", "--json"]) == 0
    )
    for row in json.loads(capsys.readouterr().out)["rows"]:
        assert row["binding"] == "nodes.memory_bandwidth"
        assert row["details"]["binding"] == "processor"
        assert row["details"]["elasticities"]["nodes.memory_bandwidth"] > 0.9


def test_a_gain_is_foretold_before_it_is_bought(folder):
    what_if = improvements(REGISTRY, "halo.py", "modern.toml", "emulator", p=32)
    best = what_if.improvements[0]
    assert best.number == "nodes.memory_bandwidth"
    bought = REGISTRY.predict(
        "halo.py",
        "modern.toml",
        "emulator",
        p=32,
        settings={"nodes.memory_bandwidth": "200 GB/s"},
    )
    assert best.time == bought.time
    assert best.gain == 1 - bought.time / what_if.time > 0.4
    assert best.price == pytest.approx(3 * what_if.time / bought.time)
    faster = next(row for row in what_if.improvements if row.number == "processor.rate")
    assert faster.gain == 0
    assert what_if.currency == "EUR"


@pytest.mark.parametrize("solver", ["emulator", "petri", "pamela"])
def test_waits_for_the_disks_of_all_are_storage(folder, solver):
    what_if = improvements(REGISTRY, "writing.py", "modern.toml", solver, p=8)
    assert max(what_if.elasticities, key=what_if.elasticities.get) == "storage.bandwidth"
    gains = {row.number: row.gain for row in what_if.improvements}
    assert gains["storage.bandwidth"] == pytest.approx(gains["d"])
    assert gains["d"] > 0.4


def test_advice_says_first_what_would_help(folder, capsys):
    assert main(["advise", "halo.py", "modern.toml", "-p", "32"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "What would help, by emulator.tc at p = 32, d = 2?"
    assert lines[2].split("  ")[0] == "twice as good"
    assert lines[4].startswith("nodes.memory_bandwidth")
    assert "EUR/h a node" in lines[4]


def test_points_of_large_comparisons_are_explained_on_request():
    plain = REGISTRY.compare("stencil2d", "ibm-sp2", p=range(1, 102), solvers="spmd")
    assert not any("elasticities" in row.details for row in plain.rows)
    asked = REGISTRY.compare("stencil2d", "ibm-sp2", p=4, solvers="spmd", elasticities=True)
    assert asked.rows[0].binding == "processor.rate"
    unasked = REGISTRY.compare("stencil2d", "ibm-sp2", p=4, solvers="spmd", elasticities=False)
    assert unasked.rows[0].binding == "processor"


ALL_TO_ALL = '''
def program(rank, size, steps=3, flops=50e6, length=100e3):
    """Every process sends to every other one."""
    for step in range(steps):
        compute(flops)
        alltoall(length)
'''

TREE = """
name = "tree"
processor.rate = "50 GFLOP/s"
nodes.cores = 4
topology = { kind = "fat-tree", down = [4, 4], up = [1, 4], latency = "100 ns" }
[network]
startup = "1.5 us"
bandwidth = "12.5 GB/s"
contention = "fair"
collectives = "alltoall pairwise"
[[network.levels]]
name = "node"
size = 4
startup = "400 ns"
bandwidth = "20 GB/s"
shared = "80 GB/s"
"""


def test_where_the_time_jumps_numbers_twice_as_good_tell_what_binds(folder, capsys):
    """63 exchanges in turn let a change of 1e-5 grow to one of 1e-2, as much as a startup costs."""
    (folder / "all-to-all.py").write_text(ALL_TO_ALL)
    (folder / "tree.toml").write_text(TREE)
    line = "compare all-to-all.py tree.toml -p 64 -s emulator --json"
    assert main(line.split()) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["binding"] == "network.bandwidth"
    assert sum(row["details"]["elasticities"].values()) == pytest.approx(1)
    assert any("twice as good" in note and "moves the time by" in note for note in row["notes"])


@pytest.mark.parametrize("seed", seeds(cases(1)))
def test_where_the_time_jumps_what_binds_is_what_many_machines_say(folder, seed):
    """Times of machines around it, whose numbers are drawn, fitted by a product of powers."""
    draw = Random(seed)
    (folder / "all-to-all.py").write_text(ALL_TO_ALL)
    (folder / "tree.toml").write_text(TREE)
    machine = REGISTRY.machine("tree.toml")
    settings = {"flops": draw.uniform(2e6, 60e6), "length": draw.uniform(5e4, 2e5)}
    ask = partial(REGISTRY.compare, "all-to-all.py", p=32, settings=settings, solvers="emulator.tc")
    (row,) = ask(machine).rows
    paths = sorted(numbers_of(machine))
    logs, times = [], []
    for _ in range(60):
        logs.append([draw.uniform(-0.25, 0.25) for _ in paths])
        near = machine
        for path, log in zip(paths, logs[-1], strict=True):
            near = improved(near, [path], math.exp(log))
        times.append(ask(near, elasticities=False).rows[0].time)
    table = np.column_stack([logs, np.ones(len(logs))])
    powers = -np.linalg.lstsq(table, np.log(times), rcond=None)[0]
    fitted = dict(zip(paths, powers[:-1], strict=True))
    parts = row.details["elasticities"]
    assert fitted[row.binding] > max(fitted.values()) - 0.3
    worst = max(abs(parts.get(path, 0.0) - fitted[path]) for path in paths)
    assert worst < 0.4


def test_five_families_answer_on_a_cluster_of_today():
    """On fair links, nodes of two sockets and shared memory: none refuses."""
    results = REGISTRY.compare(
        "stencil2d", "fat-tree-hdr", p=[16], settings={"n": 512, "steps": 10}
    )
    families = {row.solver.partition(".")[0]: row for row in results.rows}
    assert {*families} == {"emulator", "pamela", "perturb", "petri", "spmd"}
    assert all(row.status.value == "ok" for row in results.rows)
    reference = families["emulator"].time
    assert families["petri"].time == pytest.approx(reference, rel=1e-9)
    for bound in ("pamela", "perturb"):
        assert families[bound].time <= reference * (1 + 1e-9)
    assert {row.binding for row in results.rows} == {"nodes.core_bandwidth"}
