"""Open and mixed networks: stations, classes, and the flows between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from parcast.errors import UnsupportedError
from parcast_spmd.mixed.times import Time


class NoSteadyStateError(UnsupportedError):
    """More work comes than is done; nothing else need be known."""


@attrs.frozen(kw_only=True)
class Center:
    """A station: any number of servers, at once or in turn.

    ``order`` is ``shared`` (equal shares of the servers) or ``turns`` (one job at a server at a
    time, in an order that does not look at classes or times).
    """

    name: str
    type: Literal["delay", "queue"]
    order: Literal["shared", "turns"] = "turns"
    servers: int = 1
    #: Time of a visit of each class, in seconds; None where the class is not served
    service: tuple[Time | None, ...]
    #: Work done each second with 1, 2, ... jobs, the last for all more; () is one per server
    speeds: tuple[float, ...] = ()
    #: Most jobs, in service or waiting; those that come then are lost
    size: int | None = None


@attrs.frozen(kw_only=True)
class Chain:
    """Classes whose jobs may turn into one another: so many jobs, or so many a second."""

    #: Positions of its classes
    members: tuple[int, ...]
    #: Jobs, None where it is open
    population: int | None = None
    #: Jobs that come each second from outside
    rate: float = 0.0


@attrs.frozen(kw_only=True)
class Feed:
    """How jobs from outside come to a station: as a Poisson process if both are None."""

    #: Time between arrivals that are one by one and independent, in seconds
    renewal: Time | None = None
    #: What is in the way of every exact law
    obstacle: str | None = None


@attrs.frozen(kw_only=True)
class Split:
    """Tasks of a job that run at once until all are done."""

    chain: int
    #: Splits for each job
    visits: float
    #: Stations of each branch
    branches: tuple[tuple[int, ...], ...]


@attrs.frozen(kw_only=True)
class MixedNetwork:
    """Stations, chains, and how often each class of a chain visits each station."""

    centers: tuple[Center, ...]
    classes: tuple[str, ...]
    chains: tuple[Chain, ...]
    #: Visits to each station (rows) of each class (columns) for each job or cycle of its chain
    visits: tuple[tuple[float, ...], ...]
    #: Throughput of each class for each job or cycle of its chain
    shares: tuple[float, ...]
    feeds: tuple[Feed, ...]
    splits: tuple[Split, ...] = ()


@attrs.frozen(kw_only=True)
class MixedSolution:
    """Steady-state means; times and lengths by station have a number for each class."""

    #: ``open`` (each station by itself), or ``convolution``
    method: str
    #: Jobs that come, or cycles, each second
    throughput: tuple[float, ...]
    #: Visits each second
    visit_rate: Mapping[str, tuple[float, ...]]
    #: Seconds of a visit
    visit_response: Mapping[str, tuple[float, ...]]
    #: Seconds for each job or cycle of the chain
    response: Mapping[str, tuple[float, ...]]
    queue_length: Mapping[str, tuple[float, ...]]
    #: Share of its servers that each class keeps busy; queues only
    utilization: Mapping[str, tuple[float, ...]]
    #: Seconds from source to sink, or of a cycle, by class; None where only bounds are proven
    cycle_time: tuple[float | None, ...]
    #: Proven bounds of these
    cycle_time_lower: tuple[float, ...]
    cycle_time_upper: tuple[float, ...]
    #: Share of the arrivals that is lost, at stations with limited room
    loss: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return the solution as data for JSON."""
        return attrs.asdict(self)
