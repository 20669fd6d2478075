"""Utilization is the bytes that cross a link, over what it could have carried."""

from __future__ import annotations

import numpy as np
import pytest

from parcast import Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast_network.utilization import link_utilization


def test_links_are_named_the_fullest_first():
    registry = Registry()
    machine = registry.machine(
        {
            "name": "pair of leaves",
            "nodes": {"cores": 1},
            "network": {"startup": 1, "bandwidth": 4, "contention": "fair"},
            "topology": {"kind": "fat-tree", "down": [2, 2], "up": [1, 1], "bandwidth": 2},
        }
    )
    query = Query(workload=registry.workload("stencil2d"), machine=machine, p=4, d=1)
    wiring = Costs.of(query, ("messages",), WHOLE_NETWORK).wiring()
    sources, targets = np.array([0, 1, 2]), np.array([2, 3, 3])
    used = link_utilization(wiring, sources, targets, np.array([8.0, 8.0, 4.0]), 10.0)
    assert used == pytest.approx({"leaf0 -> spine0": 16 / 20, "spine0 -> leaf1": 16 / 20})
    wider = link_utilization(wiring, sources[2:], targets[2:], np.array([4.0]), 10.0)
    assert wider == pytest.approx({"node2 out": 4 / 40, "node3 in": 4 / 40})
    assert link_utilization(wiring, sources[:0], targets[:0], np.zeros(0), 10.0) == {}
