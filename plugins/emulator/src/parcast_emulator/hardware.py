"""Parts of machines that data-intensive applications meet: disks, buses and ports."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import attrs
import numpy as np

from parcast import Query, Unit, UnsupportedError
from parcast.model import Bandwidth, Count, Machine, Placement, Seconds, check_network, place
from parcast_emulator.cluster import UNLIMITED, Cluster, Hardware, make_cluster

#: First come, first served; or all that waits at once, in equal shares.
Sharing: TypeAlias = Literal["fcfs", "fair"]

PerSecond = Annotated[float, Unit("1/s", positive=True)]


@attrs.frozen(kw_only=True)
class Disk:
    """A disk; every node has d of them.

    A rotating disk has a seek, a revolution and a track; one without moving parts has
    channels, and perhaps a limit on accesses per second.
    """

    bandwidth: Bandwidth | None = None  #: of the medium, of each channel
    write_bandwidth: Bandwidth | None = None  #: of writes; as ``bandwidth`` where not stated
    overhead: Seconds = 0.0  #: of the controller, per access
    seek: Seconds = 0.0  #: time, where an access does not begin where the last one ended
    seek_per_byte: Annotated[float, Unit("s/B")] = 0.0  #: added to ``seek``, for the distance
    revolution: Seconds = 0.0  #: time of a turn; 0: nothing turns
    #: bytes of a track, which passes in one revolution
    track: Annotated[float, Unit("B", positive=True)] | None = None
    channels: Count = 1  #: accesses served at once
    iops: PerSecond | None = None  #: accesses begun per second at most


@attrs.frozen(kw_only=True)
class Bus:
    """The buses between the disks of a node and its memory; disks are dealt to them in turn."""

    bandwidth: Bandwidth | None = None  #: of one bus; unlimited where not stated
    latency: Seconds = 0.0  #: per transfer
    per_node: Count = 1  #: buses of a node
    #: whether a block is whole on one side before it goes on
    mode: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    sharing: Sharing = "fcfs"  #: who waits: first come, first served, or equal shares


@attrs.frozen(kw_only=True)
class Nic:
    """A node's port to the network, and what it has room for."""

    duplex: Literal["full", "half"] = "full"  #: half: a port sends and receives with one bandwidth
    sharing: Sharing = "fcfs"  #: who waits: first come, first served, or equal shares
    #: blocks of its own that a node holds; any number where not stated
    buffers: Count | None = None


def cluster_of(query: Query) -> Cluster:
    """Return the query's machine with p nodes of d disks each, one process a node.

    Where all processes run on one node of the machine, each gets an equal share of its disks and
    buses, and messages take the times of the local network.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number, or the parts contradict each other.
    """
    machine, reason = query.machine, "an emulated application"
    nic = machine.part("nic", Nic) or Nic()
    placement = place(query)
    sharing = processes_of_a_node(query, placement)
    cluster = disks_of(query, query.p)
    latency, bandwidth = _message(machine, reason, local=sharing > 1)
    hardware = cluster.hardware._replace(
        latency=latency,
        bandwidth=bandwidth,
        half_duplex=nic.duplex == "half",
        fair_ports=nic.sharing == "fair",
        buffers=UNLIMITED if nic.buffers is None else nic.buffers,
    )
    if sharing > 1:
        hardware = _shared(hardware, sharing, machine.name)
    return cluster._replace(hardware=hardware, speed=placement.speed.astype(np.float64))


def processes_of_a_node(query: Query, placement: Placement | None = None) -> int:
    """Return how many processes each node of the machine has: 1, or all p on one.

    Raises
    ------
    UnsupportedError
        If several nodes have processes, and one of them has two.
    """
    placement = placement or place(query)
    per_node = int(placement.sharing.max())
    if 1 < per_node < query.p:
        raise UnsupportedError(
            "an emulated application has one process on each node, or all on one; --set "
            "nodes.cores=1 or name a --mapping that leaves none with two"
        )
    return per_node


def _message(machine: Machine, reason: str, *, local: bool) -> tuple[float, float]:
    """Return the seconds from one process to another of an empty message, and the bandwidth."""
    check_network(machine)
    network = machine.network
    startup = machine.need("network.startup", reason)
    bandwidth = machine.need("network.bandwidth", reason)
    if local and network.local is not None:
        startup = startup if network.local.startup is None else network.local.startup
        bandwidth = network.local.bandwidth or bandwidth
    receive = network.overhead_receive
    return startup + network.overhead + (
        network.overhead if receive is None else receive
    ), bandwidth


def _shared(hardware: Hardware, sharing: int, name: str) -> Hardware:
    """Return what each of a node's processes has of its disks and buses: equal shares.

    Raises
    ------
    UnsupportedError
        If the disks have an arm, which the processes would move from each other's blocks.
    """
    if hardware.revolution > 0 or hardware.seek > 0 or hardware.seek_per_byte > 0:
        raise UnsupportedError(
            f"machine {name!r}: {sharing} processes of one node would move the arm of its disks "
            "(disk.seek, disk.revolution) from each other's blocks; --set nodes.cores=1"
        )
    return hardware._replace(
        overhead=sharing * hardware.overhead,
        media=hardware.media / sharing,
        gap=sharing * hardware.gap,
        bus_latency=sharing * hardware.bus_latency,
        bus_bandwidth=hardware.bus_bandwidth / sharing,
    )


def disks_of(query: Query, nodes: int) -> Cluster:
    """Return as many nodes with d disks each, and no network between them.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number of its disks, or two contradict each other.
    """
    machine, reason = query.machine, "an emulated application"
    disk, bus = machine.part("disk", Disk) or Disk(), machine.part("bus", Bus) or Bus()
    writes = query.workload.kind == "emulator" and query.workload.content.writing(query)
    if writes is None and disk.write_bandwidth not in {None, disk.bandwidth}:
        raise UnsupportedError(
            f"machine {machine.name!r} reads and writes with two bandwidths (disk.write_bandwidth),"
            f" and {query.workload.name} does both; ask for each: --set writes=0, --set reads=0"
        )
    hardware = Hardware(
        overhead=disk.overhead,
        seek=disk.seek,
        seek_per_byte=disk.seek_per_byte,
        revolution=disk.revolution,
        track=_track(disk, machine.name),
        media=(writes and disk.write_bandwidth) or machine.need("disk.bandwidth", reason),
        channels=disk.channels,
        gap=0.0 if disk.iops is None else 1.0 / disk.iops,
        bus_latency=bus.latency,
        bus_bandwidth=machine.need("bus.bandwidth", reason),
        cut_through=bus.mode == "cut-through",
        fair_bus=bus.sharing == "fair",
    )
    return make_cluster([[index % bus.per_node for index in range(query.d)]] * nodes, hardware)


def _track(disk: Disk, name: str) -> float:
    """Return the bytes of a track, or say why the disk cannot be."""
    if disk.revolution > 0 and disk.track is None:
        raise UnsupportedError(
            f"machine {name!r} states no disk.track, which a disk with a revolution needs"
        )
    if disk.channels > 1 and (disk.revolution > 0 or disk.seek > 0 or disk.seek_per_byte > 0):
        raise UnsupportedError(
            f"machine {name!r}: disk.channels = {disk.channels} with a seek or a revolution; "
            "one arm serves one access at a time"
        )
    return disk.track or 1.0
