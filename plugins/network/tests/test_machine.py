"""The cluster that the plugin ships."""

from __future__ import annotations

import parcast_network
from parcast import Registry
from parcast.testing import check_machine

REGISTRY = Registry([parcast_network])


def test_the_machine_keeps_its_promises():
    check_machine(REGISTRY, "fat-tree-hdr")


def test_the_tree_holds_its_nodes_and_is_tapered_two_to_one():
    machine = REGISTRY.machine("fat-tree-hdr")
    topology = machine.parts["topology"]
    nodes = topology.down[0] * topology.down[1]
    assert nodes == machine.nodes.count == 480
    assert topology.down[0] == 2 * topology.up[1]
