"""Waiting: what a call waits for, and the delay with which it ends.

At the end of a call meet what the rank did itself and what it waited for; each counts less
its slack, by which it could have been later.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation import collectives, messages
from parcast_perturb.propagation.sampling import flight, latency, noise, own
from parcast_perturb.propagation.state import (
    ABSORBED,
    ADDED,
    AFTER,
    ARRIVAL,
    ARRIVED,
    ARRIVED_BY,
    AWAITS,
    BEGUN,
    BY_COMING,
    CALL,
    CAUSES,
    CLOCKED,
    CREATED,
    DELAY,
    EVENT,
    HEAD,
    HOLDS_POSTS,
    LENGTH,
    LOWER,
    MET,
    NO,
    NOTHING,
    OPENED,
    OWN,
    PAPER,
    POST,
    PROBING,
    RECEIVER,
    RECEIVING,
    RELEASE,
    RELEASED,
    RELEASED_BY,
    REQUESTS,
    SENDER,
    SENDING,
    THERE,
    TOGETHER,
    VALUE,
    WHAT,
    WHICH,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import (
    ALL,
    IESEND,
    IRECV,
    ISEND,
    ISSEND,
    PROBE,
    RECV,
    SEND,
    SENDRECV,
    SSEND,
    WAIT,
)
from parcast_traces.trace.columns import COUNT, END, FIRST, INTO, KIND, OUT, SITE, START

#: Times this close, relative to the clock, are one: as far as subtracting rounds.
_ROUNDING = 4e-15
_NEVER = -1e300


@step
def _waited(table: Any, rules: Any, row: int) -> Any:
    """Return how long a call was seen to wait, 0 for what rounding can make."""
    end, alone = table.times[row, END], table.times[row, START] + own(table, rules, row)
    waited = end - alone
    return waited if waited > _ROUNDING * max(abs(end), abs(alone)) else 0.0


@step
def end_alone(table: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int) -> None:
    """End a call that waits for nobody; equation (2) adds nothing to one that does not block."""
    kind = table.whole[row, KIND]
    untouched = rules.printed and (ISEND <= kind < RECV or kind == IRECV)
    for r in range(state.delay.shape[2]):
        added = 0.0 if untouched else state.delay[rank, ADDED, r]
        state.delay[rank, DELAY, r] = state.delay[rank, BEGUN, r] + added
    if len(outcome.cause):
        outcome.cause[row] = CAUSES * row + OWN


@step
def _count(table: Any, state: Any, rank: int, row: int, made: float) -> None:
    """Count what a call absorbed, or by how much it made its rank later than it was."""
    column = ABSORBED if made < 0 else CREATED
    site = table.whole[row, SITE]
    state.moved[site, column] += abs(made)
    state.moved[len(state.moved) - len(state.rank) + rank, column] += abs(made)


@step
def _settle(
    table: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int, waited: float, cause: int
) -> None:
    """End a call where the rank's own way and what it waited for meet."""
    for r in range(state.delay.shape[2]):
        local = state.delay[rank, BEGUN, r] + state.delay[rank, ADDED, r]
        met, mine = state.delay[rank, MET, r], local
        if rules.policy == LOWER and waited == 0:
            met = local
        elif rules.policy != PAPER:
            mine = local - waited
        end = max(mine, met)
        state.delay[rank, DELAY, r] = end
        _count(table, state, rank, row, end - local)
        if r == 0 and len(outcome.cause):
            outcome.cause[row] = cause if met > mine else CAUSES * row + OWN


@step
def _fold(
    state: Any, rules: Any, rank: int, last: float, at: float, record: int, column: int, noisy: bool
) -> Any:
    """Take in one that a call waits for; return the latest time, and whether this is the latest."""
    latest = max(last, at) if rules.policy == CLOCKED else last
    wins = False
    for r in range(state.delay.shape[2]):
        met = state.delay[rank, MET, r]
        new = state.held[record, column, r] + (state.delay[rank, AFTER, r] if noisy else 0.0)
        if rules.policy == CLOCKED:
            met -= latest - last
            new -= latest - at
        better = new < met if rules.policy == LOWER else new > met
        state.delay[rank, MET, r] = new if better else met
        wins = better if r == 0 else wins
    return latest, wins


