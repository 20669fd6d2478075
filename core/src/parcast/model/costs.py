"""Costs: the one set of numbers that every family charges a program with."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
from typing import Any, Literal

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model.fabric import NO_LINK, Fabric
from parcast.model.following import WHOLE_NETWORK, check_network
from parcast.model.machine import LocalNetwork, Machine, Need
from parcast.model.messages import (
    IN_NETWORK,
    LevelCosts,
    Number,
    SizeCosts,
    Wiring,
    by_size,
    fabric_of,
    level_of,
    levels_of,
    sizes_of,
)
from parcast.model.placement import Placement, place
from parcast.model.query import Query

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
    local_by_size: bool = False  #: messages within a node follow ``sizes``, in place of these two
    overhead: Number = 0  #: o
    overhead_receive: Number = attrs.field(
        default=attrs.Factory(lambda self: self.overhead, takes_self=True)
    )
    overhead_per_byte: Number = 0  #: O
    eager_limit: Number = math.inf  #: a message of more bytes waits for its receive
    contention: Literal["none", "fair", "endpoint", "bus"] = "none"  #: between nodes
    sizes: tuple[SizeCosts, ...] = ()  #: what changes from a size on, ascending
    levels: tuple[LevelCosts, ...] = ()  #: nearest first; without them only that of a node
    header: Number = 0  #: bytes more that a message has between nodes
    acknowledgements: Number = 0  #: bytes on the way back for each byte between nodes
    weight_bytes: Number = None  #: of each link, beside latency, in `share`; None: all are equal
    eager: Literal["buffered", "waits"] = "buffered"
    overhead_by: Literal["call", "message"] = "call"
    fabric: Fabric | None = None  #: the links between nodes; None where nothing depends on them
    ports: int = 1  #: of a node
    disk_startup: Number = 0  #: t_d
    disk_per_byte: Number = 0  #: 1/b_d
    layout: Literal["bus", "cluster"] = "bus"
    disks: int = 1  #: d
    algorithms: str | None = None  #: how collectives are expanded, as the machine states it

    @classmethod
    def of(cls, query: Query, needs: Collection[Need], follows: Collection[str] = ()) -> Costs:
        """Return the costs of the query's machine.

        Parameters
        ----------
        query
            The machine, p, d and the mapping.
        needs
            What the program uses: a number that it does not use need not be stated.
        follows
            What of `WHOLE_NETWORK` the caller follows.

        Raises
        ------
        UnsupportedError
            If the machine lacks a number that is needed, or a core for every process, or says
            of its network what the caller does not follow.
        InvalidPointError
            If the mapping has no meaning at this p.
        """
        machine = query.machine
        network, local = machine.network, machine.network.local or LocalNetwork()
        # who follows a whole network is refused only what derives traffic and contradicts itself
        if "messages" in needs and (machine.derives_traffic or follows != WHOLE_NETWORK):
            check_network(machine, follows)
        startup = _stated(machine, "network.startup", "messages", needs) or 0.0
        bandwidth = network.bandwidth
        if "topology" not in machine.parts:
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
            header=network.header,
            acknowledgements=network.acknowledgements if network.contention == "fair" else 0.0,
            weight_bytes=network.weight_bytes if network.contention == "fair" else None,
            eager=network.eager,
            overhead_by=network.overhead_by,
            ports=network.ports,
            disk_startup=machine.storage.startup,
            disk_per_byte=_inverse(_stated(machine, "storage.bandwidth", "io", needs)),
            layout=machine.storage.layout,
            disks=query.d,
            algorithms=network.collectives,
        )
        if "messages" in needs:
            costs = _near_and_far(costs, machine, query.seed)
        elif costs.contention == "fair":
            costs = attrs.evolve(costs, contention="none")
        return _paid_by_sender(costs) if network.paid_by == "sender" else costs

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

    def elapse(self, rank: Number, seconds: Number) -> Number:  # noqa: ARG002  # as compute()
        """Return what ``elapse`` takes: wall time, the same on every rank."""
        return seconds

    def sending(self, n: Number) -> Number:
        """Return how many seconds a message of ``n`` bytes keeps its sender busy."""
        overhead = self._by_size(self.overhead, "overhead", n)
        return self._unless_signal(n, overhead + n * self.overhead_per_byte)

    def receiving(self, n: Number) -> Number:
        """Return how many seconds a message of ``n`` bytes keeps its receiver busy."""
        seconds = self._by_size(self.overhead_receive, "overhead_receive", n)
        return self._unless_signal(n, seconds)

    @property
    def signals(self) -> bool:
        """Whether some messages may be signals, which cost nothing."""
        return IN_NETWORK in (self.algorithms or "")

    @property
    def uniform(self) -> bool:
        """Whether all messages between nodes have one latency and bandwidth, as within them."""
        return not (self.sizes or self.levels or self.header or self.fabric or self.signals)

    def on_wire(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the bytes that a message takes up on its links.

        Between nodes its header counts, and all is divided by the efficiency of its size.
        """
        expanded = any(size.expansion != 1 for size in self.sizes)
        if not self.header and not expanded:
            return self._unless_signal(n, n)
        within = self.placement.same_node(src, dst)
        size = n + np.where(within, 0, self.header)
        if expanded:
            size = size * np.where(within, 1, self._by_size(1, "expansion", n))
        return self._unless_signal(n, size)

    def _by_size(self, base: Number, field: str, n: Number) -> Number:
        """Return what a field is for messages of ``n`` bytes, which is ``base`` below all sizes."""
        return by_size(self.sizes, base, field, n) if self.sizes else base

    def latency(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the seconds L from the end of sending ``n`` bytes to the first on the links."""
        startup = self._by_size(self.startup, "startup", n)
        seconds = self._by_level(src, dst, self.local_startup, startup, "startup")
        if self.fabric is None:
            return self._unless_signal(n, seconds)
        links = self._routes(src, dst)
        hops = np.where(links == NO_LINK, 0, self.wiring().latency[links]).sum(axis=1)
        factor = self._by_size(1, "latency_factor", n)
        return self._unless_signal(n, seconds + factor * hops.reshape(np.shape(seconds)))

    def transfer(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the seconds that ``n`` bytes are on the links, where nothing else is there."""
        return self.on_wire(src, dst, n) * self.transfer_per_byte(src, dst, n)

    def transfer_per_byte(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the seconds that each byte of ``n`` is on the links, with nothing else there."""
        per_byte = self._by_size(self.per_byte, "per_byte", n)
        per_byte = self._by_level(src, dst, self.local_per_byte, per_byte, "per_byte")
        if self.fabric is not None:
            ranks = (each.ravel() for each in np.broadcast_arrays(src, dst))
            narrowest = self.wiring().per_byte(*ranks)
            per_byte = np.maximum(per_byte, narrowest.reshape(np.shape(per_byte)))
        return per_byte

    def share(self, src: Number, dst: Number) -> Number:
        """Return what messages between two ranks have of a full link, relative to others."""
        equal = np.ones(np.broadcast(src, dst).shape, np.int64)
        if self.weight_bytes is None:
            return equal
        links, wiring = self._routes(src, dst), self.wiring()
        on_links = self.weight_bytes / wiring.capacity
        # a float's zero, of an endless link, would end the exactness of fractions
        of_links = wiring.latency + np.where(wiring.capacity < np.inf, on_links, 0)
        passed = np.where(links == NO_LINK, 0, of_links[links]).sum(axis=1)
        startup = self._by_level(src, dst, self.local_startup, self.startup, "startup")
        seconds = startup + passed.reshape(np.broadcast(src, dst).shape)
        if not np.any(seconds):  # one over a whole number would be a float
            return equal
        return np.where(seconds > 0, 1 / np.where(seconds > 0, seconds, 1), equal)

    def wire(self, src: Number, dst: Number, n: Number) -> Number:
        """Return the seconds from the end of sending ``n`` bytes to their arrival."""
        return self.latency(src, dst, n) + self.transfer(src, dst, n)

    def wiring(self) -> Wiring:
        """Return the links that messages share.

        Raises
        ------
        UnsupportedError
            If the costs have none.
        """
        return self._wiring

    @cached_property
    def _wiring(self) -> Wiring:
        if self.fabric is None:
            raise UnsupportedError("the machine has neither fair contention nor a topology")
        ports = self.placement.position % self.ports
        return Wiring(
            fabric=self.fabric,
            port=(self.placement.node * self.ports + ports).astype(np.int32),
            within=lambda sources, targets: level_of(self.levels, sources, targets),
            levels=self.levels,
            nodes=self.placement.node,
            acknowledgements=self.acknowledgements,
        )

    def _unless_signal(self, n: Number, cost: Number) -> Number:
        """Return what a message of ``n`` bytes costs: nothing where it is a signal."""
        return np.where(np.less(n, 0), cost * 0, cost) if self.signals else cost

    def _routes(self, src: Number, dst: Number) -> Any:
        sources, targets = np.broadcast_arrays(src, dst)
        return self.wiring().routes(sources.ravel(), targets.ravel())

    def _by_level(self, src: Number, dst: Number, local: Number, far: Number, field: str) -> Number:
        """Return what a field is between two ranks: of the nearest level of both, or else far."""
        if not self.levels:
            near = far if self.local_by_size else local
            return np.where(self.placement.same_node(src, dst), near, far)
        level = level_of(self.levels, src, dst)
        near = np.array([*(getattr(costs, field) for costs in self.levels), self.startup * 0])
        return np.where(level == len(self.levels), far, near[level])

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


def _near_and_far(costs: Costs, machine: Machine, seed: int) -> Costs:
    """Return costs with what a machine says by size, by level and by topology."""
    network, changes = machine.network, dict[str, Any]()
    base = SizeCosts(
        least=0,
        startup=costs.startup,
        per_byte=costs.per_byte,
        overhead=costs.overhead,
        overhead_receive=costs.overhead_receive,
    )
    if network.sizes:
        changes["sizes"] = sizes_of(network, base)
        changes["local_by_size"] = network.local is None and not network.levels
    if network.levels:
        near = costs.local_startup, costs.local_per_byte
        far = costs.startup, costs.per_byte
        changes["levels"] = levels_of(machine, costs.placement, near, far)
    if network.contention == "fair" or "topology" in machine.parts:
        bandwidth = network.bandwidth or math.inf
        changes["fabric"] = fabric_of(machine, costs.placement, bandwidth, seed)
    return attrs.evolve(costs, **changes) if changes else costs


def _paid_by_sender(costs: Costs) -> Costs:
    """Return costs whose senders are busy until each message has arrived."""
    return attrs.evolve(
        costs,
        overhead=costs.overhead + costs.startup,
        overhead_per_byte=costs.overhead_per_byte + costs.per_byte,
        startup=0.0,
        per_byte=0.0,
        local_startup=0.0,
        local_per_byte=0.0,
    )


def _stated(machine: Machine, path: str, need: Need, needs: Collection[Need]) -> float | None:
    part, field = path.split(".")
    value: float | None = getattr(getattr(machine, part), field)
    return machine.need(path, _REASONS[need]) if value is None and need in needs else value


def _inverse(rate: float | None) -> float:
    return 0.0 if rate is None else 1.0 / rate
