"""One pass over the records of a location: its calls, a row for each. Compiled.

A call is an MPI region that no other encloses. What does not fit into one call, such as the
messages of an ``MPI_Startall``, becomes several, one after the other.
"""

from __future__ import annotations

from typing import Any

from parcast_traces.compilation import step
from parcast_traces.readers.otf2 import records

#: Columns of a call: its region and the one around it, its times, what it does, to whom and from
#: whom (peer, communicator, tag, bytes; of a collective: root, communicator, operation, bytes),
#: the request that it makes, how many it completes.
REGION, PARENT, START, END, DOES, TO, OUT_COMM, OUT_TAG, OUT_BYTES = range(9)
FROM, IN_COMM, IN_TAG, IN_BYTES, REQUEST, COMPLETED, COLUMNS = range(9, 16)

#: What a call does, as bits of ``DOES``.
SENDS, RECEIVES, PROBES, POSTS, ISENDS, TOGETHER, LATER = (1 << bit for bit in range(7))

#: Columns of a completion: the request, and what is known only now (as of a receive, or of a
#: collective), and whether the request was cancelled.
ASKED, PEER, COMM, TAG, BYTES, HOW, PARTS = range(7)
SENT, GOT, UNDONE, JOINED = range(4)

#: Places in the state between two tables: the depth of regions, that of the call (0: outside).
DEPTH, CALL_DEPTH, FAILED, AT = range(4)

#: Why the pass stopped.
FINE, OUTSIDE, TOO_DEEP, ONE_SIDED, MATCHED, UNKNOWN = range(6)

#: What regions are: not defined, others than calls, calls.
UNDEFINED, OTHER, CALLED = -1, 0, 1

MOST_DEPTH = 1 << 12


@step
def walk(
    rows: Any, regions: Any, stack: Any, state: Any, call: Any, calls: Any, completions: Any
) -> tuple[int, int]:
    """Write the calls that end in these records, and what they complete; return how many."""
    written, completed = 0, 0
    for at in range(len(rows)):
        kind = rows[at, 0]
        if kind == records.ENTER:
            _enter(rows, at, regions, stack, state, call)
        elif kind == records.LEAVE:
            written += _leave(rows[at, 1], state, call, calls, written)
        elif kind == records.ONE_SIDED:
            state[FAILED] = ONE_SIDED
        elif kind == records.MATCHED:
            state[FAILED] = MATCHED
        elif state[CALL_DEPTH] == 0:
            state[FAILED] = OUTSIDE
        else:
            if _is_full(kind, call):
                written += _split(rows[at, 1], call, calls, written)
            if _completes(kind):
                _complete(rows, at, completions, completed)
                call[COMPLETED] += 1
                completed += 1
            else:
                _act(rows, at, call)
        if state[FAILED] != FINE:
            state[AT] = at
            break
    return written, completed


@step
def _enter(rows: Any, at: int, regions: Any, stack: Any, state: Any, call: Any) -> None:
    """Enter a region, which may be a call."""
    region = rows[at, 2]
    if state[DEPTH] == MOST_DEPTH:
        state[FAILED] = TOO_DEEP
        return
    if region >= len(regions) or regions[region] == UNDEFINED:
        state[FAILED] = UNKNOWN
        return
    if regions[region] == CALLED and state[CALL_DEPTH] == 0:
        for column in range(COLUMNS):
            call[column] = 0
        call[REGION], call[START] = region, rows[at, 1]
        call[PARENT] = stack[state[DEPTH] - 1] if state[DEPTH] > 0 else -1
        state[CALL_DEPTH] = state[DEPTH] + 1
    stack[state[DEPTH]] = region
    state[DEPTH] += 1


@step
def _leave(time: int, state: Any, call: Any, calls: Any, written: int) -> int:
    """Leave a region; return how many calls that ends."""
    if state[DEPTH] == 0:
        return 0
    ends = state[DEPTH] == state[CALL_DEPTH]
    state[DEPTH] -= 1
    if not ends:
        return 0
    state[CALL_DEPTH] = 0
    _write(time, call, calls, written)
    return 1


@step
def _write(time: int, call: Any, calls: Any, written: int) -> None:
    call[END] = time
    for column in range(COLUMNS):
        calls[written, column] = call[column]


@step
def _split(time: int, call: Any, calls: Any, written: int) -> int:
    """End a call here, so that what comes is another; return 1, for that it is one more."""
    _write(time, call, calls, written)
    call[DOES] = call[COMPLETED] = 0
    call[START] = time
    return 1


@step
def _completes(kind: int) -> bool:
    """Return whether a record completes a request."""
    sent = kind in (records.ISENT, records.CANCELLED)
    return sent or kind in (records.IRECV, records.MANY_DONE)


@step
def _is_full(kind: int, call: Any) -> bool:
    """Return whether a call has no room for what a record says."""
    exchanges = call[DOES] == SENDS and kind == records.RECV and call[COMPLETED] == 0
    if call[DOES] != 0 and not exchanges:
        return True
    return call[COMPLETED] != 0 and not _completes(kind)


@step
def _complete(rows: Any, at: int, completions: Any, completed: int) -> None:
    """Write the completion of a request."""
    kind = rows[at, 0]
    for column in range(PARTS):
        completions[completed, column] = 0
    if kind in (records.ISENT, records.CANCELLED):
        completions[completed, ASKED] = rows[at, 2]
        completions[completed, HOW] = SENT if kind == records.ISENT else UNDONE
        return
    completions[completed, ASKED] = rows[at, 6]
    completions[completed, PEER], completions[completed, COMM] = rows[at, 2], rows[at, 3]
    completions[completed, TAG], completions[completed, BYTES] = rows[at, 4], rows[at, 5]
    completions[completed, HOW] = GOT if kind == records.IRECV else JOINED


@step
def _act(rows: Any, at: int, call: Any) -> None:
    """Put what a record says into its call."""
    kind = rows[at, 0]
    if kind in (records.SEND, records.ISEND):
        call[DOES] = SENDS if kind == records.SEND else ISENDS
        call[TO], call[OUT_COMM] = rows[at, 2], rows[at, 3]
        call[OUT_TAG], call[OUT_BYTES] = rows[at, 4], rows[at, 5]
        call[REQUEST] = rows[at, 6]
    elif kind in (records.RECV, records.PROBE):
        call[DOES] |= RECEIVES if kind == records.RECV else PROBES
        call[FROM], call[IN_COMM] = rows[at, 2], rows[at, 3]
        call[IN_TAG], call[IN_BYTES] = rows[at, 4], rows[at, 5]
    elif kind == records.COLLECTIVE:
        call[DOES] = TOGETHER
        call[TO], call[OUT_COMM] = rows[at, 4], rows[at, 3]
        call[OUT_TAG], call[OUT_BYTES] = rows[at, 2], max(rows[at, 5], rows[at, 6])
    else:
        call[DOES] = POSTS if kind == records.IRECV_POST else LATER
        call[REQUEST] = rows[at, 2]
