"""The structure of a closed network: which classes share which queues, and which are alike."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from parcast_spmd.mva.closed_network import ClosedNetwork
from parcast_spmd.mva.mva_kernels import Floats


@attrs.frozen(kw_only=True)
class Group:
    """Classes that differ only in their names and in which private queues are theirs."""

    #: Class positions in the network
    members: tuple[int, ...]
    #: Jobs in each member
    population: int
    #: Time without queuing, seconds per cycle
    delay: float
    #: Demand at each queue shared in the component, seconds per cycle
    shared: tuple[float, ...]
    #: Demand at each private queue, seconds per cycle, ascending
    private: tuple[float, ...]
    #: For each member, the stations of its private queues in the order of ``private``
    stations: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """How many classes are alike."""
        return len(self.members)


@attrs.frozen(kw_only=True)
class Component:
    """Groups of classes linked by shared queues, independent of the rest of the network."""

    #: Stations of the queues that several of its classes visit
    shared: tuple[int, ...]
    groups: tuple[Group, ...]

    @property
    def jobs(self) -> int:
        """The jobs of all its classes."""
        return sum(group.count * group.population for group in self.groups)


@attrs.frozen(kw_only=True)
class GroupResult:
    """What one class of a group does: the means of an exact or approximate solution."""

    #: Cycles per second
    throughput: float
    #: Mean number of the class's jobs at each shared queue
    shared: Floats
    #: Mean number of the class's jobs at each private queue
    private: Floats


def components(network: ClosedNetwork) -> Iterator[Component]:
    """Yield the independent parts of a network; classes without jobs are in none."""
    active = [r for r, job in enumerate(network.classes) if job.population > 0]
    queues = [k for k, station in enumerate(network.stations) if station.type == "queue"]
    visitors = {k: [r for r in active if network.stations[k].demand[r] > 0] for k in queues}
    label = {r: r for r in active}
    for linked in visitors.values():
        merged = {label[r] for r in linked}
        label |= {r: min(merged) for r in active if label[r] in merged}
    for root in sorted(set(label.values())):
        members = [r for r in active if label[r] == root]
        shared = tuple(k for k in queues if len(visitors[k]) > 1 and label[visitors[k][0]] == root)
        private = {r: [k for k in queues if visitors[k] == [r]] for r in members}
        yield Component(shared=shared, groups=tuple(_groups(network, members, shared, private)))


@attrs.frozen(kw_only=True)
class _Likeness:
    """What two classes have in common when they are alike."""

    population: int
    delay: float
    shared: tuple[float, ...]
    private: tuple[float, ...]


def _groups(
    network: ClosedNetwork,
    members: list[int],
    shared: tuple[int, ...],
    private: dict[int, list[int]],
) -> Iterator[Group]:
    stations = network.stations
    delays = [station for station in stations if station.type == "delay"]
    by_likeness: dict[_Likeness, list[tuple[int, tuple[int, ...]]]] = {}
    for r in members:
        ascending = sorted((stations[k].demand[r], k) for k in private[r])
        key = _Likeness(
            population=network.classes[r].population,
            delay=math.fsum(station.demand[r] for station in delays),
            shared=tuple(stations[k].demand[r] for k in shared),
            private=tuple(demand for demand, _ in ascending),
        )
        by_likeness.setdefault(key, []).append((r, tuple(k for _, k in ascending)))
    for key, classes in by_likeness.items():
        yield Group(
            members=tuple(r for r, _ in classes),
            population=key.population,
            delay=key.delay,
            shared=key.shared,
            private=key.private,
            stations=tuple(private for _, private in classes),
        )
