"""The network of a machine as text, and as a graph that Graphviz draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from parcast.errors import ParcastError
from parcast.files import digraph, quoted
from parcast.model import Fabric, Ports
from parcast.quantities import format_seconds
from parcast_network.summary import Summary
from parcast_network.topologies.cables import Indices

#: Cables of the largest network that is drawn: more make no picture.
_MOST = 3000

#: From idle to full, and what stands for no figure.
_HEAT = ((0.9, "#b03a2e"), (0.6, "#ffd24d"), (0.0, "#58b894"))
_COLD = "#666666"


def sentences(name: str, facts: Summary) -> list[str]:
    """Return what stands above and below the table of links."""
    ports = facts.ports
    of = "" if facts.room in (None, ports.count) else f" of the {facts.room:,} that it holds"
    each = "" if ports.per_node == 1 else f", {ports.per_node} ports each"
    full = ports.count // 2 * float(ports.bandwidth)
    share = f", {facts.halves / full:.0%} of what they can send" if 0 < full < np.inf else ""
    return [
        f"{name}: {facts.topology}, {ports.nodes:,} nodes{each}{of}",
        f"longest route: {facts.hops} links, {format_seconds(facts.latency)}",
        f"first half of the ports to the second: {bandwidth_text(facts.halves)}{share}",
    ]


def rows(facts: Summary) -> list[list[str]]:
    """Return the table of links: kind, number, bandwidth of each and of all, latency."""
    return [
        [
            kind.name,
            f"{kind.count:,}",
            bandwidth_text(kind.bandwidth),
            bandwidth_text(kind.bandwidth * kind.count),
            format_seconds(kind.latency),
        ]
        for kind in facts.kinds
    ]


def bandwidth_text(value: float) -> str:
    """Return bytes a second as people read them."""
    if value == np.inf:
        return "unlimited"
    for factor, unit in (
        (1e15, "PB/s"),
        (1e12, "TB/s"),
        (1e9, "GB/s"),
        (1e6, "MB/s"),
        (1e3, "kB/s"),
    ):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} B/s"


def dot(name: str, ports: Ports, fabric: Fabric, hot: Mapping[str, float] | None = None) -> str:
    """Return the graph of switches and cables in Graphviz's language, nodes by their switch.

    Parameters
    ----------
    name
        Of the graph.
    ports, fabric
        The network.
    hot
        How busy links are by their names, 0 to 1: cables have the color of the busier way.

    Raises
    ------
    ParcastError
        If there are too many cables for a picture.
    """
    heat = dict(hot or {})
    cables: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    first = ports.count * (1 if ports.half else 2)
    for link in range(first, len(fabric.capacity)):
        text = fabric.name(link)
        ends = text.replace("<->", "->").split(" -> ")
        if len(ends) == 2:
            low, high = (_switch(end) for end in ends)
            cables[min(low, high), max(low, high)].append(heat.get(text))
    if len(cables) > _MOST:
        raise ParcastError(
            f"the network has {len(cables):,} pairs of switches with cables, and a picture up to "
            f"{_MOST:,}; state fewer nodes (nodes.count)"
        )
    statements = ["rankdir=BT; node [shape=box];"]
    for switch, nodes in _plugged(ports, fabric).items():
        label = f"{switch}\n{_ranges(nodes)}"
        busiest = [heat.get(f"node{node} {way}") for node in nodes for way in ("out", "in")]
        color = _color(busiest)
        statements.append(f"{quoted(switch)} [label={quoted(label)}, color={quoted(color)}];")
    for (low, high), values in cables.items():
        color = _color(values)
        width = 2 if color != _COLD else 1
        statements.append(
            f"{quoted(low)} -> {quoted(high)} [dir=none, color={quoted(color)}, penwidth={width}];"
        )
    return digraph(name, statements)


def _switch(end: str) -> str:
    """Return the switch at the end of a cable, without the number of the cable."""
    return end.partition(" cable")[0]


def _plugged(ports: Ports, fabric: Fabric) -> Mapping[str, list[int]]:
    """Return the nodes at each switch, by the first link of a route behind the port's own."""
    sources = np.arange(0, ports.count, ports.per_node, dtype=np.int32)
    targets: Indices = (sources + ports.count // 2 // ports.per_node * ports.per_node) % np.int32(
        ports.count
    )
    plugged: dict[str, list[int]] = defaultdict(list)
    for node, route in enumerate(fabric.routes(sources, targets)):
        between = [int(link) for link in route[1:] if link >= 0][:-1]
        first = fabric.name(between[0]) if between else "switch"
        ends = first.replace("<->", "->").split(" -> ")
        plugged[_switch(ends[0])].append(node)
    return plugged


def _ranges(nodes: list[int]) -> str:
    if len(nodes) > 1 and nodes[-1] - nodes[0] == len(nodes) - 1:
        return f"node{nodes[0]} to node{nodes[-1]}"
    shown = ", ".join(f"node{node}" for node in nodes[:4])
    return shown if len(nodes) <= 4 else f"{shown} and {len(nodes) - 4} more"


def _color(values: list[float | None]) -> str:
    stated = [value for value in values if value is not None]
    if not stated:
        return _COLD
    return next(color for least, color in _HEAT if max(stated) >= least)
