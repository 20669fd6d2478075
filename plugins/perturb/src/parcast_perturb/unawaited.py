"""Messages that nobody waited for, of which section 4.3 of the paper has a tool warn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parcast_traces.trace.calls import CODES, EXSCAN, IESEND, IRECV, ISEND
from parcast_traces.trace.columns import COUNT, KIND, NAME, Ints, Trace
from parcast_traces.trace.decoding import pairs

_CHUNK = 1 << 20


def unawaited_notes(trace: Trace) -> Iterator[str]:
    """Yield what is to be said of messages that neither side ever waited for."""
    sends = unawaited_sends(trace)
    if len(sends):
        first = int(sends[0])
        yield (
            f"{len(sends):,} messages were sent and received by calls that nothing waited for, the "
            f"first at {trace.place(first)} ({trace.name(first)}): when they arrived is not "
            "recorded, so a perturbed run may be one that cannot happen (section 4.3 of the paper)"
        )


def unawaited_sends(trace: Trace) -> Ints:
    """Return the sends of messages whose two requests were given up without a wait, rising."""
    if not _frees(trace):
        return np.empty(0, np.int64)
    given_up = np.zeros(trace.count, bool)
    given_up[_openers(trace)] = True
    send, receive = pairs(trace)
    sends_given_up: Ints = np.sort(send[given_up[send] & given_up[receive]])
    return sends_given_up


def _frees(trace: Trace) -> bool:
    """Return whether any request is given up, with little of a trace in a file in memory."""
    code = CODES["request_free"]
    for begin in range(0, trace.count, _CHUNK):
        freed = bool((trace.events.whole[begin : begin + _CHUNK, NAME] == code).any())
        trace.release()
        if freed:
            return True
    return False


def _openers(trace: Trace) -> Ints:
    """Return the calls whose request is given up: of each its slot's last one before."""
    whole, rank_of = trace.events.whole, trace.events.rank_of
    kind, count = whole[:, KIND], trace.count
    opens = np.flatnonzero(((kind >= ISEND) & (kind <= IESEND)) | (kind == IRECV) | (kind > EXSCAN))
    frees = np.flatnonzero((whole[:, NAME] == CODES["request_free"]) & (whole[:, COUNT] > 0))
    slots = int(trace.requests.max(initial=0)) + 1
    opened = (rank_of(opens) * slots + whole[opens, COUNT]) * (count + 1) + opens
    freed = (rank_of(frees) * slots + whole[frees, COUNT] - 1) * (count + 1) + frees
    order = np.argsort(opened)
    openers: Ints = opens[order][np.searchsorted(opened[order], freed) - 1]
    return openers
