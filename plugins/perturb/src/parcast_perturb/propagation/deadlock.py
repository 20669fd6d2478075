"""Who waits for whom when nobody can go on."""

from __future__ import annotations

import math

import numpy as np

from parcast_perturb.propagation.state import (
    ABSENT,
    ARRIVAL,
    ARRIVED,
    AT_CALL,
    BASE,
    CALL,
    CURSOR,
    NEXT,
    NOTHING,
    OPENER,
    RECEIVING,
    RELEASE,
    RELEASED,
    REQUEST_KIND,
    REQUEST_RECORD,
    REQUESTS,
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


def deadlock_error(trace: Trace, state: State, rules: Rules) -> TraceError:
    """Return the error that names the ranks that wait for each other in a ring."""
    search = _Search(trace, state)
    left = state.rank[:, CURSOR] < np.diff(trace.events.offsets)
    rank, seen = int(np.flatnonzero(left)[0]), list[int]()
    while rank not in seen and left[rank]:
        seen.append(rank)
        rank = search.awaited_rank(rank)
    ring = seen[seen.index(rank) :] if rank in seen else seen
    calls = [search.describe(member) for member in ring[:_SHOWN]]
    further = f" and {len(ring) - _SHOWN} more" if len(ring) > _SHOWN else ""
    late = any(search.waits_for_size(member, rules.eager_max) for member in ring)
    return TraceError(
        "cycle",
        f"these calls wait for each other, so that none can have ended: "
        f"{', '.join(calls)}{further}; {_hint(rules.eager_max, late=late)}",
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

    def event(self, rank: int) -> int:
        """Return the event that a rank is in."""
        return int(self.trace.events.offsets[rank] + self.state.rank[rank, CURSOR])

    def describe(self, rank: int) -> str:
        """Return what a rank is in, and for whom."""
        event = self.event(rank)
        return (
            f"{self.trace.place(event)} ({self.trace.name(event)}, waiting for rank "
            f"{self.awaited_rank(rank)})"
        )

    def waits_for_size(self, rank: int, eager_max: float) -> bool:
        """Return whether a rank waits because of the size of a message that it sends."""
        event, _ = self.source(rank)
        sized = self.whole[event, KIND] in (SEND, SENDRECV, ISEND)
        return bool(sized and self.trace.events.times[event, BYTES] > eager_max)

    def awaited_rank(self, rank: int) -> int:
        """Return the rank that a rank waits for."""
        event, record = self.source(rank)
        kind, channels = self.whole[event, KIND], self.trace.channels
        if kind >= ALL:
            return self._missing_member(rank, event, record)
        if kind < RECV or (kind == SENDRECV and self.state.record[record, ARRIVED]):
            return int(channels.target[self.whole[event, OUT]])
        return int(channels.source[self.whole[event, INTO]])

    def source(self, rank: int) -> tuple[int, int]:
        """Return the event that a rank waits in, or for a wait the one that made the request.

        With it the record of what is waited for.
        """
        event = self.event(rank)
        if self.whole[event, KIND] != WAIT:
            return event, int(self.state.rank[rank, RECEIVING])
        first, count = (int(self.whole[event, column]) for column in (FIRST, COUNT))
        base = int(self.state.rank[rank, REQUESTS])
        for slot in self.trace.events.slots[first : first + count].tolist():
            columns = (REQUEST_KIND, REQUEST_RECORD, OPENER)
            kind, record, opener = self.state.request[base + slot, columns].tolist()
            if not self._satisfied(rank, kind, record, opener):
                return opener, record
        return event, ABSENT

    def _satisfied(self, rank: int, kind: int, record: int, opener: int) -> bool:
        if kind == ARRIVAL:
            return bool(self.state.record[record, ARRIVED])
        if kind == RELEASE:
            return bool(self.state.record[record, RELEASED])
        return kind == NOTHING or (
            kind == CALL and self._missing_member(rank, opener, record) == rank
        )

    def _missing_member(self, rank: int, event: int, call: int) -> int:
        """Return a member that has not come to a collective and is waited for, or this one."""
        comm, position = int(self.whole[event, OUT]), int(self.whole[event, INTO])
        members = self.trace.communicators[comm]
        kind = int(self.whole[event, KIND])
        kind -= NONBLOCKING * (kind > EXSCAN)
        base = int(self.state.comm[comm, BASE])
        absent = [index for index in range(len(members)) if not self._entered(base + index, call)]
        if kind == FROM_ROOT:
            absent = [index for index in absent if index == self.whole[event, FIRST]]
        elif kind not in (ALL, TO_ROOT):
            absent = [index for index in absent if index < position]
        return int(members[absent[0]]) if absent else rank

    def _entered(self, member: int, call: int) -> bool:
        """Return whether a member's last call is this one or a later one."""
        record = int(self.state.record[self.state.member[member, AT_CALL], NEXT])
        while record not in (ABSENT, call):
            record = int(self.state.record[record, NEXT])
        return record != call
