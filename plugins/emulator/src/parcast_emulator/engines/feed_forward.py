"""The feed-forward kernels: an epoch without an event queue.

Where no server waits for a later one, each can be served by itself: a recurrence for every
disk, a merge for every bus, a merge for every node's port out, a sort by arrival for every
port in, and a merge for every processor. Messages are made and used up in windows of time,
so that not all are in memory; a window of any length gives the same times.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parcast_emulator.compilation import kernel, step
from parcast_emulator.engines.service import access, advanced, at_cursor, cursor, fan_out, place_of

# Arguments are untyped: they are the arrays and named tuples of blocks, cluster and usage.


@kernel
def by_disk(disk: Any, count: int) -> Any:
    """Return the blocks of each disk in order, and where each disk's begin."""
    begin = np.zeros(count + 1, np.int64)
    for one in disk:
        begin[one + 1] += 1
    for one in range(count):
        begin[one + 1] += begin[one]
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
    most = 0
    for node in range(low, high):
        most = max(most, begin[cluster.disks[node + 1]] - begin[cluster.disks[node]])
    times, moved = np.empty(most), np.empty(most, np.int32)
    for node in range(low, high):
        first, last = begin[cluster.disks[node]], begin[cluster.disks[node + 1]]
        if first == last:
            continue
        for place in range(first, last):
            block = order[place]
            size = blocks.size[block if len(blocks.size) > 1 else 0]
            disk = blocks.disk[block]
            begun, end, _ = access(cluster, servers, disk, start, blocks.offset[block], size)
            ready[place] = end
            usage.disk[0, disk] += end - begun
            usage.disk[1, disk] += begun - start
            usage.disk[2, disk] += 1
            if len(record.disk_start):
                record.disk_start[block], record.disk_end[block] = begun, end
        sort_by_time(ready[first:last], order[first:last], times, moved)
        for place in range(first, last):
            carry(place, blocks, cluster, servers, order, ready, usage, record)
        if cluster.buses[node + 1] - cluster.buses[node] > 1:
            sort_by_bus(node, blocks, cluster, order[first:last], ready[first:last], times, moved)


@step
def carry(
    place: int, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any, usage: Any,
    record: Any,
) -> None:  # fmt: skip
    """Carry a block over its bus; its time becomes that at which it is in memory."""
    hardware, block = cluster.hardware, order[place]
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    bus = cluster.bus_of[blocks.disk[block]]
    service = hardware.bus_latency + size / hardware.bus_bandwidth
    if hardware.cut_through:
        end = max(servers.bus[bus] + service, ready[place])
        begun = end - service
    else:
        begun = max(servers.bus[bus], ready[place])
        end = begun + service
    usage.bus[0, bus] += service
    usage.bus[1, bus] += max(begun - ready[place], 0.0)
    usage.bus[2, bus] += 1
    servers.bus[bus] = end
    if len(record.bus_start):
        record.bus_start[block], record.bus_end[block] = begun, end
    ready[place] = end


@kernel
def sort_by_bus(
    node: int, blocks: Any, cluster: Any, order: Any, ready: Any, times: Any, moved: Any
) -> None:
    """Sort a node's blocks by time, and those of equal times by bus."""
    to = 0
    for bus in range(cluster.buses[node], cluster.buses[node + 1]):
        for place in range(len(order)):
            if cluster.bus_of[blocks.disk[order[place]]] == bus:
                times[to], moved[to] = ready[place], order[place]
                to += 1
    ready[:], order[:] = times[:to], moved[:to]
    sort_by_time(ready, order, times, moved)


@kernel
def send(
    low: int, high: int, limit: float, blocks: Any, cluster: Any, order: Any, ready: Any,
    last: Any, at: Any, free: Any, counts: Any, times: Any, carried: Any, usage: Any, record: Any,
    writing: bool,
) -> None:  # fmt: skip
    """Send from nodes low .. high all messages whose headers arrive up to ``limit``.

    Without ``writing`` count them by receiver and change nothing else. With it ``counts``
    holds where each receiver's next message goes in ``times`` and ``carried``.
    """
    hardware, consumers = cluster.hardware, blocks.consumers
    for node in range(low, high):
        place, k, out = at[0, node], at[1, node], free[node]
        busy, waited, served = usage.send[0, node], usage.send[1, node], usage.send[2, node]
        going = True
        while going and place < last[node]:
            block = order[place]
            holding = blocks.size[block if len(blocks.size) > 1 else 0] / hardware.bandwidth
            fan = fan_out(consumers, block)
            base, column, within = cursor(consumers, block, k)
            while k < fan:
                target = at_cursor(consumers, base, column)
                if target != node:
                    begun = max(ready[place], out)
                    header = begun + hardware.latency
                    if header > limit:
                        going = False
                        break
                    out = begun + holding
                    if writing:
                        times[counts[target]] = header
                        carried[counts[target]] = block
                        busy, waited, served = (
                            busy + holding,
                            waited + (begun - ready[place]),
                            served + 1,
                        )
                        if len(record.out_start):
                            record.out_start[consumers.start[block] + k] = begun
                    counts[target] += 1
                base, column, within = advanced(consumers, block, base, column, within)
                k += 1
            if going:
                place += 1
                k = 0
        if writing:
            at[0, node], at[1, node], free[node] = place, k, out
            usage.send[0, node], usage.send[1, node], usage.send[2, node] = busy, waited, served


