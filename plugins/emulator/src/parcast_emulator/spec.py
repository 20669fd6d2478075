"""Explicit block lists from JSON files: a machine, its nodes, and epochs of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import numpy as np

from parcast import Unit, Whole
from parcast.errors import FileError
from parcast.files import read_data, structure
from parcast.model import Bandwidth, Count, Seconds
from parcast_emulator.blocks import Blocks, Consumers, make_blocks
from parcast_emulator.cluster import UNLIMITED, Cluster, Hardware, make_cluster
from parcast_emulator.hardware import PerSecond, Sharing

_Index = Annotated[int, Whole(0)]


@attrs.frozen(kw_only=True)
class Costs:
    """The key ``machine``: what everything costs."""

    overhead: Seconds = 0.0
    seek0: Seconds = 0.0
    seek1: Annotated[float, Unit("s/B")] = 0.0
    trev: Seconds = 0.0
    track: Annotated[float, Unit("B", positive=True)] = 1.0
    media: Bandwidth
    bus_alpha: Seconds = 0.0
    bus_bw: Bandwidth
    alpha: Seconds = 0.0
    beta: Bandwidth
    channels: Count = 1
    iops: PerSecond | None = None
    bus_mode: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    bus_sharing: Sharing = "fcfs"
    duplex: Literal["full", "half"] = "full"
    port_sharing: Sharing = "fcfs"
    buffers: Count | None = None


@attrs.frozen(kw_only=True)
class Node:
    """An item of ``nodes``: its disks, and the bus of each."""

    disks: _Index
    busof: tuple[_Index, ...]


@attrs.frozen(kw_only=True)
class Block:
    """An item of an epoch."""

    node: _Index
    disk: _Index
    offset: Annotated[float, Unit("B")]
    size: Annotated[float, Unit("B", positive=True)]
    tcomp: Seconds
    consumers: tuple[_Index, ...]


@attrs.frozen(kw_only=True)
class _Spec:
    machine: Costs
    nodes: tuple[Node, ...]
    epochs: tuple[tuple[Block, ...], ...]
    epochs_of: Literal["all", "node"] = "all"


@attrs.frozen(eq=False)
class Spec:
    """Block lists ready to be simulated."""

    cluster: Cluster
    epochs: tuple[Blocks, ...]
    own_epochs: bool


#: Keys that say something about a list and change nothing.
_INFORMATION = frozenset({"name", "why", "expected", "source", "note"})


def read_spec(path: Path) -> Spec:
    """Return the block lists of a JSON file.

    Raises
    ------
    FileError
        Naming the file, the place, the value and what it should be.
    """
    return spec_from_data(read_data(path), str(path))


def spec_from_data(data: Mapping[str, Any], where: str) -> Spec:
    """Return the block lists that a mapping describes (see `read_spec`)."""
    fields = {key: value for key, value in data.items() if key not in _INFORMATION}
    _check_lists(fields.get("epochs"), where)
    spec = structure(fields, _Spec, where, "")
    for index, node in enumerate(spec.nodes):
        if len(node.busof) != node.disks:
            raise FileError(
                f"{where}: nodes[{index}].busof names the buses of {len(node.busof)} disks, and "
                f"there are {node.disks}; name one for each"
            )
    cluster = make_cluster([node.busof for node in spec.nodes], _hardware(spec.machine, where))
    epochs = tuple(
        _blocks(blocks, spec.nodes, cluster, f"{where}: epochs[{index}]")
        for index, blocks in enumerate(spec.epochs)
    )
    return Spec(cluster, epochs, spec.epochs_of == "node")


def _check_lists(epochs: object, where: str) -> None:
    if not isinstance(epochs, list) or not all(isinstance(epoch, list) for epoch in epochs):
        raise FileError(f"{where}: epochs must be a list of lists of blocks, an epoch each")
    for index, blocks in enumerate(epochs):
        for position, block in enumerate(blocks):
            if not isinstance(block, Mapping):
                raise FileError(f"{where}: epochs[{index}][{position}]: {block!r} must be a table")


def _hardware(costs: Costs, where: str) -> Hardware:
    if costs.channels > 1 and (costs.trev > 0 or costs.seek0 > 0 or costs.seek1 > 0):
        raise FileError(
            f"{where}: machine.channels = {costs.channels} with a seek or a revolution; one arm "
            "serves one access at a time"
        )
    return Hardware(
        overhead=costs.overhead,
        seek=costs.seek0,
        seek_per_byte=costs.seek1,
        revolution=costs.trev,
        track=costs.track,
        media=costs.media,
        channels=costs.channels,
        gap=0.0 if costs.iops is None else 1.0 / costs.iops,
        bus_latency=costs.bus_alpha,
        bus_bandwidth=costs.bus_bw,
        cut_through=costs.bus_mode == "cut-through",
        latency=costs.alpha,
        bandwidth=costs.beta,
        half_duplex=costs.duplex == "half",
        buffers=UNLIMITED if costs.buffers is None else costs.buffers,
        fair_bus=costs.bus_sharing == "fair",
        fair_ports=costs.port_sharing == "fair",
    )


def _blocks(
    blocks: tuple[Block, ...], nodes: tuple[Node, ...], cluster: Cluster, where: str
) -> Blocks:
    for index, block in enumerate(blocks):
        position = f"{where}[{index}]"
        if block.node >= len(nodes):
            raise FileError(
                f"{position}.node is {block.node}; there are nodes 0 .. {len(nodes) - 1}"
            )
        if block.disk >= nodes[block.node].disks:
            raise FileError(
                f"{position}.disk is {block.disk}; node {block.node} has "
                f"{nodes[block.node].disks} disks, counted from 0"
            )
        for consumer in block.consumers:
            if consumer >= len(nodes):
                raise FileError(
                    f"{position}.consumers has {consumer}; there are nodes 0 .. {len(nodes) - 1}"
                )
        if len(set(block.consumers)) < len(block.consumers):
            raise FileError(f"{position}.consumers names a node twice; a node gets a block once")
    start = np.cumsum([0, *(len(block.consumers) for block in blocks)])
    listed = [consumer for block in blocks for consumer in block.consumers]
    return make_blocks(
        [cluster.disks[block.node] + block.disk for block in blocks],
        [block.offset for block in blocks],
        [block.size for block in blocks],
        [block.tcomp for block in blocks],
        Consumers.lists(start, listed),
    )
