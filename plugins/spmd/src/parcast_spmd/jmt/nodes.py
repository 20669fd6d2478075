"""The nodes of a simulation file: stations, sources, sinks, forks, joins and what takes no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, PetriPartError, attribute, refuse_others, whole
from parcast_spmd.jmt.routing import Targets, switched, targets, tasks
from parcast_spmd.jmt.service import by_class, last, time_of
from parcast_spmd.mixed.model import Node
from parcast_spmd.mixed.network import Center
from parcast_spmd.mixed.times import Time

_Sections = Mapping[str, Element]

#: What may stand in each section; what it says is checked below, or is about transients.
_PARAMETERS: Mapping[str, frozenset[str]] = {
    "Queue": frozenset(
        {"size", "dropStrategies", "FCFSstrategy", "QueuePutStrategy", "Impatience",
         "retrialDistributions"}
    ),
    "Delay": frozenset({"ServiceStrategy"}),
    "Server": frozenset(
        {"maxJobs", "numberOfVisits", "ServiceStrategy", "classParallelism", "schedulingPolicy",
         "serverCompatibilities", "serverNames", "serversPerServerType"}
    ),
    "PSServer": frozenset(
        {"maxJobs", "maxRunning", "numberOfVisits", "ServiceStrategy", "ServerStrategy",
         "PSStrategy", "serviceWeights"}
    ),
}  # fmt: skip

#: Deadlines are measured only, and quanta are of an order of service that is refused.
_NODE = ("section", "classSoftDeadlines", "quantumSize", "quantumSwitchoverTime")

#: The kind of node by what it is made of.
KINDS = {
    ("RandomSource", "ServiceTunnel", "Router"): "source",
    ("JobSink",): "sink",
    ("Queue", "Delay", "Router"): "station",
    ("Queue", "Server", "Router"): "station",
    ("Queue", "PSServer", "Router"): "station",
    ("Queue", "ServiceTunnel", "Router"): "pass",
    ("Queue", "LogTunnel", "Router"): "pass",
    ("Queue", "ClassSwitch", "Router"): "pass",
    ("Queue", "ServiceTunnel", "Fork"): "fork",
    ("Join", "ServiceTunnel", "Router"): "join",
}

#: Orders that look at neither classes nor times, of which all means are the same.
_BLIND = {"TailStrategy", "HeadStrategy", "RandStrategy"}


@attrs.frozen
class Ranked:
    """A class by name, with its priority."""

    name: str
    closed: bool
    priority: int
    population: int


@attrs.frozen
class Part:
    """A node, where each class goes from it, into what it turns, and when it comes."""

    name: str
    node: Node
    routes: Mapping[str, Targets]
    switches: Mapping[str, Targets]
    arrivals: Mapping[str, Time | None]


def part_of(
    element: Element, classes: Sequence[Ranked], connections: Mapping[str, Sequence[str]],
    regions: Mapping[str, int], where: str,
) -> Part:  # fmt: skip
    """Return what a ``<node>`` says.

    Raises
    ------
    FileError
        If it is made of sections, or a section says things, that are not known here.
    """
    name = attribute(element, "name", f"{where}: a node")
    position = f"{where}: station {name!r}"
    refuse_others(element, _NODE, position)
    sections = {section.get("className", ""): section for section in element.iterfind("section")}
    kind = KINDS.get(tuple(sections))
    if kind is None:
        contents = ", ".join(sections) or "no section"
        if {"Storage", "Enabling"} & set(sections):
            raise PetriPartError(f"{position} is a Petri net's part, which has no product form.")
        raise FileError(
            f"{position} is made of {contents}: known are sources, sinks, delays, queues, routers, "
            "loggers, class switches, forks and joins."
        )
    names = [job.name for job in classes]
    closed = {job.name for job in classes if job.closed}
    sinks = connections.get("", ())
    routes: dict[str, Targets] = {}
    routing = by_class(parameter_of(sections["Router"], "RoutingStrategy", position)) \
        if "Router" in sections else {}  # fmt: skip
    for job in names:
        ways = [to for to in connections[name] if job not in closed or to not in sinks]
        place = f"{position}: routing of {job!r}"
        if kind == "fork":
            routes[job] = tasks(sections["Fork"], job, ways, f"{position}: fork of {job!r}")
        elif kind == "join" and (refusal := join_refusal(sections["Join"], job, position)):
            routes[job] = refusal
        elif kind == "sink":
            routes[job] = {}
        elif job in routing:
            routes[job] = targets(routing[job], ways, place)
    switch = sections.get("ClassSwitch")
    return Part(
        name=name,
        node=Node(
            kind=kind,  # type: ignore[arg-type]
            center=_center(name, sections, classes, regions, position)
            if "Queue" in sections
            else None,
        ),
        routes=routes,
        switches={} if switch is None else switched(switch, names, position),
        arrivals=arrivals_of(sections["RandomSource"], position) if kind == "source" else {},
    )


def join_refusal(section: Element, job: str, position: str) -> str | None:
    """Return why a join is not followed, None where it waits for all tasks."""
    strategies = section.find("parameter[@name='JoinStrategy']")
    entry = by_class(strategies).get(job) if strategies is not None else None
    kind = "NormalJoin" if entry is None else last(entry.get("classPath"))
    needed = "-1" if entry is None else (entry.findtext("subParameter/value") or "-1").strip()
    if kind == "NormalJoin" and needed == "-1":
        return None
    return (
        f"{position}: join of {job!r} is by {kind!r} of {needed} tasks; known is one that waits "
        "for all: simulate it."
    )


def arrivals_of(section: Element, position: str) -> dict[str, Time | None]:
    """Return the times between arrivals of each class, None where none come."""
    strategies = by_class(parameter_of(section, "ServiceStrategy", position))
    return {
        name: time_of(strategy, f"{position}: arrivals of {name!r}")
        for name, strategy in strategies.items()
    }


def _center(
    name: str, sections: _Sections, classes: Sequence[Ranked], regions: Mapping[str, int],
    position: str,
) -> Center | None:  # fmt: skip
    """Return a station, None for what takes no time."""
    queue = sections["Queue"]
    check_names(queue, position)
    limit = room_of(queue, position)
    kinds = [kind for kind in ("Delay", "Server", "PSServer") if kind in sections]
    if not kinds:
        if limit is not None or name in regions:
            raise FileError(f"{position} limits its queue but serves no one; set its size to -1.")
        return None
    (kind,) = kinds
    section = sections[kind]
    check_names(section, position)
    service = service_of(section, classes, position)
    served = [job for job, time in zip(classes, service, strict=True) if time is not None]
    _check_order(queue, section, served, position)
    sizes = [size for size in (limit, regions.get(name)) if size is not None]
    inside = sum(job.population for job in classes)
    opened = [job for job in served if not job.closed]
    size = min(sizes, default=None)
    if size is not None and not opened and inside <= size:
        size = None
    if size is not None and name not in regions:
        _check_drops(queue, served, size, position)
    servers = 1 if kind == "Delay" else servers_of(section, position)
    everyone = not opened and inside <= servers  # a server for each job
    return Center(
        name=name,
        type="delay" if kind == "Delay" else "queue",
        order="turns" if kind == "Server" and not everyone else "shared",
        servers=servers,
        service=service,
        size=size,
    )


def service_of(
    section: Element, classes: Sequence[Ranked], position: str
) -> tuple[Time | None, ...]:
    """Return the time of a visit of each class, None where it is not served."""
    own = "ServiceStrategy" if section.find("parameter[@name='ServiceStrategy']") is not None \
        or section.get("className") != "PSServer" else "ServerStrategy"  # fmt: skip
    strategies = by_class(parameter_of(section, own, position))
    return tuple(
        time_of(strategies[job.name], f"{position}: service of {job.name!r}")
        if job.name in strategies
        else None
        for job in classes
    )


def check_names(section: Element, position: str) -> None:
    """Refuse parameters that are not followed."""
    for parameter in section:
        name = parameter.get("name", "")
        if name not in _PARAMETERS[section.get("className", "")]:
            raise FileError(f"{position}: {name!r} is not supported here; remove it.")


def room_of(queue: Element, position: str) -> int | None:
    """Return how many jobs a queue has room for, None where it has no limit."""
    text = parameter_text(queue, "size")
    if text in {"", "-1"}:
        return None
    size = whole(text, f"{position}: size")
    if size < 1:
        raise FileError(f"{position}: size is 0; give 1 or more, or -1 for no limit.")
    return size


def servers_of(section: Element, position: str) -> int:
    """Return the servers of a section."""
    servers = whole(parameter_text(section, "maxJobs") or "1", f"{position}: maxJobs")
    if servers < 1:
        raise FileError(f"{position}: maxJobs is 0; give 1 or more.")
    return servers


def _check_drops(queue: Element, served: Sequence[Ranked], size: int, position: str) -> None:
    drops = queue.find("parameter[@name='dropStrategies']")
    rules = {} if drops is None else by_class(drops)
    for job in served:
        rule = "drop" if job.name not in rules else rules[job.name].findtext("value", "").strip()
        if rule != "drop" or job.closed:
            raise FileError(
                f"{position} has room for {size} jobs and "
                + (f"a closed class {job.name!r}" if job.closed else f"{rule!r}")
                + ", which has no exact form; known is the loss of open jobs: simulate it."
            )


def _check_order(
    queue: Element, section: Element, served: Sequence[Ranked], position: str
) -> None:  # fmt: skip
    """Refuse orders and shares that look at classes, where there are several."""
    several = len(served) > 1
    names = {job.name for job in served}
    for parameter in (*queue, *section):
        label = parameter.get("name", "")
        entries = [entry for name, entry in by_class(parameter).items() if name in names]
        values = {entry.findtext("value", "").strip() for entry in entries}
        kinds = {last(entry.get("classPath")) for entry in entries}
        ranks = len({job.priority for job in served}) > 1
        plain = {kind.removesuffix("Priority") for kind in kinds}
        wrong = {
            "numberOfVisits": bool(values - {"1"}),
            "classParallelism": bool(values - {"1"}),
            "Impatience": bool(values - {"null"}),
            "retrialDistributions": bool(entries),
            "serverCompatibilities": any(
                (value.text or "").strip() == "false" for value in parameter.iter("value")
            ),
            "maxRunning": (parameter.findtext("value") or "-1").strip() != "-1",
            "QueuePutStrategy": (
                bool(plain - _BLIND)
                and (several or not plain <= {"SEPTStrategy", "LEPTStrategy", *_BLIND})
            )
            or (ranks and plain != kinds),
            "PSStrategy": several
            and plain != {"EPSStrategy"}
            and not (plain <= {"EPSStrategy", "DPSStrategy"} and _alike(section, names)),
        }
        if label == "PSStrategy" and ranks and plain != kinds:
            wrong["PSStrategy"] = True
        if wrong.get(label, False):
            kinds_text = ", ".join(sorted((kinds - {"Integer", "Impatience"}) or values))
            raise FileError(
                f"{position}: {label} is not one that is solved exactly ({kinds_text}); known are "
                "turns that do not look at classes, and equal shares: simulate it."
            )


def _alike(section: Element, names: set[str]) -> bool:
    weights = section.find("parameter[@name='serviceWeights']")
    entries = {} if weights is None else by_class(weights)
    return len({entries[name].findtext("value") for name in names if name in entries}) == 1


def parameter_text(section: Element, name: str) -> str:
    """Return the value of a parameter, "" where there is none."""
    parameter = section.find(f"parameter[@name='{name}']")
    return "" if parameter is None else parameter.findtext("value", "").strip()


def parameter_of(section: Element, name: str, position: str) -> Element:
    """Return a parameter that must be there."""
    parameter = section.find(f"parameter[@name='{name}']")
    if parameter is None:
        raise FileError(f"{position}: {section.get('className')} has no {name}; add it.")
    return parameter
