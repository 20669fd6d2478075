"""Machines: what a program runs on, in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

import attrs

from parcast.errors import FileError, UnsupportedError
from parcast.model.accelerator import Accelerator
from parcast.quantities.formulas import Unit, Whole

Seconds = Annotated[float, Unit("s")]
Bandwidth = Annotated[float, Unit("B/s", positive=True)]
Count = Annotated[int, Whole(1)]
Part = TypeVar("Part")

#: What of a machine a program uses.
Need = Literal["compute", "messages", "io"]


@attrs.frozen(kw_only=True)
class Processor:
    """One process's processor."""

    #: of one process, while all cores of its node compute
    rate: Annotated[float, Unit("FLOP/s", positive=True)] | None = None
    #: times faster, where the other cores of the node have no process
    boost: Annotated[float, Unit("1", positive=True)] = 1.0


@attrs.frozen(kw_only=True)
class NodeGroup:
    """Some nodes that differ from the others."""

    count: Count  #: nodes of the group
    weight: Annotated[float, Unit("1", positive=True)] = 1.0  #: speed relative to processor.rate
    #: of one node of the group; as cost.power where not stated
    power: Annotated[float, Unit("W")] | None = None


@attrs.frozen(kw_only=True)
class Nodes:
    """The nodes; without a count those of the groups, or as many as the processes need."""

    count: Count | None = None  #: nodes; those of the groups, or else as many as the processes need
    cores: Count = 1  #: of one node
    memory_bandwidth: Bandwidth | None = None  #: of one node, shared by its processes
    #: what one core draws of it at most; all of it where not stated
    core_bandwidth: Bandwidth | None = None
    groups: tuple[NodeGroup, ...] = ()  #: of nodes in order; those beyond have weight 1
    oversubscribe: bool = False  #: more processes than cores share them

    @property
    def number(self) -> int | None:
        """How many nodes there are; None: as many as the processes need."""
        return self.count or sum(group.count for group in self.groups) or None


@attrs.frozen(kw_only=True)
class LocalNetwork:
    """Messages within a node; what is not stated is the network's own."""

    startup: Seconds | None = None  #: latency of a message within a node
    bandwidth: Bandwidth | None = None  #: of a message within a node


@attrs.frozen(kw_only=True)
class NetworkSize:
    """What holds for messages of at least so many bytes; what is not stated stays as it was."""

    least: Annotated[float, Unit("B")]  #: the smallest message that it holds for
    startup: Seconds | None = None  #: latency of a message
    bandwidth: Bandwidth | None = None  #: of one message without contention
    overhead: Seconds | None = None  #: of the sender, per message
    overhead_receive: Seconds | None = None  #: of the receiver, per message
    #: of the bytes that a message between nodes takes up on its links, those that it has
    efficiency: Annotated[float, Unit("1", positive=True)] | None = None
    #: how often it goes the latencies of the topology's links: 3 where a handshake goes first
    latency_factor: Annotated[float, Unit("1")] | None = None


@attrs.frozen(kw_only=True)
class NetworkLevel:
    """Processes that are nearer to each other than the network: cores of a socket or of a node."""

    name: str  #: as people say it: ``socket``
    size: Count  #: processes that are this near; cores are counted node by node
    startup: Seconds | None = None  #: latency of a message; as the network's where not stated
    bandwidth: Bandwidth | None = None  #: of one message; as the network's where not stated
    #: of all messages of the level together, where contention is ``fair``; else unlimited
    shared: Bandwidth | None = None


