"""Regions of JSIM models: nodes that together have room for so many jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, attribute, whole
from parcast_spmd.jmt.nodes import Ranked
from parcast_spmd.states.model import Region


def regions_of(
    sim: Element, index: Mapping[str, int], jobs: Sequence[Ranked], where: str
) -> Iterator[Region]:
    """Yield the regions of a ``<sim>`` that limit jobs.

    Parameters
    ----------
    sim
        The network.
    index
        The number of each node, by name.
    jobs
        Its classes.
    where
        Starts every error's sentence.

    Raises
    ------
    FileError
        If a region's states are not followed; its position is named.
    """
    seen: set[int] = set()
    for region in sim.iterfind("blockingRegion"):
        name = region.get("name", "")
        position = f"{where}: region {name!r}"
        limit, most_of = _limits(region, jobs, position)
        if limit is None and not any(limit is not None for limit in most_of):
            continue
        stated = [attribute(n, "nodeName", position) for n in region.iterfind("regionNode")]
        if strange := [node for node in stated if node not in index]:
            raise FileError(f"{position}: {strange[0]!r} is no node; name one.")
        nodes = frozenset(index[node] for node in stated)
        if not nodes or seen & nodes:
            raise FileError(f"{position} has no nodes, or one of another region; mend it.")
        seen |= nodes
        sizes = _by_class(region, jobs, "classSize", "size", "1", position)
        drops = {r.get("jobClass"): r.get("dropThisClass") for r in region.iterfind("dropRules")}
        yield Region(
            name=name, nodes=nodes, most=limit, most_of=most_of, weights=tuple(sizes),
            lost=tuple(drops.get(job.name) == "true" for job in jobs),
        )  # fmt: skip


def _limits(
    region: Element, jobs: Sequence[Ranked], position: str
) -> tuple[int | None, tuple[int | None, ...]]:
    memory = {e.get("maxMemory", "-1") for e in region.iterfind("globalMemoryConstraint")} | {
        e.get("maxMemoryPerClass", "-1") for e in region.iterfind("classMemoryConstraint")
    }
    if memory - {"-1"} or region.find("groupConstraint") is not None:
        raise FileError(f"{position}: limits of memory and of groups are not followed.")
    whole_limit = region.find("globalConstraint")
    text = "-1" if whole_limit is None else (whole_limit.get("maxJobs") or "-1").strip()
    limit = None if text == "-1" else whole(text, f"{position}: its limit")
    by_name = _by_class(region, jobs, "classConstraint", "maxJobsPerClass", "-1", position)
    return limit, tuple(None if limit < 0 else limit for limit in by_name)


def _by_class(
    region: Element, jobs: Sequence[Ranked], tag: str, key: str, default: str, position: str
) -> Iterator[int]:
    texts = {e.get("jobClass"): (e.get(key) or default).strip() for e in region.iterfind(tag)}
    for job in jobs:
        text = texts.get(job.name, default)
        yield -1 if text == "-1" else whole(text, f"{position}: {key} of {job.name!r}")
