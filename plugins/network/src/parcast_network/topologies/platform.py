"""Platforms of SimGrid as fabrics: its links, and the routes that it states or finds."""

from __future__ import annotations

import heapq
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, UnsupportedError
from parcast.files import structure
from parcast.model import Fabric, Ports
from parcast_network.description import Description
from parcast_network.readers.simgrid import Cluster, Platform, Step, read_platform
from parcast_network.topologies.cables import Bundle, cabled, first_links


def platform_fabric(path: Path, ports: Ports) -> Fabric:
    """Return the fabric of a platform's file; nodes are its hosts, in the order of the file.

    Raises
    ------
    FileError
        If it is none.
    UnsupportedError
        If it has fewer hosts than the machine has nodes.
    """
    platform = read_platform(path)
    hosts = platform.hosts if isinstance(platform, Cluster) else len(platform.hosts)
    if ports.nodes > hosts:
        raise UnsupportedError(f"{path} has {hosts:,} hosts and the machine {ports.nodes:,} nodes")
    if isinstance(platform, Cluster):
        return _cluster_fabric(platform, path, ports)
    names = [link.name for link in platform.links]
    kinds = [link.policy == "SPLITDUPLEX" for link in platform.links]
    bundles = [_bundle(platform, split) for split in (True, False)]
    firsts = first_links(ports, bundles)
    place = {
        name: sum(kinds[:i]) if kinds[i] else i - sum(kinds[:i]) for i, name in enumerate(names)
    }
    split_links = {name for name, split in zip(names, kinds, strict=True) if split}

    def number(name: str, way: int) -> int:
        if name in split_links:
            return firsts[0] + 2 * place[name] + way
        return firsts[1] + place[name]

    steps: dict[str, list[Step]] = defaultdict(list)
    for step in platform.steps:
        steps[step.start].append(step)

    @cache
    def route(start: int, goal: int) -> list[int]:
        passed = _route(platform, steps, platform.hosts[start], platform.hosts[goal])
        return [number(name, way) for name, way in passed]

    def routes(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        pairs = zip(
            (np.asarray(sources) // ports.per_node).tolist(),
            (np.asarray(targets) // ports.per_node).tolist(),
            strict=True,
        )
        rows = [route(start, goal) if start != goal else [] for start, goal in pairs]
        table = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int32)
        for row, links in enumerate(rows):
            table[row, : len(links)] = links
        return table

    fabric = cabled(ports, bundles, routes)
    ordered = {number(link.name, way): link.name for link in platform.links for way in (0, 1)}
    cabled_name = fabric.name
    return attrs.evolve(
        fabric,
        name=lambda link: (
            f"{ordered[link]} {_way(link, firsts)}".strip()
            if link in ordered
            else cabled_name(link)
        ),
    )


def _way(link: int, firsts: list[int]) -> str:
    return ("up", "down")[(link - firsts[0]) % 2] if link < firsts[1] else ""


def _bundle(platform: Platform, split: bool) -> Bundle:
    """Return the links that are two, one for each way, or those that are one."""
    links = [link for link in platform.links if (link.policy == "SPLITDUPLEX") == split]
    return Bundle(
        count=len(links),
        bandwidth=np.array([link.bandwidth for link in links]),
        latency=np.array([link.latency for link in links]),
        shared=np.array([link.policy != "FATPIPE" for link in links], np.bool_),
        ends=lambda cable: (links[cable].name, links[cable].name),
        half=not split,
    )


def _route(
    platform: Platform, steps: dict[str, list[Step]], start: str, goal: str
) -> tuple[tuple[str, int], ...]:
    """Return the links from a host to another: those stated, or the fewest."""
    if not platform.shortest:
        for step in steps[start]:
            if step.goal == goal:
                return step.links
    waiting: list[tuple[int, int, str, tuple[tuple[str, int], ...]]] = [(0, 0, start, ())]
    passed: set[str] = set()
    order = 0
    while waiting and platform.shortest:
        length, _, at, links = heapq.heappop(waiting)
        if at == goal:
            return links
        if at in passed:
            continue
        passed.add(at)
        for step in steps[at]:
            order += 1
            further = links + step.links
            heapq.heappush(waiting, (length + len(step.links), order, step.goal, further))
    raise FileError(f"the platform has no route from {start} to {goal}")


def _cluster_fabric(cluster: Cluster, path: Path, ports: Ports) -> Fabric:
    described = structure(cluster.description, Description, str(path), "cluster")
    plugged = attrs.evolve(
        ports, bandwidth=min(ports.bandwidth, cluster.bandwidth), half=cluster.half or ports.half
    )
    return described.fabric(plugged if described.kind != "torus" else ports)
