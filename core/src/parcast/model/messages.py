"""What messages cost by their size, by how near their processes are, and by their route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import UnsupportedError
from parcast.model.fabric import NO_LINK, Fabric, Indices, Ports, star
from parcast.model.machine import Machine, Network, NetworkLevel
from parcast.model.placement import Placement, Ranks

#: A number or an array of numbers; in tests also exact fractions.
Number = Any

#: The algorithm of collectives that switches do.
IN_NETWORK = "in-network"

#: The bytes of a message that costs nothing and passes nothing, by which processes know in
#: collectives of switches that others have come.
SIGNAL = -1.0


@attrs.frozen(kw_only=True)
class SizeCosts:
    """What holds for messages of at least ``least`` bytes, in place of the fields of `Costs`."""

    least: Number
    startup: Number
    per_byte: Number
    overhead: Number
    overhead_receive: Number
    expansion: Number = 1  #: bytes on links for each byte of a message and its header
    latency_factor: Number = 1  #: of the latencies of the topology's links


@attrs.frozen(kw_only=True, eq=False)
class LevelCosts:
    """What holds for messages between processes of one instance of a level."""

    name: str
    instance: Ranks  #: of the level, for each rank: 0, 1, ...
    startup: Number
    per_byte: Number
    shared: Number = None  #: bytes a second of all messages of an instance; None: unlimited


@attrs.frozen(kw_only=True, eq=False)
class Wiring:
    """All links that messages share: those between nodes, then those of levels."""

    fabric: Fabric
    port: Indices  #: that each rank sends and receives by
    within: Callable[[Any, Any], Any]  #: from two arrays of ranks to the index of their level
    levels: tuple[LevelCosts, ...]
    nodes: Ranks
    acknowledgements: Number = 0  #: bytes on the way back for each byte between nodes

    @cached_property
    def capacity(self) -> NDArray[Any]:
        """Bytes a second of each link."""
        own = [
            np.full(int(level.instance.max()) + 1, level.shared)
            for level in self.levels
            if level.shared is not None
        ]
        return np.concatenate([self.fabric.capacity, *own])

    @cached_property
    def latency(self) -> NDArray[Any]:
        """Seconds that each link adds to a message's latency."""
        added = len(self.capacity) - len(self.fabric.latency)
        return np.concatenate([self.fabric.latency, np.zeros(added, np.int64)])

    @cached_property
    def shared(self) -> NDArray[np.bool_]:
        """Whether the messages of each link share it; otherwise each may have all of it."""
        added = len(self.capacity) - len(self.fabric.shared)
        return np.concatenate([self.fabric.shared, np.ones(added, np.bool_)])

    def routes(self, sources: Ranks, targets: Ranks) -> Indices:
        """Return the links that messages between these ranks pass, a row each."""
        between = self.nodes[sources] != self.nodes[targets]
        rows = self.fabric.routes(self.port[sources], self.port[targets])
        rows = np.where(between[:, None], rows, NO_LINK).astype(np.int32)
        near, first = self.within(sources, targets), len(self.fabric.capacity)
        for index, level in enumerate(self.levels):
            if level.shared is None:
                continue
            links = np.where(near == index, first + level.instance[sources], NO_LINK)
            rows = np.concatenate([rows, links[:, None].astype(np.int32)], axis=1)
            first += int(level.instance.max()) + 1
        return rows

    def loads(self, sources: Ranks, targets: Ranks) -> tuple[Indices, NDArray[Any]]:
        """Return what messages between these ranks take up.

        Returns
        -------
        links : (n, hops)
            Those of each route, and those of the way back where messages are acknowledged. A link
            that carries both ways is among both.
        weights : (hops,)
            Of each column, the bytes on its links for each byte of a message.
        """
        forth = self.routes(sources, targets)
        weights = np.ones(forth.shape[1], np.int64)
        if not self.acknowledgements:
            return forth, weights
        between = self.nodes[sources] != self.nodes[targets]
        back = np.where(between[:, None], self.routes(targets, sources), NO_LINK)
        of_back = np.full(back.shape[1], self.acknowledgements)
        return np.concatenate([forth, back], axis=1), np.concatenate([weights, of_back])

    def per_byte(self, sources: Ranks, targets: Ranks) -> NDArray[Any]:
        """Return the seconds of each byte on the narrowest link, with nothing else there."""
        links, weights = self.loads(sources, targets)
        seconds, of_links = np.zeros(len(links)), 1 / self.capacity
        for column, weight in zip(links.T, weights, strict=True):
            load = weight
            if self.acknowledgements:  # a link that both ways share carries both
                both = ((links == column[:, None]) * weights).sum(axis=1)
                load = np.where(self.shared[column], both, weight)
            seconds = np.maximum(seconds, np.where(column == NO_LINK, 0, load * of_links[column]))
        return seconds

    def name(self, link: int) -> str:
        """Return the name of a link, as ``node7 out`` or ``socket 3``."""
        first = len(self.fabric.capacity)
        if link < first:
            return self.fabric.name(link)
        for level in self.levels:
            if level.shared is not None:
                count = int(level.instance.max()) + 1
                if link < first + count:
                    return f"{level.name} {link - first}"
                first += count
        raise IndexError(link)


