"""Borders in a network: all links out of the first processes, which share what leaves these.

Whatever its routes are, a message from one of the first D processes to another one passes a link
out of the node, the leaf switch or the group that holds them. Of regular messages, as many leave:

- where each process sends to the one s further on: ``min(D, P - s) - max(0, D - s)``, and none if
  that is less;
- where each sends to each other one: ``D (P - D)``.
"""

from __future__ import annotations

from math import prod
from typing import Any

import attrs
import numpy as np

from parcast.model import Costs, Machine
from parcast.quantities import Call, Expr, Name, Num

_SIZE, _RANK = Name("size"), Name("rank")


@attrs.frozen
class Border:
    """The links that join the first processes to all others."""

    name: str  #: of the resource, and with a word behind it of its numbers
    ranks: int
    per_byte: float  #: seconds of all links out together
    ways: int = 1  #: 2 where a link carries both

    def values(self) -> dict[str, float]:
        """Return the numbers of the model, by name."""
        return {f"{self.name}_ranks": self.ranks, f"{self.name}_per_byte": self.per_byte}

    def shifted(self, by: Expr) -> Expr:
        """Return how many messages leave where each process sends to the one ``by`` further on."""
        first = Name(f"${self.name}_ranks")
        sending = Call("min", (first, Call("-", (_SIZE, by))))
        staying = Call("max", (Num(0), Call("-", (first, by))))
        return self._of_ways(Call("max", (Num(0), Call("-", (sending, staying)))))

    def exchanged(self) -> Expr:
        """Return how many messages leave where each process sends to each other one."""
        first = Name(f"${self.name}_ranks")
        others = Call("max", (Num(0), Call("-", (_SIZE, first))))
        return self._of_ways(Call("*", (first, others)))

    def _of_ways(self, messages: Expr) -> Expr:
        return messages if self.ways == 1 else Call("*", (Num(self.ways), messages))


def shift_of(dst: Expr) -> Expr | None:
    """Return by how much ``(rank + by) % size`` or ``(rank - by) % size`` is shifted, else None.

    As many messages leave the first processes in either direction.
    """
    match dst:
        case Call(f="%", args=(Call(f="+", args=(left, right)), size)) if size == _SIZE:
            return right if left == _RANK else left if right == _RANK else None
        case Call(f="%", args=(Call(f="-", args=(left, right)), size)) if size == _SIZE:
            return right if left == _RANK else None
    return None


def kind_of(machine: Machine) -> str:
    """Return the kind of a machine's topology: a star without; empty where it says none."""
    topology = machine.parts.get("topology")
    return "star" if topology is None else getattr(topology, "kind", "")


def borders_of(costs: Costs, machine: Machine) -> tuple[Border, ...]:
    """Return the borders where contention is fair and nodes are filled one after another.

    Those are of the first node where it has several processes, of the first subtree at each level
    of a fat-tree, of the first group of a dragonfly, and in each dimension of a torus of the nodes
    at its first place and of those in its first half.
    """
    cores, ranks = machine.nodes.cores, np.arange(len(costs.placement.node))
    if costs.contention != "fair" or not np.array_equal(costs.placement.node, ranks // cores):
        return ()
    assert costs.fabric is not None
    port = float(costs.fabric.capacity[0])
    topology: Any = machine.parts.get("topology")
    kind = kind_of(machine)
    ways = 2 if machine.network.duplex == "half" else 1
    borders = [Border("node", cores, 1 / (costs.ports * port), ways)] if cores > 1 else []
    around: list[tuple[str, int, int, float]] = []
    if kind == "torus":
        around = _of_torus(topology, costs.ports, port)
    elif kind in {"fat-tree", "dragonfly"}:
        around = _of_switches(topology, kind, port)
    for name, ports, links, bandwidth in around:
        if ports % costs.ports == 0:
            ways = 2 if topology.half else 1
            first = ports // costs.ports * cores
            borders.append(Border(name, first, 1 / (links * bandwidth), ways))
    return tuple(borders)


def _of_switches(topology: Any, kind: str, port: float) -> list[tuple[str, int, int, float]]:
    """Return the name, ports, links out and bandwidth of what has a border."""
    if kind == "dragonfly":
        bandwidth = topology.global_bandwidth or topology.bandwidth or port
        ports = topology.routers * topology.nodes
        return [("group", ports, topology.groups - 1, bandwidth)] if topology.groups > 1 else []
    cables = topology.cables or (1,) * len(topology.down)
    return [
        (
            f"subtree{level}",
            prod(topology.down[:level]),
            prod(topology.up[: level + 1]) * cables[level],
            topology.at_level("bandwidth", level) or port,
        )
        for level in range(1, len(topology.down))
    ]


def _of_torus(topology: Any, ports: int, port: float) -> list[tuple[str, int, int, float]]:
    """Return the same of the nodes at the first places of each dimension, and 0 of those above."""
    dims, bandwidth = topology.dims, topology.bandwidth or port
    # of a ring of two, messages pass each cable one way
    faces = [0 if size == 1 else 1 if size == 2 and not topology.half else 2 for size in dims]
    around = []
    for k, size in enumerate(dims):
        below = prod(dims[:k])
        for name, places in ((f"row{k}", 1), (f"half{k}", size // 2)):
            nodes = places * below
            links = faces[k] * below + sum(faces[k + 1 :]) * nodes
            if places < size and (places > 1 or name == f"row{k}"):
                around.append((name, nodes * ports, links, bandwidth))
    return around