@step
def _floor(table: Any, state: Any, rules: Any, rank: int, row: int, waited: float) -> Any:
    """Return the time from which the slack of what a call waits for counts, before any is known."""
    for r in range(state.delay.shape[2]):
        state.delay[rank, MET, r] = -_NEVER if rules.policy == LOWER else _NEVER
    return _NEVER if waited > 0 else table.times[row, START] + own(table, rules, row)


@step
def end_call(
    table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int
) -> Any:
    """End a collective if that can be; return whether it ended."""
    call, kind = state.rank[rank, RECEIVING], table.whole[row, KIND]
    if not collectives.over(table, state, call, row):
        return False
    if not collectives.waits(table, state, row):
        end_alone(table, state, rules, outcome, rank, row)
        return True
    if kind != ALL:
        collectives.gather(table, state, rules, call, row)
        waited = _waited(table, rules, row)
        last = _floor(table, state, rules, rank, row, waited)
        _fold(state, rules, rank, last, state.time[call, TOGETHER], call, TOGETHER, False)
        cause = CAUSES * state.record[call, EVENT] + BY_COMING
        _settle(table, state, rules, outcome, rank, row, waited, cause)
        return True
    held, column = call, TOGETHER
    if rules.butterfly:
        collectives.butterfly(deltas, state, rules, table.whole[row, OUT], call)
        held, column = collectives.member_of(state, call, table.whole[row, INTO]), VALUE
    for r in range(state.delay.shape[2]):
        local = state.delay[rank, BEGUN, r] + state.delay[rank, ADDED, r]
        end = state.held[held, column, r]
        state.delay[rank, DELAY, r] = end
        _count(table, state, rank, row, end - local)
    if len(outcome.cause):
        outcome.cause[row] = CAUSES * state.record[call, EVENT] + BY_COMING
    return True


@step
def _edges(table: Any, state: Any, rank: int, row: int) -> Any:
    """Return how many a call waits for."""
    kind = table.whole[row, KIND]
    if kind == WAIT:
        return table.whole[row, COUNT]
    if kind == SENDRECV:
        return 1 + (state.rank[rank, SENDING] != NO)
    if kind in (SEND, SSEND):
        return 1 if state.rank[rank, SENDING] != NO else 0
    return 1


@step
def _edge(table: Any, state: Any, rank: int, row: int, number: int) -> Any:
    """Return what one of them is, its record, and for a collective the event that opened it."""
    kind = table.whole[row, KIND]
    if kind == WAIT:
        slot = state.rank[rank, REQUESTS] + table.slots[table.whole[row, FIRST] + number]
        request = state.request
        return request[slot, WHAT], request[slot, WHICH], request[slot, OPENED]
    if kind == PROBE:
        channel = table.whole[row, INTO]
        head = state.channel[channel, HEAD]
        there = head != NO and not state.channel[channel, HOLDS_POSTS]
        return ARRIVAL, head if there else NO, NO
    if kind in (SEND, SSEND) or number == 1:
        return RELEASE, state.rank[rank, SENDING], NO
    return ARRIVAL, state.rank[rank, RECEIVING], NO


@step
def _there(table: Any, state: Any, rank: int, row: int, edge: Any) -> Any:
    """Return whether what a rank waits for is known; if not, it will be woken."""
    what, which, opened = edge
    if which == NO and what == ARRIVAL:
        state.channel[table.whole[row, INTO], PROBING] = rank
        return False
    if what in (ARRIVAL, RELEASE):
        there = state.record[which, ARRIVED if what == ARRIVAL else RELEASED] == 1
        if not there and table.whole[row, KIND] != PROBE:
            state.rank[rank, AWAITS] = which
            return False
        return True
    return what == NOTHING or collectives.over(table, state, which, opened)


