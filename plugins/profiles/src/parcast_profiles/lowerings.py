"""A profile as phases, and as a program: each region as long as recorded, on any machine."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from parcast import Formula, InvalidPointError, Query, Unit, Workload
from parcast.model import Phase, Phases, Traffic, place
from parcast.program import read_source
from parcast_profiles.profile import Profile, Profiled, Region

#: Regions that are phases of their own; what is shorter is one phase together.
_MOST_REGIONS, _LEAST_SHARE = 40, 1e-3


def phases(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a profile as ``phases`` of the query's machine, and what is assumed.

    A phase for each region takes every process the mean of its recorded seconds: as serial work,
    or in calls that load no network.
    """
    rate = query.machine.need("processor.rate", "a profile") * float(place(query).speed.min())
    listed = []
    for region, seconds in _seconds(workload.content, query):
        if region.communicates and query.p > 1:
            traffic, serial = Traffic(fixed=seconds, transfer=0.0, level=0.0), 0.0
        else:
            traffic, serial = None, seconds * rate
        work = Formula.read(serial, Unit("FLOP"))
        listed.append(Phase(name=region.name, serial=work, traffic=traffic,
                            distribution="constant"))  # fmt: skip
    content = Phases(phase=tuple(listed))
    return attrs.evolve(workload, kind="phases", content=content), _notes(workload.content, query)


def program(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a profile as a ``program`` whose regions elapse, and what is assumed."""
    lines = ["def program(rank, size):"]
    for region, seconds in _seconds(workload.content, query):
        lines += [f"    region({region.name!r})", f"    elapse({seconds!r})"]
    content = read_source("\n".join(lines) + "\n", f"{workload.name} as a program", workload.name)
    converted = attrs.evolve(workload, kind="program", content=content.content)
    return converted, _notes(workload.content, query)


def _seconds(content: Profiled, query: Query) -> list[tuple[Region, float]]:
    """Return regions with the seconds of one process, as the query's parameters have them.

    Computation is divided by ``speed``, communication multiplied by ``mpi``.
    """
    content.check(query)
    speed, mpi = (float(query.values[name]) for name in ("speed", "mpi"))
    if speed <= 0 or mpi < 0:
        raise InvalidPointError(f"speed = {speed:g} must be above 0, and mpi = {mpi:g} 0 or more")
    return [
        (region, region.seconds * (mpi if region.communicates else 1 / speed) / query.p)
        for region in _shown(content.profile)
    ]


def _shown(profile: Profile) -> Iterator[Region]:
    """Yield the longest regions, and all others together, those apart that communicate."""
    least = _LEAST_SHARE * profile.seconds
    for number, region in enumerate(profile.regions):
        if number < _MOST_REGIONS and region.seconds >= least:
            yield region
    short = [
        region
        for number, region in enumerate(profile.regions)
        if number >= _MOST_REGIONS or region.seconds < least
    ]
    for communicates in (False, True):
        alike = [region for region in short if region.communicates == communicates]
        if alike:
            name = f"{len(alike)} other {'calls' if communicates else 'regions'}"
            yield Region(name, sum(region.seconds for region in alike), communicates)


def _notes(content: Profiled, query: Query) -> tuple[str, ...]:
    speed, mpi = (float(query.values[name]) for name in ("speed", "mpi"))
    return tuple(_sentences(content.profile, speed, mpi))


def _sentences(profile: Profile, speed: float, mpi: float) -> Iterator[str]:
    yield (
        "a profile: computation takes as long as recorded"
        + (f", divided by speed = {speed:g}" if speed != 1 else " on any machine (--set speed=2)")
    )
    if profile.communication:
        share = profile.communication / profile.seconds
        treated = "stay as recorded" if mpi == 1 else f"count {mpi:g} times"
        yield (
            f"{profile.communication / profile.processes:.4g} s of a rank ({share:.1%}) in calls "
            f"that communicate {treated}, on any network: a profile does not tell their messages "
            "(--set mpi=0 leaves them out)"
        )
    else:
        yield "the profile tells no communication apart: what there was is in other regions"
    if len(profile.by_rank) > 1 and any(profile.by_rank):
        mean = sum(profile.by_rank) / len(profile.by_rank)
        yield (
            f"means of ranks: the longest rank has {max(profile.by_rank) / mean:.3g} times the mean"
        )
    yield from profile.notes
