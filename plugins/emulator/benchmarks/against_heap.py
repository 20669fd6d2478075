"""Compare the feed-forward engine with a plain event heap in numba, in one run.

    python benchmarks/against_heap.py [processes] [blocks of each]

The heap is what one writes first: an event for every arrival at a server, all of them in one
4-ary heap. It serves in the same order, but for arrivals at exactly one time.
"""

from __future__ import annotations

import sys
import time

import numba
import numpy as np

from parcast import Query, Registry
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.service import access, consumer, fan_out
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import simulate

READ, CARRIED, HEADER, ARRIVED = range(4)


@numba.njit
def push(times, codes, count, time_, code):
    """Put an event into the heap."""
    at = count
    while at > 0:
        up = (at - 1) >> 2
        if times[up] < time_ or (times[up] == time_ and codes[up] <= code):
            break
        times[at], codes[at] = times[up], codes[up]
        at = up
    times[at], codes[at] = time_, code


@numba.njit
def pop(times, codes, count):
    """Take the first event out of a heap that then has ``count`` others."""
    time_, code, at = times[count], codes[count], 0
    while True:
        first = 4 * at + 1
        if first >= count:
            break
        least = first
        for other in range(first + 1, min(first + 4, count)):
            if times[other] < times[least] or (
                times[other] == times[least] and codes[other] < codes[least]
            ):
                least = other
        if time_ < times[least] or (time_ == times[least] and code <= codes[least]):
            break
        times[at], codes[at] = times[least], codes[least]
        at = least
    times[at], codes[at] = time_, code


@numba.njit
def run(blocks, cluster, servers, room):
    """Return the makespan and the number of events; codes are kind, node and block."""
    hardware, count, events, end = cluster.hardware, 0, 0, 0.0
    times, codes = np.empty(room), np.empty(room, np.int64)
    size, compute = blocks.size[0], blocks.compute[0]
    holding = size / hardware.bandwidth
    for block in range(len(blocks.disk)):
        _, done, _ = access(cluster, servers, blocks.disk[block], 0.0, blocks.offset[block], size)
        push(times, codes, count, done, READ << 56 | block)
        count += 1
    while count:
        now, code = times[0], codes[0]
        kind, node, block = code >> 56, code >> 32 & 0xFFFFFF, code & 0xFFFFFFFF
        count -= 1
        events += 1
        pop(times, codes, count)
        if kind == READ:
            bus = cluster.bus_of[blocks.disk[block]]
            service = hardware.bus_latency + size / hardware.bus_bandwidth
            servers.bus[bus] = max(servers.bus[bus], now) + service
            push(times, codes, count, servers.bus[bus], CARRIED << 56 | block)
            count += 1
        elif kind == CARRIED:
            own = cluster.node_of[blocks.disk[block]]
            for k in range(fan_out(blocks.consumers, block)):
                target = consumer(blocks.consumers, block, k)
                if target == own:
                    push(times, codes, count, now, ARRIVED << 56 | np.int64(own) << 32 | block)
                else:
                    begun = max(now, servers.send[own])
                    servers.send[own] = begun + holding
                    code = HEADER << 56 | np.int64(target) << 32 | block
                    push(times, codes, count, begun + hardware.latency, code)
                count += 1
        elif kind == HEADER:
            servers.receive[node] = max(servers.receive[node], now) + holding
            code = ARRIVED << 56 | node << 32 | block
            push(times, codes, count, servers.receive[node], code)
            count += 1
        else:
            servers.cpu[node] = max(servers.cpu[node], now) + compute
            end = max(end, servers.cpu[node])
    return end, events


def main(p: int, per_node: int) -> None:
    """Print both times, their ratio, and both answers."""
    registry = Registry()
    times = {}
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
        begun = time.process_time()
        outcome = simulate(cluster, [blocks])
        times["feed-forward"] = time.process_time() - begun
        begun = time.process_time()
        room = len(blocks.disk) + int(blocks.consumers.counts().sum())
        end, events = run(blocks, cluster, Servers.of(cluster), room)
        times["heap"] = time.process_time() - begun
    print(f"feed-forward  {times['feed-forward']:7.2f} CPU s, makespan {outcome.time:.9f} s")
    print(f"event heap    {times['heap']:7.2f} CPU s, makespan {end:.9f} s, {events:,} events, "
          f"{events / times['heap'] / 1e6:.1f} M a second")  # fmt: skip
    print(f"ratio         {times['heap'] / times['feed-forward']:7.1f}")
    assert abs(end - outcome.time) <= 1e-9 * outcome.time


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3]), *(1024, 1723)[len(sys.argv) - 1 :])