def by_size(sizes: Sequence[SizeCosts], base: Number, field: str, n: Number) -> Number:
    """Return what a field is for messages of ``n`` bytes: ``base`` below all sizes."""
    values = np.array([base, *(getattr(size, field) for size in sizes)])
    return values[np.searchsorted([float(size.least) for size in sizes], n, side="right")]


def level_of(levels: Sequence[LevelCosts], source: Any, target: Any) -> Any:
    """Return the index of the nearest level of both ranks; ``len(levels)`` where none has both."""
    nearest: Any = np.full(np.broadcast(source, target).shape, len(levels))
    for index in reversed(range(len(levels))):
        instance = levels[index].instance
        nearest = np.where(instance[source] == instance[target], index, nearest)
    return nearest


def sizes_of(network: Network, base: SizeCosts) -> tuple[SizeCosts, ...]:
    """Return the costs from each size of a network on; what a size leaves out stays as it was."""
    sizes = []
    for size in network.sizes:
        stated = {
            "startup": size.startup,
            "per_byte": None if size.bandwidth is None else 1.0 / size.bandwidth,
            "overhead": size.overhead,
            "overhead_receive": size.overhead_receive,
            "expansion": None if size.efficiency is None else 1.0 / size.efficiency,
            "latency_factor": size.latency_factor,
        }
        changed = {name: value for name, value in stated.items() if value is not None}
        base = attrs.evolve(base, least=size.least, **changed)
        sizes.append(base)
    return tuple(sizes)


def levels_of(
    machine: Machine,
    placement: Placement,
    near: tuple[Number, Number],
    far: tuple[Number, Number],
) -> tuple[LevelCosts, ...]:
    """Return the levels of a machine, nearest first, that of a node among them.

    Parameters
    ----------
    machine, placement
        Whose levels, and where its processes are.
    near, far
        Startup and seconds per byte of messages within a node and between nodes.

    Raises
    ------
    UnsupportedError
        If a level cuts a node in two.
    """
    cores = machine.nodes.cores
    node = LevelCosts(name="node", instance=placement.node, startup=near[0], per_byte=near[1])
    levels: list[LevelCosts] = []
    for level in machine.network.levels:
        if level.size > cores and level.size % cores:
            raise UnsupportedError(
                f"machine {machine.name!r}: network.levels: {level.name!r} of {level.size} "
                f"processes cuts a node of {cores} cores in two; state a multiple of {cores}"
            )
        if level.size > cores and node not in levels:
            levels.append(node)
        startup, per_byte = far if level.size > cores else near
        levels.append(
            LevelCosts(
                name=level.name,
                instance=_instances(level, cores, placement),
                startup=startup if level.startup is None else level.startup,
                per_byte=per_byte if level.bandwidth is None else 1.0 / level.bandwidth,
                shared=level.shared,
            )
        )
    within = machine.network.levels[-1].size <= cores
    return (*levels, node) if within else tuple(levels)


def _instances(level: NetworkLevel, cores: int, placement: Placement) -> Ranks:
    if level.size > cores:
        return placement.node // (level.size // cores)
    each = -(-int(placement.position.max() + 1) // level.size)
    return placement.node * max(each, -(-cores // level.size)) + placement.position // level.size


def fabric_of(machine: Machine, placement: Placement, bandwidth: Number, seed: int) -> Fabric:
    """Return the links between the nodes of a machine: those of its topology, or of a star.

    Raises
    ------
    UnsupportedError
        If the topology cannot connect so many nodes.
    """
    network, topology = machine.network, machine.parts.get("topology")
    ports = Ports(
        nodes=placement.nodes,
        per_node=network.ports,
        bandwidth=network.port_bandwidth or bandwidth,
        half=network.duplex == "half",
        seed=seed,
    )
    return star(ports) if topology is None else topology.fabric(ports)
