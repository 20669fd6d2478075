"""What the processes of a program spend their time on, from when its calls end.

Waiting for a message is synchronization until it flies and communication from then on; of
several that a call waits for, the last to arrive counts, as in the core's reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from parcast import Parts
from parcast.program.reference import SAME_INSTANT
from parcast_perturb.awaiting import awaited_by, messages_of
from parcast_traces.trace.calls import SENDRECV
from parcast_traces.trace.columns import (
    BYTES,
    END,
    KIND,
    NONE,
    OUT,
    START,
    Floats,
    Ints,
)

if TYPE_CHECKING:
    from parcast_traces.workload import Spells, Traced


@attrs.frozen(eq=False)
class _Clocks:
    """When each call starts, has done what it does itself first, and ends."""

    before: Floats  #: the end of the call before
    start: Floats
    clock: Floats
    end: Floats


@attrs.frozen(eq=False)
class Travel:
    """When the message of each call that sends one leaves, and when it arrives, in seconds."""

    flight: Floats
    arrival: Floats


@attrs.frozen(eq=False)
class _Awaited:
    """Edges to calls from messages: when these arrive and when they flew off."""

    call: Ints
    arrival: Floats
    flight: Floats


def parts_of(content: Traced, delays: Floats, travel: Travel | None = None) -> Parts:
    """Return the mean over processes of each part; they sum to the time.

    Parameters
    ----------
    content
        A program as a trace, and what its machine adds.
    delays
        The delay of the end of each of its events, in seconds.
    travel
        Of messages; None: each is as long on its way as its machine adds.
    """
    trace, began = content.trace, 0.0
    clocks = _clocks(content, delays)
    if content.starts is not None and len(content.starts):
        began = float(clocks.end[content.starts].max())
    turn = _turns(clocks.clock, _awaited(content, clocks, travel))

    def spent(since: Floats, until: Floats) -> float:
        return float((np.maximum(until, began) - np.maximum(since, began)).sum())

    last = trace.events.offsets[1:] - 1
    ends = clocks.end[last]
    busy = spent(clocks.before, clocks.start)

    def inside(spells: Spells | None) -> float:
        if spells is None:
            return 0.0
        since = clocks.before[spells.event] + spells.after
        return spent(since, since + spells.seconds)

    stored, fetching = inside(content.io), inside(content.fetching)
    whole = (
        busy - stored - fetching,
        fetching + spent(clocks.start, clocks.clock) + spent(turn, clocks.end),
        stored,
        spent(clocks.clock, turn) + spent(ends, np.full(trace.size, ends.max())),
    )
    return Parts(*(part / trace.size for part in whole))


def _clocks(content: Traced, delays: Floats) -> _Clocks:
    trace = content.trace
    times, begins = trace.events.times, trace.events.offsets[:-1]
    end = times[:, END] + delays
    start, before = times[:, START].copy(), np.zeros(trace.count)
    start[1:] += delays[:-1]
    before[1:] = end[:-1]
    start[begins], before[begins] = times[begins, START], 0.0
    sends = trace.events.whole[:, OUT] != NONE
    return _Clocks(before, start, start + np.where(sends, content.added[:, 0], 0.0), end)


def _awaited(content: Traced, clocks: _Clocks, travel: Travel | None) -> _Awaited:
    """Return all that calls wait for."""
    whole = content.trace.events.whole
    send, receive = messages_of(content.trace)
    if travel is None:
        travel = _travel(content, clocks, send, receive)
    after = np.where(whole[receive, KIND] == SENDRECV, content.added[receive, 2], 0.0)
    calls = awaited_by(content, send, receive)
    awaited = calls != NONE
    arrivals = np.concatenate([travel.arrival[send] + after, travel.arrival[send]])
    flights = np.tile(travel.flight[send], 2)
    return _Awaited(calls[awaited], arrivals[awaited], flights[awaited])


def _travel(content: Traced, clocks: _Clocks, send: Ints, receive: Ints) -> Travel:
    """Return when messages fly off and arrive that share nothing."""
    whole, times = content.trace.events.whole, content.trace.events.times
    posted = np.where(
        whole[receive, KIND] == SENDRECV, clocks.clock[receive], clocks.start[receive]
    )
    early = content.eager_limit if content.early_limit is None else content.early_limit
    delayed = times[send, BYTES] > early
    flight = np.where(delayed, np.maximum(clocks.clock[send], posted), clocks.clock[send])
    flights, arrivals = np.zeros(content.trace.count), np.zeros(content.trace.count)
    flights[send], arrivals[send] = flight, flight + content.added[send, 1]
    return Travel(flights, arrivals)


def _turns(clock: Floats, awaited: _Awaited) -> Floats:
    """Return when each call's waiting turns into communication."""
    turns = clock.copy()
    if not len(awaited.call):
        return turns
    order = np.argsort(awaited.call, kind="stable")
    first = np.flatnonzero(np.diff(awaited.call[order], prepend=-1))
    call = awaited.call[order[first]]
    arrival, flight = awaited.arrival[order], awaited.flight[order]
    last = np.maximum.reduceat(arrival, first)
    lasts = np.repeat(last, np.diff(first, append=len(order)))
    simultaneous = arrival * (1.0 + SAME_INSTANT) >= lasts
    departure = np.minimum.reduceat(np.where(simultaneous, flight, np.inf), first)
    late = last > clock[call]
    turns[call[late]] = np.maximum(clock[call], departure)[late]
    return turns
