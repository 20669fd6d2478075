"""JMVA models: classes, stations, service times and visits (JMT's JMTmodel.xsd)."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, number, refuse_others, whole
from parcast_spmd.mva.closed_network import (
    ClosedNetwork,
    JobClass,
    Station,
    StationType,
    check_network,
)

_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_KNOWN = ("description", "parameters", "algParams", "solutions", "whatIf")


def network_from_jmva(root: Element, where: str) -> ClosedNetwork:
    """Return the closed network of a ``<model>``.

    A demand is service time times visits, over the visits at the class's reference station
    where the file names one. The algorithm, solutions and what-if series in the file are no
    part of the model and are left aside.

    Raises
    ------
    FileError
        If a class is open, a station has several or load-dependent servers, or a number,
        a name or an element is wrong; its position is named.
    """
    refuse_others(root, _KNOWN, where)
    parameters = _child(root, "parameters", where)
    refuse_others(parameters, ("classes", "stations", "ReferenceStation"), where)
    classes = [_job_class(element, where) for element in _child(parameters, "classes", where)]
    names = [job.name for job in classes]
    rows = [_station(element, names, where) for element in _child(parameters, "stations", where)]
    visits = {name: row for name, _, _, row in rows}
    cycle = [_reference(parameters, name, r, visits, where) for r, name in enumerate(names)]
    stations = tuple(
        Station(
            name=name,
            type=kind,
            demand=[s * v / c for s, v, c in zip(times, visited, cycle, strict=True)],
        )
        for name, kind, times, visited in rows
    )
    network = ClosedNetwork(stations=stations, classes=tuple(classes))
    check_network(network, where)
    return network


def _child(parent: Element, tag: str, where: str) -> Element:
    child = parent.find(tag)
    if child is None:
        raise FileError(f"{where}: <{parent.tag}> has no <{tag}>; add it.")
    return child


def _job_class(element: Element, where: str) -> JobClass:
    name = attribute(element, "name", f"{where}: a class")
    position = f"{where}: class {name!r}"
    if element.tag != "closedclass":
        raise FileError(f"{position} is <{element.tag}>; only closed classes are taken.")
    population = whole(attribute(element, "population", position), f"{position}: population")
    if number(element.get("priority", "0"), f"{position}: priority"):
        raise FileError(f"{position} has a priority, which is not supported; set it to 0.")
    return JobClass(name=name, population=population)


def _station(
    element: Element, classes: Sequence[str], where: str
) -> tuple[str, StationType, list[float], list[float]]:
    """Return name, type, and each class's mean service time and visits."""
    name = attribute(element, "name", f"{where}: a station")
    position = f"{where}: station {name!r}"
    kinds: dict[str, StationType] = {
        "delaystation": "delay", "listation": "queue", "ldstation": "queue",
    }  # fmt: skip
    if element.tag not in kinds:
        raise FileError(f"{position} is <{element.tag}>, which is not known here; remove it.")
    kind = kinds[element.tag]
    servers = whole(element.get("servers", "1"), f"{position}: servers")
    if kind == "queue" and servers != 1:
        raise FileError(f"{position} has {servers} servers; only single servers are taken.")
    refuse_others(element, ("servicetimes", "visits"), position)
    times = _by_class(element, "servicetimes", classes, position)
    visits = _by_class(element, "visits", classes, position)
    return (
        name,
        kind,
        [_service(text, f"{position}: service time of {r!r}") for r, text in times.items()],
        [number(text, f"{position}: visits of {r!r}") for r, text in visits.items()],
    )


def _by_class(element: Element, tag: str, classes: Sequence[str], position: str) -> dict[str, str]:
    """Return the texts of a list by class, "0" for a class that it leaves out."""
    texts = dict.fromkeys(classes, "0")
    for item in _child(element, tag, position):
        name = attribute(item, "customerclass", position)
        if name not in texts:
            raise FileError(f"{position}: <{item.tag}> names the class {name!r}, which is none.")
        texts[name] = item.text or ""
    return texts


def _service(text: str, position: str) -> float:
    """Return a mean service time; a list by number of jobs must be constant."""
    times = {number(time, position) for time in text.split(";")}
    if len(times) > 1:
        raise FileError(f"{position} depends on the number of jobs, which is not supported.")
    return times.pop()


def _reference(
    parameters: Element, name: str, r: int, visits: dict[str, list[float]], where: str
) -> float:
    """Return how often a class visits its reference station: 1 where none is named."""
    for entry in parameters.iterfind("ReferenceStation/Class"):
        if entry.get("name") == name:
            station = attribute(entry, "refStation", where)
            if station not in visits:
                raise FileError(f"{where}: reference station {station!r} of {name!r} is none.")
            if visits[station][r] == 0:
                raise FileError(f"{where}: {name!r} never visits its reference station.")
            return visits[station][r]
    return 1.0


def jmva_text(network: ClosedNetwork) -> str:
    """Return a network as a JMVA model: service times are demands, and every visit is one."""
    ET.register_namespace("xsi", _SCHEMA)
    root = ET.Element("model", {f"{{{_SCHEMA}}}noNamespaceSchemaLocation": "JMTmodel.xsd"})
    parameters = ET.SubElement(root, "parameters")
    classes = ET.SubElement(parameters, "classes", number=str(len(network.classes)))
    for job in network.classes:
        ET.SubElement(classes, "closedclass", name=job.name, population=str(job.population))
    stations = ET.SubElement(parameters, "stations", number=str(len(network.stations)))
    for station in network.stations:
        if station.type == "delay":
            element = ET.SubElement(stations, "delaystation", name=station.name)
        else:
            element = ET.SubElement(stations, "listation", name=station.name, servers="1")
        times = ET.SubElement(element, "servicetimes")
        visits = ET.SubElement(element, "visits")
        for job, demand in zip(network.classes, station.demand, strict=True):
            ET.SubElement(times, "servicetime", customerclass=job.name).text = repr(demand)
            ET.SubElement(visits, "visit", customerclass=job.name).text = "1.0"
    return text_of(root)


def text_of(root: Element) -> str:
    """Return a document, indented."""
    ET.indent(root)
    declaration = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    return declaration + ET.tostring(root, encoding="unicode") + "\n"
