"""The format of the tracer's files: a header and records of 64 bytes, a file for each rank.

``rank-N.trace`` is little-endian: a header as `HEADER` says, then records as `RECORD` says. Of a
rank that did not come to its end the last records are in ``rank-N.tail``, without a header. A
record is whole if its ``call`` is not 0: that field is written last, and what was not reached is
zeros.

A call that completes requests is followed by ``count`` records of the call ``request``, one for
each request that it was given. ``rank-N.comms`` names in lines ``ID RANK RANK ...`` the members of
the communicators whose first member this rank is; 0 is all ranks. Peers are ranks of all ranks.

The traced ranks import this module, so it imports nothing but `struct`.
"""

from __future__ import annotations

from struct import Struct

MAGIC, VERSION = b"PARCAST1", 1

#: The calls behind the codes, from 1. ``call`` is any other.
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

#: Fields as name and type, without gaps; the types are numpy's.
Fields = tuple[tuple[str, str], ...]

HEADER: Fields = (
    ("magic", "S8"),
    ("version", "<i4"),
    ("record", "<i4"),  # bytes of a record
    ("rank", "<i4"),
    ("size", "<i4"),  # number of ranks
    ("ended", "<i4"),  # 1: the program came to its end
    ("full", "<i4"),  # 1: the disk was full
    ("day", "<i8"),  # the time of day at the start, ns
    ("clock", "<i8"),  # the monotonic clock then, ns
    ("reserved", "<i8"),
    ("reserved_too", "<i8"),
)
RECORD: Fields = (
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
)

_PACKED = {"S8": "8s", "<i4": "i", "<u4": "I", "<i8": "q", "<u2": "H"}


def packer(fields: Fields) -> Struct:
    """Return what packs values of these fields."""
    return Struct("<" + "".join(_PACKED[kind] for _, kind in fields))


def offset(fields: Fields, name: str) -> int:
    """Return where a field begins, in bytes."""
    names = [field for field, _ in fields]
    return packer(fields[: names.index(name)]).size
