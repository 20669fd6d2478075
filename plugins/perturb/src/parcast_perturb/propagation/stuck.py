"""Who waits for whom when nobody can go on."""

from __future__ import annotations

import numpy as np

from parcast_perturb.errors import TraceError
from parcast_perturb.propagation.state import (
    ARRIVAL,
    ARRIVED,
    BASE,
    CURSOR,
    NOTHING,
    ORDINAL,
    RECEIVING,
    RELEASE,
    RELEASED,
    REQUEST_BASE,
    TOTAL,
    WHAT,
    WHICH,
    Calls,
    Messages,
    Ranks,
    Rules,
)
from parcast_perturb.trace.calls import (
    ALL,
    FROM_ROOT,
    IRECV,
    ISEND,
    NONBLOCKING,
    RECV,
    SEND,
    SENDRECV,
    TO_ROOT,
    WAIT,
)
from parcast_perturb.trace.columns import Trace

_SHOWN = 6


def cycle(trace: Trace, ranks: Ranks, mail: Messages, calls: Calls, rules: Rules) -> TraceError:
    """Return the error that names the ranks that wait for each other in a ring."""
    search = _Search(trace, ranks, mail, calls)
    rank, seen = int(np.flatnonzero(ranks.stand[:, CURSOR] < ranks.stand[:, TOTAL])[0]), list[int]()
    while rank not in seen and ranks.stand[rank, CURSOR] < ranks.stand[rank, TOTAL]:
        seen.append(rank)
        rank = search.awaited(rank)
    ring = seen[seen.index(rank) :] if rank in seen else seen
    named = [search.doing(one) for one in ring[:_SHOWN]]
    more = f" and {len(ring) - _SHOWN} more" if len(ring) > _SHOWN else ""
    late = any(search.late(one, rules.eager_max) for one in ring)
    hint = (
        f"messages above {rules.eager_max:.15g} bytes are taken to wait for their receiver: "
        "raise eager_max (--eager)"
        if late and rules.eager_max >= 0
        else "the paper's rules let every send wait for its receiver; take rules=corrected"
        if late and rules.eager_max == -np.inf
        else "is a rank's file cut off, or of another run?"
    )
    return TraceError(
        "cycle",
        f"these calls wait for each other, so that none can have ended: "
        f"{', '.join(named)}{more}; {hint}",
        trace.where,
    )


class _Search:
    def __init__(self, trace: Trace, ranks: Ranks, mail: Messages, calls: Calls) -> None:
        self.trace, self.ranks, self.mail, self.calls = trace, ranks, mail, calls
        self.kind = trace.events.kind

    def at(self, rank: int) -> int:
        """Return the event that a rank is in."""
        return int(self.trace.events.offsets[rank] + self.ranks.stand[rank, CURSOR])

    def doing(self, rank: int) -> str:
        """Return what a rank is in, and for whom."""
        event = self.at(rank)
        return (
            f"{self.trace.place(event)} ({self.trace.name(event)}, waiting for rank "
            f"{self.awaited(rank)})"
        )

    def late(self, rank: int, eager_max: float) -> bool:
        """Return whether a rank waits because of the size of a message that it sends."""
        event = self.source(rank)
        sized = self.kind[event] in (SEND, SENDRECV, ISEND)
        return bool(sized and self.trace.events.bytes[event] > eager_max)

    def awaited(self, rank: int) -> int:
        """Return the rank that a rank waits for."""
        event = self.source(rank)
        kind, events, channels = self.kind[event], self.trace.events, self.trace.channels
        if kind >= ALL:
            return self._member(rank, event)
        receiving = self.ranks.stand[rank, RECEIVING]
        if kind == SENDRECV and self.mail.record[receiving, ARRIVED]:
            return int(channels.target[events.out[event]])
        if kind < RECV:
            return int(channels.target[events.out[event]])
        return int(channels.source[events.into[event]])

    def source(self, rank: int) -> int:
        """Return the event that a rank waits in, or for a wait the one that made the request."""
        event, events = self.at(rank), self.trace.events
        if self.kind[event] != WAIT:
            return event
        first = int(events.first[event])
        base = int(self.ranks.stand[rank, REQUEST_BASE])
        for slot in events.slots[first : first + int(events.count[event])].tolist():
            if not self._met(base + slot):
                return self._opened(rank, event, slot)
        return event

    def _met(self, slot: int) -> bool:
        what, record = int(self.ranks.request[slot, WHAT]), int(self.ranks.request[slot, WHICH])
        if what == ARRIVAL:
            return bool(self.mail.record[record, ARRIVED])
        if what == RELEASE:
            return bool(self.mail.record[record, RELEASED])
        return what == NOTHING

    def _opened(self, rank: int, event: int, slot: int) -> int:
        """Return the latest event before a wait that opened this slot."""
        begin = int(self.trace.events.offsets[rank])
        kind = self.kind[begin:event]
        openers = ((kind >= ISEND) & (kind < RECV)) | (kind == IRECV) | (kind >= ALL + NONBLOCKING)
        mine = np.flatnonzero(openers & (self.trace.events.count[begin:event] == slot))
        return begin + int(mine[-1])

    def _member(self, rank: int, event: int) -> int:
        """Return a member that has not come to a collective and is waited for."""
        events, calls = self.trace.events, self.calls
        comm, kind = int(events.out[event]), int(self.kind[event])
        members = self.trace.communicators[comm]
        behavior = kind - NONBLOCKING if kind >= ALL + NONBLOCKING else kind
        if behavior == FROM_ROOT:
            return int(members[events.first[event]])
        place, base = int(events.into[event]), int(calls.comm[comm, BASE])
        ordinal = int(calls.member[base + place, ORDINAL]) - 1
        made = calls.member[base : base + len(members), ORDINAL]
        missing = np.flatnonzero(made <= ordinal)
        if behavior not in (ALL, TO_ROOT):
            missing = missing[missing < place]
        return int(members[missing[0]]) if len(missing) else rank