@attrs.frozen(kw_only=True)
class Network:
    """The network between processes, in LogGOPS terms."""

    startup: Seconds | None = None  #: latency of a message
    bandwidth: Bandwidth | None = None  #: of one message without contention
    saturation: Bandwidth | None = None  #: total bandwidth when all send at once
    #: w: the share of a transfer that queues, 0 none, 1 a bus
    contention_level: Annotated[float, Unit("1", most=1.0)] | None = None
    #: fair: messages share what they pass in max-min fair rates; else what they queue for:
    #: nothing, the ports of both nodes, or one bus
    contention: Literal["none", "fair", "endpoint", "bus"] | None = None
    overhead: Seconds = 0.0  #: of the sender, per message
    #: of the receiver, per message; as ``overhead`` where not stated
    overhead_receive: Seconds | None = None
    overhead_per_byte: Annotated[float, Unit("s/B")] = 0.0  #: of the sender
    #: call: ``overhead_receive`` is paid by each receive that is posted and each wait; message:
    #: by each receive and by a wait for every message that it completes
    overhead_by: Literal["call", "message"] = "call"
    #: larger messages wait for their receive; unlimited where not stated
    eager_limit: Annotated[float, Unit("B")] | None = None
    #: waits: the transfer of a message up to the limit begins when its receive is posted, though
    #: its sender goes on
    eager: Literal["buffered", "waits"] = "buffered"
    header: Annotated[float, Unit("B")] = 0.0  #: bytes more that a message has between nodes
    #: of each byte between nodes, as much more on the links of the way back, where contention is
    #: ``fair``
    acknowledgements: Annotated[float, Unit("1", most=1.0)] = 0.0
    #: shares of a full link go by one over the latency and so many bytes on each link of a route,
    #: where contention is ``fair``; equal where not stated
    weight_bytes: Annotated[float, Unit("B", positive=True)] | None = None
    ports: Count = 1  #: of a node; the i-th process of a node uses port i mod ports
    #: of a port in each direction, where contention is ``fair``; as ``bandwidth`` where not stated
    port_bandwidth: Bandwidth | None = None
    duplex: Literal["full", "half"] = "full"  #: half: a port sends and receives with one bandwidth
    #: sender: ``startup`` and ``bandwidth`` keep the sender busy
    paid_by: Literal["wire", "sender"] = "wire"
    #: algorithms, as ``allreduce ring, alltoall pairwise``, or a library's: ``mpich``, ``nccl``
    collectives: str | None = None
    #: bytes a second of what a process receives in a collective and adds up; at no cost where not
    #: stated
    reduction_bandwidth: Bandwidth | None = None
    #: bytes a second of what a process copies in a collective to where it sends it from; at no
    #: cost where not stated
    copy_bandwidth: Bandwidth | None = None
    #: bytes a second of the block that a process has for itself in an ``alltoall``; at no cost
    #: where not stated
    own_bandwidth: Bandwidth | None = None
    #: whether it is a cloud's, which jobs of others share unseen, or a cluster's own; unknown where
    #: not stated. Only forecasts from measured times ask: on clouds times rise oftener.
    cloud: bool | None = None
    local: LocalNetwork | None = None
    sizes: tuple[NetworkSize, ...] = ()  #: what changes with the size of messages, ascending
    levels: tuple[NetworkLevel, ...] = ()  #: of processes that are nearer, the nearest first

    def __attrs_post_init__(self) -> None:
        _check_ascending("sizes", "least", [size.least for size in self.sizes])
        _check_ascending("levels", "size", [level.size for level in self.levels])
        for near, far in pairwise(self.levels):
            if far.size % near.size:
                raise FileError(
                    f"levels: {far.name!r} of {far.size} processes cuts a {near.name!r} of "
                    f"{near.size} in two; its size must be a multiple of {near.size}"
                )


def _check_ascending(name: str, key: str, values: Sequence[float]) -> None:
    for before, after in pairwise(values):
        if after <= before:
            raise FileError(
                f"{name}: {key} = {after:g} follows {before:g}; write them in ascending order, "
                "each once"
            )


@attrs.frozen(kw_only=True)
class Storage:
    """Disks behind one I/O node (``bus``) or one per cluster of processes (``cluster``)."""

    #: one I/O node, or a disk for each group of processes
    layout: Literal["bus", "cluster"] = "bus"
    disks: Count = 1  #: how many there are
    bandwidth: Bandwidth | None = None  #: of one disk
    startup: Seconds = 0.0  #: per access
    #: processes that access a shared file for all, in collective accesses; every one where not
    #: stated
    aggregators: Count | None = None


