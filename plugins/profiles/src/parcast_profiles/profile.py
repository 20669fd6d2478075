"""A profile: how long each region of a run took, summed over its calls and ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from parcast import InvalidPointError, Query
from parcast.errors import FileError


@attrs.frozen
class Region:
    """What one name took by itself, without what it called."""

    name: str
    seconds: float  #: of all ranks together
    communicates: bool = False  #: whether it is a call of MPI or of the like
    calls: float | None = None  #: of all ranks, where they were counted


@attrs.frozen(kw_only=True)
class Profile:
    """A profile as a tool wrote it."""

    where: str
    tool: str
    processes: int
    regions: tuple[Region, ...]  #: the longest first
    by_rank: tuple[float, ...] = ()  #: seconds of each rank, where they are told apart
    notes: tuple[str, ...] = ()  #: what is missing or was assumed
    about: Mapping[str, str] = attrs.field(factory=dict, hash=False)  #: further facts

    @property
    def seconds(self) -> float:
        """Of all ranks together."""
        return math.fsum(region.seconds for region in self.regions)

    @property
    def communication(self) -> float:
        """Seconds in calls that communicate, of all ranks together."""
        return math.fsum(region.seconds for region in self.regions if region.communicates)


@attrs.frozen
class Profiled:
    """The content of a ``profile`` workload."""

    profile: Profile = attrs.field(repr=False)

    def check(self, query: Query) -> None:
        """Refuse a number of processes that is not the profile's own.

        Raises
        ------
        InvalidPointError
            If it is not.
        """
        processes = self.profile.processes
        if query.p != processes:
            raise InvalidPointError(
                f"{self.profile.where}: a profile of {processes} processes says nothing of "
                f"p={query.p}; give -p {processes}"
            )


def joined(regions: Iterable[Region], where: str) -> tuple[Region, ...]:
    """Return regions of which those of one name are one, the longest first.

    Raises
    ------
    FileError
        If a time is none, or there is no time at all.
    """
    seconds: dict[tuple[str, bool], list[float]] = defaultdict(list)
    calls: dict[tuple[str, bool], list[float | None]] = defaultdict(list)
    for region in regions:
        if not 0 <= region.seconds < math.inf:
            raise FileError(
                f"{where}: region {region.name!r} took {region.seconds:g} s; times are 0 or more"
            )
        seconds[region.name, region.communicates].append(region.seconds)
        calls[region.name, region.communicates].append(region.calls)
    sums = [
        Region(name, math.fsum(seconds[name, communicates]), communicates,
               _sum(calls[name, communicates]))
        for name, communicates in seconds
    ]  # fmt: skip
    if not any(region.seconds for region in sums):
        raise FileError(f"{where}: no region in it took any time")
    return tuple(sorted(sums, key=lambda region: (-region.seconds, region.name)))


def _sum(values: Iterable[float | None]) -> float | None:
    counts = [value for value in values if value is not None]
    return math.fsum(counts) if counts else None


def communicates(name: str) -> bool:
    """Tell a call that communicates, or waits for others, by its name."""
    return name.startswith(("MPI_", "PMPI_", "nccl", "shmem_", "gaspi_")) or name == "Idle"