@step
def _cause(state: Any, what: int, which: int) -> Any:
    """Return what decided the time of something that was waited for."""
    if what == CALL:
        return CAUSES * state.record[which, EVENT] + BY_COMING
    return state.record[which, ARRIVED_BY if what == ARRIVAL else RELEASED_BY]


@step
def _counts(table: Any, state: Any, what: int, opened: int) -> Any:
    """Return whether a request is one that a wait can wait for."""
    return what != NOTHING and (what != CALL or collectives.waits(table, state, opened))


@step
def _printed(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, what: int, which: int
) -> None:  # fmt: skip
    """Take in one side of a message by equation (2) as printed: from the wait's own time on."""
    send, post = state.record[which, EVENT], state.record[which, POST]
    source, target = state.record[which, SENDER], state.record[which, RECEIVER]
    length = state.time[which, LENGTH]
    for r in range(state.delay.shape[2]):
        first = noise(table, deltas, state, rules, source, send, r)
        second = noise(table, deltas, state, rules, target, post, r)
        mine, back = state.delay[rank, ADDED, r], latency(deltas, state, source, send, 0, r)
        if what == RELEASE:
            there = first + flight(deltas, state, source, send, length, r) + back + mine
            other = second + back + mine
        else:
            there, other = second + mine, first + back
        met = state.delay[rank, BEGUN, r] + max(there, other)
        state.delay[rank, MET, r] = max(state.delay[rank, MET, r], met)


@step
def _take(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, last: float, edge: Any
) -> Any:  # fmt: skip
    """Take in one of those that a call waits for."""
    what, which, opened = edge
    wait = table.whole[row, KIND] == WAIT
    if rules.printed and wait and what in (ARRIVAL, RELEASE):
        apart = table.whole[state.record[which, EVENT], KIND] in (ISEND, ISSEND, IESEND)
        if apart and table.whole[state.record[which, POST], KIND] == IRECV:
            _printed(table, deltas, state, rules, rank, what, which)
            return last, False
    if what == CALL:
        collectives.gather(table, state, rules, which, opened)
    column = TOGETHER if what == CALL else what
    noisy = wait or what == ARRIVAL
    at = state.time[which, column] + (rules.overhead_receive if noisy else 0.0)
    return _fold(state, rules, rank, last, at, which, column, noisy)


@step
def _done(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, count: int) -> None:
    """Give back what a call waited for."""
    kind = table.whole[row, KIND]
    for number in range(count):
        what, which, _ = _edge(table, state, rank, row, number)
        if what == CALL:
            collectives.leave(state, which)
        elif what != NOTHING and kind != PROBE:
            if kind == RECV:
                at = table.times[row, END]
                messages.acknowledge(deltas, state, rules, which, rank, at)
            messages.give_back(state, which)
        if kind == WAIT:
            slot = state.rank[rank, REQUESTS] + table.slots[table.whole[row, FIRST] + number]
            state.request[slot, WHAT] = NOTHING


@step
def end_wait(
    table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int
) -> Any:  # fmt: skip
    """End a call that waits for messages if that can be; return whether it ended."""
    count = _edges(table, state, rank, row)
    for number in range(state.rank[rank, THERE], count):
        if not _there(table, state, rank, row, _edge(table, state, rank, row, number)):
            state.rank[rank, THERE] = number
            return False
    state.rank[rank, THERE] = 0
    waited = _waited(table, rules, row)
    last = _floor(table, state, rules, rank, row, waited)
    alone, cause = True, NO
    for number in range(count):
        edge = _edge(table, state, rank, row, number)
        if _counts(table, state, edge[0], edge[2]):
            alone = False
            last, wins = _take(table, deltas, state, rules, rank, row, last, edge)
            cause = _cause(state, edge[0], edge[1]) if wins else cause
    if alone:
        end_alone(table, state, rules, outcome, rank, row)
    else:
        _settle(table, state, rules, outcome, rank, row, waited, cause)
    _done(table, deltas, state, rules, rank, row, count)
    return True
