"""What operations take of their processes, of disks and of wires; in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.model import Costs
from parcast.program.matching import Columns
from parcast.program.source import SENDS
from parcast_petri.programs.networks import Wires, network_numbers


@attrs.frozen(eq=False)
class Charges:
    """What each operation of a table takes of its process.

    Lists, which are faster to look up one by one than arrays.
    """

    table: Columns
    cpu: list[float]  #: without regard to memory
    seconds: list[float]  #: with it
    memory: list[float] | None  #: bytes

    @classmethod
    def of(cls, table: Columns, costs: Costs, rank: Any) -> Charges:
        """Return the charges of operations; ``rank`` is who does each, or all."""
        rank = np.broadcast_to(rank, len(table.op))
        cpu, seconds = np.zeros((2, len(table.op)))
        at = np.flatnonzero(table.among(("compute",)))
        if len(at):
            memory = 0.0 if table.memory is None else table.memory[at]
            cpu[at] = table.amount[at] / (costs.rate * costs.placement.speed[rank[at]])
            seconds[at] = costs.compute(rank[at], table.amount[at], memory)
        at = np.flatnonzero(table.among(("elapse",)))
        cpu[at] = seconds[at] = costs.elapse(rank[at], table.amount[at])
        at = np.flatnonzero(table.among(SENDS))
        seconds[at] = costs.sending(table.amount[at])
        memory_bytes = None if table.memory is None else table.memory.tolist()
        return cls(table, cpu.tolist(), seconds.tolist(), memory_bytes)


@attrs.frozen(eq=False)
class Routes:
    """Of messages, the network that each takes, its startup, and the seconds of its bytes."""

    network: list[int]
    startup: list[float]
    transfer: list[float]

    @classmethod
    def of(cls, costs: Costs, networks: Sequence[Wires], src: Any, dst: Any, size: Any) -> Routes:
        """Return the routes of messages of ``size`` bytes between these ranks."""
        node, within = costs.placement.node, costs.placement.same_node(src, dst)
        network = network_numbers(networks, node[src], node[dst])
        startup, transfer = costs.latency(src, dst, size), costs.transfer(src, dst, size)
        for wires in networks[1:]:
            takes = ~within & (network == wires.number)
            if wires.startup is not None:
                startup = np.where(takes, wires.startup, startup)
            if wires.own_per_byte is not None:
                alone = costs.on_wire(src, dst, size) * wires.own_per_byte
                transfer = np.where(takes, alone, transfer)
        return cls(network.tolist(), startup.tolist(), transfer.tolist())
