"""What the network of a machine amounts to: its links by kind, its longest route, its halves."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Machine
from parcast.errors import UnsupportedError
from parcast.model import Fabric, Ports, star
from parcast_network.description import Description
from parcast_network.sharing.compiled import new_state
from parcast_network.sharing.steps.settling import settle, start
from parcast_network.topologies.cables import Indices

#: Pairs of ports among which the longest route is looked for.
_PAIRS = 200_000


@attrs.frozen
class LinkKind:
    """Links that are called alike and have the same numbers."""

    name: str  #: without numbers: ``leaf -> spine``
    count: int
    bandwidth: float  #: of each, bytes a second
    latency: float


@attrs.frozen
class Summary:
    """The network of a machine in a few numbers."""

    topology: str
    ports: Ports
    room: int | None  #: ports that it could have
    kinds: tuple[LinkKind, ...]
    hops: int  #: links of the longest route
    latency: float  #: of the longest, seconds
    halves: float  #: bytes a second from the first half of the ports to the second


def network_of(machine: Machine) -> tuple[Description, Ports, Fabric]:
    """Return what a machine says of its topology, its ports, and the links between them.

    Raises
    ------
    UnsupportedError
        If neither the machine nor its topology says how many nodes there are, or the topology
        does not hold them.
    """
    network = machine.network
    topology = machine.part("topology", Description) or Description()
    room = topology.capacity
    nodes = machine.nodes.number or (room and room // network.ports)
    if not nodes:
        raise UnsupportedError(
            f"machine {machine.name!r} does not state how many nodes it has: nodes.count"
        )
    ports = Ports(
        nodes=nodes,
        per_node=network.ports,
        bandwidth=network.port_bandwidth or network.bandwidth or np.inf,
        half=network.duplex == "half",
    )
    fabric = topology.fabric(ports) if machine.part("topology", Description) else star(ports)
    return topology, ports, fabric


def summary(machine: Machine) -> Summary:
    """Return the network of a machine in a few numbers."""
    topology, ports, fabric = network_of(machine)
    draw = np.random.default_rng(0)
    sources, steps = np.arange(ports.count), draw.integers(1, max(ports.count, 2), _PAIRS)
    if ports.count**2 <= _PAIRS:
        sources, targets = np.divmod(np.arange(ports.count**2), ports.count)
    else:
        sources = np.resize(sources, _PAIRS)
        targets = (sources + steps) % ports.count
    apart = sources // ports.per_node != targets // ports.per_node
    routes = fabric.routes(sources[apart], targets[apart])
    many = len(routes) > 0
    return Summary(
        topology=topology.kind,
        ports=ports,
        room=topology.capacity,
        kinds=_kinds(fabric),
        hops=int((routes >= 0).sum(axis=1).max()) if many else 0,
        latency=float(latencies(fabric, routes).max()) if many else 0.0,
        halves=_halves(ports, fabric),
    )


def latencies(fabric: Fabric, routes: Indices) -> NDArray[Any]:
    """Return the seconds that the links of each route add to ``network.startup``."""
    seconds: NDArray[Any] = np.where(routes < 0, 0.0, fabric.latency[routes])
    return np.asarray(seconds.sum(axis=1))


def _kinds(fabric: Fabric) -> tuple[LinkKind, ...]:
    numbers = zip(fabric.capacity.tolist(), fabric.latency.tolist(), strict=True)
    kinds = Counter(
        (re.sub(r"\d+", "", fabric.name(link)).replace(" cable", ""), *pair)
        for link, pair in enumerate(numbers)
    )
    return tuple(
        LinkKind(name, count, bandwidth, latency)
        for (name, bandwidth, latency), count in kinds.items()
    )


def _halves(ports: Ports, fabric: Fabric) -> float:
    """Return the rates of all messages from port i to port i + n/2, all at once."""
    half = ports.count // 2
    if half == 0 or not np.isfinite(fabric.capacity).any():
        return float("inf") if half else 0.0
    ports_of_half = np.arange(half, dtype=np.int32)
    routes = fabric.routes(ports_of_half, ports_of_half + np.int32(half))
    state = new_state(fabric.capacity, fabric.shared, flows=half, hops=routes.shape[1])
    for flow, route in enumerate(routes):
        start(state, flow, 0.0, route, np.ones(len(route)), 1.0, np.inf, 1.0)
    settle(state, 0.0)
    return float(state.flow.rate.sum())
