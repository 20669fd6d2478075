"""The feed-forward kernels: an epoch without an event queue.

Where no server waits for a later one, each can be served by itself: a recurrence for every
disk, a merge for every bus, a merge for every node's port out, a sort by arrival for every
port in, and a merge for every processor. Messages are made and used up in windows of time,
so that not all are in memory; a window of any length gives the same times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_emulator.compilation import kernel, step
from parcast_emulator.engines.service import fetch, in_table
from parcast_emulator.engines.sorting import sort_by_time

# Arguments are untyped: they are the arrays and named tuples of blocks, cluster and usage.


@kernel
def by_disk(disk: Any, count: int) -> Any:
    """Return the blocks of each disk in order, and where each disk's begin."""
    begin = np.zeros(count + 1, np.int64)
    for number in disk:
        begin[number + 1] += 1
    for number in range(count):
        begin[number + 1] += begin[number]
    order, at = np.empty(len(disk), np.int32), begin[:-1].copy()
    for block in range(len(disk)):
        order[at[disk[block]]] = block
        at[disk[block]] += 1
    return order, begin


@kernel
def read(
    low: int, high: int, start: float, blocks: Any, cluster: Any, servers: Any, begin: Any,
    order: Any, ready: Any, usage: Any, record: Any,
) -> None:  # fmt: skip
    """Read the blocks of nodes low .. high, of which ``order`` is that of their disks.

    In the end it is the order in which they are in memory, and ``ready`` says when.
    """
    largest = 0
    for node in range(low, high):
        largest = max(largest, begin[cluster.disks[node + 1]] - begin[cluster.disks[node]])
    times, moved, bucket = (
        np.empty(largest),
        np.empty(largest, np.int32),
        np.empty(largest + 1, np.int32),
    )
    for node in range(low, high):
        first, last = begin[cluster.disks[node]], begin[cluster.disks[node + 1]]
        if first == last:
            continue
        for disk in range(cluster.disks[node], cluster.disks[node + 1]):
            for position in range(begin[disk], begin[disk + 1]):
                ready[position], _ = fetch(
                    disk, order[position], start, blocks, cluster, servers, usage, record
                )
        sort_by_time(ready[first:last], order[first:last], times, moved, bucket)
        for index in range(last - first):
            order[first + index] = moved[index]
            ready[first + index] = carry(
                moved[index], times[index], blocks, cluster, servers, usage, record
            )
        if cluster.buses[node + 1] - cluster.buses[node] > 1:
            sort_by_bus(node, blocks, cluster, order[first:last], ready[first:last], times, moved,
                        bucket)  # fmt: skip


@step
def carry(
    block: int, arrival: float, blocks: Any, cluster: Any, servers: Any, usage: Any, record: Any
) -> Any:
    """Carry a block over its bus; return when it is in memory."""
    hardware = cluster.hardware
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    bus = cluster.bus_of[blocks.disk[block]]
    service = hardware.bus_latency + size / hardware.bus_bandwidth
    if hardware.cut_through:
        end = max(servers.bus[bus] + service, arrival)
        start = end - service
    else:
        start = max(servers.bus[bus], arrival)
        end = start + service
    usage.bus[0, bus] += service
    usage.bus[1, bus] += max(start - arrival, 0.0)
    usage.bus[2, bus] += 1
    servers.bus[bus] = end
    if len(record.bus_start):
        record.bus_start[block], record.bus_end[block] = start, end
    return end


@kernel
def sort_by_bus(
    node: int, blocks: Any, cluster: Any, order: Any, ready: Any, times: Any, moved: Any,
    bucket: Any,
) -> None:  # fmt: skip
    """Sort a node's blocks by time, and those of equal times by bus."""
    to = 0
    for bus in range(cluster.buses[node], cluster.buses[node + 1]):
        for position in range(len(order)):
            if cluster.bus_of[blocks.disk[order[position]]] == bus:
                times[to], moved[to] = ready[position], order[position]
                to += 1
    sort_by_time(times[:to], moved[:to], ready, order, bucket)


@kernel
def count(
    low: int, high: int, limit: float, blocks: Any, cluster: Any, table: Any, order: Any,
    ready: Any, last: Any, at: Any, until: Any, free: Any, counts: Any,
) -> None:  # fmt: skip
    """Count by receiver what nodes low .. high send with headers that arrive up to ``limit``.

    ``until`` becomes where each stops: a position in the order, and a row and a column of its
    consumers.
    """
    latency = cluster.hardware.latency
    for node in range(low, high):
        position, row, column, out, going = at[0, node], at[1, node], at[2, node], free[node], True
        while going and position < last[node]:
            block = order[position]
            holding = blocks.size[block if len(blocks.size) > 1 else 0] / cluster.hardware.bandwidth
            out = max(out, ready[position])
            first, rows, columns, stride = in_table(blocks.consumers, block)
            while going and row < rows:
                for index in range(column, columns):
                    target = table[first + row * stride + index]
                    if target != node:
                        if out + latency > limit:
                            going, column = False, index
                            break
                        out += holding
                        counts[target] += 1
                if going:
                    row, column = row + 1, 0
            if going:
                position, row = position + 1, 0
        until[0, node], until[1, node], until[2, node] = position, row, column


@kernel
def send(
    low: int, high: int, blocks: Any, cluster: Any, table: Any, order: Any, ready: Any, at: Any,
    until: Any, free: Any, to: Any, times: Any, carried: Any, usage: Any, record: Any,
) -> None:  # fmt: skip
    """Send from nodes low .. high all messages that have been counted.

    ``to`` says where each receiver's next message goes in ``times`` and ``carried``.
    """
    latency = cluster.hardware.latency
    for node in range(low, high):
        column, out = at[2, node], free[node]
        busy, waited, served = usage.send[0, node], usage.send[1, node], usage.send[2, node]
        for position in range(at[0, node], until[0, node] + 1):
            ending = position == until[0, node]
            if ending and until[1, node] == 0 and until[2, node] == 0:
                break  # nothing of this block, if it is one
            block, arrival = order[position], ready[position]
            holding = blocks.size[block if len(blocks.size) > 1 else 0] / cluster.hardware.bandwidth
            out = max(out, arrival)
            first, rows, columns, stride = in_table(blocks.consumers, block)
            for row in range(at[1, node], until[1, node] + 1 if ending else rows):
                stop = until[2, node] if ending and row == until[1, node] else columns
                for entry in range(first + row * stride + column, first + row * stride + stop):
                    target = table[entry]
                    if target != node:
                        index = to[target]
                        to[target] = index + 1
                        times[index], carried[index] = out + latency, block
                        if len(record.out_start):
                            record.out_start[entry] = out
                        waited, served = waited + (out - arrival), served + 1
                        busy, out = busy + holding, out + holding
                column = 0
            at[1, node] = 0
        at[0, node], at[1, node], at[2, node] = until[0, node], until[1, node], until[2, node]
        free[node] = out
        usage.send[0, node], usage.send[1, node], usage.send[2, node] = busy, waited, served
