"""The merge kernels: events in the order of time, from a heap with one entry a server.

Queues are lists linked through the blocks and through a pool of messages, so the heap holds
next ends only, whatever waits. It follows what the feed-forward kernels cannot: ports that
send or receive, a limit on the blocks that a node holds, and epochs of each node's own.
"""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import step
from parcast_emulator.engines.queues import NONE, append, message, push
from parcast_emulator.engines.service import consumer, consumer_index, fan_out, fetch

# Arguments are untyped: they are the named tuples of blocks, cluster and state.

#: What happens; at one time in this order, and of one kind in the order of the servers.
READ, BUS_FREE, CARRIED, PORT_FREE, SENT, HEADER, IN_FREE, RECEIVED, CPU_FREE, COMPUTED = range(10)


@step
def record_index(consumers: Any, block: int, node: int) -> Any:
    """Return where a record holds what a node does with a block."""
    return consumers.start[block] + consumer_index(consumers, block, node)


@step
def issue(now: float, node: int, state: Any, blocks: Any, cluster: Any, servers: Any, usage: Any,
          record: Any) -> None:  # fmt: skip
    """Issue the reads that a node may begin: of its epoch, into its free buffers."""
    while (
        state.node.next[node] < state.node.end[node]
        and state.node.buffered[node] < cluster.hardware.buffers
    ):
        block = state.reads_by_node[state.node.next[node]]
        if state.read.epoch[block] > state.current[state.node.group[node]]:
            break
        state.node.next[node] += 1
        state.node.buffered[node] += 1
        disk = blocks.disk[block]
        end, channel = fetch(disk, block, now, blocks, cluster, servers, usage, record)
        state.read.arrived[block] = end
        line = disk * servers.disk.shape[1] + channel
        if state.line.first[line] == NONE:
            push(state, end, READ, disk, block)
        append(state.line.first, state.line.last, line, block, state.read.links)


@step
def read(now: float, disk: int, block: int, state: Any, cluster: Any, servers: Any) -> None:
    """A block is off the medium: it asks for its bus."""
    line = disk * servers.disk.shape[1]
    while state.line.first[line] != block:
        line += 1
    state.line.first[line] = state.read.links[block]
    after = state.line.first[line]
    if after != NONE:
        push(state, state.read.arrived[after], READ, disk, after)
    bus = cluster.bus_of[disk]
    append(state.bus.first, state.bus.last, bus, block, state.read.links)
    if not state.bus.busy[bus]:
        state.bus.busy[bus] = True
        push(state, now, BUS_FREE, bus, 0)


@step
def carry(bus: int, state: Any, blocks: Any, cluster: Any, servers: Any, usage: Any,
          record: Any) -> None:  # fmt: skip
    """Begin the next transfer of a bus, if there is one."""
    block = state.bus.first[bus]
    state.bus.busy[bus] = block != NONE
    if block == NONE:
        return
    hardware, arrival = cluster.hardware, state.read.arrived[block]
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    service = hardware.bus_latency + size / hardware.bus_bandwidth
    if hardware.cut_through:
        end = max(servers.bus[bus] + service, arrival)
        start = end - service
    else:
        start = max(servers.bus[bus], arrival)
        end = start + service
    servers.bus[bus] = end
    usage.bus[0, bus] += service
    usage.bus[1, bus] += max(start - arrival, 0.0)
    usage.bus[2, bus] += 1
    if len(record.bus_start):
        record.bus_start[block], record.bus_end[block] = start, end
    push(state, end, CARRIED, bus, 0)


@step
def carried(now: float, bus: int, state: Any, blocks: Any, cluster: Any) -> Any:
    """A block is in memory: its sends ask for the port, and its own node for the processor."""
    block = state.bus.first[bus]
    state.bus.first[bus] = state.read.links[block]
    node = cluster.node_of[blocks.disk[block]]
    state.read.arrived[block] = now
    remote, fan = 0, fan_out(blocks.consumers, block)
    for k in range(fan):
        remote += consumer(blocks.consumers, block, k) != node
    state.read.holders[block] = fan
    if remote:
        append(state.node.to_send, state.node.last_to_send, node, block, state.read.links)
        request_port(now, PORT_FREE, node, 0, state, cluster)
    if fan > remote:
        arrive(now, node, message(state, block, node, now), state)
    return block


@step
def request_port(now: float, kind: int, node: int, port: int, state: Any, cluster: Any) -> None:
    """Wake an idle port; a half-duplex port looks at both its queues at once."""
    if cluster.hardware.half_duplex:
        kind, port = IN_FREE, 0
    if not state.port_busy[port, node]:
        state.port_busy[port, node] = True
        push(state, now, kind, node, 0)


@step
def next_target(node: int, state: Any, blocks: Any) -> Any:
    """Return who gets the message at a node's port."""
    block = state.node.to_send[node]
    while consumer(blocks.consumers, block, state.node.k[node]) == node:
        state.node.k[node] += 1
    return consumer(blocks.consumers, block, state.node.k[node])


@step
def begin_sending(now: float, node: int, state: Any, blocks: Any, cluster: Any, usage: Any,
                  record: Any) -> None:  # fmt: skip
    """Send the message at a node's port."""
    block, hardware = state.node.to_send[node], cluster.hardware
    target = next_target(node, state, blocks)
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    holding = size / hardware.bandwidth
    usage.send[0, node] += holding
    usage.send[1, node] += now - state.read.arrived[block]
    usage.send[2, node] += 1
    if len(record.out_start):
        record.out_start[record_index(blocks.consumers, block, target)] = now
    header = now + hardware.latency
    if state.node.on_wire[node] == NONE:
        push(state, header, HEADER, node, 0)
    item = message(state, block, target, header)
    append(state.node.on_wire, state.node.last_on_wire, node, item, state.message.links)
    push(state, now + holding, SENT, node, 0)


