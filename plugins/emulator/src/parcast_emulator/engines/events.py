"""The loop of the merge engine, and the beginning of a run."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import kernel, step
from parcast_emulator.engines.merge import (
    BUS_FREE,
    CARRIED,
    CPU_FREE,
    HEADER,
    IN_FREE,
    PORT_FREE,
    READ,
    RECEIVED,
    SENT,
    advance,
    arrive,
    begin_computing,
    carried,
    carry,
    finish,
    header,
    issue,
    port_free,
    read,
    release,
    sent,
)
from parcast_emulator.engines.queues import HEAP, KIND, POOL, pop
from parcast_emulator.engines.service import consumer, fan_out

# Arguments are untyped: they are the named tuples of blocks, cluster and state.


@kernel
def begin(start: float, state: Any, blocks: Any, cluster: Any, servers: Any, usage: Any,
          record: Any) -> None:  # fmt: skip
    """Count what each group has to do in each epoch, and issue the first reads."""
    for block in range(len(blocks.disk)):
        node, epoch = cluster.node_of[blocks.disk[block]], state.read.epoch[block]
        state.remaining[state.node.group[node], epoch] += 1
        for k in range(fan_out(blocks.consumers, block)):
            target = consumer(blocks.consumers, block, k)
            state.remaining[state.node.group[target], epoch] += 1
            state.remaining[state.node.group[node], epoch] += target != node
    for group in range(len(state.current)):
        advance(start, group, state)
    for node in range(len(state.node.group)):
        if state.current[state.node.group[node]] < state.remaining.shape[1]:
            issue(start, node, state, blocks, cluster, servers, usage, record)


@kernel
def run(limit: int, state: Any, blocks: Any, cluster: Any, servers: Any, usage: Any,
        record: Any) -> Any:  # fmt: skip
    """Handle some events, at most as long as the pool has messages; return how many."""
    handled = 0
    while state.scalars[HEAP] > 0 and state.scalars[POOL] > 1 and handled < limit:
        now, code, tie = state.heap.time[0], state.heap.code[0], state.heap.tie[0]
        kind, server = code // KIND, code % KIND
        pop(state)
        handled += 1
        if kind == READ:
            read(now, server, tie, state, cluster, servers)
        elif kind == BUS_FREE:
            carry(server, state, blocks, cluster, servers, usage, record)
        elif kind == CARRIED:
            block = carried(now, server, state, blocks, cluster)
            carry(server, state, blocks, cluster, servers, usage, record)
            node = cluster.node_of[blocks.disk[block]]
            if state.read.holders[block] == 0:
                release(now, block, 0, state, blocks, cluster, servers, usage, record)
            finish(now, node, block, state, blocks, cluster, servers, usage, record)
        elif kind in (PORT_FREE, IN_FREE):
            port_free(now, server, 0 if kind == PORT_FREE else 1, state, blocks, cluster, usage,
                      record)  # fmt: skip
        elif kind == HEADER:
            header(now, server, state, cluster)
        elif kind == CPU_FREE:
            begin_computing(now, server, state, blocks, cluster, usage, record)
        else:
            end(now, kind, server, state, blocks, cluster, servers, usage, record)
    return handled


@step
def end(now: float, kind: int, node: int, state: Any, blocks: Any, cluster: Any, servers: Any,
        usage: Any, record: Any) -> None:  # fmt: skip
    """End a sending, a receiving or a computation, and begin the next one."""
    if kind == RECEIVED:
        item = state.node.to_receive[node]
        state.node.to_receive[node] = state.message.links[item]
        arrive(now, node, item, state)
        port_free(now, node, 1, state, blocks, cluster, usage, record)
        return
    if kind == SENT:
        block = sent(node, state, blocks)
        port_free(now, node, 0, state, blocks, cluster, usage, record)
    else:
        item = state.node.to_compute[node]
        state.node.to_compute[node] = state.message.links[item]
        block = state.message.block[item]
        state.pool[state.scalars[POOL]] = item
        state.scalars[POOL] += 1
        begin_computing(now, node, state, blocks, cluster, usage, record)
    if kind == SENT or cluster.node_of[blocks.disk[block]] == node:
        release(now, block, 1, state, blocks, cluster, servers, usage, record)
    finish(now, node, block, state, blocks, cluster, servers, usage, record)
