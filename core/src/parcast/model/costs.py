"""Costs: the one set of numbers that every family charges a program with."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Literal

import attrs
import numpy as np

from parcast.model.machine import LocalNetwork, Machine, Need
from parcast.model.placement import Placement, place
from parcast.model.query import Query

#: A number or an array of numbers; in tests also exact fractions.
Number = Any

_REASONS: dict[Need, str] = {
    "compute": "a workload with computation",
    "messages": "a workload with messages",
    "io": "a workload with I/O",
}


@attrs.frozen(kw_only=True, eq=False)
class Costs:
    """What a machine charges p processes, in seconds and bytes, at one placement.

    A message of n bytes keeps its sender busy for ``sending(n)``, is then ``wire(src, dst, n)``
    on its way, and keeps its receiver busy for ``overhead_receive``. Ranks, bytes, operations
    and seconds may be numbers or arrays with a number for each rank asked about.
    """

    placement: Placement
    rate: Number = None  #: operations per second of a process at speed 1; None: not stated
    memory_bandwidth: Number = None  #: of a node; None: memory is no limit
    core_bandwidth: Number = None  #: of one core; None: it can draw what its node has
    startup: Number = 0  #: t0
    per_byte: Number = 0  #: 1/B
    local_startup: Number = attrs.field(
        default=attrs.Factory(lambda self: self.startup, takes_self=True)
    )
    local_per_byte: Number = attrs.field(
        default=attrs.Factory(lambda self: self.per_byte, takes_self=True)
    )
    overhead: Number = 0  #: o
    overhead_receive: Number = attrs.field(
        default=attrs.Factory(lambda self: self.overhead, takes_self=True)
    )
    overhead_per_byte: Number = 0  #: O
    eager_limit: Number = math.inf  #: a message of more bytes waits for its receive
    contention: Literal["none", "endpoint", "bus"] = "none"  #: between nodes, never within one
    disk_startup: Number = 0  #: t_d
    disk_per_byte: Number = 0  #: 1/b_d
    layout: Literal["bus", "cluster"] = "bus"
    disks: int = 1  #: d
    algorithms: str | None = None  #: how collectives are expanded, as the machine states it

    @classmethod
    def of(cls, query: Query, needs: Collection[Need]) -> Costs:
        """Return the costs of the query's machine.

        Parameters
        ----------
        query
            The machine, p, d and the mapping.
        needs
            What the program uses: a number that it does not use need not be stated.

        Raises
        ------
        UnsupportedError
            If the machine lacks a number that is needed, or a core for every process.
        InvalidPointError
            If the mapping has no meaning at this p.
        """
        machine = query.machine
        network, local = machine.network, machine.network.local or LocalNetwork()
        startup = _stated(machine, "network.startup", "messages", needs) or 0.0
        bandwidth = _stated(machine, "network.bandwidth", "messages", needs)
        receive, limit = network.overhead_receive, network.eager_limit
        costs = cls(
            placement=place(query),
            rate=_stated(machine, "processor.rate", "compute", needs),
            memory_bandwidth=machine.nodes.memory_bandwidth,
            core_bandwidth=machine.nodes.core_bandwidth,
            startup=startup,
            per_byte=_inverse(bandwidth),
            local_startup=startup if local.startup is None else local.startup,
            local_per_byte=_inverse(local.bandwidth or bandwidth),
            overhead=network.overhead,
            overhead_receive=network.overhead if receive is None else receive,
            overhead_per_byte=network.overhead_per_byte,
            eager_limit=math.inf if limit is None else limit,
            contention=network.contention or "none",
            disk_startup=machine.storage.startup,
            disk_per_byte=_inverse(_stated(machine, "storage.bandwidth", "io", needs)),
            layout=machine.storage.layout,
            disks=query.d,
            algorithms=network.collectives,
        )
        return costs._paid_by_sender() if network.paid_by == "sender" else costs

    def _paid_by_sender(self) -> Costs:
        """Return costs whose senders are busy until each message has arrived."""
        return attrs.evolve(
            self,
            overhead=self.overhead + self.startup,
            overhead_per_byte=self.overhead_per_byte + self.per_byte,
            startup=0.0,
            per_byte=0.0,
            local_startup=0.0,
            local_per_byte=0.0,
        )

    def compute(self, rank: Number, flops: Number, memory_bytes: Number = 0) -> Number:
        """Return the seconds of ``flops`` operations that move ``memory_bytes``.

        The slowest counts: the operations, the memory of the node, which its processes share
        equally, or what one core can draw of it.
        """
        seconds = flops / (self.rate * self.placement.speed[rank])
        if self.memory_bandwidth is not None:
            moving = memory_bytes / self.memory_bandwidth * self.placement.sharing[rank]
            seconds = np.maximum(seconds, moving)
        if self.core_bandwidth is not None:
            seconds = np.maximum(seconds, memory_bytes / self.core_bandwidth)
        return seconds

    def elapse(self, rank: Number, seconds: Number) -> Number:
        """Return the time that ``seconds`` of a process at speed 1 take here."""
        return seconds / self.placement.speed[rank]

    def sending(self, n: Number) -> Number:
        """Return how many seconds a message of ``n`` bytes keeps its sender busy."""
        return self.overhead + n * self.overhead_per_byte

    def wire(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the seconds from the end of sending ``n`` bytes to their arrival."""
        within = self.placement.same_node(src, dst)
        startup = np.where(within, self.local_startup, self.startup)
        return startup + n * np.where(within, self.local_per_byte, self.per_byte)

    def striped(self, file: str) -> bool:
        """Return whether an access to this kind of file is spread over all disks."""
        return self.layout == "bus" or file != "own"

    def disks_of(self, rank: int, file: str) -> range:
        """Return the disks that one access goes to, a piece to each."""
        if self.striped(file):
            return range(self.disks)
        return range(rank % self.disks, rank % self.disks + 1)

    def piece(self, n: Number, file: str) -> Number:
        """Return how many seconds each disk of an access of ``n`` bytes takes for its piece."""
        share = n / self.disks if self.striped(file) else n
        return self.disk_startup + share * self.disk_per_byte


def _stated(machine: Machine, path: str, need: Need, needs: Collection[Need]) -> float | None:
    part, field = path.split(".")
    value: float | None = getattr(getattr(machine, part), field)
    return machine.need(path, _REASONS[need]) if value is None and need in needs else value


def _inverse(rate: float | None) -> float:
    return 0.0 if rate is None else 1.0 / rate
