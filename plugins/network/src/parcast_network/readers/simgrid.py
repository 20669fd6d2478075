"""Platforms of SimGrid: hosts, links and routes of one zone, or a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from parcast.errors import FileError, ParcastError
from parcast.files import read_xml
from parcast.quantities import Unit, to_base

#: Routes that a zone has, or finds: stated for each pair, or the shortest over those stated.
_ROUTED = {"full": False, "floyd": True, "dijkstra": True, "dijkstracache": True}
_POLICIES = ("SHARED", "SPLITDUPLEX", "FATPIPE")
_TOPOLOGIES = ("FLAT", "FAT_TREE", "TORUS", "DRAGONFLY")

#: SimGrid's units that are written otherwise here.
_BITS = re.compile(r"([\d.eE+-]+)\s*([kKMGTP]i?)?(Bps|bps)$")
_PLAIN = re.compile(r"([\d.eE+-]+)()()")
_LATENCY = Unit("s")
_FACTORS = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_FACTORS |= {f"{letter}i": 1024.0**n for n, letter in enumerate("KMGTP", 1)}


@attrs.frozen
class PlatformLink:
    """A link of a platform."""

    name: str
    bandwidth: float
    latency: float
    policy: Literal["SHARED", "SPLITDUPLEX", "FATPIPE"]


@attrs.frozen
class Step:
    """A route that is stated, from a host or a router to another one."""

    start: str
    goal: str
    links: tuple[tuple[str, int], ...]  #: names, each with 0 for up and 1 for down


@attrs.frozen
class Platform:
    """A zone: hosts in the order of the file, and the routes that are stated."""

    hosts: tuple[str, ...]
    links: tuple[PlatformLink, ...]
    steps: tuple[Step, ...]
    shortest: bool  #: routes that are not stated are the shortest over those that are


@attrs.frozen
class Cluster:
    """A cluster: how many hosts it has, and what a topology's description says of it."""

    hosts: int
    bandwidth: float  #: of the link of a host
    half: bool
    description: dict[str, Any]


def read_platform(path: Path) -> Platform | Cluster:
    """Return what a platform's file has.

    Raises
    ------
    FileError
        If it is none, or has zones within zones, which one network does not.
    """
    root = read_xml(path)
    if root.tag != "platform":
        raise FileError(f"{path}: <{root.tag}> is no <platform> of SimGrid")
    zones = [element for element in root if element.tag in {"zone", "AS"}]
    clusters = root.findall("cluster") + [c for zone in zones for c in zone.findall("cluster")]
    if len(clusters) == 1 and len(zones) <= 1:
        return _cluster(clusters[0], path)
    inner = [element for zone in zones for element in zone if element.tag in {"zone", "AS"}]
    if len(zones) != 1 or inner or clusters:
        raise FileError(
            f"{path}: the platform has several zones or clusters; write the hosts, links and "
            "routes of the network into one zone"
        )
    return _zone(zones[0], path)


def _zone(zone: Any, path: Path) -> Platform:
    routing = zone.get("routing", "").lower()
    if routing not in _ROUTED:
        names = "Full, Floyd or Dijkstra"
        raise FileError(f"{path}: routing={zone.get('routing')!r} is not read; it is {names}")
    hosts = tuple(element.get("id", "") for element in zone.findall("host"))
    points = {*hosts, *(element.get("id") for element in zone.findall("router"))}
    links = tuple(_link(element, path) for element in zone.findall("link"))
    policies = {link.name: link.policy for link in links}
    steps: list[Step] = []
    for route in zone.findall("route"):
        start, goal = route.get("src", ""), route.get("dst", "")
        for point in (start, goal):
            if point not in points:
                raise FileError(f"{path}: a route names {point!r}, which is no host or router")
        passed = tuple(_passed(route, policies, path))
        steps.append(Step(start, goal, passed))
        if route.get("symmetrical", "yes").lower() != "no":
            back = tuple(
                (name, 1 - way if policies[name] == "SPLITDUPLEX" else way)
                for name, way in reversed(passed)
            )
            steps.append(Step(goal, start, back))
    if not hosts:
        raise FileError(f"{path}: the platform has no hosts")
    return Platform(hosts, links, tuple(steps), _ROUTED[routing])


