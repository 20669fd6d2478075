"""Closed queuing networks: what goes into a solution and what comes out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from parcast.errors import FileError

StationType = Literal["delay", "queue"]

#: More jobs than this in one class would take minutes.
MOST_JOBS = 100_000_000


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


@attrs.frozen(kw_only=True)
class Station:
    """A service station: an infinite server (delay) or a single server (queue)."""

    name: str
    type: StationType
    #: Visits times mean service time per visit, seconds per cycle, for each class
    demand: tuple[float, ...] = attrs.field(converter=_floats)


@attrs.frozen(kw_only=True)
class JobClass:
    """Statistically identical jobs that circulate for ever."""

    name: str
    population: int


@attrs.frozen(kw_only=True)
class ClosedNetwork:
    """A product-form network: queues are FCFS exponential or processor sharing."""

    stations: tuple[Station, ...]
    classes: tuple[JobClass, ...]


@attrs.frozen(kw_only=True)
class Bounds:
    """Proven bounds for each class: cycles per second, and seconds per cycle."""

    throughput_lower: tuple[float, ...]
    throughput_upper: tuple[float, ...]
    cycle_time_lower: tuple[float, ...]
    cycle_time_upper: tuple[float, ...]


@attrs.frozen(kw_only=True)
class NetworkSolution:
    """Steady-state means; a class without jobs has 0 everywhere.

    ``response`` has the queues, ``queue_length`` all stations, each with a number per class.
    """

    #: ``mva``, ``integral``, ``lattice``, ``line`` (exact), ``bard-schweitzer`` or ``linearizer``
    method: str
    #: Cycles per second
    throughput: tuple[float, ...]
    #: Seconds per cycle at each queue, service included
    response: Mapping[str, tuple[float, ...]]
    #: Mean number of jobs at each station
    queue_length: Mapping[str, tuple[float, ...]]
    #: Seconds per cycle
    cycle_time: tuple[float, ...]
    #: Only for approximations
    bounds: Bounds | None = None
    #: Why the answer is not exact
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the method is exact."""
        return self.bounds is None

    def to_data(self) -> dict[str, Any]:
        """Return the solution as JSON-ready data; ``bounds`` and ``notes`` only if inexact."""
        data = attrs.asdict(self, recurse=False)
        bounds, notes = data.pop("bounds"), data.pop("notes")
        if bounds is not None:
            data |= {"bounds": _bounds_data(bounds), "notes": list(notes)}
        return data


def _bounds_data(bounds: Bounds) -> dict[str, Any]:
    return {
        "throughput": {"lower": bounds.throughput_lower, "upper": bounds.throughput_upper},
        "cycle_time": {"lower": bounds.cycle_time_lower, "upper": bounds.cycle_time_upper},
    }


def check_network(network: ClosedNetwork, where: str = "The network") -> None:
    """Refuse a network that has no solution.

    Parameters
    ----------
    network
        Its types are taken to be right.
    where
        What the message names as its position, such as a file.

    Raises
    ------
    FileError
        If it has no stations or classes, two of one name, a demand or population out of range,
        a demand list of the wrong length, or a class with no demand anywhere.
    """
    _check_names([station.name for station in network.stations], f"{where}: stations")
    _check_names([job.name for job in network.classes], f"{where}: classes")
    for index, station in enumerate(network.stations):
        _check_demand(station, len(network.classes), f"{where}: stations[{index}]")
    for index, job in enumerate(network.classes):
        _check_class(network, index, job, f"{where}: classes[{index}]")


def _check_names(names: Sequence[str], position: str) -> None:
    if not names:
        raise FileError(f"{position} is empty; give at least one.")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise FileError(f"{position}[{index}].name {name!r} is used twice; give each its own.")


def _check_demand(station: Station, classes: int, position: str) -> None:
    if station.type not in {"delay", "queue"}:
        raise FileError(f"{position}.type is {station.type!r}; give 'delay' or 'queue'.")
    count = len(station.demand)
    if count != classes:
        numbers, those = _plural(count, "number"), _plural(classes, "class", "classes")
        raise FileError(f"{position}.demand has {numbers} for {those}; give one for each class.")
    for index, demand in enumerate(station.demand):
        if not (math.isfinite(demand) and demand >= 0):
            raise FileError(
                f"{position}.demand[{index}] is {demand}; give a finite number of seconds, "
                "0 or more."
            )


def _check_class(network: ClosedNetwork, index: int, job: JobClass, position: str) -> None:
    if not 0 <= job.population <= MOST_JOBS:
        raise FileError(
            f"{position}.population is {job.population}; give a whole number from 0 to {MOST_JOBS}."
        )
    if not any(station.demand[index] > 0 for station in network.stations):
        raise FileError(
            f"{position} {job.name!r} has no demand at any station; give one above 0 somewhere."
        )


def _plural(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
