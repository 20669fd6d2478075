"""The messages of a trace, and which calls wait for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_traces.trace.calls import IRECV, ISEND, RECV, SEND, SENDRECV, WAIT
from parcast_traces.trace.columns import BYTES, COUNT, FIRST, INTO, KIND, NONE, OUT, Ints, Trace
from parcast_traces.workload import Traced


def messages_of(trace: Trace) -> tuple[Ints, Ints]:
    """Return the events that send and that receive each message: the k-th ones of its channel."""
    whole = trace.events.whole
    return _by_channel(whole[:, OUT]), _by_channel(whole[:, INTO])


def awaited_by(content: Traced, send: Ints, receive: Ints) -> Ints:
    """Return the call that waits for each message to arrive, then the one that sends it and waits.

    ``NONE`` where no call waits.
    """
    whole, times = content.trace.events.whole, content.trace.events.times
    late = times[send, BYTES] > content.eager_limit
    waits = _waits(content.trace)
    return np.concatenate([
        _caller(receive, whole[receive, KIND], (RECV, SENDRECV), IRECV, waits),
        np.where(late, _caller(send, whole[send, KIND], (SEND, SENDRECV), ISEND, waits), NONE),
    ])  # fmt: skip


def _by_channel(channels: Any) -> Ints:
    """Return the events of all channels, those of each in order: the k-th are one message."""
    rows = np.flatnonzero(channels != NONE)
    events: Ints = rows[np.argsort(channels[rows], kind="stable")]
    return events


def _waits(trace: Trace) -> Ints:
    """Return for each event that opens a request the one that waits for it, or ``NONE``."""
    events, waiters = trace.events, np.full(trace.count, NONE, np.int64)
    whole, first = events.whole, np.cumsum(trace.requests) - trace.requests
    rows = np.flatnonzero((whole[:, KIND] == IRECV) | (whole[:, KIND] == ISEND))
    opened = np.empty(int(trace.requests.sum()), np.int64)
    opened[first[events.rank_of(rows)] + whole[rows, COUNT]] = rows
    waits = np.flatnonzero((whole[:, KIND] == WAIT) & (whole[:, COUNT] > 0))
    counts = whole[waits, COUNT].astype(np.int64)
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = events.slots[np.repeat(whole[waits, FIRST], counts) + inside]
    waiting = np.repeat(waits, counts)
    waiters[opened[first[events.rank_of(waiting)] + slots]] = waiting
    return waiters


def _caller(rows: Ints, kind: Any, blocking: tuple[int, ...], later: int, waits: Ints) -> Ints:
    """Return the call that waits for what an event takes part in."""
    return np.where(np.isin(kind, blocking), rows, np.where(kind == later, waits[rows], NONE))
