"""Machines: what a program runs on, in parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar

import attrs

from parcast.errors import UnsupportedError
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

    rate: Annotated[float, Unit("FLOP/s", positive=True)] | None = None
    #: Times faster, where the other cores of the node have no process
    boost: Annotated[float, Unit("1", positive=True)] = 1.0


@attrs.frozen(kw_only=True)
class NodeGroup:
    """Some nodes that differ from the others."""

    count: Count
    weight: Annotated[float, Unit("1", positive=True)] = 1.0  #: speed relative to processor.rate
    power: Annotated[float, Unit("W")] | None = None


@attrs.frozen(kw_only=True)
class Nodes:
    """The nodes; without a count those of the groups, or as many as the processes need."""

    count: Count | None = None
    cores: Count = 1
    memory_bandwidth: Bandwidth | None = None  #: of one node
    core_bandwidth: Bandwidth | None = None  #: of it, what one core can draw at most
    groups: tuple[NodeGroup, ...] = ()  #: of nodes in order; those beyond have weight 1
    oversubscribe: bool = False  #: more processes than cores share them

    @property
    def number(self) -> int | None:
        """How many nodes there are; None: as many as the processes need."""
        return self.count or sum(group.count for group in self.groups) or None


@attrs.frozen(kw_only=True)
class LocalNetwork:
    """Messages within a node; what is not stated is the network's own."""

    startup: Seconds | None = None
    bandwidth: Bandwidth | None = None


@attrs.frozen(kw_only=True)
class Network:
    """The network between processes, in LogGOPS terms."""

    startup: Seconds | None = None
    bandwidth: Bandwidth | None = None
    saturation: Bandwidth | None = None  #: total bandwidth when all send at once
    contention_level: Annotated[float, Unit("1", most=1.0)] | None = None  #: w: 0 none, 1 a bus
    contention: Literal["none", "endpoint", "bus"] | None = None
    overhead: Seconds = 0.0
    overhead_receive: Seconds | None = None  #: as ``overhead`` where not stated
    overhead_per_byte: Annotated[float, Unit("s/B")] = 0.0
    eager_limit: Annotated[float, Unit("B")] | None = None  #: unlimited where not stated
    paid_by: Literal["wire", "sender"] = "wire"
    collectives: str | None = None
    local: LocalNetwork | None = None


@attrs.frozen(kw_only=True)
class Storage:
    """Disks behind one I/O node (``bus``) or one per cluster of processes (``cluster``)."""

    layout: Literal["bus", "cluster"] = "bus"
    disks: Count = 1
    bandwidth: Bandwidth | None = None  #: of one disk
    startup: Seconds = 0.0  #: per access


@attrs.frozen(kw_only=True)
class Cost:
    """What a node costs for an hour."""

    price: Annotated[float, Unit("money/h")] | None = None
    power: Annotated[float, Unit("W")] | None = None


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
    sources: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)  #: as read
    where: str = ""  #: the file or the plugin it came from
    _needed: dict[str, float] = attrs.field(factory=dict, init=False, eq=False, repr=False)

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
        if path not in self._needed:
            part, field = path.split(".")
            value = getattr(getattr(self, part, None) or self.parts.get(part), field, None)
            if value is None:
                raise UnsupportedError(
                    f"machine {self.name!r} states no {path}, which {reason} needs"
                )
            self._needed[path] = float(value)
        return self._needed[path]

    def __str__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        from parcast.html import definition

        return definition("Machine", self.name, self.summary, self.data)
