"""Compare the feed-forward engine with a plain event heap in numba, in one run.

    python benchmarks/against_heap.py [processes] [blocks of each]

The heap is what one writes first, an event for every arrival at a server, all of them in one
heap; and then makes fast. The times of an event's eight children fill one line of the cache, codes
stand apart from them, the room is allocated once, and an event that causes another is replaced by
it. It serves in the same order, but for arrivals at exactly one time.
"""

from __future__ import annotations

import math
import sys
import time

import numba
import numpy as np

from parcast import Query, Registry
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.service import access
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import simulate

READ, CARRIED, HEADER, ARRIVED = range(4)

#: A code is a kind, a block and a node, and fits the 53 bits of a double's fraction.
BLOCKS, NODES = 1 << 26, 1 << 20

#: Of an event: as many as the times that a line of the cache holds.
CHILDREN = 8


def empty_heap(room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times and codes; the children 8 i + 1 to 8 i + 8 of i fill a line of the times.

    All of it is written to once, so that the heap is not timed getting its memory.
    """
    times = np.ones(room + 2 * CHILDREN)
    skipped = -(times.ctypes.data // 8 + 1) % CHILDREN
    return times[skipped : skipped + room + CHILDREN], np.ones(room + CHILDREN, np.int64)


@numba.njit
def code_of(kind, block, node):
    """Return the number of an event."""
    return (kind * BLOCKS + block) * NODES + node


@numba.njit
def push(times, codes, count, time_, code):
    """Put an event into a heap of ``count`` others."""
    at = count
    while at > 0:
        up = (at - 1) >> 3
        if times[up] <= time_:
            break
        times[at], codes[at] = times[up], codes[up]
        at = up
    times[at], codes[at] = time_, code


@numba.njit
def earlier(times, one, other):
    """Return the earlier of two events, without a branch to guess wrongly."""
    return one + (other - one) * np.int64(times[other] < times[one])


@numba.njit
def replace(times, codes, count, time_, code):
    """Put an event in the place of the first one, in a heap of ``count`` in all."""
    at = 0
    while True:
        first = CHILDREN * at + 1
        if first + 7 < count:
            half = earlier(
                times,
                earlier(times, first, first + 1),
                earlier(times, first + 2, first + 3),
            )
            other = earlier(
                times,
                earlier(times, first + 4, first + 5),
                earlier(times, first + 6, first + 7),
            )
            least = earlier(times, half, other)
        elif first < count:
            least = first
            for other in range(first + 1, count):
                least = earlier(times, least, other)
        else:
            break
        if time_ <= times[least]:
            break
        times[at], codes[at] = times[least], codes[least]
        at = least
    times[at], codes[at] = time_, code


@numba.njit
def run(blocks, cluster, servers, times, codes):
    """Return the makespan, the number of events and the most of them at once."""
    hardware, count, events, most, end = cluster.hardware, 0, 0, 0, 0.0
    size, compute, latency = blocks.size[0], blocks.compute[0], hardware.latency
    holding = size / hardware.bandwidth
    carrying = hardware.bus_latency + size / hardware.bus_bandwidth
    for block in range(len(blocks.disk)):
        _, done, _ = access(cluster, servers, blocks.disk[block], 0.0, blocks.offset[block], size)
        push(times, codes, count, done, code_of(READ, block, 0))
        count += 1
    # each array once: to take one out of a tuple in the loop would cost as much as the heap
    bus, send, receive, cpu = servers.bus, servers.send, servers.receive, servers.cpu
    disk, bus_of, node_of = blocks.disk, cluster.bus_of, cluster.node_of
    first, columns = blocks.consumers.first, np.int64(blocks.consumers.columns)
    row, column = blocks.consumers.row, blocks.consumers.column
    height, width = blocks.consumers.height, blocks.consumers.width
    while count:
        now, code = times[0], codes[0]
        kind, block, node = code >> 46, code >> 20 & (BLOCKS - 1), code & (NODES - 1)
        events += 1
        most = max(most, count)
        if kind == READ:
            own = bus_of[disk[block]]
            bus[own] = max(bus[own], now) + carrying
            replace(times, codes, count, bus[own], code_of(CARRIED, block, 0))
        elif kind == CARRIED:
            own = node_of[disk[block]]
            held = True  # its place is free for the first consumer
            for down in range(height[block]):
                for along in range(width[block]):
                    right = np.int64(column[block]) + along
                    right -= columns * np.int64(right >= columns)
                    target = first + (row[block] + down) * columns + right
                    if target == own:
                        time_, kind = now, ARRIVED
                    else:
                        begun = max(now, send[own])
                        send[own] = begun + holding
                        time_, kind = begun + latency, HEADER
                    if held:
                        replace(times, codes, count, time_, code_of(kind, block, target))
                        held = False
                    else:
                        push(times, codes, count, time_, code_of(kind, block, target))
                        count += 1
        elif kind == HEADER:
            receive[node] = max(receive[node], now) + holding
            replace(times, codes, count, receive[node], code_of(ARRIVED, block, node))
        else:
            cpu[node] = max(cpu[node], now) + compute
            end = max(end, cpu[node])
            count -= 1
            replace(times, codes, count, times[count], codes[count])
    return end, events, most


def main(p: int, per_node: int) -> None:
    """Print both times, their ratio, and both answers."""
    registry = Registry()
    for count in (10, per_node):  # the first one compiles
        query = Query(
            workload=registry.workload("titan"),
            machine=registry.machine("table3-machine"),
            p=p,
            d=4,
            parameters={"per_node": count},
        )
        cluster = cluster_of(query)
        (blocks,) = query.workload.content.epochs(query, cluster)
        times = {"feed-forward": math.inf, "heap": math.inf}
        for _ in range(2):  # the better time of each
            begun = time.process_time()
            outcome = simulate(cluster, [blocks])
            times["feed-forward"] = min(times["feed-forward"], time.process_time() - begun)
            heap = empty_heap(len(blocks.disk) + int(blocks.consumers.counts().sum()))
            begun = time.process_time()
            end, events, most = run(blocks, cluster, Servers.of(cluster), *heap)
            times["heap"] = min(times["heap"], time.process_time() - begun)
    print(f"feed-forward  {times['feed-forward']:7.2f} CPU s, makespan {outcome.time:.9f} s")
    print(f"event heap    {times['heap']:7.2f} CPU s, makespan {end:.9f} s, {events:,} events, "
          f"{events / times['heap'] / 1e6:.1f} M a second, {most:,} at once")  # fmt: skip
    print(f"ratio         {times['heap'] / times['feed-forward']:7.1f}")
    assert abs(end - outcome.time) <= 1e-9 * outcome.time


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]), *(1024, 1723)[len(sys.argv) - 1 :])
