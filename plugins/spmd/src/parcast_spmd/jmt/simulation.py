"""Writes a closed network as a JSIM model, for JMT's and LINE's simulators."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from parcast.errors import UnsupportedError
from parcast_spmd.jmt.elements import Element
from parcast_spmd.jmt.jmva import text_of
from parcast_spmd.mva.closed_network import ClosedNetwork, Station

_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_NET = "jmt.engine.NetStrategies"


def jsimg_text(network: ClosedNetwork, name: str) -> str:
    """Return a network as a JSIM model whose product form it is.

    A job goes from station to station in a ring, once through each with a demand of its
    class, which is the mean of an exponential service time. Queues are processor sharing, which
    has a product form for all classes; the means are those of the network.

    Raises
    ------
    UnsupportedError
        If a class has no jobs, which a simulation cannot have.
    """
    for job in network.classes:
        if not job.population:
            raise UnsupportedError(f"class {job.name!r} has no jobs to simulate; leave it out")
    ET.register_namespace("xsi", _SCHEMA)
    location = f"{{{_SCHEMA}}}noNamespaceSchemaLocation"
    root = ET.Element("archive", {"name": name, "timestamp": "", location: "Archive.xsd"})
    sim = ET.SubElement(root, "sim", {"name": name, location: "SIMmodeldefinition.xsd"})
    rings = [_ring(network, r) for r in range(len(network.classes))]
    for job, ring in zip(network.classes, rings, strict=True):
        ET.SubElement(
            sim, "userClass", name=job.name, type="closed", priority="0",
            customers=str(job.population), referenceSource=ring[0],
        )  # fmt: skip
    for station in network.stations:
        _add_node(sim, network, station, rings)
    _add_measures(sim, network)
    pairs = [pair for ring in rings for pair in zip(ring, _after(ring), strict=True)]
    for source, target in dict.fromkeys(pairs):
        ET.SubElement(sim, "connection", source=source, target=target)
    return text_of(root)


def _ring(network: ClosedNetwork, r: int) -> list[str]:
    return [station.name for station in network.stations if station.demand[r] > 0]


def _after(ring: Sequence[str]) -> list[str]:
    return [*ring[1:], ring[0]]


def _add_node(
    sim: Element, network: ClosedNetwork, station: Station, rings: Sequence[Sequence[str]]
) -> None:
    node = ET.SubElement(sim, "node", name=station.name)
    names = [job.name for job in network.classes]
    queue = ET.SubElement(node, "section", className="Queue")
    _value(queue, "parameter", "java.lang.Integer", "size", "-1")
    drops = _array(queue, "java.lang.String", "dropStrategies")
    for name in names:
        _for_class(drops, name)
        _value(drops, "subParameter", "java.lang.String", "dropStrategy", "waiting queue")
    _plain(queue, "parameter", f"{_NET}.QueueGetStrategies.FCFSstrategy", "FCFSstrategy")
    puts = _array(queue, f"{_NET}.QueuePutStrategy", "QueuePutStrategy")
    for name in names:
        _for_class(puts, name)
        _plain(puts, "subParameter", f"{_NET}.QueuePutStrategies.TailStrategy", "TailStrategy")
    _add_server(node, station, names)
    router = ET.SubElement(node, "section", className="Router")
    routing = _array(router, f"{_NET}.RoutingStrategy", "RoutingStrategy")
    for name, ring in zip(names, rings, strict=True):
        _for_class(routing, name)
        next_one = dict(zip(ring, _after(ring), strict=True)).get(station.name)
        _add_route(routing, next_one)


def _add_server(node: Element, station: Station, names: Sequence[str]) -> None:
    """Add a delay, or one server that the classes share equally."""
    kind = "Delay" if station.type == "delay" else "PSServer"
    section = ET.SubElement(node, "section", className=kind)
    if kind == "PSServer":
        _value(section, "parameter", "java.lang.Integer", "maxJobs", "1")
        once = _array(section, "java.lang.Integer", "numberOfVisits")
        for name in names:
            _for_class(once, name)
            _value(once, "subParameter", "java.lang.Integer", "numberOfVisits", "1")
    services = _array(section, f"{_NET}.ServiceStrategy", "ServiceStrategy")
    for name, demand in zip(names, station.demand, strict=True):
        _for_class(services, name)
        _add_service(services, demand)
    if kind == "PSServer":
        sharing = _array(section, f"{_NET}.PSStrategy", "PSStrategy")
        weights = _array(section, "java.lang.Double", "serviceWeights")
        for name in names:
            _for_class(sharing, name)
            _plain(sharing, "subParameter", f"{_NET}.PSStrategies.EPSStrategy", "EPSStrategy")
            _for_class(weights, name)
            _value(weights, "subParameter", "java.lang.Double", "serviceWeight", "1.0")


def _add_service(services: Element, demand: float) -> None:
    strategies = f"{_NET}.ServiceStrategies"
    if not demand:
        kind = "DisabledServiceTimeStrategy"
        _plain(services, "subParameter", f"{strategies}.{kind}", kind)
        return
    kind = "ServiceTimeStrategy"
    strategy = _plain(services, "subParameter", f"{strategies}.{kind}", kind)
    _plain(strategy, "subParameter", "jmt.engine.random.Exponential", "Exponential")
    distribution = _plain(strategy, "subParameter", "jmt.engine.random.ExponentialPar", "distrPar")
    _value(distribution, "subParameter", "java.lang.Double", "lambda", repr(1.0 / demand))


def _add_route(routing: Element, target: str | None) -> None:
    strategies = f"{_NET}.RoutingStrategies"
    if target is None:
        _plain(routing, "subParameter", f"{strategies}.DisabledRoutingStrategy", "Disabled")
        return
    entry = "jmt.engine.random.EmpiricalEntry"
    strategy = _plain(routing, "subParameter", f"{strategies}.EmpiricalStrategy", "Probabilities")
    entries = ET.SubElement(
        strategy, "subParameter", array="true", classPath=entry, name="EmpiricalEntryArray"
    )
    route = _plain(entries, "subParameter", entry, "EmpiricalEntry")
    _value(route, "subParameter", "java.lang.String", "stationName", target)
    _value(route, "subParameter", "java.lang.Double", "probability", "1.0")


def _add_measures(sim: Element, network: ClosedNetwork) -> None:
    """Ask for what this network's solution has: queue lengths and throughputs."""
    kinds = ("Number of Customers", "Throughput")
    for station in network.stations:
        for job, demand in zip(network.classes, station.demand, strict=True):
            for kind in kinds if demand else ():
                ET.SubElement(
                    sim, "measure", name=f"{station.name}_{job.name}_{kind}", type=kind,
                    alpha="0.01", precision="0.03", verbose="false", nodeType="station",
                    referenceNode=station.name, referenceUserClass=job.name,
                )  # fmt: skip


def _array(parent: Element, class_path: str, name: str) -> Element:
    return ET.SubElement(parent, "parameter", array="true", classPath=class_path, name=name)


def _for_class(parent: Element, name: str) -> None:
    ET.SubElement(parent, "refClass").text = name


def _plain(parent: Element, tag: str, class_path: str, name: str) -> Element:
    return ET.SubElement(parent, tag, classPath=class_path, name=name)


def _value(parent: Element, tag: str, class_path: str, name: str, value: str) -> None:
    ET.SubElement(_plain(parent, tag, class_path, name), "value").text = value
