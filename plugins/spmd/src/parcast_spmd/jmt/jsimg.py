"""JSIM models (.jsimg): the closed product-form networks among them (SIMmodeldefinition.xsd)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, refuse_others, whole
from parcast_spmd.jmt.routing import Targets, targets, visits
from parcast_spmd.jmt.service import by_class, last, mean_service
from parcast_spmd.mva.closed_network import (
    ClosedNetwork,
    JobClass,
    Station,
    StationType,
    check_network,
)

#: What may stand in each section; what it says is checked below, or is about transients.
_PARAMETERS: Mapping[str, frozenset[str]] = {
    "Queue": frozenset(
        {"size", "dropStrategies", "FCFSstrategy", "QueuePutStrategy", "Impatience"}
    ),
    "Delay": frozenset({"ServiceStrategy"}),
    "Server": frozenset({"maxJobs", "numberOfVisits", "ServiceStrategy"}),
    "PSServer": frozenset(
        {"maxJobs", "numberOfVisits", "ServiceStrategy", "PSStrategy", "serviceWeights"}
    ),
    "Router": frozenset({"RoutingStrategy"}),
}

#: Measures, the initial state and pictures change no steady state.
_KNOWN = ("userClass", "node", "measure", "connection", "preload")


@attrs.frozen
class _Node:
    """A station: how long it serves each class, and where each goes then."""

    name: str
    type: StationType
    service: Mapping[str, float | None]
    routes: Mapping[str, Targets]


def network_from_jsimg(root: Element, where: str) -> ClosedNetwork:
    """Return the closed product-form network of an ``<archive>`` or a ``<sim>``.

    Demands are mean service times times the visits that follow from the routing, per visit of
    the class's reference station.

    Raises
    ------
    FileError
        If the model is no closed network of delays and single servers with a product form
        (first come first served needs exponential times of one mean for all classes), or a
        number, a name or an element is wrong; its position is named.
    """
    sim = root if root.tag == "sim" else root.find("sim")
    if sim is None:
        raise FileError(f"{where}: <{root.tag}> has no <sim>; name a JSIM model.")
    refuse_others(sim, _KNOWN, where)
    users = list(sim.iterfind("userClass"))
    classes = tuple(_job_class(user, where) for user in users)
    names = [job.name for job in classes]
    elements = list(sim.iterfind("node"))
    stations = [attribute(element, "name", f"{where}: a node") for element in elements]
    connections = _connections(sim, stations, where)
    nodes = [_node(element, names, connections, where) for element in elements]
    ratios = [_visits(user, nodes, stations, where) for user in users]
    network = ClosedNetwork(
        stations=tuple(
            Station(
                name=node.name,
                type=node.type,
                demand=[_demand(node, name, ratios[r][k], where) for r, name in enumerate(names)],
            )
            for k, node in enumerate(nodes)
        ),
        classes=classes,
    )
    check_network(network, where)
    return network


def _connections(sim: Element, stations: Sequence[str], where: str) -> dict[str, list[str]]:
    """Return to which stations each one leads."""
    links: dict[str, list[str]] = {name: [] for name in stations}
    for connection in sim.iterfind("connection"):
        ends = [attribute(connection, end, where) for end in ("source", "target")]
        for name in ends:
            if name not in links:
                raise FileError(f"{where}: a connection names {name!r}, which is no station.")
        links[ends[0]].append(ends[1])
    return links


def _job_class(element: Element, where: str) -> JobClass:
    name = attribute(element, "name", f"{where}: a class")
    position = f"{where}: class {name!r}"
    if element.get("type") != "closed":
        raise FileError(f"{position} is {element.get('type')!r}; only closed classes are taken.")
    if element.get("priority", "0") != "0":
        raise FileError(f"{position} has a priority, which is not supported; set it to 0.")
    customers = whole(attribute(element, "customers", position), f"{position}: customers")
    return JobClass(name=name, population=customers)


def _node(
    element: Element, classes: Sequence[str], connections: Mapping[str, list[str]], where: str
) -> _Node:
    name = attribute(element, "name", f"{where}: a node")
    position = f"{where}: station {name!r}"
    sections = {section.get("className", ""): section for section in element.iterfind("section")}
    refuse_others(element, ("section",), position)
    unknown = sorted(set(sections) - set(_PARAMETERS))
    servers = [kind for kind in ("Delay", "Server", "PSServer") if kind in sections]
    if unknown or len(servers) != 1 or not {"Queue", "Router"} <= set(sections):
        contents = ", ".join(sections) or "no section"
        raise FileError(
            f"{position} is made of {contents}; only delays and queues with one server are taken."
        )
    for section in sections.values():
        _check_section(section, position)
    (server,) = servers
    service = _services(sections[server], server, classes, position)
    routing = by_class(_parameter(sections["Router"], "RoutingStrategy", position))
    routes = {
        job_class: targets(
            routing[job_class], connections[name], f"{position}: routing of {job_class!r}"
        )
        for job_class in classes
        if job_class in routing
    }
    return _Node(name, "delay" if server == "Delay" else "queue", service, routes)


def _check_section(section: Element, position: str) -> None:
    """Refuse everything in a section that would break the product form."""
    allowed = _PARAMETERS[section.get("className", "")]
    for parameter in section:
        name = parameter.get("name", "")
        if name not in allowed:
            raise FileError(f"{position}: {name!r} is not supported here; remove it.")
        entries = by_class(parameter).values()
        value = parameter.findtext("value", "").strip()
        wrong = {
            "size": value not in {"", "-1"},
            "maxJobs": value not in {"", "1"},
            "numberOfVisits": any(e.findtext("value", "").strip() != "1" for e in entries),
            "QueuePutStrategy": any(last(e.get("classPath")) != "TailStrategy" for e in entries),
            "PSStrategy": any(last(e.get("classPath")) != "EPSStrategy" for e in entries),
            "Impatience": any(e.findtext("value", "").strip() != "null" for e in entries),
        }
        if wrong.get(name, False):
            raise FileError(
                f"{position}: {name} is not the plain one; only one server, an unlimited queue, "
                "and first come first served or processor sharing are taken."
            )


def _parameter(section: Element, name: str, position: str) -> Element:
    for parameter in section.iterfind("parameter"):
        if parameter.get("name") == name:
            return parameter
    raise FileError(f"{position}: {section.get('className')} has no {name}; add it.")


def _services(
    section: Element, server: str, classes: Sequence[str], position: str
) -> dict[str, float | None]:
    strategies = by_class(_parameter(section, "ServiceStrategy", position))
    means: dict[str, float | None] = {}
    for name in classes:
        if name not in strategies:
            continue
        means[name], exponential = mean_service(
            strategies[name], f"{position}: service of {name!r}"
        )
        if server == "Server" and not exponential:
            raise FileError(
                f"{position}: the service of {name!r} is not exponential; first come first served "
                "then has no product form (processor sharing has)."
            )
    served = {mean for mean in means.values() if mean is not None}
    if server == "Server" and served and max(served) > min(served) * (1 + 1e-9):
        raise FileError(
            f"{position} serves classes of different means first come first served, which has no "
            "product form (processor sharing has)."
        )
    return means


def _visits(
    user: Element, nodes: Sequence[_Node], stations: Sequence[str], where: str
) -> list[float]:
    name = user.get("name", "")
    position = f"{where}: class {name!r}"
    reference = attribute(user, "referenceSource", position)
    if reference not in stations:
        raise FileError(f"{position}: its reference station {reference!r} is none; name a station.")
    routes = {node.name: node.routes.get(name) for node in nodes}
    return visits(stations, routes, reference, position)


def _demand(node: _Node, name: str, visited: float, where: str) -> float:
    if not visited:
        return 0.0
    service = node.service.get(name)
    if service is None:
        raise FileError(f"{where}: {name!r} visits {node.name!r}, which does not serve it.")
    return service * visited
