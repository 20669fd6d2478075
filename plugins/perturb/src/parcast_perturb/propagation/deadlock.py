"""Who waits for whom when nobody can go on."""

from __future__ import annotations

import math

import numpy as np

from parcast_perturb.propagation.state import (
    ARRIVAL,
    ARRIVED,
    AT_CALL,
    BASE,
    CALL,
    CURSOR,
    NEXT,
    NO,
    NOTHING,
    OPENED,
    RECEIVING,
    RELEASE,
    RELEASED,
    REQUESTS,
    WHAT,
    WHICH,
    Rules,
    State,
)
from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import (
    ALL,
    EXSCAN,
    FROM_ROOT,
    ISEND,
    NONBLOCKING,
    RECV,
    SEND,
    SENDRECV,
    TO_ROOT,
    WAIT,
)
from parcast_traces.trace.columns import BYTES, COUNT, FIRST, INTO, KIND, OUT, Trace

_SHOWN = 6


def cycle(trace: Trace, state: State, rules: Rules) -> TraceError:
    """Return the error that names the ranks that wait for each other in a ring."""
    search = _Search(trace, state)
    left = state.rank[:, CURSOR] < np.diff(trace.events.offsets)
    rank, seen = int(np.flatnonzero(left)[0]), list[int]()
    while rank not in seen and left[rank]:
        seen.append(rank)
        rank = search.awaited(rank)
    ring = seen[seen.index(rank) :] if rank in seen else seen
    named = [search.doing(one) for one in ring[:_SHOWN]]
    more = f" and {len(ring) - _SHOWN} more" if len(ring) > _SHOWN else ""
    late = any(search.late(one, rules.eager_max) for one in ring)
    return TraceError(
        "cycle",
        f"these calls wait for each other, so that none can have ended: "
        f"{', '.join(named)}{more}; {_hint(rules.eager_max, late=late)}",
        trace.where,
    )


def _hint(eager_max: float, *, late: bool) -> str:
    if late and eager_max == -math.inf:
        return "the paper's rules let every send wait for its receiver; take --rules corrected"
    if late:
        return (
            f"messages above {eager_max:.15g} bytes are taken to wait for their receiver: "
            "raise --eager"
        )
    return "is a rank's file cut off, or of another run?"


class _Search:
    def __init__(self, trace: Trace, state: State) -> None:
        self.trace, self.state = trace, state
        self.whole = trace.events.whole

    def at(self, rank: int) -> int:
        """Return the event that a rank is in."""
        return int(self.trace.events.offsets[rank] + self.state.rank[rank, CURSOR])

    def doing(self, rank: int) -> str:
        """Return what a rank is in, and for whom."""
        event = self.at(rank)
        return (
            f"{self.trace.place(event)} ({self.trace.name(event)}, waiting for rank "
            f"{self.awaited(rank)})"
        )

    def late(self, rank: int, eager_max: float) -> bool:
        """Return whether a rank waits because of the size of a message that it sends."""
        event, _ = self.source(rank)
        sized = self.whole[event, KIND] in (SEND, SENDRECV, ISEND)
        return bool(sized and self.trace.events.times[event, BYTES] > eager_max)

    def awaited(self, rank: int) -> int:
        """Return the rank that a rank waits for."""
        event, record = self.source(rank)
        kind, channels = self.whole[event, KIND], self.trace.channels
        if kind >= ALL:
            return self._member(rank, event, record)
        if kind < RECV or (kind == SENDRECV and self.state.record[record, ARRIVED]):
            return int(channels.target[self.whole[event, OUT]])
        return int(channels.source[self.whole[event, INTO]])

    def source(self, rank: int) -> tuple[int, int]:
        """Return the event that a rank waits in, or for a wait the one that made the request.

        With it the record of what is waited for.
        """
        event = self.at(rank)
        if self.whole[event, KIND] != WAIT:
            return event, int(self.state.rank[rank, RECEIVING])
        first, count = (int(self.whole[event, column]) for column in (FIRST, COUNT))
        base = int(self.state.rank[rank, REQUESTS])
        for slot in self.trace.events.slots[first : first + count].tolist():
            what, which, opened = self.state.request[base + slot, (WHAT, WHICH, OPENED)].tolist()
            if not self._met(rank, what, which, opened):
                return opened, which
        return event, NO

    def _met(self, rank: int, what: int, which: int, opened: int) -> bool:
        if what == ARRIVAL:
            return bool(self.state.record[which, ARRIVED])
        if what == RELEASE:
            return bool(self.state.record[which, RELEASED])
        return what == NOTHING or (what == CALL and self._member(rank, opened, which) == rank)

    def _member(self, rank: int, event: int, call: int) -> int:
        """Return a member that has not come to a collective and is waited for, or this one."""
        comm, place = int(self.whole[event, OUT]), int(self.whole[event, INTO])
        members = self.trace.communicators[comm]
        kind = int(self.whole[event, KIND])
        kind -= NONBLOCKING * (kind > EXSCAN)
        base = int(self.state.comm[comm, BASE])
        missing = [one for one in range(len(members)) if not self._came(base + one, call)]
        if kind == FROM_ROOT:
            missing = [one for one in missing if one == self.whole[event, FIRST]]
        elif kind not in (ALL, TO_ROOT):
            missing = [one for one in missing if one < place]
        return int(members[missing[0]]) if missing else rank

    def _came(self, member: int, call: int) -> bool:
        """Return whether a member's last call is this one or a later one."""
        one = int(self.state.record[self.state.member[member, AT_CALL], NEXT])
        while one not in (NO, call):
            one = int(self.state.record[one, NEXT])
        return one != call
