"""When every server is free again: the state that one epoch hands to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parcast_emulator.blocks import Floats
from parcast_emulator.cluster import Cluster


class Servers(NamedTuple):
    """Seconds at which servers are free, and where the heads of the disks stand."""

    disk: Floats  #: of each disk, of each of its channels
    gate: Floats  #: of each disk, when it may start its next access
    head: Floats  #: of each disk, in bytes from its start
    bus: Floats
    send: Floats
    receive: Floats
    cpu: Floats

    @classmethod
    def of(cls, cluster: Cluster) -> Servers:
        """Return servers that are all free at 0."""
        disks, nodes = len(cluster.node_of), len(cluster.speed)
        return cls(
            np.zeros((disks, cluster.hardware.channels)),
            np.zeros(disks),
            np.zeros(disks),
            np.zeros(int(cluster.buses[-1])),
            *(np.zeros(nodes) for _ in range(3)),
        )
