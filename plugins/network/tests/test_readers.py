"""Files of Slurm and of SimGrid: what they say becomes routes, what is wrong is a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from parcast.errors import FileError
from parcast.model import Ports
from parcast_network.description import Description
from parcast_network.summary import latencies


def fabric(path, nodes, **keys):
    return Description(kind="graph", file=str(path), **keys).fabric(
        Ports(nodes=nodes, bandwidth=1e9)
    )


def names(network, source, target):
    (route,) = network.routes(np.array([source]), np.array([target]))
    return [network.name(int(link)) for link in route if link >= 0]


def test_a_topology_of_slurm(tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text(
        "# a tree\nSwitchName=s0 Nodes=tux[0-2],gpu\nswitchname=s1 nodes=tux[07,08-10] LinkSpeed=9"
        "\nSwitchName=top Switches=s[0-1]\n"
    )
    network = fabric(path, 8, bandwidth=5e9)
    assert names(network, 0, 4) == [
        "node0 out", "node0 -> s0", "s0 -> top", "top -> s1", "s1 -> node4", "node4 in",
    ]  # fmt: skip
    assert names(network, 2, 3)[1:3] == ["node2 -> s0", "s0 -> node3"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BlockName=b1 Nodes=a[0-3]", ":1: blocks"),
        ("SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0 Nodes=a", "is below itself"),
        ("SwitchName=s0 Switches=s9 Nodes=a", "no line states switch s9"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=a", ":2: node a is below s0 and s1"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=b", "in two pieces"),
        ("SwitchName=s0 Nodes=a[3-1]", "'3-1' is empty"),
        ("SwitchName=s0 Nodes=a[x]", "'x' is no range"),
        ("Switch=s0 Nodes=a", "states no SwitchName"),
        ("SwitchName=s0", "no switch has nodes"),
    ],
)
def test_what_is_wrong_with_a_topology_of_slurm(tmp_path, text, reason):
    path = tmp_path / "topology.conf"
    path.write_text(text)
    with pytest.raises(FileError, match=reason):
        fabric(path, 1)


PLATFORM = """<?xml version='1.0'?><platform version="4.1"><zone id="z" routing="{routing}">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/><router id="r"/>
<link id="la" bandwidth="1Gbps" latency="50us" sharing_policy="SPLITDUPLEX"/>
<link id="lb" bandwidth="125MBps" latency="1ms"/>
<link id="lc" bandwidth="1MiBps" latency="0" sharing_policy="FATPIPE"/>
{routes}</zone></platform>"""
STAR = "".join(
    f'<route src="{host}" dst="r"><link_ctn id="l{host}" direction="UP"/></route>' for host in "abc"
)
FULL = (
    '<route src="a" dst="b"><link_ctn id="la" direction="UP"/><link_ctn id="lb"/></route>'
    '<route src="b" dst="c" symmetrical="NO"><link_ctn id="lc"/></route>'
)


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra"])
def test_a_platform_whose_routes_are_the_shortest(tmp_path, routing):
    path = tmp_path / "star.xml"
    path.write_text(PLATFORM.format(routing=routing, routes=STAR))
    network = fabric(path, 3)
    assert names(network, 0, 1) == ["node0 out", "la up", "lb", "node1 in"]
    assert names(network, 2, 0) == ["node2 out", "lc", "la down", "node0 in"]
    assert network.capacity[6:].tolist() == [125e6, 125e6, 125e6, 1048576.0]
    assert network.shared[6:].tolist() == [True, True, True, False]
    assert latencies(network, network.routes(np.array([0]), np.array([1]))) == pytest.approx(
        1.05e-3
    )


def test_a_platform_that_states_its_routes(tmp_path):
    path = tmp_path / "full.xml"
    path.write_text(PLATFORM.format(routing="Full", routes=FULL))
    network = fabric(path, 3)
    assert names(network, 1, 0)[1:-1] == ["lb", "la down"]
    assert names(network, 1, 2)[1:-1] == ["lc"]
    with pytest.raises(FileError, match="no route from c to b"):
        names(network, 2, 1)


CLUSTER = (
    '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" {}/>'
    "</platform>"
)


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ('bw="1GBps" lat="1us"', ["node0 out", "node15 in"]),
        ('bw="1GBps" lat="1us" bb_bw="2GBps"', ["node0 out", "bus", "node15 in"]),
        (
            'bw="1GBps" lat="1us" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"',
            ["node0 out", "leaf0 -> spine1 cable1", "spine1 cable1 -> leaf3", "node15 in"],
        ),
        (
            'bw="1GBps" lat="1us" topology="TORUS" topo_parameters="4,4"',
            ["node0 out", "router0 -> router3", "router3 -> router15", "node15 in"],
        ),
        (
            'bw="1GBps" lat="1us" topology="DRAGONFLY" topo_parameters="2,4;1,1;4,2;2"',
            [
                "node0 out",
                "group0 router0 -> group0 router1",
                "group0 router1 -> group1 router0",
                "group1 router0 -> group1 router3",
                "node15 in",
            ],
        ),
    ],
)
def test_clusters_of_platforms(tmp_path, attributes, wanted):
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER.format(attributes))
    assert names(fabric(path, 16), 0, 15) == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<net/>", "<net> is no <platform>"),
        (PLATFORM.format(routing="Vivaldi", routes=""), "routing='Vivaldi' is not read"),
        (PLATFORM.format(routing="Full", routes='<route src="a" dst="q"/>'), "names 'q'"),
        (
            PLATFORM.format(
                routing="Full", routes='<route src="a" dst="b"><link_ctn id="x"/></route>'
            ),
            "passes 'x'",
        ),
        (
            PLATFORM.format(routing="Full", routes="").replace("1Gbps", "fast"),
            "'fast' is no bandwidth",
        ),
        (PLATFORM.format(routing="Full", routes="").replace("1ms", "soon"), "'soon' is no time"),
        (PLATFORM.format(routing="Full", routes="<zone id='y' routing='Full'/>"), "several zones"),
        (CLUSTER.format('bw="1GBps" topology="DRAGONFLY" topo_parameters="1"'), "DRAGONFLY with"),
        (CLUSTER.format('bw="1GBps" topology="CUBE"'), "topology='CUBE' is not read"),
    ],
)
def test_what_is_wrong_with_a_platform(tmp_path, text, reason):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(FileError, match=reason):
        fabric(path, 1)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"topo\.txt: a graph is read from"):
        fabric(tmp_path / "topo.txt", 1)
