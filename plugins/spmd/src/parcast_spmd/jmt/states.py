"""JSIM models (.jsimg) as states: what has no product form, Petri parts among it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, number, whole
from parcast_spmd.jmt.jsimg import Outline, outline_of
from parcast_spmd.jmt.nodes import (
    KINDS,
    Ranked,
    arrivals_of,
    join_refusal,
    parameter_of,
)
from parcast_spmd.jmt.regions import regions_of
from parcast_spmd.jmt.routing import Targets, switched, targets, tasks
from parcast_spmd.jmt.service import by_class, last, time_of
from parcast_spmd.jmt.station_states import station_service
from parcast_spmd.mixed.times import Phases
from parcast_spmd.states.model import (
    Mode,
    Node,
    Route,
    Spot,
    StatesModel,
)

#: Routing that looks at states, and so can be followed
_ROUTES: Mapping[str, Literal["shortest", "in turn"]] = {
    "ShortestQueueLengthRoutingStrategy": "shortest", "RoundRobinStrategy": "in turn",
}  # fmt: skip
_PLACE = ("Storage", "ServiceTunnel", "Linkage")
_TRANSITION = ("Enabling", "Timing", "Firing")
#: Jobs and tokens that stand somewhere at first
_MOST_JOBS = 10_000


def states_from_jsimg(root: Element, where: str) -> StatesModel:
    """Return the network of an ``<archive>`` or a ``<sim>``, for its chain of states.

    Raises
    ------
    FileError
        If the model has parts whose states are not followed; its position is named.
    """
    outline = outline_of(root, where)
    made_of = [
        tuple(section.get("className", "") for section in element.iterfind("section"))
        for element in outline.elements
    ]
    holders = [
        element
        for element, sections in zip(outline.elements, made_of, strict=True)
        if sections != _TRANSITION
    ]
    index = {element.get("name", ""): k for k, element in enumerate(holders)}
    classes = {job.name: r for r, job in enumerate(outline.classes)}
    reading = _Reading(outline, index, classes, where)
    nodes = tuple(reading.node(element) for element in holders)
    modes = tuple(
        mode
        for element, sections in zip(outline.elements, made_of, strict=True)
        if sections == _TRANSITION
        for mode in reading.modes(element, nodes)
    )
    references = tuple(
        reading.reference(user, job, nodes)
        for user, job in zip(outline.users, outline.classes, strict=True)
    )
    return StatesModel(
        nodes=nodes,
        classes=tuple(classes),
        closed=tuple(job.closed for job in outline.classes),
        modes=modes,
        regions=tuple(regions_of(outline.sim, index, outline.classes, where)),
        references=references,
        initial=reading.initial(references),
    )


class _Reading:
    """Positions of nodes and classes while a file is read."""

    def __init__(
        self, outline: Outline, index: Mapping[str, int], classes: Mapping[str, int], where: str
    ) -> None:
        self.outline, self.where, self.index, self.classes = outline, where, index, classes
        self.jobs = outline.classes

    def node(self, element: Element) -> Node:
        """Return a node that jobs or tokens are at."""
        name = element.get("name", "")
        position = f"{self.where}: station {name!r}"
        sections = {part.get("className", ""): part for part in element.iterfind("section")}
        if tuple(sections) == _PLACE:
            self._check_place(sections["Storage"], position)
            return Node(name=name, kind="place")
        kind = KINDS.get(tuple(sections))
        if kind is None:
            contents = ", ".join(sections) or "no section"
            raise FileError(f"{position} is made of {contents}, whose states are not followed.")
        routes = () if kind in {"sink", "fork"} else tuple(self._routes(name, sections, position))
        return Node(
            name=name,
            kind=kind,  # type: ignore[arg-type]
            routes=routes,
            service=station_service(sections, self.jobs, position) if kind == "station" else None,
            arrivals=self._arrivals(sections["RandomSource"], position) if kind == "source" else (),
            tasks=tuple(self._tasks(name, sections["Fork"], position)) if kind == "fork" else (),
        )

    def _ways(self, name: str, job: Ranked) -> list[str]:
        """Return to which nodes a class may go; closed classes go to no sink."""
        sinks = self.outline.connections.get("", ())
        ways = self.outline.connections[name]
        strange = [to for to in ways if to not in self.index]
        if strange:
            raise FileError(
                f"{self.where}: {name!r} leads to transition {strange[0]!r}; let it lead to a "
                "place."
            )
        return [to for to in ways if not job.closed or to not in sinks]

    def _routes(
        self, name: str, sections: Mapping[str, Element], position: str
    ) -> Iterator[Route | str | None]:
        routing = by_class(parameter_of(sections["Router"], "RoutingStrategy", position))
        names = list(self.classes)
        switch = sections.get("ClassSwitch")
        turns = {} if switch is None else switched(switch, names, position)
        by_name: dict[str, Route | str | None] = {}
        for job in self.jobs:
            place = f"{position}: routing of {job.name!r}"
            entry = routing.get(job.name)
            refusal = None
            if "Join" in sections:
                refusal = join_refusal(sections["Join"], job.name, position)
            by_name[job.name] = refusal or self._route(entry, self._ways(name, job), job, place)
        for job in self.jobs:
            ways = turns.get(job.name, {job.name: 1.0})
            yield self._switched(ways, by_name, position)

    def _route(
        self, entry: Element | None, ways: Sequence[str], job: Ranked, place: str
    ) -> Route | str | None:
        if entry is None:
            return None
        r, kind = self.classes[job.name], _ROUTES.get(last(entry.get("classPath")))
        if kind is not None and len(ways) > 1:
            return Route(kind=kind, ways={(self.index[to], r): 1.0 for to in ways})
        result = targets(entry, ways, place)
        if isinstance(result, str) or result is None:
            return result
        return Route(ways={(self.index[to], r): weight for to, weight in result.items()})

    def _switched(
        self, turns: Targets, by_name: Mapping[str, Route | str | None], position: str
    ) -> Route | str | None:
        """Return where a class goes that turns into others first, or why that is not known."""
        if turns is None or isinstance(turns, str):
            return turns
        if len(turns) == 1:
            (name,) = turns
            return by_name[name]
        weights: dict[Spot, float] = {}
        for name, probability in turns.items():
            route = by_name[name]
            if not isinstance(route, Route) or route.kind != "chance":
                return (
                    route
                    if isinstance(route, str)
                    else f"{position}: classes change by chance and {name!r} has no routing by "
                    "chance there; give probabilities."
                )
            for spot, weight in route.ways.items():
                weights[spot] = weights.get(spot, 0.0) + probability * weight
        return Route(ways=weights)

    def _tasks(self, name: str, section: Element, position: str) -> Iterator[dict[int, int] | None]:
        for job in self.jobs:
            sent = tasks(
                section, job.name, self._ways(name, job), f"{position}: fork of {job.name!r}"
            )
            if isinstance(sent, str):
                raise FileError(sent)
            yield (
                None if sent is None else {self.index[to]: int(count) for to, count in sent.items()}
            )

    def _arrivals(self, section: Element, position: str) -> tuple[Phases | None, ...]:
        stated = arrivals_of(section, position)
        result: list[Phases | None] = []
        for job in self.jobs:
            time = None if job.closed else stated.get(job.name)
            if time is not None and time.phases is None:
                raise FileError(
                    f"{position}: arrivals of {job.name!r} are no sequence of exponential phases."
                )
            result.append(None if time is None else time.phases)
        return tuple(result)

    def _check_place(self, section: Element, position: str) -> None:
        for parameter in section:
            name = parameter.get("name", "")
            values = {(value.text or "").strip() for value in parameter.iter("value")}
            if name in {"totalCapacity", "capacities"} and values - {"-1", ""}:
                raise FileError(f"{position} has a capacity, which is not followed; set it to -1.")

    def modes(self, element: Element, nodes: Sequence[Node]) -> Iterator[Mode]:
        """Yield the ways in which a transition fires."""
        name = element.get("name", "")
        position = f"{self.where}: transition {name!r}"
        sections = {part.get("className", ""): part for part in element.iterfind("section")}
        enabling, timing = sections["Enabling"], sections["Timing"]
        firing = parameter_of(sections["Firing"], "firingOutcomes", position)
        columns: list[list[Any]] = [
            list(parameter_of(enabling, "enablingConditions", position)),
            list(parameter_of(enabling, "inhibitingConditions", position)),
            list(firing),
            [_value(e) for e in parameter_of(timing, "modeNames", position)],
            [_value(e) for e in parameter_of(timing, "numbersOfServers", position)],
            list(parameter_of(timing, "timingStrategies", position)),
            [_value(e) for e in parameter_of(timing, "firingPriorities", position)],
            [_value(e) for e in parameter_of(timing, "firingWeights", position)],
        ]
        if len({len(column) for column in columns}) != 1:
            raise FileError(f"{position}: its lists of modes are of unlike lengths; mend them.")
        for need, stop, give, label, servers, strategy, priority, weight in zip(
            *columns, strict=True
        ):
            place = f"{position}, {label}"
            time = time_of(strategy, place)
            if time is None or not (time.exponential or not time.mean):
                raise FileError(f"{place}: its time is not exponential, which is not followed.")
            mode = Mode(
                name=f"{name}/{label}",
                need=self._spots(need, place),
                stop=self._spots(stop, place),
                give=self._spots(give, place),
                rate=1 / time.mean if time.mean else None,
                servers=None if servers == "-1" else whole(servers, f"{place}: servers"),
                priority=int(number(priority, f"{place}: priority")) if time.mean == 0 else 0,
                weight=number(weight, f"{place}: weight"),
            )
            self._check_mode(mode, nodes, place)
            yield mode

    def _check_mode(self, mode: Mode, nodes: Sequence[Node], place: str) -> None:
        for k, _ in (*mode.need, *mode.stop):
            if nodes[k].kind != "place":
                raise FileError(f"{place}: {nodes[k].name!r} is no place to take tokens from.")
        if not mode.need and (mode.servers is None or mode.rate is None):
            raise FileError(f"{place}: it takes nothing and has no limit; give it an input.")

    def _spots(self, matrix: Element, place: str) -> dict[Spot, int]:
        """Return numbers of tokens by node and class, those of 0 left out."""
        result: dict[Spot, int] = {}
        for vector in matrix.iterfind("subParameter/subParameter"):
            station = vector.find("subParameter[@name='stationName']")
            name = "" if station is None else _value(station)
            if name not in self.index:
                raise FileError(f"{place}: {name!r} is no place or station; mend its name.")
            for entries in vector:
                for job, entry in by_class(entries).items():
                    if job not in self.classes:
                        raise FileError(f"{place}: {job!r} is no class; name one.")
                    count = whole(_value(entry), f"{place}: tokens of {job!r} at {name!r}")
                    if count > _MOST_JOBS:
                        raise FileError(f"{place}: {count:,} tokens are too many.")
                    if count:
                        result[self.index[name], self.classes[job]] = count
        return result

    def reference(self, user: Element, job: Ranked, nodes: Sequence[Node]) -> int | None:
        """Return where a class is counted, None for an open one without arrivals."""
        name = attribute(user, "referenceSource", f"{self.where}: class {job.name!r}")
        k = self.index.get(name)
        if job.closed and (k is None or nodes[k].kind in {"source", "sink"}):
            raise FileError(
                f"{self.where}: class {job.name!r}: its reference station {name!r} is none; name "
                "a station or a place."
            )
        if not job.closed and k is not None:
            arrivals = nodes[k].arrivals
            return k if arrivals and arrivals[self.classes[job.name]] is not None else None
        return k

    def initial(self, references: Sequence[int | None]) -> dict[Spot, int]:
        """Return where jobs and tokens are at first: those not stated at their references."""
        result: dict[Spot, int] = {}
        for station in self.outline.sim.iterfind("preload/stationPopulations"):
            name = attribute(station, "stationName", f"{self.where}: preload")
            for entry in station.iterfind("classPopulation"):
                position = f"{self.where}: preload of {name!r}"
                label = attribute(entry, "refClass", position)
                count = whole(attribute(entry, "population", position), position)
                if name not in self.index or label not in self.classes:
                    raise FileError(f"{position}: no such station or class {label!r}; mend it.")
                spot = self.index[name], self.classes[label]
                result[spot] = result.get(spot, 0) + count
        for r, job in enumerate(self.jobs):
            stated = sum(count for (_, c), count in result.items() if c == r)
            k = references[r]
            if job.closed and stated > job.population:
                raise FileError(
                    f"{self.where}: preload has {stated} jobs of {job.name!r}, of which there are "
                    f"{job.population}; mend one."
                )
            if job.closed and k is not None and stated < job.population:
                result[k, r] = result.get((k, r), 0) + job.population - stated
        if sum(result.values()) > _MOST_JOBS:
            raise FileError(f"{self.where}: it begins with more than {_MOST_JOBS:,} jobs.")
        return result


def _value(element: Element) -> str:
    return (element.findtext("value") or "").strip()
