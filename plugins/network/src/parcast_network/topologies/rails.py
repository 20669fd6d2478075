"""Rails: every port of a node on a network of its first, all alike."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Fabric, Ports, port_name
from parcast_network.description import Description
from parcast_network.topologies.cables import port_links


def rails(description: Description, ports: Ports) -> Fabric:
    """Return planes, each a star or a fat-tree, of which port j of every node is on plane j.

    A message stays on its sender's rail, and arrives at the receiver's port of that number.
    """
    kind: Literal["fat-tree", "star"] = "fat-tree" if description.down else "star"
    count, first = ports.per_node, port_links(ports)
    planes = [
        attrs.evolve(description, kind=kind).fabric(
            attrs.evolve(ports, per_node=1, seed=ports.seed + number)
        )
        for number in range(count)
    ]
    plane_ports = first // count
    cables = len(planes[0].capacity) - plane_ports
    width = 1 if ports.half else 2

    def routes(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        rail = np.asarray(sources) % count
        start, goal = np.asarray(sources) // count, np.asarray(targets) // count
        table = np.empty((len(start), planes[0].routes(start[:1], goal[:1]).shape[1]), np.int32)
        for number, plane in enumerate(planes):
            rows = rail == number
            links = plane.routes(start[rows], goal[rows])
            port, way = np.divmod(links, width)
            at_port = (port * count + number) * width + way
            moved = np.where(
                links < plane_ports, at_port, links - plane_ports + first + number * cables
            )
            table[rows] = np.where(links < 0, -1, moved)
        return table

    def name(link: int) -> str:
        if link < first:
            return port_name(ports, link)
        number, cable = divmod(link - first, cables)
        return f"rail{number} {planes[number].name(cable + plane_ports)}"

    def column(values: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([np.repeat(values[:1], first), np.tile(values[plane_ports:], count)])

    return Fabric(
        capacity=column(planes[0].capacity),
        latency=column(planes[0].latency),
        routes=routes,
        name=name,
    )
