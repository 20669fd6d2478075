"""The simulated machine as numbers: nodes with their disks and buses, and what each costs.

These are named tuples, because compiled kernels take no attrs values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast_emulator.blocks import Floats, Integers

#: As many blocks of a node as nothing ever reaches.
UNLIMITED = 2**62


class Hardware(NamedTuple):
    """What accesses, transfers and messages cost; seconds, bytes and bytes per second."""

    overhead: float = 0.0  #: of the disk's controller, per access
    seek: float = 0.0  #: of any seek
    seek_per_byte: float = 0.0  #: and for each byte that the head moves over
    revolution: float = 0.0  #: seconds; 0: nothing turns
    track: float = 1.0  #: bytes that pass the head in a revolution
    media: float = math.inf  #: bandwidth of the disk's medium
    channels: int = 1  #: accesses that a disk serves at once
    gap: float = 0.0  #: seconds between the starts of two accesses, at least
    bus_latency: float = 0.0
    bus_bandwidth: float = math.inf
    cut_through: bool = False  #: the bus carries a block while the disk still reads it
    latency: float = 0.0  #: of the network
    bandwidth: float = math.inf  #: of each node's port, out and in
    half_duplex: bool = False  #: a node's port sends or receives
    buffers: int = UNLIMITED  #: blocks that a node has read and not yet done with
    fair_bus: bool = False  #: a bus carries all that waits at once, in equal shares
    fair_ports: bool = False  #: and so does a port


class Cluster(NamedTuple):
    """Nodes, their disks and their buses; disks and buses are counted over all nodes."""

    disks: NDArray[np.int64]  #: the first disk of each node, and the number of all
    buses: NDArray[np.int64]  #: the first bus of each node, and the number of all
    node_of: Integers  #: the node of each disk
    bus_of: Integers  #: the bus of each disk
    speed: Floats  #: of each node's processor, relative to that which blocks are computed on
    hardware: Hardware


def make_cluster(bus_of: Sequence[Sequence[int]], hardware: Hardware) -> Cluster:
    """Return a cluster of nodes of speed 1.

    Parameters
    ----------
    bus_of
        For each node, for each of its disks the bus that it is on, counted in the node.
    hardware
        What everything costs.
    """
    disks = np.concatenate([[0], np.cumsum([len(node) for node in bus_of])])
    buses = np.concatenate([[0], np.cumsum([max(node, default=-1) + 1 for node in bus_of])])
    node = np.repeat(np.arange(len(bus_of)), np.diff(disks))
    local = np.array([bus for listed in bus_of for bus in listed], np.int64)
    return Cluster(
        disks.astype(np.int64),
        buses.astype(np.int64),
        node.astype(np.int32),
        (buses[node] + local).astype(np.int32),
        np.ones(len(bus_of)),
        hardware,
    )
