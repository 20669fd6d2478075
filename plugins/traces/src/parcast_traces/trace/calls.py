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
#: One-sided: it returns at once, and what it asks of memory elsewhere is done a way there and back
#: later. Below all others, so that it is in none of their ranges.
ACCESS = -1

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

SENDS, ISENDS = tuple(_SENDS), tuple(f"i{name}" for name in _SENDS)

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

#: One-sided calls; `parcast_traces.trace.one_sided` records them. Some open no request.
ONE_SIDED: Mapping[str, int] = {
    **dict.fromkeys(["put", "get", "accumulate", "get_accumulate"], ACCESS),
    **dict.fromkeys(["fetch_and_op", "compare_and_swap"], ACCESS),
    **dict.fromkeys(["win_create", "win_allocate", "win_free", "win_fence"], ALL),
    **dict.fromkeys(["win_post", "win_lock", "win_lock_all", "win_sync"], LOCAL),
    **dict.fromkeys(["win_start", "win_complete", "win_wait", "win_test"], WAIT),
    **dict.fromkeys(["win_unlock", "win_unlock_all", "win_flush", "win_flush_all"], WAIT),
}
#: Parts of one-sided calls, which add no time of their own: a message to who waits for this
#: call, after it, and the receive of one that the call waits for, before it.
_PARTS: Mapping[str, int] = {"win_notice": ESEND, "win_expect": IRECV}
#: In traces of work, which count operations: what takes seconds, given in place of its bytes.
_SECONDS: Mapping[str, int] = {"sleep": LOCAL}

KINDS = (*CALLS.values(), *ONE_SIDED.values(), *_PARTS.values(), *_SECONDS.values())
NAMES = (*CALLS, *ONE_SIDED, *_PARTS, *_SECONDS)
CODES = {name: code for code, name in enumerate(NAMES)}
NOTICE, EXPECT = CODES["win_notice"], CODES["win_expect"]
SLEEP = CODES["sleep"]
#: Calls that name a root.
ROOTED = frozenset(
    name for name, kind in CALLS.items()
    if kind in {FROM_ROOT, TO_ROOT, FROM_ROOT + NONBLOCKING, TO_ROOT + NONBLOCKING}
)  # fmt: skip
