"""The fabric: the links between nodes, and which of them a message passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

#: Numbers of links or of ports.
Indices = NDArray[np.int32]

#: What stands behind the last link of a route that is shorter than others.
NO_LINK = -1


@attrs.frozen(kw_only=True)
class Ports:
    """The ports of nodes, which a topology connects.

    Port j of node i has the number ``i * per_node + j``.
    """

    nodes: int
    per_node: int = 1
    bandwidth: Any = np.inf  #: bytes a second that a port takes, in each direction
    half: bool = False  #: a port sends and receives with one bandwidth
    seed: int = 0  #: of routes that are chosen at random

    @property
    def count(self) -> int:
        """How many ports there are."""
        return self.nodes * self.per_node


@attrs.frozen(kw_only=True, eq=False)
class Fabric:
    """Links with their capacities, and the route from each port to each other one.

    Numbers are floats, or exact fractions in arrays of objects.
    """

    capacity: NDArray[Any]  #: of each link, bytes a second
    latency: NDArray[Any]  #: of each link, seconds, beside ``network.startup``
    #: from arrays of ports that send and of ports that receive to an array of links, with a row
    #: for each pair in the order of its route, filled up with `NO_LINK`
    routes: Callable[[Indices, Indices], Indices]
    name: Callable[[int], str]  #: of a link, as people say it: ``node7 out``, ``leaf3 -> spine1``
    #: of each link, whether its messages share the capacity; otherwise each may have all of it
    shared: NDArray[np.bool_] = attrs.field(
        default=attrs.Factory(lambda self: np.ones(len(self.capacity), np.bool_), takes_self=True)
    )


class Topology(Protocol):
    """What connects the nodes of a machine: the part ``topology``, which a plugin adds."""

    @property
    def is_tree(self) -> bool:
        """Whether each switch has nodes in a row below it, and some switch has all."""

    def fabric(self, ports: Ports) -> Fabric:
        """Return the links between these ports.

        Raises
        ------
        UnsupportedError
            If it cannot connect so many.
        """


def star(ports: Ports) -> Fabric:
    """Return ports around one switch that is never full: a link out and a link in for each."""
    count, width = ports.count, 1 if ports.half else 2

    def routes(sources: Indices, targets: Indices) -> Indices:
        inward = targets * width + (width - 1)
        return np.stack([sources * width, inward], axis=-1).astype(np.int32)

    return Fabric(
        capacity=np.full(count * width, ports.bandwidth),
        latency=np.zeros(count * width),
        routes=routes,
        name=lambda link: port_name(ports, link),
    )


def port_name(ports: Ports, link: int) -> str:
    """Return the name of a port's link, of those that `star` has, as ``node7 out``."""
    port, inward = (link, False) if ports.half else divmod(link, 2)
    node, number = divmod(port, ports.per_node)
    name = f"node{node}" if ports.per_node == 1 else f"node{node} port{number}"
    return f"{name} {'port' if ports.half else 'in' if inward else 'out'}"