@kernel
def sort_by_time(times: Any, carried: Any, other_times: Any, other: Any) -> None:
    """Sort blocks by time, those of equal times staying in order; the others are for help.

    Times of a window are spread about evenly, so a bucket for each message nearly sorts them.
    """
    count, least, most = len(times), times.min(), times.max()
    scale = count / (most - least) if most > least else 0.0
    if not 0.0 < scale < math.inf:
        if most > least:
            merge_sort(times, carried, other_times, other)
        return
    begin = np.zeros(count + 2, np.int32)
    for time in times:
        begin[min(int((time - least) * scale), count) + 1] += 1
    for bucket in range(count):
        begin[bucket + 1] += begin[bucket]
    for one in range(count):
        bucket = min(int((times[one] - least) * scale), count)
        other_times[begin[bucket]], other[begin[bucket]] = times[one], carried[one]
        begin[bucket] += 1
    budget = 16 * count  # more moves than these: nearly all are in one bucket
    for one in range(1, count):
        time, block, to = other_times[one], other[one], one
        while to > 0 and other_times[to - 1] > time:
            other_times[to], other[to] = other_times[to - 1], other[to - 1]
            to -= 1
        other_times[to], other[to] = time, block
        budget -= one - to
        if budget < 0:
            merge_sort(times, carried, other_times, other)
            return
    times[:], carried[:] = other_times[:count], other[:count]


@kernel
def merge_sort(times: Any, carried: Any, other_times: Any, other: Any) -> None:
    """Sort blocks by time, those of equal times staying in order, whatever the times are."""
    count, width = len(times), 1
    while width < count:
        for low in range(0, count, 2 * width):
            left, right = low, min(low + width, count)
            middle, high = right, min(low + 2 * width, count)
            for to in range(low, high):
                if left < middle and (right >= high or times[left] <= times[right]):
                    other_times[to], other[to] = times[left], carried[left]
                    left += 1
                else:
                    other_times[to], other[to] = times[right], carried[right]
                    right += 1
        times[:], carried[:] = other_times[:count], other[:count]
        width *= 2


@step
def compute(
    node: int, block: int, arrival: float, blocks: Any, cluster: Any, servers: Any, usage: Any,
    record: Any,
) -> None:  # fmt: skip
    """Compute on a block at one of its consumers."""
    begun = max(arrival, servers.cpu[node])
    working = blocks.compute[block if len(blocks.compute) > 1 else 0] / cluster.speed[node]
    servers.cpu[node] = begun + working
    usage.cpu[0, node] += working
    usage.cpu[1, node] += begun - arrival
    usage.cpu[2, node] += 1
    if len(record.cpu_start):
        place = blocks.consumers.start[block] + place_of(blocks.consumers, block, node)
        record.cpu_start[place] = begun


@step
def compute_own(
    node: int, until: float, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any,
    last: Any, own: Any, usage: Any, record: Any,
) -> None:  # fmt: skip
    """Compute on the blocks of a node's own disks that are there by ``until``."""
    place = own[node]
    while place < last[node] and ready[place] <= until:
        if place_of(blocks.consumers, order[place], node) >= 0:
            compute(node, order[place], ready[place], blocks, cluster, servers, usage, record)
        place += 1
    own[node] = place


@step
def take(
    node: int, blocks: Any, cluster: Any, servers: Any, times: Any, carried: Any, usage: Any,
    record: Any,
) -> None:  # fmt: skip
    """Receive messages one after another; the times of their headers become those of arrival."""
    into, holding = servers.receive[node], 0.0
    busy, waited = usage.receive[0, node], usage.receive[1, node]
    for one in range(len(times)):
        if one == 0 or len(blocks.size) > 1:
            size = blocks.size[carried[one] if len(blocks.size) > 1 else 0]
            holding = size / cluster.hardware.bandwidth
        begun = max(times[one], into)
        into = begun + holding
        busy, waited = busy + holding, waited + (begun - times[one])
        times[one] = into
        if len(record.in_start):
            k = place_of(blocks.consumers, carried[one], node)
            record.in_start[blocks.consumers.start[carried[one]] + k] = begun
    servers.receive[node] = into
    usage.receive[0, node], usage.receive[1, node] = busy, waited
    usage.receive[2, node] += len(times)


@kernel
def receive(
    low: int, high: int, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any,
    last: Any, own: Any, begin: Any, times: Any, carried: Any, final: bool, usage: Any,
    record: Any,
) -> None:  # fmt: skip
    """Receive a window's messages at nodes low .. high, and compute on what is there."""
    largest = 0
    for node in range(low, high):
        largest = max(largest, begin[node + 1] - begin[node])
    other_times, other = np.empty(largest), np.empty(largest, np.int32)
    for node in range(low, high):
        a, b = begin[node], begin[node + 1]
        if b > a:
            sort_by_time(times[a:b], carried[a:b], other_times, other)
        take(node, blocks, cluster, servers, times[a:b], carried[a:b], usage, record)
        for one in range(a, b):
            if own[node] < last[node] and ready[own[node]] <= times[one]:
                compute_own(node, times[one], blocks, cluster, servers, order, ready, last, own,
                            usage, record)  # fmt: skip
            compute(node, carried[one], times[one], blocks, cluster, servers, usage, record)
        if final:
            compute_own(node, math.inf, blocks, cluster, servers, order, ready, last, own,
                        usage, record)  # fmt: skip
