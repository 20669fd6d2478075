"""The format of traces: a header and records of 64 bytes, a file for each rank.

``rank-N.trace`` is little-endian. Its header is 64 bytes: the magic ``PARCAST1``, then as 4-byte
integers the version (1), the size of a record (64), the rank, the number of ranks, 1 where the
program came to its end, and 1 where the disk was full; then as 8-byte integers the time of day and
the monotonic clock at the start, both in ns. Records follow as `RECORD` says. Of a rank that came
to no end the last records are in ``rank-N.tail``, without a header. A record is whole if its
``call`` is not 0: that field is written last, and what was not reached is zeros.

A call that completes requests is followed by ``count`` records of the call ``request``, one for
each request that it was given. ``rank-N.comms`` names in lines ``ID RANK RANK ...`` the members of
the communicators whose first member this rank is; 0 is all ranks. Peers are ranks of all ranks.
"""

from __future__ import annotations

import numpy as np

#: The calls behind the codes, from 1; the C file gets its codes from here. ``call`` is any other.
CALLS = (
    "init", "finalize", "call", "request", "request_free", "probe", "iprobe",
    "send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend",
    "recv", "irecv", "mprobe", "improbe", "sendrecv",
    "wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome",
    "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
    "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
    "ibarrier", "ibcast", "ireduce", "iallreduce", "igather", "igatherv", "iscatter", "iscatterv",
    "iallgather", "iallgatherv", "ialltoall", "ialltoallv", "ialltoallw",
    "ireduce_scatter", "ireduce_scatter_block", "iscan", "iexscan",
    "comm_dup", "comm_split", "comm_create",
)  # fmt: skip

CODES = {name: code for code, name in enumerate(CALLS, 1)}

#: A peer or a root where a call has none.
NONE = -1000

MAGIC = b"PARCAST1"
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<i4"),
        ("record", "<i4"),
        ("rank", "<i4"),
        ("size", "<i4"),
        ("ended", "<i4"),
        ("full", "<i4"),
        ("day", "<i8"),
        ("clock", "<i8"),
        ("reserved", "<i8", (2,)),
    ]
)
RECORD = np.dtype(
    [
        ("start", "<i8"),  # ns on the monotonic clock
        ("end", "<i8"),
        ("bytes", "<i8"),  # sent; of a receive, received; of a collective, this rank's own
        ("received", "<i8"),  # by a sendrecv
        ("peer", "<i4"),  # destination, source or root; NONE: none
        ("tag", "<i4"),
        ("source", "<i4"),  # of a sendrecv
        ("source_tag", "<i4"),
        ("request", "<u4"),  # made, or completed; 0: none
        ("comm", "<u4"),
        ("call", "<u2"),
        ("done", "<u2"),  # of a request: 1 if completed, 2 if cancelled
        ("count", "<u4"),  # how many records of requests follow
    ]
)
