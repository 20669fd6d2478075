"""Collective buffering: aggregators access shared files for all, the same in every family."""

from __future__ import annotations

from random import Random

import attrs
import pytest

from parcast import Machine, Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_events, by_sweep, random_program, seeds
from parcast.testing.exact import exact_costs, exact_program

from .enough_seeds import seeds_until

REGISTRY = Registry()


def question(source: str, machine: Machine, p: int, name: str) -> Query:
    workload = read_source(source, f"{name}.py", name)
    return Query(workload=workload, machine=machine, p=p, d=machine.storage.disks)


def plainly(op: str, sizes: list[int], aggregators: int) -> list[str]:
    """Return a collective access written out as messages, by no function of the project."""
    p = len(sizes)
    runs = [[] for _ in range(min(aggregators, p))]
    for rank in range(p):
        runs[rank * len(runs) // p].append(rank)
    lines = ["barrier()"]
    for leader, *others in runs:
        access = f'{op}({sizes[leader] + sum(sizes[other] for other in others)}, "shared")'
        gathering = [f"recv({other}, 7)" for other in others]
        handing = [f"send({other}, {sizes[other]}, 7)" for other in others]
        lines.append(f"if rank == {leader}:")
        steps = [*gathering, access] if op == "write" else [access, *handing]
        lines += [f"    {step}" for step in steps]
        for other in others:
            lines.append(f"if rank == {other}:")
            lines.append(
                f"    send({leader}, {sizes[other]}, 7)"
                if op == "write"
                else f"    recv({leader}, 7)"
            )
    return [*lines, "barrier()"]


def pair(seed: int) -> tuple[Query, Query]:
    """Return a question with aggregators, and one whose program writes out what these do."""
    random, chance = Random(seed), random_program(seed)
    p, aggregators = random.randint(1, 9), random.randint(1, 5)
    nodes = attrs.evolve(chance.machine.nodes, count=9)
    storage = attrs.evolve(chance.machine.storage, aggregators=aggregators)
    machine = attrs.evolve(
        chance.machine, parts={**chance.machine.parts, "nodes": nodes, "storage": storage}
    )
    alone = attrs.evolve(
        machine,
        parts={**machine.parts, "storage": attrs.evolve(storage, aggregators=None)},
    )
    unlike, loops = random.random() < 0.5, random.randint(1, 2)
    sizes = [512 * (1 + rank % 3 if unlike else 2) for rank in range(p)]
    by_rank = "512 * (1 + rank % 3)" if unlike else "1024"
    with_, without = [], []
    for step in range(3):
        op = random.choice(["read", "write"])
        work = [f"compute({512 * (step + 1)} * (1 + rank % 2))", "write(64)"]
        with_ += [*work, f'{op}({by_rank}, "shared", collective=True)']
        without += [*work, *plainly(op, sizes, aggregators)]
    texts = [
        "\n".join(["def program(rank, size):", f"    for i in range({loops}):"]
                  + [f"        {line}" for line in body])
        for body in (with_, without)
    ]  # fmt: skip
    return question(texts[0], machine, p, "with"), question(texts[1], alone, p, "without")


def times(query: Query, reference=by_sweep):
    """Return the time and when each process ends, in fractions."""
    unrolled = matched_program(query).unrolled
    costs = Costs.of(query, unrolled.needs(), WHOLE_NETWORK)
    played = reference(exact_program(unrolled), exact_costs(costs))
    return played.time, played.ends


@pytest.mark.parametrize("reference", [by_sweep, by_events])
def test_aggregators_do_what_the_page_says(programs, reference):
    """Against a program that states each of their messages, in fractions."""
    for seed in seeds(programs // 12):
        stated, plain = pair(seed)
        assert times(stated, reference) == times(plain, reference), seed


@pytest.mark.parametrize("solver", ["emulator.tc", "petri.mean", "perturb.clocked"])
def test_families_do_too(programs, solver):
    """Each gives the program and the one that writes it out one time; emulator in fractions."""
    for seed in seeds(programs // 15):
        rows = [
            REGISTRY.predict(query.workload, query.machine, solver, p=query.p, d=query.d)
            for query in pair(seed)
        ]
        assert rows[0].status is rows[1].status, seed
        assert rows[0].time == rows[1].time, seed
        if solver == "emulator.tc":
            assert rows[0].time == float(times(pair(seed)[0])[0]), seed


@pytest.mark.parametrize("form", ["free", "numbers", "barrier"])
def test_bounds_hold(programs, form):
    """What pamela says is no more than the time, and its form barrier no less."""
    compared = 0
    for seed in seeds_until(programs // 15, lambda: compared > programs // 100):
        stated, _ = pair(seed)
        row = REGISTRY.predict(
            stated.workload,
            stated.machine,
            "pamela.bound",
            p=stated.p,
            d=stated.d,
            settings={"pamela.form": form},
        )
        exact = float(times(stated)[0])
        if row.status.value != "ok":
            continue
        compared += 1
        if form == "barrier":
            assert row.time >= exact * (1 - 1e-9), seed
        else:
            assert row.time <= exact * (1 + 1e-9), seed
    assert compared > programs // 100


def test_phases_gather_as_their_program_does():
    """The exchange and the startups of spmd's formula beside those of the emulator."""
    machine = {
        "name": "dyadic",
        "processor": {"rate": 2**20},
        "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "none"},
        "storage": {"disks": 4, "bandwidth": 2**18, "startup": 2**-5, "aggregators": 4},
    }
    workload = {
        "name": "writer",
        "kind": "phases",
        "phase": [{"cycles": 8, "parallel": 2**22, "io": "sync", "io_bytes": 2**20,
                   "distribution": "constant"}],
    }  # fmt: skip
    rows = REGISTRY.compare(
        workload, machine, p=16, d=4, solvers="spmd,emulator", elasticities=False
    ).rows
    assert all(row.status.value == "ok" for row in rows), [row.message for row in rows]
    assert rows[0].time == pytest.approx(rows[1].time, rel=0.1)


def test_files_of_single_processes_are_not_gathered():
    """A collective access to one's own file is by oneself; spmd, which gathers, says so."""
    source = 'def program(rank, size):\n    write(1024, "own", collective=True)\n'
    storage = {"disks": 4, "bandwidth": 2**18, "startup": 2**-5}
    network = {"startup": 0, "bandwidth": 2**20, "contention": "none"}
    base = {"name": "dyadic", "processor": {"rate": 2**20}, "network": network}
    workload = read_source(source, "own.py", "own")
    rows = [
        REGISTRY.compare(
            workload, {**base, "storage": kind}, p=8, d=4, solvers="emulator,spmd"
        ).rows
        for kind in (storage, {**storage, "aggregators": 2})
    ]
    assert rows[0][0].time == rows[1][0].time
    assert any("files of single processes" in note for note in rows[1][1].notes)
