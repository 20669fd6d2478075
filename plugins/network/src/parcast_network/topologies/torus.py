"""Tori: nodes in a grid of any number of dimensions, each cabled to its neighbours."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import UnsupportedError
from parcast.model import Fabric, Ports
from parcast_network.description import Description
from parcast_network.topologies.cables import Bundle, cabled, port_links

#: Pairs of ports whose routes are found at a time, so that they stay near the processor.
_AT_ONCE = 8192


def torus(description: Description, ports: Ports) -> Fabric:
    """Return a torus of nodes, all ports of a node at its router.

    Node n is at ``n // prod(dims[:k]) % dims[k]`` in dimension k. Cable ``n * len(dims) + k`` goes
    from node n to the next one in dimension k, the last being next to the first.

    Raises
    ------
    UnsupportedError
        If there are more nodes than places.
    """
    dims = description.dims
    if ports.nodes > prod(dims):
        grid = " x ".join(map(str, dims))
        raise UnsupportedError(
            f"the topology, a torus of {grid}, holds {prod(dims):,} nodes and the machine has "
            f"{ports.nodes:,}"
        )
    strides = [prod(dims[:k]) for k in range(len(dims))]

    def ends(cable: int) -> tuple[str, str]:
        node, k = divmod(cable, len(dims))
        place = node // strides[k] % dims[k]
        return f"router{node}", f"router{node + ((place + 1) % dims[k] - place) * strides[k]}"

    stated = description.bandwidth
    bundle = Bundle(
        count=prod(dims) * len(dims), bandwidth=ports.bandwidth if stated is None else stated,
        latency=description.latency, ends=ends, half=description.half,
    )  # fmt: skip
    first = port_links(ports)

    def routes(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        start = (np.asarray(sources) // ports.per_node).astype(np.int32)
        goal = (np.asarray(targets) // ports.per_node).astype(np.int32)
        table = np.full((len(start), sum(size // 2 for size in dims)), -1, np.int32)
        for begin in range(0, len(start), _AT_ONCE):
            rows = slice(begin, begin + _AT_ONCE)
            _in_order(start[rows], goal[rows], table[rows])
        return table

    def _in_order(start: NDArray[Any], goal: NDArray[Any], table: NDArray[Any]) -> None:
        """Write dimension after dimension the shortest way round, of two the rising one."""
        column = np.arange(len(start)) * table.shape[1]
        at, flat = start, table.reshape(-1)
        for k, size in enumerate(dims):
            place, wanted = at // strides[k] % size, goal // strides[k] % size
            rising = (wanted - place) % size
            back = rising > size // 2
            hops = np.where(back, size - rising, rising)
            step = np.arange(size // 2, dtype=np.int32)
            sign = np.where(back, -1, 1).astype(np.int32)
            passed = (place - back)[:, None] + sign[:, None] * step
            passed %= size  # the lower end of each cable
            node = (at - place * strides[k])[:, None] + passed * np.int32(strides[k])
            link = first + bundle.link(node * np.int32(len(dims)) + k, back[:, None])
            used = step < hops[:, None]
            flat[(column[:, None] + step)[used]] = link[used]
            column = column + hops
            at = at + (wanted - place) * strides[k]

    return cabled(ports, (bundle,), routes)
