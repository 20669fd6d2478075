"""A recorded run as a program: its calls and what was computed between them, without waiting."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from parcast import Query, UnsupportedError, Workload
from parcast.placement import place
from parcast.program import Operation, Program, Unrolled
from parcast.program.tree import Site
from parcast_perturb.timing import gaps_of
from parcast_perturb.trace.calls import ALL, NAMES
from parcast_perturb.trace.columns import (
    BYTES,
    COUNT,
    FIRST,
    INTO,
    KIND,
    NAME,
    OUT,
    SITE,
    Floats,
    Trace,
)
from parcast_perturb.traced import Traced

_NOTE = (
    "a recorded run: what was computed takes as long on any machine, waiting is asked anew, and "
    "what calls cost their rank itself is the machine's"
)

_OF_WORK = "a trace of work, which takes as long as this machine needs for it"

#: Every operation becomes an object; a longer trace would take gigabytes.
MOST_EVENTS = 300_000

_SAME = frozenset(["send", "isend", "recv", "irecv", "sendrecv"])
_SAME |= {"barrier", "bcast", "reduce", "gather", "scatter", "allreduce", "allgather"}
_SAME |= {"alltoall", "reduce_scatter", "scan"}
_ALIKE: Mapping[str, str] = {
    "rsend": "send", "irsend": "isend", "gatherv": "gather", "scatterv": "scatter",
    "allgatherv": "allgather", "alltoallv": "alltoall", "reduce_scatter_block": "reduce_scatter",
    "comm_split": "barrier", "comm_dup": "barrier", "comm_create": "barrier",
}  # fmt: skip
_WAITS = frozenset(["wait", "waitall", "waitany", "waitsome", "test", "testall", "testany"])
_NOTHING = frozenset(["init", "finalize", "call", "iprobe", "request_free"])


def program(given: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a recorded run as a ``program`` at its own number of processes.

    Raises
    ------
    UnsupportedError
        If the trace is too long, its times have no unit, or the language has no such call.
    """
    content: Traced = given.content
    content.check(query)
    trace = content.trace
    if trace.count > MOST_EVENTS:
        raise UnsupportedError(
            f"{trace.where} has {trace.count:,} events, and up to {MOST_EVENTS:,} become a program"
        )
    if trace.timed and trace.tick is None:
        raise UnsupportedError(f"{trace.where}: the times have no unit; state it in the trace")
    sites = tuple(Site(name) for name in trace.sites)
    gaps = gaps_of(trace) * (trace.tick or 1.0)
    offsets = trace.events.offsets
    if trace.timed:
        if content.added is None:  # recorded: when a clock began says nothing
            gaps[offsets[:-1][np.diff(offsets) > 0]] = 0.0
        gaps *= np.repeat(place(query).speed, np.diff(offsets))  # as `elapse` divides by it
    starts = frozenset(() if content.starts is None else content.starts.tolist())
    lists = [list(_operations(trace, gaps, starts, rank)) for rank in range(trace.size)]
    made = Program(None, Unrolled.of_ranks(lists, sites, trace.where))
    return attrs.evolve(given, kind="program", content=made), (_NOTE if trace.timed else _OF_WORK,)


def _operations(
    trace: Trace, gaps: Floats, starts: Collection[int], rank: int
) -> Iterator[Operation]:
    """Yield the operations of one rank."""
    events, at, opened = trace.events, 0, dict[int, int]()
    for row in range(int(events.offsets[rank]), int(events.offsets[rank + 1])):
        site, name = int(events.whole[row, SITE]), trace.name(row)
        if gaps[row] > 0:
            yield _work(trace, site, float(gaps[row]))
            at += 1
        if row in starts:
            yield Operation(site, "start", {})
            at += 1
        if name in _NOTHING:
            continue
        if name in _WAITS:
            first, count = (int(events.whole[row, column]) for column in (FIRST, COUNT))
            slots = events.slots[first : first + count].tolist()
            if slots or name == "waitall":  # which is a call even with nothing to wait for
                yield Operation(site, "waitall", {}, tuple(sorted(opened[one] for one in slots)))
                at += 1
            continue
        op = _ALIKE.get(name, name)
        if op not in _SAME:
            raise UnsupportedError(
                f"{trace.place(row)} ({name}): the language of programs has no such call"
            )
        if op in ("isend", "irecv"):
            opened[int(events.whole[row, COUNT])] = at
        yield Operation(site, op, _arguments(trace, row, op))
        at += 1


def _work(trace: Trace, site: int, gap: float) -> Operation:
    """Return what was done between two calls: seconds, or operations where there are no times."""
    if trace.tick is None:
        return Operation(site, "compute", {"flops": gap, "bytes": 0})
    return Operation(site, "elapse", {"seconds": gap})


def _arguments(trace: Trace, row: int, op: str) -> dict[str, Any]:
    whole, channels = trace.events.whole[row], trace.channels
    size = float(trace.events.times[row, BYTES])
    if whole[KIND] >= ALL:
        return _together(trace, row, op, size)
    found: dict[str, Any] = {}
    tags = []
    for column, peer, ends in ((OUT, "dst", channels.target), (INTO, "src", channels.source)):
        if whole[column] >= 0:
            found[peer] = int(ends[whole[column]])
            tags.append(_tag(trace, int(whole[column])))
    if len(set(tags)) > 1:
        raise UnsupportedError(
            f"{trace.place(row)} (sendrecv): it sends and receives with two tags, and a program's "
            "has one"
        )
    if op in ("send", "isend", "sendrecv"):
        found["bytes"] = size
    return {**found, "tag": tags[0]}


def _tag(trace: Trace, channel: int) -> int:
    """Return a tag of its own for each tag and communicator; collectives have some below 0."""
    tag = int(trace.channels.tag[channel] - min(0, trace.channels.tag.min()))
    return tag * len(trace.communicators) + int(trace.channels.communicator[channel])


def _together(trace: Trace, row: int, op: str, size: float) -> dict[str, Any]:
    whole = trace.events.whole[row]
    members = trace.communicators[int(whole[OUT])].tolist()
    if members != list(range(trace.size)):
        raise UnsupportedError(
            f"{trace.place(row)} ({NAMES[whole[NAME]]}): it is of a communicator of "
            f"{len(members)} of {trace.size} ranks, and a recorded program has collectives of all"
        )
    found: dict[str, Any] = {"color": None}
    if op != "barrier":
        found["bytes"] = size
    if op in ("bcast", "reduce", "gather", "scatter"):
        found["root"] = int(whole[FIRST])
    return found
