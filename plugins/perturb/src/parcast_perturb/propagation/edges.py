"""What calls wait for: a receive for a message, a send for its receiver, a wait for requests.

An edge is one of these: its kind, its record, and for a collective the event that opened it.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation import collectives, messages
from parcast_perturb.propagation.state import (
    ABSENT,
    ARRIVAL,
    ARRIVED,
    ARRIVED_BY,
    AWAITS,
    BY_COMING,
    CALL,
    CAUSES,
    EVENT,
    HEAD,
    HOLDS_POSTS,
    NOTHING,
    OPENER,
    PROBING,
    RECEIVING,
    RELEASE,
    RELEASED,
    RELEASED_BY,
    REQUEST_KIND,
    REQUEST_RECORD,
    REQUESTS,
    SENDING,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import PROBE, RECV, SEND, SENDRECV, SSEND, WAIT
from parcast_traces.trace.columns import COUNT, END, FIRST, INTO, KIND


@step
def edge_count(table: Any, state: Any, rank: int, row: int) -> Any:
    """Return how many a call waits for."""
    kind = table.whole[row, KIND]
    if kind == WAIT:
        return table.whole[row, COUNT]
    if kind == SENDRECV:
        return 1 + (state.rank[rank, SENDING] != ABSENT)
    if kind in (SEND, SSEND):
        return 1 if state.rank[rank, SENDING] != ABSENT else 0
    return 1


@step
def edge_of(table: Any, state: Any, rank: int, row: int, number: int) -> Any:
    """Return what one of them is, its record, and for a collective the event that opened it."""
    kind = table.whole[row, KIND]
    if kind == WAIT:
        slot = state.rank[rank, REQUESTS] + table.slots[table.whole[row, FIRST] + number]
        request = state.request
        return request[slot, REQUEST_KIND], request[slot, REQUEST_RECORD], request[slot, OPENER]
    if kind == PROBE:
        channel = table.whole[row, INTO]
        head = state.channel[channel, HEAD]
        arrived = head != ABSENT and not state.channel[channel, HOLDS_POSTS]
        return ARRIVAL, head if arrived else ABSENT, ABSENT
    if kind in (SEND, SSEND) or number == 1:
        return RELEASE, state.rank[rank, SENDING], ABSENT
    return ARRIVAL, state.rank[rank, RECEIVING], ABSENT


@step
def resolved(table: Any, state: Any, rank: int, row: int, edge: Any) -> Any:
    """Return whether what a rank waits for is known; if not, it will be woken."""
    kind, record, opener = edge
    if record == ABSENT and kind == ARRIVAL:
        state.channel[table.whole[row, INTO], PROBING] = rank
        return False
    if kind in (ARRIVAL, RELEASE):
        is_known = state.record[record, ARRIVED if kind == ARRIVAL else RELEASED] == 1
        if not is_known and table.whole[row, KIND] != PROBE:
            state.rank[rank, AWAITS] = record
            return False
        return True
    return kind == NOTHING or collectives.is_complete(table, state, record, opener)


@step
def is_awaited(table: Any, state: Any, kind: int, opener: int) -> Any:
    """Return whether a request is one that a wait can wait for."""
    return kind != NOTHING and (kind != CALL or collectives.waits_for_others(table, state, opener))


@step
def cause_of(state: Any, kind: int, record: int) -> Any:
    """Return what decided the time of something that was waited for."""
    if kind == CALL:
        return CAUSES * state.record[record, EVENT] + BY_COMING
    return state.record[record, ARRIVED_BY if kind == ARRIVAL else RELEASED_BY]


@step
def release_edges(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, count: int
) -> None:
    """Give back what a call waited for."""
    kind = table.whole[row, KIND]
    for number in range(count):
        edge_kind, record, _ = edge_of(table, state, rank, row, number)
        if edge_kind == CALL:
            collectives.leave(state, record)
        elif edge_kind != NOTHING and kind != PROBE:
            if kind == RECV:
                at = table.times[row, END]
                messages.acknowledge(deltas, state, rules, record, rank, at)
            messages.drop_record(state, record)
        if kind == WAIT:
            slot = state.rank[rank, REQUESTS] + table.slots[table.whole[row, FIRST] + number]
            state.request[slot, REQUEST_KIND] = NOTHING
