"""From the records of a location to its calls, a row for each.

A call is an MPI region that no other encloses. What does not fit into one call, such as the
messages of an ``MPI_Startall``, becomes several, one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_perturb.compilation import kernel
from parcast_perturb.readers.otf2 import records
from parcast_perturb.trace.columns import Ints

#: Columns of a call: its region and the one around it, its times, what it does, to whom and from
#: whom (peer, communicator, tag, bytes; of a collective: root, communicator, operation, bytes),
#: the request that it makes, how many it completes.
REGION, PARENT, START, END, DOES, TO, OUT_COMM, OUT_TAG, OUT_BYTES = range(9)
FROM, IN_COMM, IN_TAG, IN_BYTES, REQUEST, DONE, COLUMNS = range(9, 16)

#: What a call does, as bits of ``DOES``.
SENDS, RECEIVES, PROBES, POSTS, ISENDS, TOGETHER, LATER = (1 << bit for bit in range(7))

#: Columns of a completion: the request, and what is known only now (as of a receive, or of a
#: collective), and whether the request was cancelled.
ASKED, PEER, COMM, TAG, BYTES, HOW, PARTS = range(7)
SENT, GOT, UNDONE, JOINED = range(4)

#: Places in the state between two tables: the depth of regions, that of the call (0: outside).
DEPTH, CALL_DEPTH, FAILED, AT = range(4)

#: Why the kernel stopped.
FINE, OUTSIDE, TOO_DEEP, ONE_SIDED, MATCHED, BACKWARDS = range(6)

MOST_DEPTH = 1 << 12


def _walk(  # noqa: PLR0912, PLR0915 - one pass over all kinds of records
    rows: Any, is_call: Any, stack: Any, state: Any, call: Any, calls: Any, done: Any
) -> tuple[int, int]:
    """Write the calls that end in these records, and what they complete; return how many."""
    made, ended = 0, 0
    for at in range(len(rows)):
        kind, time = rows[at, 0], rows[at, 1]
        if kind == records.ENTER:
            region = rows[at, 2]
            if state[DEPTH] == MOST_DEPTH:
                state[FAILED], state[AT] = TOO_DEEP, at
                break
            if is_call[region] and state[CALL_DEPTH] == 0:
                parent = stack[state[DEPTH] - 1] if state[DEPTH] > 0 else -1
                call[:] = 0
                call[REGION], call[PARENT], call[START] = region, parent, time
                state[CALL_DEPTH] = state[DEPTH] + 1
            stack[state[DEPTH]] = region
            state[DEPTH] += 1
            continue
        if kind == records.LEAVE:
            if state[DEPTH] == 0:
                continue
            if state[DEPTH] == state[CALL_DEPTH]:
                call[END] = time
                calls[made] = call
                made += 1
                state[CALL_DEPTH] = 0
            state[DEPTH] -= 1
            continue
        if kind in (records.ONE_SIDED, records.MATCHED):
            state[FAILED] = ONE_SIDED if kind == records.ONE_SIDED else MATCHED
            state[AT] = at
            break
        if state[CALL_DEPTH] == 0:
            state[FAILED], state[AT] = OUTSIDE, at
            break
        does = call[DOES]
        completes = (
            kind in (records.ISENT, records.IRECV, records.CANCELLED, records.MANY_DONE)
        )  # fmt: skip
        exchanges = does == SENDS and kind == records.RECV and call[DONE] == 0
        if (does != 0 and not exchanges) or (call[DONE] != 0 and not completes):
            call[END] = time
            calls[made] = call
            made += 1
            call[DOES] = call[DONE] = 0
            call[START] = time
        if completes:
            done[ended] = 0
            done[ended, ASKED] = rows[at, 2]
            done[ended, HOW] = SENT if kind == records.ISENT else UNDONE
            if kind in (records.IRECV, records.MANY_DONE):
                done[ended, ASKED] = rows[at, 6]
                done[ended, PEER], done[ended, COMM] = rows[at, 2], rows[at, 3]
                done[ended, TAG], done[ended, BYTES] = rows[at, 4], rows[at, 5]
                done[ended, HOW] = GOT if kind == records.IRECV else JOINED
            ended += 1
            call[DONE] += 1
        elif kind in (records.SEND, records.ISEND):
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
    return made, ended


walk = kernel(_walk)


class Calls:
    """The calls of one location, gathered table by table."""

    def __init__(self, is_call: Any) -> None:
        self.is_call = is_call
        self.stack = np.zeros(MOST_DEPTH, np.int64)
        self.state = np.zeros(4, np.int64)
        self.call = np.zeros(COLUMNS, np.int64)
        self.made: list[Ints] = []
        self.ended: list[Ints] = []
        self.count = 0  #: records seen

    def take(self, rows: Ints) -> int:
        """Add the records of a table; return why it stopped, ``FINE`` if it did not."""
        calls = np.empty((len(rows) + 1, COLUMNS), np.int64)
        done = np.empty((len(rows) + 1, PARTS), np.int64)
        made, ended = walk(rows, self.is_call, self.stack, self.state, self.call, calls, done)
        self.made.append(calls[:made].copy())
        self.ended.append(done[:ended].copy())
        self.count += len(rows)
        return int(self.state[FAILED])

    @property
    def open(self) -> int:
        """The region of a call that is never left, -1 if there is none."""
        return int(self.call[REGION]) if self.state[CALL_DEPTH] else -1

    def whole(self) -> tuple[Ints, Ints]:
        """Return all calls and all completions."""
        none = np.empty((0, COLUMNS), np.int64), np.empty((0, PARTS), np.int64)
        return np.concatenate([none[0], *self.made]), np.concatenate([none[1], *self.ended])
