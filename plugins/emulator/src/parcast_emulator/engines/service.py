"""What both engines ask of blocks and disks: who consumes a block, and what a read takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_emulator.compilation import step

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
        return consumers.listed[consumers.start[block] + k]
    width = consumers.width[block]
    row = consumers.row[block] + k // width
    column = (consumers.column[block] + k % width) % consumers.columns
    return consumers.first + row * consumers.columns + column


@step
def cursor(consumers: Any, block: int, k: int) -> Any:
    """Return where a block's consumer k stands, for `at_cursor` and `advanced`.

    Going on from there takes no division, which `consumer` needs some of.
    """
    if len(consumers.start):
        return consumers.start[block] + k, np.int64(0), np.int64(0)
    width, columns = np.int64(consumers.width[block]), np.int64(consumers.columns)
    row, within = consumers.row[block] + k // width, k % width
    column = (consumers.column[block] + within) % columns
    return consumers.first + row * columns, column, within


@step
def at_cursor(consumers: Any, base: Any, column: Any) -> Any:
    """Return the node at a cursor."""
    if len(consumers.start):
        return np.int64(consumers.listed[base])
    return np.int64(base + column)


@step
def advanced(consumers: Any, block: int, base: Any, column: Any, within: Any) -> Any:
    """Return the cursor of the block's next consumer."""
    if len(consumers.start):
        return base + 1, column, within
    within += 1
    column += 1
    if within == consumers.width[block]:
        return base + consumers.columns, np.int64(consumers.column[block]), np.int64(0)
    if column == consumers.columns:
        column = np.int64(0)
    return base, column, within


@step
def place_of(consumers: Any, block: int, node: int) -> Any:
    """Return which consumer of a block a node is, or -1."""
    if len(consumers.start):
        for k in range(consumers.start[block + 1] - consumers.start[block]):
            if consumers.listed[consumers.start[block] + k] == node:
                return k
        return -1
    inside = node - consumers.first
    row = inside // consumers.columns - consumers.row[block]
    column = (inside % consumers.columns - consumers.column[block]) % consumers.columns
    if inside < 0 or row < 0 or row >= consumers.height[block] or column >= consumers.width[block]:
        return -1
    return row * consumers.width[block] + column


@step
def access(cluster: Any, servers: Any, disk: int, issued: float, offset: float, size: float) -> Any:
    """Serve one access; return its start, its end and the channel of the disk."""
    hardware, free = cluster.hardware, servers.disk[disk]
    channel = 0
    for other in range(1, len(free)):
        if free[other] < free[channel]:
            channel = other
    start = max(issued, free[channel], servers.gate[disk])
    head = servers.head[disk]
    moving = 0.0 if offset == head else hardware.seek + hardware.seek_per_byte * abs(offset - head)
    ready = start + hardware.overhead + moving
    turning = 0.0
    if hardware.revolution > 0:
        track = hardware.track
        angle = (head / track) % 1.0 + (ready - free[channel]) / hardware.revolution
        missing = ((offset / track) % 1.0 - angle % 1.0) % 1.0
        # a sector that rounding puts just behind the head is under it
        turning = 0.0 if missing > 1.0 - 1e-9 else missing * hardware.revolution
    end = ready + turning + size / hardware.media
    free[channel] = end
    servers.head[disk] = offset + size
    servers.gate[disk] = start + hardware.gap
    return start, end, channel
