"""Masters who attend to pools: what the references, and all who follow them, must agree on."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from parcast import Registry, UnsupportedError
from parcast.program.workload import Program
from parcast.testing import by_sweep, random_program, seeds
from parcast_emulator.program_run import why_not_compiled
from parcast_pamela.programs.lowering import lower as lower_to_pamela
from parcast_pamela.solvers.bound import Bound, Options
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options as PetriOptions
from parcast_petri.programs.lowering import program_net
from parcast_petri.programs.nodes import Nodes
from parcast_simgrid.playing import is_installed, play
from parcast_simgrid.score import score

from .enough_seeds import seeds_until
from .references import assert_as_in_fractions, assert_equal_in_every_bit
from .topologies import random_topology

REGISTRY = Registry()


def attended(seed, contention="none", **options):
    """Return a random program whose pools have masters, or None where it has no such pool."""
    made = random_program(seed, contention=contention, pools=True, masters=True, **options)
    return made if any(pool.master is not None for pool in made.unrolled.pools) else None


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_references_and_emulator_are_equal_in_every_bit(contention, programs):
    compared = 0
    for seed in seeds_until(programs // 3, lambda: compared > programs // 20):
        made = attended(seed, contention, wildcards=seed % 2 > 0, network=seed % 3 > 0)
        if made is None:
            continue
        compared += 1
        assert why_not_compiled(made.query) is not None
        assert_equal_in_every_bit(made)
    assert compared > programs // 20


def test_where_links_are_shared_all_are_as_in_fractions(programs):
    for seed in seeds(programs // 3):
        topology = random_topology(seed) if seed % 3 else None
        made = attended(seed, "fair", wildcards=seed % 2 > 0, topology=topology)
        if made is None:
            continue
        assert_as_in_fractions(made)


def test_the_message_graph_of_what_happened_takes_as_long(programs):
    answered = 0
    for seed in seeds_until(programs // 3, lambda: answered > programs // 60):
        made = attended(seed)
        if made is None:
            continue
        (row,) = REGISTRY.compare(
            made.query.workload, made.machine, p=made.size, d=made.disks, mapping=made.mapping,
            solvers="perturb.clocked", elasticities=False).rows  # fmt: skip
        if row.time is not None:
            answered += 1
            reference = by_sweep(made.expanded, made.costs)
            assert row.time == pytest.approx(reference.time, rel=1e-12), made.source
    assert answered > programs // 60


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_no_run_is_faster_than_pamela_says(contention, programs):
    tight = 0
    for seed in seeds_until(programs // 6, lambda: tight > 0):
        made = attended(seed, contention)
        if made is None:
            continue
        content = attrs.evolve(made.query.workload, content=Program(None, made.unrolled))
        query = attrs.evolve(made.query, workload=content).with_options(Options(form="free"))
        workload, _ = lower_to_pamela(query.workload, query)
        found = Bound().solve(attrs.evolve(query, workload=workload))
        reference = by_sweep(made.expanded, made.costs).time
        assert found.lower <= reference * (1 + 1e-12), made.source
        tight += found.time > reference / 2
    assert tight > 0


@pytest.mark.skipif(not is_installed(), reason="SimGrid is not installed")
@pytest.mark.parametrize("contention", ["fair", "none"])
def test_simgrid_plays_what_masters_send_as_the_references(contention, programs):
    for seed in range(programs // 15):
        topology = random_topology(seed) if seed % 3 else None
        made = attended(seed, contention, without=("io",), network=True, topology=topology)
        if made is None or any(pool.master is None for pool in made.unrolled.pools):
            continue
        if made.costs.weight_bytes is not None:  # refused
            continue
        reference = by_sweep(made.expanded, made.costs)
        played = play(score(made.expanded, made.costs), 60.0)
        near = 1e-9 * max(reference.ends)
        assert played.ends == pytest.approx(reference.ends, abs=near), made.source


@pytest.mark.parametrize("contention", ["none", "fair"])
def test_petri_plays_what_masters_send_as_the_references(contention, programs):
    compared = 0
    for seed in seeds_until(programs // 3, lambda: compared > programs // 100):
        made = attended(seed, contention, wildcards=seed % 2 > 0, network=seed % 3 > 0)
        if made is None or any(pool.master is None for pool in made.unrolled.pools):
            continue
        compared += 1
        net = program_net(made.query, PetriOptions())
        account = net.records.read(Play(kernel_arrays(net.net, "plain")).finish().last)
        exact = contention == "fair"
        reference = by_sweep(*(made.exact if exact else (made.expanded, made.costs)))
        near = 1e-11 * float(max(reference.ends))
        assert account.ends == pytest.approx([*map(float, reference.ends)], abs=near), made.source
        parts = [[float(value) for value in parts.values()] for parts in reference.parts]
        assert account.spent == pytest.approx(np.array(parts), abs=near), made.source
    assert compared > programs // 100


def test_petri_lets_who_took_any_message_ask_for_a_disk_behind_others_of_that_time():
    made = attended(252400053, "none", wildcards=True)  # ranks 1 and 2 write at one time
    net = program_net(made.query, PetriOptions())
    account = net.records.read(Play(kernel_arrays(net.net, "plain")).finish().last)
    reference = by_sweep(made.expanded, made.costs)
    assert account.ends.tolist() == list(reference.ends)


def test_petri_refuses_masters_where_messages_pass_in_their_order():
    made = next(filter(None, (attended(seed, "bus") for seed in range(20))))
    with pytest.raises(UnsupportedError, match=r"passes network\.contention = 'bus' in the order"):
        program_net(made.query, PetriOptions())


def test_petri_refuses_masters_of_loaded_nodes():
    made = next(filter(None, map(attended, range(20))))
    load = Load(1, 0.5, (Law("exp", (1.0,)),), (1.0,))
    with pytest.raises(UnsupportedError, match="whom a master answers when depends on the load"):
        program_net(made.query, PetriOptions(), Nodes({0: load}))