@attrs.frozen(kw_only=True)
class Cost:
    """What a node costs for an hour."""

    price: Annotated[float, Unit("money/h")] | None = None  #: of a node
    power: Annotated[float, Unit("W")] | None = None  #: of a node in use


_reader = cache(attrgetter)  # of the number at a key path

#: What counts for a core part that a machine does not state.
_UNSTATED: Mapping[type, Any] = {
    kind: kind() for kind in (Processor, Nodes, Network, Storage, Cost)
}


@attrs.frozen(kw_only=True)
class Machine:
    """A machine: the parts its file states, and core parts with their defaults otherwise."""

    name: str
    parts: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    summary: str = ""
    source: str = ""
    year: int | None = None  #: when it came into use, or was described
    group: str = ""  #: what it is listed under: ``today``, ``storage``, ``papers``
    sources: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)  #: as read
    where: str = ""  #: the file or the plugin it came from

    @cached_property
    def processor(self) -> Processor:
        """The processor of one process."""
        return self.part("processor", Processor) or _UNSTATED[Processor]

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes."""
        return self.part("nodes", Nodes) or _UNSTATED[Nodes]

    @cached_property
    def network(self) -> Network:
        """The network between processes."""
        return self.part("network", Network) or _UNSTATED[Network]

    @cached_property
    def storage(self) -> Storage:
        """The disks."""
        return self.part("storage", Storage) or _UNSTATED[Storage]

    @cached_property
    def cost(self) -> Cost:
        """Price and power of a node."""
        return self.part("cost", Cost) or _UNSTATED[Cost]

    @cached_property
    def accelerator(self) -> Accelerator | None:
        """The accelerators of a node, if it has any."""
        return self.part("accelerator", Accelerator)

    @cached_property
    def most_processes_alike(self) -> int | None:
        """How many processes may have a core each, all of the stated speed; None: any number."""
        nodes = self.nodes
        if self.processor.boost != 1 or any(group.weight != 1 for group in nodes.groups):
            return 0
        return None if nodes.number is None else nodes.number * nodes.cores

    @cached_property
    def is_charged(self) -> bool:
        """Whether it states what a run is charged: a price, or the power of nodes."""
        powers = [group.power for group in self.nodes.groups]
        return self.cost.price is not None or self.cost.power is not None or any(powers)

    @cached_property
    def is_shared(self) -> bool:
        """Whether a part is the doing of others: it says so by ``of_others``."""
        return any(getattr(part, "of_others", False) for part in self.parts.values())

    @cached_property
    def derives_traffic(self) -> bool:
        """Whether its messages differ by more than their bytes, or share what they pass.

        Otherwise all take ``network.startup`` and their bytes at ``network.bandwidth``, and the
        machine says itself which part of that queues.
        """
        network = self.network
        near = network.local is not None and self.nodes.cores > 1
        more = network.sizes or network.levels or network.header or "topology" in self.parts
        stated = network.contention_level is not None or network.saturation is not None
        queues = network.contention == "fair" or (network.contention == "endpoint" and not stated)
        return bool(near or more or queues)

    def part(self, name: str, part: type[Part]) -> Part | None:
        """Return the part called ``name`` if the machine states it."""
        value = self.parts.get(name)
        return value if isinstance(value, part) else None

    def need(self, path: str, reason: str) -> float:
        """Return the number at ``path`` (``"network.startup"``).

        Parameters
        ----------
        path
            A part and its field.
        reason
            What needs it: ``"a workload with messages"``.

        Raises
        ------
        UnsupportedError
            If the machine does not state it.
        """
        try:
            value = _reader(path)(self)
        except AttributeError:  # no part of the core
            part, field = path.split(".")
            value = getattr(self.parts.get(part), field, None)
        if value is None:
            raise UnsupportedError(
                f"machine {self.name!r} states no {path}, which {reason} needs; state it in its "
                f"file, or try a value by --set {path}=VALUE"
            )
        return float(value)

    def __str__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        from parcast.html import definition

        return definition("Machine", self.name, self.summary, self.data)
