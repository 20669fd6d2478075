"""Accesses of programs to disks, compiled."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import inlined, step
from parcast_emulator.engines.ranks.arrays import ACCESSES
from parcast_emulator.engines.ranks.instants import push
from parcast_emulator.engines.ranks.messages import CARRY, satisfy
from parcast_emulator.engines.ranks.spending import IO, spend
from parcast_emulator.engines.service import access as serve

# Arguments are untyped: they are the named tuples of `parcast_emulator.engines.ranks.arrays`.


@inlined
def access(x: int, now: float, program: Any, charges: Any, state: Any, cluster: Any,
         servers: Any) -> None:  # fmt: skip
    """Serve an access: by the disks that all nodes share, or by one of the rank's own node."""
    rank = program.rank[x]
    if not charges.on_nodes:
        first = 0 if program.striped[x] else rank % charges.disks
        after = charges.disks if program.striped[x] else first + 1
        end = now
        for disk in range(first, after):
            state.disk[disk] = max(now, state.disk[disk]) + program.seconds[x]
            end = max(end, state.disk[disk])
        spend(rank, IO, end, charges, state)
        satisfy(rank, state)
        return
    node = state.rank.node[rank]
    first, after = cluster.disks[node], cluster.disks[node + 1]
    disk = first + state.file_accesses[node] % (after - first)
    state.file_accesses[node] += 1
    offset, size = state.end_of_files[disk], program.amount[x]
    state.end_of_files[disk] += size
    _, end, _ = serve(cluster, servers, disk, now, offset, size)
    state.accessed[state.scalars[ACCESSES]] = x
    push(state, end, CARRY, disk, state.scalars[ACCESSES])
    state.scalars[ACCESSES] += 1


@step
def carry_access(disk: int, x: int, now: float, program: Any, charges: Any, state: Any,
               cluster: Any, servers: Any) -> None:  # fmt: skip
    """Carry what a disk of a node has read over the disk's bus."""
    hardware, bus, rank = cluster.hardware, cluster.bus_of[disk], program.rank[x]
    seconds = hardware.bus_latency + program.amount[x] / hardware.bus_bandwidth
    if hardware.cut_through:
        servers.bus[bus] = max(servers.bus[bus] + seconds, now)
    else:
        servers.bus[bus] = max(now, servers.bus[bus]) + seconds
    spend(rank, IO, servers.bus[bus], charges, state)
    satisfy(rank, state)