@step
def sent(node: int, state: Any, blocks: Any) -> Any:
    """A message has left the port; return its block, the last of whose sends may be done."""
    block = state.node.to_send[node]
    state.node.k[node] += 1
    fan = fan_out(blocks.consumers, block)
    while (
        state.node.k[node] < fan and consumer(blocks.consumers, block, state.node.k[node]) == node
    ):
        state.node.k[node] += 1
    if state.node.k[node] == fan:
        state.node.to_send[node] = state.read.links[block]
        state.node.k[node] = 0
    return block


@step
def begin_receiving(now: float, node: int, state: Any, blocks: Any, cluster: Any, usage: Any,
                    record: Any) -> None:  # fmt: skip
    """Receive the message at a node's port."""
    item = state.node.to_receive[node]
    block = state.message.block[item]
    size = blocks.size[block if len(blocks.size) > 1 else 0]
    holding = size / cluster.hardware.bandwidth
    usage.receive[0, node] += holding
    usage.receive[1, node] += now - state.message.time[item]
    usage.receive[2, node] += 1
    if len(record.in_start):
        record.in_start[record_index(blocks.consumers, block, node)] = now
    push(state, now + holding, RECEIVED, node, 0)


@step
def arrive(now: float, node: int, item: int, state: Any) -> None:
    """A block asks for a processor."""
    state.message.time[item] = now
    append(state.node.to_compute, state.node.last_to_compute, node, item, state.message.links)
    if not state.node.cpu_busy[node]:
        state.node.cpu_busy[node] = True
        push(state, now, CPU_FREE, node, 0)


@step
def begin_computing(now: float, node: int, state: Any, blocks: Any, cluster: Any, usage: Any,
                    record: Any) -> None:  # fmt: skip
    """Begin the next computation of a node, if there is one."""
    item = state.node.to_compute[node]
    state.node.cpu_busy[node] = item != NONE
    if item == NONE:
        return
    block = state.message.block[item]
    working = blocks.compute[block if len(blocks.compute) > 1 else 0] / cluster.speed[node]
    usage.cpu[0, node] += working
    usage.cpu[1, node] += now - state.message.time[item]
    usage.cpu[2, node] += 1
    if len(record.cpu_start):
        record.cpu_start[record_index(blocks.consumers, block, node)] = now
    push(state, now + working, COMPUTED, node, 0)


@step
def release(now: float, block: int, count: int, state: Any, blocks: Any, cluster: Any,
            servers: Any, usage: Any, record: Any) -> None:  # fmt: skip
    """Take some from what a block in its own node's memory still waits for."""
    state.read.holders[block] -= count
    if state.read.holders[block] == 0:
        node = cluster.node_of[blocks.disk[block]]
        state.node.buffered[node] -= 1
        issue(now, node, state, blocks, cluster, servers, usage, record)


@step
def finish(now: float, node: int, block: int, state: Any, blocks: Any, cluster: Any,
           servers: Any, usage: Any, record: Any) -> None:  # fmt: skip
    """Note that a node has done something with a block; the last one begins the next epoch."""
    group, epoch = state.node.group[node], state.read.epoch[block]
    state.remaining[group, epoch] -= 1
    if state.remaining[group, epoch] > 0 or epoch != state.current[group]:
        return
    advance(now, group, state)
    if state.current[group] < state.remaining.shape[1]:
        for follower in range(len(state.node)):
            if state.node.group[follower] == group:
                issue(now, follower, state, blocks, cluster, servers, usage, record)


@step
def advance(now: float, group: int, state: Any) -> None:
    """Leave all epochs of a group that have nothing left to do."""
    epochs = state.remaining.shape[1]
    while state.current[group] < epochs and state.remaining[group, state.current[group]] == 0:
        state.ends[group, state.current[group]] = now
        state.current[group] += 1


@step
def choose(now: float, node: int, state: Any, blocks: Any, cluster: Any, usage: Any,
           record: Any) -> None:  # fmt: skip
    """Begin what a half-duplex port was first asked for, of equals the sending."""
    out, into = state.node.to_send[node], state.node.to_receive[node]
    state.port_busy[0, node] = out != NONE or into != NONE
    if out != NONE and (into == NONE or state.read.arrived[out] <= state.message.time[into]):
        begin_sending(now, node, state, blocks, cluster, usage, record)
    elif into != NONE:
        begin_receiving(now, node, state, blocks, cluster, usage, record)


@step
def header(now: float, node: int, state: Any, cluster: Any) -> None:
    """The head of a node's oldest message on the wire reaches its receiver."""
    item = state.node.on_wire[node]
    after = state.message.links[item]
    state.node.on_wire[node] = after
    if after != NONE:
        push(state, state.message.time[after], HEADER, node, 0)
    target = state.message.target[item]
    append(state.node.to_receive, state.node.last_to_receive, target, item, state.message.links)
    request_port(now, IN_FREE, target, 1, state, cluster)


@step
def port_free(now: float, node: int, port: int, state: Any, blocks: Any, cluster: Any,
              usage: Any, record: Any) -> None:  # fmt: skip
    """Begin what a port does next, if anything."""
    if cluster.hardware.half_duplex:
        choose(now, node, state, blocks, cluster, usage, record)
    elif port == 0:
        state.port_busy[0, node] = state.node.to_send[node] != NONE
        if state.port_busy[0, node]:
            begin_sending(now, node, state, blocks, cluster, usage, record)
    else:
        state.port_busy[1, node] = state.node.to_receive[node] != NONE
        if state.port_busy[1, node]:
            begin_receiving(now, node, state, blocks, cluster, usage, record)
