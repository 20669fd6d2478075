"""Tori, dragonflies, rails and graphs: routes join their ends, and are as short as can be."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from parcast.errors import FileError, UnsupportedError
from parcast.files import structure
from parcast.model import Ports
from parcast_network.description import Description
from parcast_network.summary import latencies


def fabric(ports, **data):
    return structure(data, Description, "m.toml", "topology").fabric(ports)


def names(network, source, target):
    (route,) = network.routes(np.array([source]), np.array([target]))
    return [network.name(int(link)) for link in route if link >= 0]


def path(network, source, target):
    """Return the routers that a message passes, after checking that its links join."""
    first, *links, last = names(network, source, target)
    assert first.endswith(" out")
    assert last.endswith(" in")
    ends = [link.split(" -> ") for link in links]
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    return [ends[0][0], *(end[1] for end in ends)] if ends else []


def all_pairs(count):
    return np.array(list(permutations(range(count), 2))).T


@pytest.mark.parametrize("dims", [[5], [4, 3], [2, 3, 4], [1, 6, 2]])
def test_a_torus_goes_the_shortest_way_in_order(dims):
    count = int(np.prod(dims))
    network = fabric(Ports(nodes=count, bandwidth=1.0), kind="torus", dims=dims)
    place = np.unravel_index(np.arange(count), dims, order="F")
    for source, target in permutations(range(count), 2):
        gaps = [abs(int(at[source]) - int(at[target])) for at in place]
        hops = sum(min(gap, size - gap) for gap, size in zip(gaps, dims, strict=True))
        routers = path(network, source, target)
        assert len(routers) == hops + 1
        assert (routers[0], routers[-1]) == (f"router{source}", f"router{target}")


def test_a_torus_goes_up_where_both_ways_are_as_long():
    network = fabric(Ports(nodes=16, bandwidth=1.0), kind="torus", dims=[4, 4])
    assert path(network, 0, 10) == ["router0", "router1", "router2", "router6", "router10"]
    assert path(network, 2, 0) == ["router2", "router3", "router0"]
    half = fabric(Ports(nodes=4, bandwidth=1.0), kind="torus", dims=[4], half=True)
    assert names(half, 0, 1)[1:-1] == names(half, 1, 0)[1:-1] == ["router0 <-> router1"]


def test_a_torus_of_several_ports_a_node_joins_them_at_the_node():
    network = fabric(Ports(nodes=4, per_node=2, bandwidth=1.0), kind="torus", dims=[4])
    assert names(network, 3, 7) == [
        "node1 port1 out", "router1 -> router2", "router2 -> router3", "node3 port1 in",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "routers", "nodes"), [(3, 4, 2), (5, 2, 1), (1, 3, 2), (4, 1, 3)]
)
def test_a_dragonfly_goes_by_the_one_cable_to_the_group(groups, routers, nodes):
    count = groups * routers * nodes
    network = fabric(
        Ports(nodes=count, bandwidth=1.0),
        kind="dragonfly", groups=groups, routers=routers, nodes=nodes,
        bandwidth=2.0, global_bandwidth=3.0, latency=1.0, global_latency=10.0,
    )  # fmt: skip
    for source, target in permutations(range(count), 2):
        (here, left), (there, right) = (divmod(port // nodes, routers) for port in (source, target))
        routers_passed = path(network, source, target)
        wanted = [f"group{here} router{left}", f"group{there} router{right}"]
        if here != there:
            wanted[1:1] = [
                f"group{here} router{there % routers}",
                f"group{there} router{here % routers}",
            ]
        shortest = [name for name, after in pairwise([*wanted, ""]) if name != after]
        assert routers_passed == (shortest if len(shortest) > 1 else [])


def test_the_links_of_a_dragonfly_have_its_numbers():
    network = fabric(
        Ports(nodes=24, bandwidth=1.0),
        kind="dragonfly", groups=3, routers=4, nodes=2,
        bandwidth=2.0, global_bandwidth=3.0, latency=1.0, global_latency=10.0,
    )  # fmt: skip
    assert np.unique(network.capacity, return_counts=True)[1].tolist() == [48, 3 * 6 * 2, 3 * 2]
    route = network.routes(np.array([0]), np.array([23]))
    assert latencies(network, route).tolist() == [2 + 1 + 10 + 1]


def test_rails_of_stars_have_no_cables_of_their_own():
    with pytest.raises(FileError, match="state their bandwidth as network"):
        fabric(Ports(nodes=4, per_node=2), kind="rails", bandwidth=1.0)


def test_rails_keep_to_the_senders_port():
    ports = Ports(nodes=4, per_node=2, bandwidth=1.0)
    plain = fabric(ports, kind="rails")
    assert names(plain, 1, 6) == ["node0 port1 out", "node3 port1 in"]
    trees = fabric(ports, kind="rails", down=[2, 2], up=[1, 2])
    assert names(trees, 1, 6) == [
        "node0 port1 out", "rail1 leaf0 -> spine1", "rail1 spine1 -> leaf1", "node3 port1 in",
    ]  # fmt: skip
    assert names(trees, 0, 7)[1] == "rail0 leaf0 -> spine1"
    routes = trees.routes(*all_pairs(8))
    assert routes.max() < len(trees.capacity)
    assert len({trees.name(link) for link in range(len(trees.capacity))}) == len(trees.capacity)


RING = [{"ends": [f"s{i}", f"s{(i + 1) % 5}"]} for i in range(5)]
LEAVES = [{"ends": [f"node{i}", f"s{i}"], "bandwidth": "4 B/s"} for i in range(5)]


def test_a_graph_takes_the_fewest_cables():
    network = fabric(
        Ports(nodes=5, bandwidth=9.0), kind="graph", links=RING + LEAVES, bandwidth=2.0
    )
    assert path(network, 0, 3) == ["node0", "s0", "s4", "s3", "node3"]
    assert path(network, 3, 0) == ["node3", "s3", "s4", "s0", "node0"]
    assert network.capacity.tolist() == [9.0] * 10 + [2.0] * 10 + [4.0] * 10
    for source, target in permutations(range(5), 2):
        gap = abs(source - target)
        assert len(path(network, source, target)) == min(gap, 5 - gap) + 3


def test_half_cables_and_those_that_nobody_shares():
    links = [
        {"ends": ["node0", "s"]},
        {"ends": ["node1", "s"], "duplex": "half", "bandwidth": 7.0, "latency": 2.0},
        {"ends": ["node2", "s"], "shared": False},
    ]
    network = fabric(
        Ports(nodes=3, bandwidth=9.0), kind="graph", links=links, bandwidth=2.0, latency=1.0
    )
    assert names(network, 0, 1)[1:-1] == ["node0 -> s", "node1 <-> s"]
    assert names(network, 1, 2)[1:-1] == ["node1 <-> s", "s -> node2"]
    assert latencies(network, network.routes(np.array([0]), np.array([1]))).tolist() == [3.0]
    shared = {
        network.name(link): bool(network.shared[link]) for link in range(len(network.capacity))
    }
    assert [name for name, value in shared.items() if not value] == ["node2 -> s", "s -> node2"]
    assert network.capacity[[network.name(i) == "node1 <-> s" for i in range(len(shared))]] == 7.0


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (
            [{"ends": ["node0", "a"]}, {"ends": ["node1", "b"]}],
            "in two pieces: .* to node1; add one",
        ),
        ([{"ends": ["node0", "a"]}, {"ends": ["node2", "a"]}], "has node2 and no node1"),
        ([{"ends": ["a", "b"]}], "has no nodes"),
    ],
)
def test_a_graph_that_is_none_is_refused(links, reason):
    with pytest.raises(FileError, match=reason):
        fabric(Ports(nodes=2), kind="graph", links=links)


def test_a_cable_has_two_ends():
    with pytest.raises(FileError, match=r"links\[0\]: ends = \['a', 'a'\]: a cable has two"):
        fabric(Ports(nodes=1), kind="graph", links=[{"ends": ["a", "a"]}])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            {"kind": "torus", "dims": [2, 2]},
            "a torus of 2 x 2, holds 4 nodes and the machine has 9",
        ),
        ({"kind": "dragonfly", "groups": 2, "routers": 2, "nodes": 2}, "holds 8 ports"),
        ({"kind": "graph", "links": LEAVES + RING}, "has 5 nodes and the machine has 9"),
    ],
)
def test_too_many_nodes_are_refused(data, reason):
    with pytest.raises(UnsupportedError, match=reason):
        fabric(Ports(nodes=9), **data)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "torus", "dims": [3, 4]},
        {"kind": "dragonfly", "groups": 3, "routers": 2, "nodes": 2},
        {"kind": "fat-tree", "down": [4, 3], "up": [1, 2], "routing": "ecmp"},
        {"kind": "bus", "bandwidth": 1.0},
    ],
    ids=lambda data: data["kind"],
)
def test_a_single_pair_has_its_route_among_all_and_keeps_it(data):
    network = fabric(Ports(nodes=12, bandwidth=1.0), **data)
    sources, targets = all_pairs(12)
    table = network.routes(sources, targets)
    for index in range(len(table)):
        pair = sources[[index]], targets[[index]]
        row = network.routes(*pair)
        assert row.dtype == table.dtype
        assert np.array_equal(row, table[[index]])
        assert network.routes(*pair) is row
        assert not row.flags.writeable
