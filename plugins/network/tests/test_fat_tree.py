"""Fat-trees: routes join what they should, d-mod-k spreads destinations, taper narrows."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import attrs
import numpy as np
import pytest

from parcast.errors import FileError, UnsupportedError
from parcast.files import structure
from parcast.model import Ports, star
from parcast_network.description import Description
from parcast_network.summary import latencies

TREE = {"kind": "fat-tree", "down": [4, 3], "up": [1, 2], "cables": [1, 2]}


def described(**data):
    return structure(data, Description, "m.toml", "topology")


def names(fabric, source, target):
    (route,) = fabric.routes(np.array([source]), np.array([target]))
    return [fabric.name(int(link)) for link in route if link >= 0]


def test_routes_go_up_by_destination_and_come_down():
    fabric = described(**TREE).fabric(Ports(nodes=12, bandwidth=1e9))
    assert names(fabric, 0, 1) == ["node0 out", "node1 in"]
    assert names(fabric, 0, 7) == [
        "node0 out", "leaf0 -> spine1 cable1", "spine1 cable1 -> leaf1", "node7 in",
    ]  # fmt: skip
    assert names(fabric, 5, 8)[1:3] == ["leaf1 -> spine0", "spine0 -> leaf2"]


def joined(fabric, source, target):
    """Tell whether each link of a route begins where the one before it ended."""
    links = names(fabric, source, target)
    between = [name.replace(" cable1", "").split(" -> ") for name in links[1:-1]]
    return all(a[1] == b[0] for a, b in pairwise(between))


@pytest.mark.parametrize("routing", ["d-mod-k", "ecmp"])
@pytest.mark.parametrize(
    ("down", "up", "cables"),
    [
        ([4, 3], [1, 2], [1, 2]),
        ([2, 3, 2], [1, 2, 3], [1, 1, 2]),
        ([2, 2, 2, 2], [1, 2, 2, 1], [1, 1, 1, 1]),
    ],
)
def test_links_of_a_route_follow_each_other(routing, down, up, cables):
    topology = described(kind="fat-tree", down=down, up=up, cables=cables, routing=routing)
    count = int(np.prod(down))
    fabric = topology.fabric(Ports(nodes=count, bandwidth=1e9, seed=5))
    for source, target in permutations(range(count), 2):
        assert joined(fabric, source, target)
        *_, last = (name for name in names(fabric, source, target)[:-1])
        if down == [4, 3]:
            assert last == f"node{source} out" or last.endswith(f"leaf{target // 4}")


def test_destinations_use_all_cables_equally():
    fabric = described(kind="fat-tree", down=[8, 8], up=[1, 8]).fabric(
        Ports(nodes=64, bandwidth=1e9)
    )
    pairs = np.array(list(permutations(range(64), 2)))
    routes = fabric.routes(pairs[:, 0], pairs[:, 1])
    counts = np.bincount(routes[(routes >= 128)], minlength=len(fabric.capacity))[128:]
    assert set(counts.tolist()) == {56}
    for shift in range(1, 64):  # non-blocking for every shift (Zahavi 2010)
        ranks = np.arange(64)
        links = fabric.routes(ranks, (ranks + shift) % 64)
        assert np.bincount(links[links >= 0]).max() == 1


def test_ecmp_is_of_the_seed():
    topology = described(kind="fat-tree", down=[8, 8], up=[1, 8], routing="ecmp")
    pairs = np.array(list(permutations(range(64), 2))).T
    routes = [topology.fabric(Ports(nodes=64, seed=seed)).routes(*pairs) for seed in (1, 1, 2)]
    assert (routes[0] == routes[1]).all()
    assert (routes[0] != routes[2]).any()


def test_capacities_are_those_of_ports_and_levels():
    ports = Ports(nodes=12, bandwidth=10e9)
    fabric = described(**TREE, bandwidth="25 GB/s", latency="100 ns").fabric(ports)
    assert (fabric.capacity[:24] == 10e9).all()
    assert (fabric.capacity[24:] == 25e9).all()
    assert latencies(fabric, fabric.routes(np.array([0]), np.array([7]))) == pytest.approx(400e-9)
    levels = described(**TREE, bandwidth=["4 GB/s", "25 GB/s"], latency=["1 us", "2 us"])
    fabric = levels.fabric(ports)
    assert (fabric.capacity[:24] == 4e9).all()
    assert latencies(fabric, fabric.routes(np.array([0]), np.array([7]))) == pytest.approx(6e-6)
    half = described(**TREE, half=True).fabric(attrs.evolve(ports, half=True))
    assert len(half.capacity) == 12 + 12
    assert names(half, 0, 7)[1] == "leaf0 <-> spine1 cable1"


def test_fractions_stay_exact():
    fabric = described(**TREE, bandwidth=3.0).fabric(Ports(nodes=12, bandwidth=Fraction(1, 3)))
    assert set(fabric.capacity) == {Fraction(1, 3), Fraction(3)}
    assert isinstance(fabric.capacity[30], Fraction)


def test_a_star_is_that_of_the_core():
    ports = Ports(nodes=3, per_node=2, bandwidth=5.0)
    fabric, plain = described(kind="star").fabric(ports), star(ports)
    pairs = np.array(list(permutations(range(6), 2))).T
    assert (fabric.routes(*pairs) == plain.routes(*pairs)).all()
    assert (fabric.capacity == plain.capacity).all()
    assert [fabric.name(i) for i in range(12)] == [plain.name(i) for i in range(12)]


def test_a_bus_is_one_link_for_all():
    fabric = described(kind="bus", bandwidth=7.0, latency=0.5).fabric(Ports(nodes=3, bandwidth=5.0))
    assert names(fabric, 0, 2) == ["node0 out", "bus", "node2 in"]
    assert fabric.capacity.tolist() == [5.0] * 6 + [7.0]


def test_a_tree_that_cannot_hold_the_nodes_says_how_many_it_holds():
    with pytest.raises(UnsupportedError, match="holds 12 ports and the machine has 13"):
        described(**TREE).fabric(Ports(nodes=13))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"kind": "fat-tree", "down": [32, 18], "up": [18, 1]}, "a port has one cable"),
        ({"kind": "star", "dims": [2]}, "a star has no 'dims'; it takes latency"),
        ({"kind": "fat-tree", "down": [2]}, "a fat-tree needs 'up'"),
        ({"kind": "fat-tree", "down": [2, 2], "up": [1]}, "down has 2 levels and up 1"),
        ({**TREE, "bandwidth": [1.0]}, "bandwidth has 1 numbers, but a fat-tree 2 levels"),
        ({**TREE, "bandwidth": "1 +- 0.1 GB/s"}, "is uncertain"),
        ({**TREE, "bandwidth": "fast"}, "topology.bandwidth"),
        ({**TREE, "routing": "minimal"}, "routing = 'minimal'"),
    ],
)
def test_what_a_kind_cannot_have_is_refused(data, reason):
    with pytest.raises(FileError, match=reason):
        described(**data)
