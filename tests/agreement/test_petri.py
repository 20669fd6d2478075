"""petri without loads, its messages served in turn, is the reference: every end, every part."""

import attrs
import numpy as np
import pytest

from parcast.testing import by_sweep, random_program, seeds
from parcast_petri.machine.laws import Law
from parcast_petri.machine.links import Links
from parcast_petri.machine.load import Load
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.dealing import Dealing
from parcast_petri.programs.lowering import program_net
from parcast_petri.programs.nodes import Nodes

from .enough_seeds import seeds_until


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_every_end_and_part_is_that_of_the_reference(contention, eager, programs):
    for seed in seeds(programs // 6):
        assert_agrees(random_program(seed, contention=contention, eager=eager))


def test_what_timing_decides_is_decided_alike(programs):
    for seed in seeds(programs // 6):
        assert_agrees(random_program(seed, pools=True, wildcards=True))


def test_tasks_are_dealt_beforehand_as_a_net_deals_them(programs):
    """The net of fixed tasks confirms who asks first, in ends and parts of the same bits."""
    for seed in seeds(programs // 3):
        made = random_program(seed, pools=True, wildcards=seed % 2 == 0, network=seed % 3 == 0)
        dealing = Dealing.of(made.query)
        drawn = program_net(made.query, Options(sharing="fcfs"), dealing=dealing)
        last = Play(kernel_arrays(drawn.net, "plain")).finish().last
        if not dealing.is_confirmed(drawn.asked, last):
            # messages that take no time: one may be asked for after another of the same instant
            assert made.costs.startup + made.costs.overhead == 0, made.source
            continue
        assert_equal(made, drawn.records.read(last))
        for number, takers in dealing.takers.items():  # another dealing is not confirmed
            if len(set(takers.tolist())) > 1:
                other = Dealing({**dealing.takers, number: takers.max() - takers + takers.min()})
                assert not other.is_confirmed(drawn.asked, last)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_all_that_a_network_may_say_is_followed(contention, programs):
    for seed in range(programs // 3):
        wildcards, pools = seed % 2 == 0, seed % 3 == 0
        assert_agrees(
            random_program(
                seed, contention=contention, network=True, wildcards=wildcards, pools=pools
            )
        )


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_messages_share_links_as_in_exact_arithmetic(form, programs):
    for seed in range(programs // 2):
        wildcards, pools = seed % 2 == 0, seed % 3 == 0
        made = random_program(seed, contention="fair", wildcards=wildcards, pools=pools)
        assert_near(made, played(made, form, sharing=None))


def test_ports_share_alike_by_either_name(programs):
    """On a star of one port ``fair`` is what ``max_min`` is of ports."""
    for seed in range(programs // 6):
        made = random_program(
            seed, contention="endpoint", without=["sender"], wildcards=True, pools=seed % 2 > 0
        )
        half = "half" if seed % 4 == 0 else "full"
        network = attrs.evolve(made.machine.network, contention="fair", duplex=half)
        fair = with_parts(made, network=network)
        ports = with_parts(made, links=Links(duplex=half))
        ends = played(fair, "plain", sharing=None).ends, played(ports, "plain", "max_min").ends
        assert ends[0] == pytest.approx(ends[1], rel=1e-14), made.source


def with_parts(made, **parts):
    machine = attrs.evolve(made.machine, parts={**made.machine.parts, **parts})
    return attrs.evolve(made, machine=machine)


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_what_is_simultaneous_is_as_in_exact_arithmetic(form, programs):
    """Decimals, whose sums are rounded: the ends are those of fractions all the same."""
    for seed in seeds(programs // 4):
        made = random_program(seed, decimal=True, wildcards=True, pools=seed % 2 > 0)
        assert_near(made, played(made, form))


def assert_near(made, account):
    exact = by_sweep(*made.exact)
    assert account.ends == pytest.approx([*map(float, exact.ends)], rel=1e-11), made.source
    parts = np.array([[float(x) for x in one.values()] for one in exact.parts])
    assert account.spent == pytest.approx(parts, abs=1e-11 * max(account.ends)), made.source


def played(made, form, sharing="fcfs", **options):
    drawn = program_net(made.query, Options(sharing=sharing, **options))
    return drawn.records.read(Play(kernel_arrays(drawn.net, form)).finish().last)


def assert_agrees(made):
    assert_equal(made, played(made, "plain"))


def assert_equal(made, account):
    reference = by_sweep(made.expanded, made.costs)
    assert (account.time, account.start) == (reference.time, reference.start), made.source
    assert tuple(account.ends) == reference.ends, made.source
    parts = [tuple(one.values()) for one in reference.parts]
    assert [tuple(one) for one in account.spent] == parts, made.source


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
@pytest.mark.parametrize("utilization", [0.5, 0.75])
def test_background_jobs_stretch_computation_as_a_node_that_is_so_much_slower(
    utilization, contention, programs
):
    for seed in seeds(programs // 12):
        made = random_program(seed, contention=contention)
        placement = made.costs.placement
        loaded = seed % placement.nodes
        load = Load(made.machine.nodes.cores, utilization, (Law("exp", (1.0,)),), (1.0,))
        drawn = program_net(made.query, Options(sharing="fcfs"), Nodes({loaded: load}))
        found = drawn.records.read(Play(kernel_arrays(drawn.net, "plain")).finish().last)
        factors = np.array([load.factor(sharing) for sharing in placement.sharing.tolist()])
        slower = np.where(placement.node == loaded, factors, 1.0)
        placement = attrs.evolve(placement, speed=placement.speed / slower)
        reference = by_sweep(made.expanded, attrs.evolve(made.costs, placement=placement))
        assert found.ends == pytest.approx(reference.ends, rel=1e-12), made.source


def test_memory_that_only_movers_share_is_never_slower_than_the_table(programs):
    """``petri.memory=ps``: a process has its share, or more while others move nothing."""
    faster = 0
    for seed in seeds_until(programs // 2, lambda: faster > programs // 300):
        made = random_program(seed, contention="none", without=["io"])
        nodes = attrs.evolve(made.machine.nodes, memory_bandwidth=2.0**18)
        machine = attrs.evolve(made.machine, parts={**made.machine.parts, "nodes": nodes})
        made = attrs.evolve(made, machine=machine)
        ends = [played(made, "plain", memory=memory).ends for memory in ("ps", "fixed")]
        assert tuple(ends[1]) == by_sweep(made.expanded, made.costs).ends, made.source
        assert np.all(ends[0] <= ends[1] * (1 + 1e-12)), made.source
        faster += bool(np.any(ends[0] < ends[1] * (1 - 1e-9)))
    assert faster > programs // 300  # of 150 some 20; one or none in 10 million days
