"""JSIM models (.jsimg) that have an exact or bounded solution (SIMmodeldefinition.xsd)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, refuse_others, whole
from parcast_spmd.jmt.nodes import Part, Ranked, part_of
from parcast_spmd.mixed.model import Node, State, Visitor
from parcast_spmd.mixed.network import MixedNetwork
from parcast_spmd.mixed.traffic import mixed_network
from parcast_spmd.mva.closed_network import (
    ClosedNetwork,
    JobClass,
    Station,
    check_network,
)

#: Measures, the initial state and pictures change no steady state.
_KNOWN = ("userClass", "node", "measure", "connection", "preload", "blockingRegion")

#: Nodes times classes that take seconds
_MOST_STATES = 20_000


@attrs.frozen
class Outline:
    """The parts of a ``<sim>`` by name, before it is said what they are."""

    sim: Element
    users: list[Element]
    classes: list[Ranked]
    elements: list[Element]
    #: To which nodes each one leads; the sinks are those of ""
    connections: dict[str, list[str]]


def outline_of(root: Element, where: str) -> Outline:
    """Return the parts of an ``<archive>`` or a ``<sim>``.

    Raises
    ------
    FileError
        If there are none or too many of them, or a name is missing or used twice.
    """
    sim = root if root.tag == "sim" else root.find("sim")
    if sim is None:
        raise FileError(f"{where}: <{root.tag}> has no <sim>; name a JSIM model.")
    refuse_others(sim, _KNOWN, where)
    users = list(sim.iterfind("userClass"))
    classes = [_ranked(user, where) for user in users]
    elements = list(sim.iterfind("node"))
    names = [attribute(element, "name", f"{where}: a node") for element in elements]
    if not names or not classes:
        raise FileError(f"{where} has no {'nodes' if classes else 'classes'}; add some.")
    if len(set(names)) != len(names) or len({job.name for job in classes}) != len(classes):
        raise FileError(f"{where}: a name of a node or class is used twice; give each its own.")
    if len(names) * len(classes) > _MOST_STATES:
        raise FileError(
            f"{where}: {len(names):,} nodes times {len(classes):,} classes are more than "
            f"{_MOST_STATES:,}; use fewer."
        )
    connections = _connections(sim, names, where)
    connections[""] = [
        name
        for name, element in zip(names, elements, strict=True)
        if element.find("section[@className='JobSink']") is not None
    ]
    return Outline(sim, users, classes, elements, connections)


def network_from_jsimg(root: Element, where: str) -> ClosedNetwork | MixedNetwork:
    """Return the network of an ``<archive>`` or a ``<sim>``.

    Demands are mean service time times the visits that follow from the routing, per visit of
    the class's reference station or per job that comes from its source.

    Raises
    ------
    FileError
        If the model has parts that have no exact or bounded solution, or a number, a name or an
        element is wrong; its position is named.
    """
    outline = outline_of(root, where)
    sim, classes, connections = outline.sim, outline.classes, outline.connections
    regions = _regions(sim, classes, where)
    parts = [part_of(element, classes, connections, regions, where) for element in outline.elements]
    visitors = [_visitor(user, job, parts, where)
                for user, job in zip(outline.users, classes, strict=True)]  # fmt: skip
    nodes = {part.name: part.node for part in parts}
    network = mixed_network(nodes, visitors, _routes(parts, classes), where)
    _check_served(network, where)
    return _closed(network, nodes, where) or network


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


def _ranked(element: Element, where: str) -> Ranked:
    name = attribute(element, "name", f"{where}: a class")
    position = f"{where}: class {name!r}"
    kind = element.get("type")
    if kind not in {"open", "closed"}:
        raise FileError(f"{position} is {kind!r}; give open or closed.")
    priority = whole(element.get("priority", "0"), f"{position}: priority")
    if kind == "open":
        return Ranked(name, False, priority, 0)
    customers = whole(attribute(element, "customers", position), f"{position}: customers")
    return Ranked(name, True, priority, customers)


def _visitor(user: Element, job: Ranked, parts: Sequence[Part], where: str) -> Visitor:
    position = f"{where}: class {job.name!r}"
    reference = attribute(user, "referenceSource", position)
    part = {part.name: part for part in parts}.get(reference)
    if job.closed:
        if part is None or part.node.kind in {"source", "sink"}:
            raise FileError(
                f"{position}: its reference station {reference!r} is none; name a station."
            )
        return Visitor(name=job.name, reference=reference, population=job.population)
    arrivals = None if part is None else part.arrivals.get(job.name)
    born = {"source", "fork", "pass"}  # what changes classes may bring it forth
    if arrivals is None and part is not None and part.node.kind not in born:
        raise FileError(f"{position} is open and its reference {reference!r} is no source.")
    if arrivals is not None and not 0 < arrivals.mean < float("inf"):
        raise FileError(f"{position}: its time between arrivals is not above 0; mend it.")
    return Visitor(name=job.name, reference=reference, arrivals=arrivals)


def _routes(
    parts: Sequence[Part], classes: Sequence[Ranked]
) -> dict[State, Mapping[State, float] | str | None]:
    """Return the routes of states, a change of class before them."""
    routes: dict[State, Mapping[State, float] | str | None] = {}
    for part in parts:
        for job in classes:
            turns = part.switches.get(job.name, {job.name: 1.0})
            if isinstance(turns, str) or turns is None:
                routes[part.name, job.name] = turns
                continue
            weights: dict[State, float] = {}
            refusal: str | None = None
            for other, probability in turns.items():
                ways = part.routes.get(other)
                if isinstance(ways, str) or ways is None:
                    refusal = ways or f"{part.name!r} does not route {other!r}; mend it."
                    continue
                for name, weight in ways.items():
                    state = (name, other)
                    weights[state] = weights.get(state, 0.0) + probability * weight
            missing = None if not part.switches else refusal
            ways = part.routes.get(job.name)
            if not part.switches and not isinstance(ways, Mapping):
                missing = ways
                routes[part.name, job.name] = missing
            else:
                routes[part.name, job.name] = missing or weights
    return routes


def _regions(sim: Element, classes: Sequence[Ranked], where: str) -> dict[str, int]:
    """Return the room of stations that a region limits alone, those beyond being lost."""
    result: dict[str, int] = {}
    for region in sim.iterfind("blockingRegion"):
        position = f"{where}: region {region.get('name', '')!r}"
        nodes = [attribute(node, "nodeName", position) for node in region.iterfind("regionNode")]
        keys = {"globalMemoryConstraint": "maxMemory", "globalConstraint": "maxJobs"}
        limits = {
            element.tag: (element.get(keys[element.tag]) or "-1").strip()
            for element in region
            if element.tag in keys
        }
        by_name = {
            (c.get("jobClass") or ""): (c.get("maxJobsPerClass") or "-1").strip()
            for c in region.iterfind("classConstraint")
        }
        memory = [
            c.get("maxMemoryPerClass", "-1") for c in region.iterfind("classMemoryConstraint")
        ]
        bounds = [v for v in (limits.get("globalConstraint", "-1"), *by_name.values()) if v != "-1"]
        groups = region.find("groupConstraint") is not None
        if not bounds and limits.get("globalMemoryConstraint", "-1") == "-1" \
                and set(memory) <= {"-1"} and not groups:  # fmt: skip
            continue
        drops = {rule.get("dropThisClass") for rule in region.iterfind("dropRules")}
        simple = len(nodes) == 1 and len(bounds) == 1 and drops == {"true"} and not groups
        alone = len(classes) == 1 or by_name == {} or limits.get("globalConstraint", "-1") != "-1"
        sizes = {c.get("size", "1") for c in region.iterfind("classSize")}
        if not (simple and alone and set(memory) <= {"-1"} and sizes <= {"1"}):
            raise FileError(
                f"{position} limits the jobs in {', '.join(map(repr, nodes))}, which has no exact "
                "form; known is one station whose jobs beyond are lost: simulate it."
            )
        size = whole(bounds[0], f"{position}: its limit")
        if size < 1:
            raise FileError(f"{position}: its limit is 0; give 1 or more, or -1.")
        result[nodes[0]] = min(size, result.get(nodes[0], size))
    return result


def _check_served(network: MixedNetwork, where: str) -> None:
    for center, row in zip(network.centers, network.visits, strict=True):
        for name, time, visits in zip(network.classes, center.service, row, strict=True):
            if visits and time is None:
                raise FileError(
                    f"{where}: {name!r} visits {center.name!r}, which does not serve it."
                )


def _closed(network: MixedNetwork, nodes: Mapping[str, Node], where: str) -> ClosedNetwork | None:
    """Return a network of closed classes and single servers as one, None if it is more."""
    plain = all(chain.population is not None and len(chain.members) == 1
                for chain in network.chains)  # fmt: skip
    if not plain or any(center.servers != 1 or center.size for center in network.centers):
        return None
    if any(node.kind in {"fork", "join"} for node in nodes.values()):
        return None
    for center in network.centers:
        if center.type == "queue" and center.order == "turns":
            _check_turns(network, center.name, where)
    result = ClosedNetwork(
        stations=tuple(
            Station(
                name=center.name,
                type=center.type,
                demand=[
                    time.mean * visits if time is not None and visits else 0.0
                    for time, visits in zip(center.service, row, strict=True)
                ],
            )
            for center, row in zip(network.centers, network.visits, strict=True)
        ),
        classes=tuple(
            JobClass(name=name, population=network.chains[r].population or 0)
            for r, name in enumerate(network.classes)
        ),
    )
    check_network(result, where)
    return result


def _check_turns(network: MixedNetwork, name: str, where: str) -> None:
    """Refuse times that have no product form where jobs take turns."""
    k = [center.name for center in network.centers].index(name)
    position, center = f"{where}: station {name!r}", network.centers[k]
    times = {
        job: time
        for job, time, visits in zip(
            network.classes, center.service, network.visits[k], strict=True
        )
        if time is not None and visits
    }
    for job, time in times.items():
        if not time.exponential:
            raise FileError(
                f"{position}: the service of {job!r} is not exponential; first come first served "
                "then has no product form (processor sharing has)."
            )
    means = [time.mean for time in times.values()]
    if means and max(means) > min(means) * (1 + 1e-9):
        raise FileError(
            f"{position} serves classes of different means first come first served, which has no "
            "product form (processor sharing has)."
        )
