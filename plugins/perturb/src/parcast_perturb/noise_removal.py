"""Noise removal: what computation takes without noise, estimated from the trace itself."""

from __future__ import annotations

import numpy as np

from parcast_traces.gaps import gaps_of
from parcast_traces.trace.columns import SITE, Floats, Ints, Trace


def gap_reductions(trace: Trace) -> tuple[Ints, Floats]:
    """Return the events whose gap is longer than without noise, and what to add before each.

    The gaps of one rank between the same two calls are taken to be the same work; the
    shortest of them is that work without noise. A loop whose work varies
    loses this variation too, so this is the most that can be gained.
    """
    events = trace.events
    if trace.count < 2:
        return np.empty(0, np.int64), np.empty(0)
    gaps = gaps_of(trace)[1:]
    ranks = np.repeat(np.arange(trace.size), np.diff(events.offsets))
    inside = ranks[1:] == ranks[:-1]
    sites = events.whole[:, SITE].astype(np.int64)
    key = (ranks[1:] * len(trace.sites) + sites[:-1]) * len(trace.sites) + sites[1:]
    rows, gaps, key = np.flatnonzero(inside) + 1, gaps[inside], key[inside]
    order = np.lexsort((gaps, key))
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    counts = np.diff(begins, append=len(order))
    shortest = np.empty(len(rows))
    shortest[order] = np.repeat(gaps[order][begins], counts)
    longer = gaps > shortest
    return rows[longer], (shortest - gaps)[longer]
