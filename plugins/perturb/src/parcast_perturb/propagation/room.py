"""Room for what the kernel keeps, and more of it when it asks."""

from __future__ import annotations

import numpy as np

from parcast_perturb.propagation.state import (
    FOLLOWING,
    HOLDS_POSTS,
    NO,
    Calls,
    Messages,
    Ranks,
)
from parcast_perturb.trace.columns import Ints, Trace

_RECORDS = 256
_DEPTH = 4


def ranks_of(trace: Trace, replications: int, quantum: int) -> Ranks:
    """Return all ranks at their first event, in a queue by number."""
    size = trace.size
    stand = np.zeros((size, 7), np.int64)
    stand[:, 1] = np.diff(trace.events.offsets)
    stand[:, 3:5] = NO
    stand[:, 5] = 1
    stand[:, 6] = np.cumsum([0, *trace.requests])[:-1]
    return Ranks(
        stand=stand,
        begun=np.zeros((size, replications)),
        delay=np.zeros((size, replications)),
        queue=np.arange(max(size, 1)),
        ahead=np.zeros(size, np.int64),
        counters=np.array([0, size, 0, quantum, 0], np.int64),
        request=np.zeros((int(trace.requests.sum()), 5), np.int64),
    )


def mail_of(trace: Trace, replications: int) -> Messages:
    """Return empty channels and some records."""
    channel = np.full((len(trace.channels.source), 4), NO, np.int64)
    channel[:, HOLDS_POSTS] = 0
    record = np.zeros((_RECORDS, 9), np.int64)
    record[:, FOLLOWING] = _chain(0, _RECORDS, NO)
    return Messages(
        channel=channel,
        free=np.array([0, _RECORDS]),
        record=record,
        times=np.zeros((_RECORDS, 5)),
        delays=np.zeros((_RECORDS, 6, replications)),
    )


def _chain(first: int, last: int, then: int) -> Ints:
    found = np.arange(first + 1, last + 1)
    found[-1] = then
    return found


def more_records(mail: Messages) -> Messages:
    """Return twice as many records, the new ones free."""
    old = len(mail.record)
    grown = {
        name: np.concatenate([getattr(mail, name), np.zeros_like(getattr(mail, name))])
        for name in ("record", "times", "delays")
    }
    grown["record"][old:, FOLLOWING] = _chain(old, 2 * old, int(mail.free[0]))
    return mail._replace(**grown, free=np.array([old, mail.free[1] + old]))


def calls_of(trace: Trace, replications: int, *, butterfly: bool) -> Calls:
    """Return room for a few calls of every communicator."""
    sizes = [len(one) for one in trace.communicators]
    comm = np.zeros((len(sizes), 4), np.int64)
    comm[:, 0], comm[:, 1] = sizes, np.cumsum([0, *sizes])[:-1]
    comm[:, 2] = [max(0, one - 1).bit_length() for one in sizes]
    member = np.zeros((sum(sizes), 2), np.int64)
    member[:, 0] = np.concatenate([np.empty(0, np.int32), *trace.communicators])
    rows = len(member) * _DEPTH
    stages = int(comm[:, 2].max(initial=0)) if butterfly else 0
    return Calls(
        depth=_DEPTH,
        comm=comm,
        member=member,
        call=np.zeros((len(sizes) * _DEPTH, 5), np.int64),
        rows=np.zeros((rows, 4)),
        delays=np.zeros((rows, 4, replications)),
        hops=np.zeros((rows, 2, stages, replications)),
    )


def deeper(calls: Calls) -> Calls:
    """Return room for twice as many calls of every communicator, those under way moved."""
    depth, names = 2 * calls.depth, ("call", "rows", "delays", "hops")
    old = {name: getattr(calls, name) for name in names}
    new = {
        name: np.zeros((2 * len(table), *table.shape[1:]), table.dtype)
        for name, table in old.items()
    }
    for comm, (size, base, _, oldest) in enumerate(calls.comm.tolist()):
        for ordinal in range(oldest, oldest + calls.depth):
            here, there = ordinal % calls.depth, ordinal % depth
            new["call"][comm * depth + there] = old["call"][comm * calls.depth + here]
            to, source = base * depth + there * size, base * calls.depth + here * size
            for name in names[1:]:
                new[name][to : to + size] = old[name][source : source + size]
    return calls._replace(depth=depth, **new)