def _passed(route: Any, policies: Mapping[str, str], path: Path) -> Iterator[tuple[str, int]]:
    for element in route.findall("link_ctn"):
        name, direction = element.get("id", ""), element.get("direction", "UP").upper()
        if name not in policies:
            raise FileError(f"{path}: a route passes {name!r}, which is no link")
        yield name, int(direction == "DOWN" and policies[name] == "SPLITDUPLEX")


def _link(element: Any, path: Path) -> PlatformLink:
    policy = _policy(element.get("sharing_policy", "SHARED"), path)
    return PlatformLink(
        element.get("id", ""),
        _bandwidth(element.get("bandwidth", ""), path),
        _seconds(element.get("latency", "0"), path),
        policy,
    )


def _policy(text: str, path: Path) -> Any:
    if text not in _POLICIES:
        raise FileError(f"{path}: sharing_policy={text!r} is not read: {', '.join(_POLICIES)} are")
    return text


def _cluster(cluster: Any, path: Path) -> Cluster:
    kind = cluster.get("topology", "FLAT")
    if kind not in _TOPOLOGIES:
        raise FileError(f"{path}: topology={kind!r} is not read: {', '.join(_TOPOLOGIES)} are")
    bandwidth = _bandwidth(cluster.get("bw", ""), path)
    latency = _seconds(cluster.get("lat", "0"), path)
    policy = _policy(cluster.get("sharing_policy", "SPLITDUPLEX"), path)
    text = cluster.get("topo_parameters", "")
    numbers = [
        [int(n) for n in part.split(",") if n.strip().isdecimal()] for part in text.split(";")
    ]
    shared = {"bandwidth": bandwidth, "latency": latency, "half": policy == "SHARED"}
    match kind, numbers:
        case "FAT_TREE", [[levels], down, up, cables]:
            by_level = [bandwidth] * levels
            about = {"down": down, "up": up, "cables": cables, **shared, "bandwidth": by_level}
        case "TORUS", [dims]:
            about = {"dims": dims, **shared}
        case "DRAGONFLY", [[groups, far], [1, _], [routers, near], [nodes]]:
            about = {"groups": groups, "routers": routers, "nodes": nodes, **shared}
            about |= {"bandwidth": near * bandwidth, "global_bandwidth": far * bandwidth}
        case "FLAT", _ if "bb_bw" in cluster.attrib:
            backbone = _bandwidth(cluster.get("bb_bw", ""), path)
            about = {"bandwidth": backbone, "latency": _seconds(cluster.get("bb_lat", "0"), path)}
        case "FLAT", _:
            about = {"latency": latency}
        case _:
            raise FileError(f"{path}: {kind} with topo_parameters={text!r} is not read")
    flat = "bus" if "bb_bw" in cluster.attrib else "star"
    described = flat if kind == "FLAT" else kind.lower().replace("_", "-")
    return Cluster(
        _hosts(cluster.get("radical", ""), path), bandwidth, policy == "SHARED",
        {"kind": described, **about},
    )  # fmt: skip


def _hosts(radical: str, path: Path) -> int:
    count = 0
    for part in radical.split(","):
        low, _, high = part.partition("-")
        if not low.strip().isdecimal() or (high and not high.strip().isdecimal()):
            raise FileError(f"{path}: radical={radical!r} is no range such as 0-15")
        count += int(high or low) - int(low) + 1
    return count


def _bandwidth(text: str, path: Path) -> float:
    """Return bytes a second of ``"1Gbps"``, ``"125MBps"`` or a plain number."""
    match = _BITS.fullmatch(text.strip()) or _PLAIN.fullmatch(text.strip())
    try:
        number, prefix, unit = match.groups() if match else ("", "", "")
        bandwidth = float(number) * _FACTORS[prefix or ""] / (8 if unit == "bps" else 1)
    except ValueError:
        bandwidth = 0.0
    if not 0 < bandwidth < float("inf"):
        raise FileError(f"{path}: {text!r} is no bandwidth such as 125MBps or 1Gbps")
    return bandwidth


def _seconds(text: str, path: Path) -> float:
    try:
        return _LATENCY.check(to_base(float(text) if _PLAIN.fullmatch(text) else text, "s"), text)
    except (ParcastError, ValueError):
        raise FileError(f"{path}: {text!r} is no time such as 50us") from None
