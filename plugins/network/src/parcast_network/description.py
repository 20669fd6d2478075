"""The part ``topology`` of machines: what it may say, and what each kind needs of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import attrs
from cattrs.gen import override

from parcast.errors import FileError, UnsupportedError
from parcast.model import Bandwidth, Count, Fabric, Ports, Seconds
from parcast.plugins import load
from parcast.quantities import Unit, parse_quantity, to_base


def _levels(unit: Unit) -> Any:
    """Return what reads a number, or a list with a number for each level."""

    def read(value: object, _kind: Any) -> Any:
        if isinstance(value, list | tuple):
            if not value:
                raise FileError("an empty list; write a number for each level")
            return tuple(number(item) for item in value)
        return number(value)

    def number(value: object) -> float:
        if isinstance(value, str) and parse_quantity(value).spread:
            raise FileError(f"{value!r} is uncertain; a topology takes certain numbers")
        return unit.check(to_base(value, unit.dimension), value)

    return override(struct_hook=read)


Bandwidths = Annotated[
    Bandwidth | tuple[Bandwidth, ...] | None, _levels(Unit("B/s", positive=True))
]
Latencies = Annotated[Seconds | tuple[Seconds, ...], _levels(Unit("s"))]


@attrs.frozen(kw_only=True)
class Cable:
    """A cable of a graph, between two switches or nodes."""

    #: what it joins: nodes, ``node0`` and up, and switches, which have any other names
    ends: tuple[str, ...]
    bandwidth: Bandwidth | None = None  #: each way; the topology's where not stated
    latency: Seconds | None = None  #: the topology's where not stated
    duplex: Literal["full", "half"] = "full"  #: half: both ways together have the bandwidth
    #: false: each message may have all of the bandwidth
    shared: bool = True

    def __attrs_post_init__(self) -> None:
        """Refuse what does not join two."""
        if len(self.ends) != 2 or self.ends[0] == self.ends[1]:
            raise FileError(f"ends = {list(self.ends)}: a cable has two different ends")


#: What each kind needs, and what it may have besides.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "star": ((), ("latency",)),
    "bus": (("bandwidth",), ("latency",)),
    "fat-tree": (("down", "up"), ("cables", "bandwidth", "latency", "half")),
    "torus": (("dims",), ("bandwidth", "latency", "half")),
    "dragonfly": (
        ("groups", "routers", "nodes"),
        ("bandwidth", "latency", "global_bandwidth", "global_latency", "half"),
    ),
    "rails": ((), ("down", "up", "cables", "bandwidth", "latency", "half")),
    "graph": ((), ("links", "file", "bandwidth", "latency", "half")),
}

#: How a kind finds its routes; the first is the default.
_ROUTING: Mapping[str, tuple[str, ...]] = {
    "fat-tree": ("d-mod-k", "ecmp"),
    "rails": ("d-mod-k", "ecmp"),
    "torus": ("dimension-order",),
    "dragonfly": ("minimal",),
    "graph": ("shortest",),
}


#: What a kind holds more ports by.
_HOLDING: Mapping[str, tuple[str, ...]] = {
    "fat-tree": ("topology.down",),
    "dragonfly": ("topology.groups", "routers", "nodes"),
}


#: Where the function is that makes the fabric of a kind.
_MAKERS: Mapping[str, str] = {
    "star": "parcast_network.topologies.star:star",
    "bus": "parcast_network.topologies.star:bus",
    "fat-tree": "parcast_network.topologies.fat_tree:fat_tree",
    "torus": "parcast_network.topologies.torus:torus",
    "dragonfly": "parcast_network.topologies.dragonfly:dragonfly",
    "rails": "parcast_network.topologies.rails:rails",
    "graph": "parcast_network.topologies.graph:graph",
}


@attrs.frozen(kw_only=True)
class Description:
    """What connects the ports of nodes; each port has a link out and a link in of its own."""

    #: how switches and cables are laid out
    kind: Literal["star", "bus", "fat-tree", "torus", "dragonfly", "rails", "graph"] = "star"
    down: tuple[Count, ...] = ()  #: fat-tree, per level from the nodes up: how many are below
    up: tuple[Count, ...] = ()  #: fat-tree, per level: how many switches above each below
    cables: tuple[Count, ...] = ()  #: fat-tree, per level: how many side by side; one
    dims: tuple[Count, ...] = ()  #: torus: nodes in each dimension
    groups: Count | None = None  #: dragonfly: how many
    routers: Count | None = None  #: dragonfly: of a group
    nodes: Count | None = None  #: dragonfly: ports at a router
    bandwidth: Bandwidths = None  #: of a cable between switches, or per level from the nodes up
    latency: Latencies = 0.0  #: of a cable, added to ``network.startup``; or per level
    global_bandwidth: Bandwidth | None = None  #: dragonfly: of a cable between groups
    global_latency: Seconds | None = None  #: dragonfly: of a cable between groups
    half: bool = False  #: a cable carries both ways with one bandwidth
    #: d-mod-k or ecmp in a fat-tree; the other kinds have one each
    routing: Literal["d-mod-k", "ecmp", "dimension-order", "minimal", "shortest"] | None = None
    links: tuple[Cable, ...] = ()  #: graph: its cables
    #: graph: a ``topology.conf`` of Slurm or a platform of SimGrid, from the working directory
    file: str | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse what is missing, and what another kind has."""
        needed, allowed = _KEYS[self.kind]
        for field in attrs.fields(type(self)):
            if getattr(self, field.name) == field.default or field.name in {"kind", "routing"}:
                continue
            if field.name not in needed + allowed:
                keys = ", ".join((*needed, *allowed))
                raise FileError(f"a {self.kind} has no {field.name!r}; it takes {keys}")
        for name in needed:
            if not getattr(self, name):
                raise FileError(f"a {self.kind} needs {name!r}")
        rules = _ROUTING.get(self.kind, ())
        if self.routing is not None and self.routing not in rules:
            choices = " or ".join(map(repr, rules)) or "no choice of routing"
            raise FileError(f"routing = {self.routing!r}: a {self.kind} has {choices}")
        self._check_levels()
        if self.kind == "graph" and bool(self.links) == (self.file is not None):
            raise FileError("a graph has either 'file' or [[topology.links]]")

    def _check_levels(self) -> None:
        levels = len(self.down)
        for name in ("up", "cables"):
            values = getattr(self, name)
            if values and len(values) != levels:
                raise FileError(f"down has {levels} levels and {name} {len(values)}")
        if self.kind == "rails" and not levels and self.bandwidth is not None:
            raise FileError(
                "rails without 'down' have no cables but those of the ports; state their bandwidth "
                "as network.port_bandwidth"
            )
        if bool(self.down) != bool(self.up):
            raise FileError("a fat-tree in rails needs both 'down' and 'up'")
        if levels and (self.up[0] != 1 or self.cables[:1] not in {(), (1,)}):
            lowest = f"up = {list(self.up)}, cables = {list(self.cables or (1,) * levels)}"
            raise FileError(
                f"{lowest}: a port has one cable to one switch, so both begin with 1; up = [1, 18] "
                "gives each switch of the first level 18 above it"
            )
        for name in ("bandwidth", "latency"):
            values = getattr(self, name)
            if isinstance(values, tuple) and len(values) != levels:
                of = f"{levels} levels" if levels else "no levels"
                raise FileError(f"{name} has {len(values)} numbers, but a {self.kind} {of}")

    def at_level(self, name: str, level: int) -> Any:
        """Return the bandwidth or latency at a level; None where it is not stated.

        A number is the latency at every level, and the bandwidth at all but the lowest, where the
        cables are the ports' own.
        """
        value = getattr(self, name)
        if isinstance(value, tuple):
            return value[level]
        return None if level == 0 and name == "bandwidth" else value

    def fabric(self, ports: Ports) -> Fabric:
        """Return the links between ports, and their routes.

        Raises
        ------
        UnsupportedError
            If it cannot connect so many, naming how many it can.
        FileError
            If the graph's file is none.
        """
        capacity = self.capacity
        if capacity is not None and ports.count > capacity:
            raise UnsupportedError(
                f"the topology, a {self.kind}, holds {capacity:,} ports and the machine has "
                f"{ports.count:,}: {ports.nodes:,} nodes with {ports.per_node} each; state more of "
                f"{' or '.join(_HOLDING[self.kind])}, or fewer nodes"
            )
        make: Callable[[Description, Ports], Fabric] = load(_MAKERS[self.kind])
        return make(self, ports)

    @property
    def is_tree(self) -> bool:
        """Whether each switch has nodes in a row below it, and some switch has all."""
        return self.kind in {"star", "fat-tree", "rails"}

    @property
    def capacity(self) -> int | None:
        """How many ports it holds; None: any number, or as its graph says."""
        from math import prod

        match self.kind:
            case "fat-tree":
                return prod(self.down)
            case "dragonfly":
                return (self.groups or 1) * (self.routers or 1) * (self.nodes or 1)
        return None
