"""pamela's form free is below the reference, its form barrier above it (rows 3 and 4)."""

from random import Random

import attrs
import numpy as np
import pytest

from parcast import Query, Registry
from parcast.errors import UnsupportedError
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.program.workload import Program
from parcast.testing import by_sweep, random_program, seeds
from parcast_network.description import Description
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.programs import critical, formulas
from parcast_pamela.programs.charges import Charges
from parcast_pamela.programs.critical import critical_path
from parcast_pamela.programs.links import link_seconds
from parcast_pamela.programs.lowering import lower
from parcast_pamela.solvers.bound import Bound, Options
from parcast_pamela.workload import Content

from .enough_seeds import seeds_until
from .topologies import random_topology

REGISTRY = Registry()


def bound(made, form):
    query = made.query.with_options(Options(form=form))
    try:
        workload, _ = lower(query.workload, query)
    except UnsupportedError:
        return None
    return Bound().solve(attrs.evolve(query, workload=workload))


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_no_run_is_faster_than_free(contention, eager, programs):
    tight = 0
    for seed in seeds_until(programs // 8, lambda: tight > programs // 300):
        made = random_program(seed, contention=contention, eager=eager)
        if (found := bound(made, "free")) is not None:
            reference = by_sweep(made.expanded, made.costs).time
            assert found.lower <= reference * (1 + 1e-12), made.source
            tight += found.time > reference / 2
    assert tight > programs // 300  # of 37 some 16; one or none in 10 million days


def test_without_contention_no_run_is_slower_than_barrier(programs):
    asked = 0
    for seed in seeds_until(programs // 3, lambda: asked > programs // 300):
        without = ["start", "colors", *(["algorithms"] if seed % 2 else [])]
        made = random_program(seed, contention="none", without=without)
        if (found := bound(made, "barrier")) is not None:
            asked += 1
            assert found.time >= by_sweep(made.expanded, made.costs).time * (1 - 1e-12), made.source
    assert asked > programs // 300  # of 100 some 20


@pytest.mark.parametrize("seed", [1260, 2340, 3045, 3465, 3837])
def test_the_barriers_of_a_collective_access_are_in_the_form_barrier(seed):
    without = ["weights", "start", "colors", "aggregators"]
    made = random_program(seed, contention="none", without=without)
    assert "collective=True" in made.source
    reference = by_sweep(made.expanded, made.costs).time
    assert bound(made, "barrier").time >= reference * (1 - 1e-12)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_no_run_is_faster_than_what_a_recorded_one_has_of_work_and_load(contention, programs):
    tight = 0
    for seed in seeds_until(programs // 8, lambda: tight > programs // 48):
        made = random_program(seed, contention=contention, pools=seed % 2 > 0)
        program = Program(None, made.unrolled)
        query = attrs.evolve(
            made.query, workload=attrs.evolve(made.query.workload, content=program)
        )
        workload, notes = lower(query.workload, query)
        found = Bound().solve(attrs.evolve(query, workload=workload))
        reference = by_sweep(made.expanded, made.costs).time
        assert found.lower <= reference * (1 + 1e-12), made.source
        assert "lower bound" in notes[0]
        tight += found.time > reference / 2
    assert tight > programs // 48


POOL = """def program(rank, size):
    for task in pool(range(40), bytes=8):
        read(2**16 * (1 + task % 3), "shared")
        compute(2**10)
"""


def test_disks_bind_whoever_takes_the_tasks_that_read_from_them():
    machine = REGISTRY.machine({
        "name": "m",
        "processor": {"rate": 2**20},
        "network": {"startup": 2**-10, "bandwidth": 2**20},
        "storage": {"disks": 2, "startup": 2**-8, "bandwidth": 2**20},
    })  # fmt: skip
    query = Query(workload=read_source(POOL, "pool.py"), machine=machine, p=8, d=2)
    workload, _ = lower(query.workload, query.with_options(Options()))
    found = Bound().solve(attrs.evolve(query.with_options(Options()), workload=workload))
    on_each = sum(2**-8 + 2**16 * (1 + task % 3) / 2 / 2**20 for task in range(40))
    assert found.lower == pytest.approx(on_each, rel=1e-12)
    assert found.details["demands"]["disk"] == found.lower


def networked(seed, contention="fair", **features):
    """Return a program on a machine that says of its network what may be said."""
    topology = random_topology(seed) if seed % 4 else None
    if contention in {"endpoint", "bus"}:
        topology = None
    return random_program(seed, contention=contention, network=True, topology=topology, **features)


@pytest.mark.parametrize("contention", ["fair", "endpoint", "bus", "none"])
def test_no_run_is_faster_where_links_are_shared(contention, programs):
    tight = 0
    for seed in seeds_until(
        programs // (1 if contention == "fair" else 3), lambda: tight > programs // 40
    ):
        made = networked(seed, contention, wildcards=seed % 2 == 0, pools=seed % 3 == 0)
        found = bound(made, "free")
        reference = by_sweep(made.expanded, made.costs).time
        assert found.lower <= reference * (1 + 1e-11), made.source
        tight += found.time > 0.9 * reference
    assert tight > programs // 40


def bordered(seed):
    """Return a program on filled nodes of a network with borders, all processes alike."""
    random = Random(seed)
    topology = random.choice([None, random_topology(seed), *SWITCHED])
    made = random_program(
        seed,
        size=random.randint(2, 16),
        contention="fair",
        topology=topology,
        without=["weights", "start", "io", "colors", "requests"],
    )
    machine = made.machine
    ports = machine.network.ports if topology is None else 1
    sizes = tuple(
        attrs.evolve(size, efficiency=None, latency_factor=None) for size in machine.network.sizes
    )
    network = attrs.evolve(machine.network, levels=(), ports=ports, sizes=sizes)
    parts = {**machine.parts, "network": network}
    return attrs.evolve(made, machine=attrs.evolve(machine, parts=parts), mapping="block")


SWITCHED = [
    Description(kind="fat-tree", down=(2, 2, 4), up=(1, 2, 1), cables=(1, 1, 2)),
    Description(kind="fat-tree", down=(4, 8), up=(1, 2), half=True),
    Description(kind="dragonfly", groups=3, routers=2, nodes=8, global_bandwidth=2.0**19),
]


def test_formulas_carry_no_more_than_the_fullest_link(programs):
    asked = 0
    for seed in seeds_until(programs // 5, lambda: asked > programs // 50):
        made = bordered(seed)
        query, costs = made.query, made.costs
        matched = matched_program(query)
        itself = formulas.to_itself(matched.native)
        charges = Charges.of(costs, query.machine, "", to_itself=itself, slowest=False)
        text, values = formulas.text(query.workload, query, matched.native, charges, stated=False)
        linked = Content(text, "", "", "").model()
        found = compile_model(linked).values_at(bind(linked, {"P": made.size, **values}))
        assert found.bound <= by_sweep(made.expanded, costs).time * (1 + 1e-11), made.source
        fullest = max(link_seconds(matched, costs).values(), default=0)
        assert found.contention <= fullest * (1 + 1e-11), made.source
        asked += any(f"use({border.name}," in text for border in charges.borders)
    assert asked > programs // 50


def test_without_contention_the_bound_is_the_time_of_the_reference(programs):
    for seed in seeds(programs // 3):
        made = networked(seed, "none", without=["io", "start"])
        reference = by_sweep(made.expanded, made.costs).time
        path = critical_path(matched_program(made.query), made.costs)
        assert path == pytest.approx(reference, rel=1e-12), made.source


def test_the_critical_path_is_the_same_compiled(programs, monkeypatch):
    asked = []

    class Both:
        def form(self, _steps):
            return lambda *arguments: asked.append(arguments) or kernel.plain(*arguments)

    kernel = critical.path_ends
    monkeypatch.setattr(critical, "path_ends", Both())
    for seed in seeds(programs // 10):
        made = networked(seed, wildcards=seed % 2 == 0)
        critical_path(matched_program(made.query), made.costs)
    for arguments in asked:
        assert np.array_equal(kernel.compiled(*arguments), kernel.plain(*arguments))


def test_where_links_are_shared_barriers_are_mostly_slower(programs):
    asked = above = 0
    for seed in seeds_until(programs // 2, lambda: asked > programs // 40):
        made = networked(seed, without=["start"])
        if (found := bound(made, "barrier")) is not None:
            asked += 1
            above += found.time >= by_sweep(made.expanded, made.costs).time * (1 - 1e-11)
    assert asked > programs // 40
    assert asked - above <= max(1, asked // 20)
