"""What both engines ask of blocks and disks: who consumes a block, and what a read takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_emulator.compilation import shared_step, step

# Arguments are untyped: they are the named tuples of blocks, cluster and servers.


@step
def fan_out(consumers: Any, block: int) -> Any:
    """Return how many consumers a block has."""
    if len(consumers.start):
        return consumers.start[block + 1] - consumers.start[block]
    return consumers.height[block] * consumers.width[block]


@step
def consumer(consumers: Any, block: int, k: int) -> Any:
    """Return the node of a block's consumer k."""
    if len(consumers.start):
        return consumers.nodes[consumers.start[block] + k]
    width = consumers.width[block]
    row = consumers.row[block] + k // width
    column = (consumers.column[block] + k % width) % consumers.columns
    return consumers.first + row * consumers.columns + column


def table_of(consumers: Any) -> Any:
    """Return the nodes that `in_table` speaks of: lists as they are, or a grid beside itself.

    There a rectangle that runs over the last column is one like the others.
    """
    if len(consumers.start):
        return consumers.nodes
    rows = int((consumers.row + consumers.height).max(initial=0))
    nodes = consumers.first + np.arange(rows * consumers.columns, dtype=np.int32)
    grid = nodes.reshape(rows, consumers.columns)
    return np.hstack([grid, grid]).ravel()


@step
def in_table(consumers: Any, block: int) -> Any:
    """Return a block's first consumer in the table, its rows, its columns, and their distance."""
    if len(consumers.start):
        start = consumers.start[block]
        return start, np.int64(1), consumers.start[block + 1] - start, np.int64(0)
    stride = 2 * np.int64(consumers.columns)
    start = consumers.row[block] * stride + consumers.column[block]
    return start, np.int64(consumers.height[block]), np.int64(consumers.width[block]), stride


@step
def consumer_index(consumers: Any, block: int, node: int) -> Any:
    """Return which consumer of a block a node is, or -1."""
    if len(consumers.start):
        for k in range(consumers.start[block + 1] - consumers.start[block]):
            if consumers.nodes[consumers.start[block] + k] == node:
                return k
        return -1
    inside = node - consumers.first
    row = inside // consumers.columns - consumers.row[block]
    column = (inside % consumers.columns - consumers.column[block]) % consumers.columns
    if inside < 0 or row < 0 or row >= consumers.height[block] or column >= consumers.width[block]:
        return -1
    return row * consumers.width[block] + column


@shared_step
def within(turns: float) -> Any:
    """Return what is over whole turns: ``turns % 1.0`` in every bit, and much faster."""
    return turns - np.floor(turns)


@step
def access(cluster: Any, servers: Any, disk: int, issued: float, offset: float, size: float) -> Any:
    """Serve one access; return its start, its end and the channel of the disk."""
    hardware, free = cluster.hardware, servers.disk[disk]
    channel = 0
    for candidate in range(1, len(free)):
        if free[candidate] < free[channel]:
            channel = candidate
    start = max(issued, free[channel], servers.gate[disk])
    head = servers.head[disk]
    moving = 0.0 if offset == head else hardware.seek + hardware.seek_per_byte * abs(offset - head)
    ready = start + hardware.overhead + moving
    turning = 0.0
    if hardware.revolution > 0:
        track = hardware.track
        angle = within(head / track) + (ready - free[channel]) / hardware.revolution
        missing = within(within(offset / track) - within(angle))
        # a sector that rounding puts just behind the head is under it
        turning = 0.0 if missing > 1.0 - 1e-9 else missing * hardware.revolution
    end = ready + turning + size / hardware.media
    free[channel] = end
    servers.head[disk] = offset + size
    servers.gate[disk] = start + hardware.gap
    return start, end, channel


@step
def fetch(
    disk: int, block: int, issued: float, blocks: Any, cluster: Any, servers: Any, usage: Any,
    record: Any,
) -> Any:  # fmt: skip
    """Read a block from its disk; return when it is there, and the channel of the disk."""
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    start, end, channel = access(cluster, servers, disk, issued, blocks.offset[block], size)
    usage.disk[0, disk] += end - start
    usage.disk[1, disk] += start - issued
    usage.disk[2, disk] += 1
    if len(record.disk_start):
        record.disk_start[block], record.disk_end[block] = start, end
    return end, channel
