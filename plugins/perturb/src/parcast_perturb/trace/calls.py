"""The calls that a trace may hold, and the few kinds of behavior behind them."""

from __future__ import annotations

from collections.abc import Mapping

#: Kinds. A send may wait for its receiver by its size (``SEND``), always (``SSEND``) or never
#: (``ESEND``); nonblocking ones follow in the same order.
LOCAL, SEND, SSEND, ESEND, ISEND, ISSEND, IESEND = range(7)
RECV, IRECV, SENDRECV, WAIT, PROBE = range(7, 12)
#: Collectives: all wait for all, for a root, the root for all, each for those before it.
ALL, FROM_ROOT, TO_ROOT, SCAN, EXSCAN = range(12, 17)
#: The nonblocking form of a collective is this much above it.
NONBLOCKING = 5

_SENDS = {"send": SEND, "ssend": SSEND, "bsend": ESEND, "rsend": ESEND}
_COLLECTIVES = {
    "barrier": ALL,
    "allreduce": ALL,
    "allgather": ALL,
    "allgatherv": ALL,
    "alltoall": ALL,
    "alltoallv": ALL,
    "alltoallw": ALL,
    "reduce_scatter": ALL,
    "reduce_scatter_block": ALL,
    "comm_split": ALL,
    "comm_dup": ALL,
    "comm_create": ALL,
    "bcast": FROM_ROOT,
    "scatter": FROM_ROOT,
    "scatterv": FROM_ROOT,
    "reduce": TO_ROOT,
    "gather": TO_ROOT,
    "gatherv": TO_ROOT,
    "scan": SCAN,
    "exscan": EXSCAN,
}

#: Every call by name, in lower case and without ``MPI_``.
CALLS: Mapping[str, int] = {
    **dict.fromkeys(["init", "finalize", "call", "request_free", "iprobe"], LOCAL),
    **_SENDS,
    **{f"i{name}": kind + 3 for name, kind in _SENDS.items()},
    "recv": RECV,
    "irecv": IRECV,
    "sendrecv": SENDRECV,
    **dict.fromkeys(["wait", "waitall", "waitany", "waitsome"], WAIT),
    **dict.fromkeys(["test", "testall", "testany", "testsome"], WAIT),
    "probe": PROBE,
    **_COLLECTIVES,
    **{f"i{name}": kind + NONBLOCKING for name, kind in _COLLECTIVES.items()},
}

NAMES = tuple(CALLS)
CODES = {name: code for code, name in enumerate(NAMES)}
KINDS = tuple(CALLS.values())
#: Calls that name a root.
ROOTED = frozenset(
    name for name, kind in CALLS.items()
    if kind in {FROM_ROOT, TO_ROOT, FROM_ROOT + NONBLOCKING, TO_ROOT + NONBLOCKING}
)  # fmt: skip
