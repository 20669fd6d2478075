"""What engines note: how busy every server was, and the times of every operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parcast_emulator.blocks import Blocks, Floats
from parcast_emulator.cluster import Cluster

#: Rows of a usage: seconds busy, seconds that others waited, and how many were served.
BUSY, WAITED, SERVED = range(3)


class Usage(NamedTuple):
    """For each class of servers an array with the rows `BUSY`, `WAITED` and `SERVED`."""

    disk: Floats
    bus: Floats
    send: Floats  #: ports out
    receive: Floats  #: ports in
    cpu: Floats

    @classmethod
    def of(cls, cluster: Cluster) -> Usage:
        """Return the usage of a cluster that has done nothing."""
        nodes = len(cluster.speed)
        counts = (len(cluster.node_of), int(cluster.buses[-1]), nodes, nodes, nodes)
        return cls(*(np.zeros((3, count)) for count in counts))


#: Hears how far a run is: its time, and how many operations are done.
Progress = Callable[[float, float], None]


class Record(NamedTuple):
    """When every operation starts, or empty arrays where nobody asked.

    Messages and computations have an entry for each consumer of each block; that of a send
    and a receive stays NaN where the consumer has the block on its own disk.
    """

    disk_start: Floats
    disk_end: Floats
    bus_start: Floats
    bus_end: Floats
    out_start: Floats
    in_start: Floats
    cpu_start: Floats

    @classmethod
    def of(cls, blocks: Blocks, *, enabled: bool) -> Record:
        """Return a record for blocks whose consumers are lists."""
        reads = len(blocks.disk) if enabled else 0
        messages = len(blocks.consumers.nodes) if enabled else 0
        counts = [reads] * 4 + [messages] * 3
        return cls(*(np.full(count, np.nan) for count in counts))
