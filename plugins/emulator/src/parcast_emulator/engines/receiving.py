"""The feed-forward kernels of ports in and processors: a window's messages at their receivers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parcast_emulator.compilation import kernel, step
from parcast_emulator.engines.service import consumer_index
from parcast_emulator.engines.sorting import sort_by_time

# Arguments are untyped: they are the arrays and named tuples of blocks, cluster and usage.


@kernel
def receive(
    low: int, high: int, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any,
    last: Any, local: Any, begin: Any, times: Any, carried: Any, final: bool, usage: Any,
    record: Any,
) -> None:  # fmt: skip
    """Receive a window's messages at nodes low .. high, and compute on what is there."""
    largest = 0
    for node in range(low, high):
        largest = max(largest, begin[node + 1] - begin[node])
    in_order, which = np.empty(largest), np.empty(largest, np.int32)
    bucket = np.empty(largest + 1, np.int32)
    for node in range(low, high):
        a, b = begin[node], begin[node + 1]
        if b > a:
            sort_by_time(times[a:b], carried[a:b], in_order, which, bucket)
            take(node, blocks, cluster, servers, order, ready, last, local, in_order[: b - a],
                 which, usage, record)  # fmt: skip
        if final:
            compute_own(node, math.inf, blocks, cluster, servers, order, ready, last, local,
                        usage, record)  # fmt: skip


@step
def take(
    node: int, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any, last: Any,
    local: Any, times: Any, carried: Any, usage: Any, record: Any,
) -> None:  # fmt: skip
    """Receive messages one after another, computing on each and on the node's own in between.

    What is the node's is in variables, since a kernel cannot know that arrays do not overlap.
    """
    into, cpu, position = servers.receive[node], servers.cpu[node], local[node]
    next_own = ready[position] if position < last[node] else math.inf
    received, waited = usage.receive[0, node], usage.receive[1, node]
    computed, queued = usage.cpu[0, node], usage.cpu[1, node]
    holding, working = blocks.size[0] / cluster.hardware.bandwidth, blocks.compute[0]
    working /= cluster.speed[node]
    for index in range(len(times)):
        block = carried[index]
        if len(blocks.size) > 1:
            holding = blocks.size[block] / cluster.hardware.bandwidth
        if len(blocks.compute) > 1:
            working = blocks.compute[block] / cluster.speed[node]
        begin = max(times[index], into)
        into = begin + holding
        received, waited = received + holding, waited + (begin - times[index])
        if next_own <= into:
            servers.cpu[node], usage.cpu[0, node], usage.cpu[1, node] = cpu, computed, queued
            compute_own(node, into, blocks, cluster, servers, order, ready, last, local, usage,
                        record)  # fmt: skip
            cpu, computed, queued = servers.cpu[node], usage.cpu[0, node], usage.cpu[1, node]
            next_own = ready[local[node]] if local[node] < last[node] else math.inf
        start = max(into, cpu)
        cpu = start + working
        computed, queued = computed + working, queued + (start - into)
        if len(record.in_start):
            at = blocks.consumers.start[block] + consumer_index(blocks.consumers, block, node)
            record.in_start[at], record.cpu_start[at] = begin, start
    servers.receive[node], servers.cpu[node] = into, cpu
    usage.receive[0, node], usage.receive[1, node] = received, waited
    usage.receive[2, node] += len(times)
    usage.cpu[0, node], usage.cpu[1, node] = computed, queued
    usage.cpu[2, node] += len(times)


@step
def compute_own(
    node: int, until: float, blocks: Any, cluster: Any, servers: Any, order: Any, ready: Any,
    last: Any, local: Any, usage: Any, record: Any,
) -> None:  # fmt: skip
    """Compute on the blocks of a node's own disks that are there by ``until``."""
    position = local[node]
    while position < last[node] and ready[position] <= until:
        block, arrival = order[position], ready[position]
        k = consumer_index(blocks.consumers, block, node)
        if k >= 0:
            begin = max(arrival, servers.cpu[node])
            working = blocks.compute[block if len(blocks.compute) > 1 else 0] / cluster.speed[node]
            servers.cpu[node] = begin + working
            usage.cpu[0, node] += working
            usage.cpu[1, node] += begin - arrival
            usage.cpu[2, node] += 1
            if len(record.cpu_start):
                record.cpu_start[blocks.consumers.start[block] + k] = begin
        position += 1
    local[node] = position
