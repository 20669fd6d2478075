"""Topologies by chance, for up to 16 ports; their numbers are as exact as those of programs."""

from __future__ import annotations

from random import Random

from parcast_network.description import Cable, Description

MEGA, MILLI = 2.0**20, 2.0**-10


def random_topology(seed: int) -> Description:
    """Return a topology, the same one for the same seed."""
    random = Random(seed)
    numbers = {
        "bandwidth": random.choice([MEGA / 2, MEGA, 4 * MEGA]),
        "latency": random.choice([0.0, MILLI / 16, MILLI]),
        "half": random.random() < 0.25,
    }
    kinds = [
        {"kind": "fat-tree", "down": (4, 4), "up": (1, random.choice([1, 2]))},
        {"kind": "fat-tree", "down": (2, 4, 2), "up": (1, 1, 2), "routing": "ecmp"},
        {"kind": "torus", "dims": random.choice([(16,), (4, 4), (2, 2, 4)])},
        {"kind": "dragonfly", "groups": 3, "routers": 3, "nodes": 2},
        {"kind": "graph", "links": _cables(random)},
    ]
    return Description(**random.choice(kinds), **numbers)


def _cables(random: Random) -> tuple[Cable, ...]:
    """Return a tree of four switches with a ring on top, and four nodes at each."""
    switches = [f"switch{number}" for number in range(4)]
    ring = [(near, switches[(at + 1) % 4]) for at, near in enumerate(switches)]
    nodes = [(f"node{number}", switches[number % 4]) for number in range(16)]
    return tuple(
        Cable(ends=ends, bandwidth=random.choice([None, MEGA, 2 * MEGA])) for ends in ring + nodes
    )
