"""Graphs: any switches and cables, and the shortest routes over them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, UnsupportedError
from parcast.model import Fabric, Ports
from parcast_network.description import Cable, Description
from parcast_network.readers import slurm
from parcast_network.topologies.cables import Bundle, cabled, first_links

_NODE = re.compile(r"node(\d+)")


@attrs.frozen
class Wiring:
    """The vertices of a graph, nodes first, and its cables as pairs of them."""

    names: tuple[str, ...]  #: of all vertices
    nodes: int
    cables: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, links: Sequence[Cable]) -> Wiring:
        """Return the wiring of cables: ``node3`` is a node, anything else a switch.

        Raises
        ------
        FileError
            If a node is missing, or the graph is in two pieces.
        """
        vertices = dict.fromkeys(name for link in links for name in link.ends)
        numbers = sorted(int(match[1]) for name in vertices if (match := _NODE.fullmatch(name)))
        for expected, number in enumerate(numbers):
            if number != expected:
                raise FileError(f"the graph has node{number} and no node{expected}")
        names = [f"node{number}" for number in numbers]
        names += [name for name in vertices if not _NODE.fullmatch(name)]
        vertex = {name: number for number, name in enumerate(names)}
        cables = tuple((vertex[link.ends[0]], vertex[link.ends[1]]) for link in links)
        wiring = cls(tuple(names), len(numbers), cables)
        wiring.check_connected()
        return wiring

    def check_connected(self) -> None:
        """Refuse a graph in two pieces."""
        if not self.nodes:
            raise FileError("the graph has no nodes; call them node0, node1, ...")
        lost = np.flatnonzero(self.distances(0) < 0)
        if len(lost):
            raise FileError(
                "the graph of the topology is in two pieces: no cable leads from node0 to "
                f"{self.names[lost[0]]}; add one between the pieces"
            )

    def distances(self, goal: int) -> NDArray[np.int32]:
        """Return how many cables each vertex is from one of them; -1 where none lead there."""
        pairs = np.array(self.cables)
        far = np.full(len(self.names), -1, np.int32)
        far[goal], hops = 0, 0
        while True:
            ends = np.concatenate(
                [pairs[far[pairs[:, 0]] == hops, 1], pairs[far[pairs[:, 1]] == hops, 0]]
            )
            ends = ends[far[ends] < 0]
            if not len(ends):
                return far
            hops += 1
            far[ends] = hops

    def towards(self, goal: int) -> NDArray[np.int64]:
        """Return from each vertex the way to one of them: twice the cable, plus 1 against it.

        Of several shortest ways it is the one over the cable that is stated first.
        """
        far, pairs = self.distances(goal), np.array(self.cables)
        ways = np.full(len(self.names), -1, np.int64)
        for way in (1, 0):
            ends = np.flatnonzero(far[pairs[:, way]] == far[pairs[:, 1 - way]] + 1)[::-1]
            chosen = np.full(len(self.names), -1, np.int64)
            chosen[pairs[ends, way]] = 2 * ends + way
            better = (chosen >= 0) & ((ways < 0) | (chosen < ways))
            ways[better] = chosen[better]
        return ways


def graph(description: Description, ports: Ports) -> Fabric:
    """Return the fabric of any cables; each route is the shortest, in cables.

    Raises
    ------
    FileError
        If the cables make no graph, or the file has none.
    UnsupportedError
        If there are more nodes than the graph has.
    """
    path = Path(str(description.file))
    if path.suffix.lower() == ".xml":
        from parcast_network.topologies.platform import platform_fabric

        return platform_fabric(path, ports)
    if not description.links and path.suffix.lower() != ".conf":
        raise FileError(f"{path}: a graph is read from Slurm's .conf or from a platform's .xml")
    links = description.links or slurm.cables(path)
    wiring = Wiring.of(links)
    if ports.nodes > wiring.nodes:
        raise UnsupportedError(
            f"the topology, a graph, has {wiring.nodes:,} nodes and the machine has {ports.nodes:,}"
        )
    bundles = [_bundle(description, ports, links, wiring, half) for half in (False, True)]
    firsts = first_links(ports, bundles)
    cable_link = _links_of_cables(description, links, firsts)
    ways: dict[int, NDArray[np.int64]] = {}

    def routes(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        at = np.asarray(sources) // ports.per_node
        goals = np.asarray(targets) // ports.per_node
        pairs = np.array(wiring.cables)
        distinct, inverse = np.unique(goals, return_inverse=True)
        for goal in distinct.tolist():
            if goal not in ways:
                ways[goal] = wiring.towards(goal)
        tables = np.array([ways[goal] for goal in distinct.tolist()], np.int64)
        columns = []
        while (moving := at != goals).any():
            way = np.where(moving, tables[inverse, at], 0)
            columns.append(np.where(moving, cable_link[way], -1))
            at = np.where(moving, pairs[way // 2, 1 - way % 2], at)
        return np.stack(columns, axis=1) if columns else np.empty((len(at), 0), np.int32)

    return cabled(ports, bundles, routes)


def _is_half(description: Description, link: Cable) -> bool:
    return description.half or link.duplex == "half"


def _links_of_cables(
    description: Description, links: Sequence[Cable], firsts: Sequence[int]
) -> NDArray[np.int64]:
    """Return the link of each cable there and back."""
    half = np.array([_is_half(description, link) for link in links])
    number = np.where(half, firsts[1] + np.cumsum(half) - 1, firsts[0] + 2 * (np.cumsum(~half) - 1))
    return np.stack([number, number + ~half], axis=1).ravel()


def _bundle(
    description: Description, ports: Ports, links: Sequence[Cable], wiring: Wiring, half: bool
) -> Bundle:
    """Return the cables that carry both ways together, or those that do not."""
    chosen = [i for i, link in enumerate(links) if _is_half(description, link) == half]
    usual = ports.bandwidth if description.bandwidth is None else description.bandwidth

    def ends(cable: int) -> tuple[str, str]:
        start, to = wiring.cables[chosen[cable]]
        return wiring.names[start], wiring.names[to]

    def column(name: str, default: Any) -> NDArray[Any]:
        stated = [getattr(links[i], name) for i in chosen]
        return np.array([default if value is None else value for value in stated])

    return Bundle(
        count=len(chosen),
        bandwidth=column("bandwidth", usual),
        latency=column("latency", description.latency),
        shared=np.array([links[i].shared for i in chosen], np.bool_),
        ends=ends,
        half=half,
    )
