"""Room for what the kernel keeps, and more of it when it asks."""

from __future__ import annotations

import numpy as np

from parcast_perturb.propagation.state import (
    ABSENT,
    AWAITS,
    CHAIN,
    HOLDERS,
    HOLDS_POSTS,
    NEXT,
    QUEUED,
    REQUESTS,
    State,
)
from parcast_traces.trace.columns import Ints, Trace

_RECORDS = 256


def initial_state(trace: Trace, replications: int, quantum: int) -> State:
    """Return all ranks at their first event, in a queue by number, and empty channels."""
    size, comms = trace.size, trace.communicators
    rank = np.zeros((size, 8), np.int64)
    rank[:, AWAITS] = ABSENT
    rank[:, QUEUED] = 1
    rank[:, REQUESTS] = np.cumsum([0, *trace.requests])[:-1]
    channel = np.full((len(trace.channels.source), 4), ABSENT, np.int64)
    channel[:, HOLDS_POSTS] = 0
    sizes = [len(members) for members in comms]
    comm = np.zeros((len(comms), 3), np.int64)
    comm[:, 0], comm[:, 1] = sizes, np.cumsum([0, *sizes])[:-1]
    comm[:, 2] = [max(0, count - 1).bit_length() for count in sizes]
    member = np.zeros((sum(sizes), 2), np.int64)
    member[:, 0] = np.concatenate([np.empty(0, np.int32), *comms])
    member[:, 1] = np.repeat(np.arange(len(comms)), sizes)
    records = _RECORDS + len(comms)
    record = np.zeros((records, 13), np.int64)
    # every communicator begins at a call that all its members have come to
    record[: len(comms), HOLDERS] = sizes
    record[: len(comms), (NEXT, CHAIN)] = ABSENT
    record[len(comms) :, NEXT] = _chain(len(comms), records, ABSENT)
    return State(
        rank=rank,
        delay=np.zeros((size, 5, replications)),
        request=np.zeros((int(trace.requests.sum()), 3), np.int64),
        queue=np.arange(max(size, 1)),
        ahead=np.zeros(size, np.int64),
        counters=np.array([0, size, 0, quantum, len(comms), _RECORDS], np.int64),
        channel=channel,
        comm=comm,
        member=member,
        record=record,
        record_time=np.zeros((records, 5)),
        record_delay=np.zeros((records, 4, replications)),
        order=np.zeros(max(sizes, default=0), np.int64),
        changes=np.zeros((len(trace.sites) + size, 2)),
        clipped=np.zeros(4, np.int64),
    )


def _chain(first: int, last: int, then: int) -> Ints:
    links = np.arange(first + 1, last + 1)
    links[-1] = then
    return links


def grow_records(state: State) -> State:
    """Return twice as many records, the new ones free."""
    old = len(state.record)
    grown = {
        name: np.concatenate([getattr(state, name), np.zeros_like(getattr(state, name))])
        for name in ("record", "record_time", "record_delay")
    }
    counters = state.counters.copy()
    grown["record"][old:, NEXT] = _chain(old, 2 * old, int(counters[4]))
    counters[4] = old
    counters[5] += old
    return state._replace(**grown, counters=counters)
