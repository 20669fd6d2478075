"""JMVA models: classes, stations, service times and visits (JMT's JMTmodel.xsd)."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, number, refuse_others, whole
from parcast_spmd.mixed.network import Center, Chain, Feed, MixedNetwork
from parcast_spmd.mixed.times import exponential
from parcast_spmd.mva.closed_network import (
    MOST_JOBS,
    ClosedNetwork,
    JobClass,
    Station,
    StationType,
    check_network,
)

_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_KNOWN = ("description", "parameters", "algParams", "solutions", "whatIf", "pragma")

#: Times that depend on the number of jobs, beyond which a list is no use.
_MOST_TIMES = 100_000


@attrs.frozen
class _Class:
    """A class: so many jobs, or so many each second."""

    name: str
    population: int | None
    rate: float = 0.0


@attrs.frozen
class _Row:
    """A station as the file states it, with times and visits by class."""

    name: str
    type: StationType
    servers: int
    times: list[float]
    #: Work done each second with 1, 2, ... jobs; () where that does not depend on them
    speeds: tuple[float, ...]
    visits: list[float]


def network_from_jmva(root: Element, where: str) -> ClosedNetwork | MixedNetwork:
    """Return the network of a ``<model>``.

    A demand is service time times visits, over the visits at the class's reference station
    where the file names one. The algorithm, solutions and what-if series in the file are no
    part of the model and are left aside.

    Raises
    ------
    FileError
        If times depend on the number of jobs otherwise for each class, or a number, a name or an
        element is wrong; its position is named.
    """
    refuse_others(root, _KNOWN, where)
    parameters = _child(root, "parameters", where)
    refuse_others(parameters, ("classes", "stations", "ReferenceStation"), where)
    classes = [_job_class(element, where) for element in _child(parameters, "classes", where)]
    names = [job.name for job in classes]
    _check_once(names, f"{where}: the class")
    rows = [_station(element, names, where) for element in _child(parameters, "stations", where)]
    visits = {row.name: row.visits for row in rows}
    cycle = [_reference(parameters, name, r, visits, where) for r, name in enumerate(names)]
    if all(job.population is not None for job in classes) and not any(
        row.speeds or row.servers > 1 for row in rows
    ):
        return _closed(classes, rows, cycle, where)
    return _mixed(classes, rows, cycle, where)


def _closed(
    classes: Sequence[_Class], rows: Sequence[_Row], cycle: Sequence[float], where: str
) -> ClosedNetwork:
    stations = tuple(
        Station(
            name=row.name,
            type=row.type,
            demand=[s * v / c for s, v, c in zip(row.times, row.visits, cycle, strict=True)],
        )
        for row in rows
    )
    jobs = tuple(JobClass(name=job.name, population=job.population or 0) for job in classes)
    network = ClosedNetwork(stations=stations, classes=jobs)
    check_network(network, where)
    return network


def _mixed(
    classes: Sequence[_Class], rows: Sequence[_Row], cycle: Sequence[float], where: str
) -> MixedNetwork:
    jobs = sum(job.population or 0 for job in classes)
    for job, visited in zip(classes, cycle, strict=True):
        if job.population is None and visited != 1:
            raise FileError(f"{where}: {job.name!r} is open; leave its reference station out.")
    for row in rows:
        if row.speeds and len(row.speeds) < jobs:
            raise FileError(
                f"{where}: station {row.name!r} has times for up to {len(row.speeds)} jobs and "
                f"{jobs} may be there; give one for each number."
            )
    _check_once([row.name for row in rows], f"{where}: the station")
    return MixedNetwork(
        centers=tuple(
            Center(
                name=row.name,
                type=row.type,
                order="shared",
                servers=row.servers,
                service=tuple(exponential(time) for time in row.times),
                speeds=row.speeds,
            )
            for row in rows
        ),
        classes=tuple(job.name for job in classes),
        chains=tuple(
            Chain(members=(r,), population=job.population, rate=job.rate)
            for r, job in enumerate(classes)
        ),
        visits=tuple(tuple(v / c for v, c in zip(row.visits, cycle, strict=True)) for row in rows),
        shares=(1.0,) * len(classes),
        feeds=(Feed(),) * len(rows),
    )


def _check_once(names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(f"{what} {name!r} is used twice; give each its own name.")
        seen.add(name)


def _child(parent: Element, tag: str, where: str) -> Element:
    child = parent.find(tag)
    if child is None:
        raise FileError(f"{where}: <{parent.tag}> has no <{tag}>; add it.")
    return child


def _job_class(element: Element, where: str) -> _Class:
    name = attribute(element, "name", f"{where}: a class")
    position = f"{where}: class {name!r}"
    if element.tag not in {"closedclass", "openclass"}:
        raise FileError(f"{position} is <{element.tag}>; give <closedclass> or <openclass>.")
    if number(element.get("priority", "0"), f"{position}: priority"):
        raise FileError(f"{position} has a priority, which is not supported; set it to 0.")
    if element.tag == "openclass":
        rate = number(attribute(element, "rate", position), f"{position}: rate")
        if not rate:
            raise FileError(f"{position}: rate is 0; give jobs each second above 0.")
        return _Class(name, None, rate)
    text = attribute(element, "population", position)
    population = whole(text, f"{position}: population")
    if population > MOST_JOBS:
        raise FileError(f"{position}: population is {text}; give {MOST_JOBS:,} or fewer.")
    return _Class(name, population)


def _station(element: Element, classes: Sequence[str], where: str) -> _Row:
    name = attribute(element, "name", f"{where}: a station")
    position = f"{where}: station {name!r}"
    kinds: dict[str, StationType] = {
        "delaystation": "delay", "listation": "queue", "ldstation": "queue",
    }  # fmt: skip
    if element.tag not in kinds:
        raise FileError(f"{position} is <{element.tag}>, which is not known here; remove it.")
    kind = kinds[element.tag]
    servers = whole(element.get("servers", "1"), f"{position}: servers")
    if kind == "queue" and servers < 1:
        raise FileError(f"{position} has {servers} servers; give 1 or more.")
    refuse_others(element, ("servicetimes", "visits"), position)
    times = _by_class(element, "servicetimes", classes, position)
    visits = _by_class(element, "visits", classes, position)
    lists = [_service(text, f"{position}: service time of {r!r}") for r, text in times.items()]
    visited = [number(text, f"{position}: visits of {r!r}") for r, text in visits.items()]
    speeds = _speeds(lists, visited, position)
    if speeds and servers > 1:
        raise FileError(f"{position} has {servers} servers and times by jobs; leave one out.")
    return _Row(
        name, kind, 1 if kind == "delay" else servers, [one[0] for one in lists], speeds, visited
    )


def _speeds(
    lists: Sequence[Sequence[float]], visits: Sequence[float], position: str
) -> tuple[float, ...]:
    """Return the speed with 1, 2, ... jobs, the same for all classes; () where it is constant."""
    speeds: set[tuple[float, ...]] = set()
    for times, visited in zip(lists, visits, strict=True):
        if not visited or not any(times):
            continue
        if min(times) <= 0:
            raise FileError(f"{position} has a service time of 0 among others; give times above 0.")
        ratio = tuple(float(f"{times[0] / time:.12g}") for time in times)
        speeds.add(ratio if len(set(ratio)) > 1 else ())
    if len(speeds) > 1:
        raise FileError(
            f"{position} depends on the number of jobs otherwise for each class, which has no "
            "product form; give times that are multiples of one another."
        )
    return speeds.pop() if speeds else ()


def _by_class(element: Element, tag: str, classes: Sequence[str], position: str) -> dict[str, str]:
    """Return the texts of a list by class, "0" for a class that it leaves out."""
    texts = dict.fromkeys(classes, "0")
    for item in _child(element, tag, position):
        name = attribute(item, "customerclass", position)
        if name not in texts:
            raise FileError(f"{position}: <{item.tag}> names the class {name!r}, which is none.")
        texts[name] = item.text or ""
    return texts


def _service(text: str, position: str) -> list[float]:
    """Return a mean service time, or those with 1, 2, ... jobs."""
    texts = text.split(";", _MOST_TIMES)
    if len(texts) > _MOST_TIMES:
        raise FileError(f"{position} has more than {_MOST_TIMES:,} times; give fewer.")
    return [number(time, position) for time in texts]


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
