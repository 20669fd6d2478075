"""Ports around a switch that is never full, or on a bus that all messages share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.model import Fabric, Ports
from parcast_network.description import Description
from parcast_network.topologies.cables import Bundle, cabled, port_links


def star(description: Description, ports: Ports) -> Fabric:
    """Return a switch that is never full, with a cable to each port."""

    def routes(sources: NDArray[Any], _targets: NDArray[Any]) -> NDArray[Any]:
        return np.empty((len(sources), 0), np.int32)

    return cabled(ports, (), routes, latency=description.latency)


def bus(description: Description, ports: Ports) -> Fabric:
    """Return a link that all messages between ports share, both ways."""
    shared = Bundle(
        count=1, bandwidth=description.bandwidth, latency=description.latency, half=True,
        ends=lambda _: ("bus", "bus"),
    )  # fmt: skip
    number = port_links(ports)

    def routes(sources: NDArray[Any], _targets: NDArray[Any]) -> NDArray[Any]:
        return np.full((len(sources), 1), number, np.int32)

    fabric = cabled(ports, (shared,), routes)
    name = fabric.name
    return Fabric(
        capacity=fabric.capacity, latency=fabric.latency, routes=fabric.routes,
        name=lambda link: "bus" if link == number else name(link),
    )  # fmt: skip
