"""Alltoall with all messages posted before any is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parcast.program.matching.collectives.groups import Groups, Step

#: How many messages each way MPICH posts at once, one to itself among them:
#: MPIR_CVAR_ALLTOALL_THROTTLE.
THROTTLE = 32


def all_posted(among: Groups, amount: Any, at_once: int | None = None) -> Iterator[Step]:
    """Yield receives of all that follow, sends to all that precede, and the wait for them.

    With ``at_once``, so many each way and the wait, again and again; the message of a process to
    itself counts among them, as in MPICH, and takes its time.
    """
    size, position = among.size, among.position
    if at_once:
        yield Step("to_itself", among.ranks, {"bytes": amount})
    for start in range(0, size, at_once or size):
        turns = range(max(start, 1), min(start + (at_once or size), size))
        requests = [
            Step("irecv", among.ranks, {"src": among.rank((position + turn) % size)})
            for turn in turns
        ]
        requests += [
            Step(
                "isend", among.ranks, {"dst": among.rank((position - turn) % size), "bytes": amount}
            )
            for turn in turns
        ]
        if requests:
            yield from requests
            yield Step("waitall", among.ranks, {}, tuple(requests))
