"""Waiting: what a call waits for, and the delay with which it ends.

At the end of a call meet what the rank did itself and what it waited for; each counts less
its slack, by which it could have been later.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation import collectives, edges
from parcast_perturb.propagation.sampling import (
    call_cost,
    flight,
    is_signal,
    latency,
    noise,
    receipt_cost,
)
from parcast_perturb.propagation.state import (
    ABSENT,
    ABSORBED,
    ADDED,
    AFTER,
    ARRIVAL,
    AWAITED,
    BEGUN,
    BY_COMING,
    BY_ITSELF,
    CALL,
    CAUSES,
    CLOCKED,
    CREATED,
    DELAY,
    EVENT,
    LENGTH,
    LOWER,
    PAPER,
    POST,
    RECEIVER,
    RECEIVING,
    RELEASE,
    SATISFIED,
    SENDER,
    TOGETHER,
    VALUE,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import ALL, IESEND, IRECV, ISEND, ISSEND, RECV, WAIT
from parcast_traces.trace.columns import END, INTO, KIND, OUT, SITE, START

#: Times this close, relative to the clock, are one: as far as subtracting rounds.
_ROUNDING = 4e-15
_NEVER = -1e300


@step
def _waited(table: Any, rules: Any, row: int) -> Any:
    """Return how long a call was seen to wait, 0 for what rounding can make."""
    end, alone = table.times[row, END], table.times[row, START] + call_cost(table, rules, row)
    waited = end - alone
    return waited if waited > _ROUNDING * max(abs(end), abs(alone)) else 0.0


@step
def end_alone(table: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int) -> None:
    """End a call that waits for nobody; equation (2) adds nothing to one that does not block."""
    kind = table.whole[row, KIND]
    untouched = rules.equation_2 and (ISEND <= kind < RECV or kind == IRECV)
    for r in range(state.delay.shape[2]):
        added = 0.0 if untouched else state.delay[rank, ADDED, r]
        state.delay[rank, DELAY, r] = state.delay[rank, BEGUN, r] + added
    if len(outcome.cause):
        outcome.cause[row] = CAUSES * row + BY_ITSELF


@step
def _record_change(table: Any, state: Any, rank: int, row: int, change: float) -> None:
    """Count what a call absorbed, or by how much it made its rank later than it was."""
    column = ABSORBED if change < 0 else CREATED
    site = table.whole[row, SITE]
    state.changes[site, column] += abs(change)
    state.changes[len(state.changes) - len(state.rank) + rank, column] += abs(change)


@step
def _settle(
    table: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int, waited: float, cause: int
) -> None:
    """End a call where the rank's own way and what it waited for meet."""
    for r in range(state.delay.shape[2]):
        local = state.delay[rank, BEGUN, r] + state.delay[rank, ADDED, r]
        awaited, own_delay = state.delay[rank, AWAITED, r], local
        if rules.policy == LOWER and waited == 0:
            awaited = local
        elif rules.policy != PAPER:
            own_delay = local - waited
        end = max(own_delay, awaited)
        state.delay[rank, DELAY, r] = end
        _record_change(table, state, rank, row, end - local)
        if r == 0 and len(outcome.cause):
            outcome.cause[row] = cause if awaited > own_delay else CAUSES * row + BY_ITSELF


@step
def _fold(
    state: Any, rules: Any, rank: int, last: float, at: float, record: int, column: int, noisy: bool
) -> Any:
    """Take in one that a call waits for; return the latest time, and whether this is the latest."""
    latest = max(last, at) if rules.policy == CLOCKED else last
    wins = False
    for r in range(state.delay.shape[2]):
        awaited = state.delay[rank, AWAITED, r]
        new = state.record_delay[record, column, r] + (
            state.delay[rank, AFTER, r] if noisy else 0.0
        )
        if rules.policy == CLOCKED:
            awaited -= latest - last
            new -= latest - at
        better = new < awaited if rules.policy == LOWER else new > awaited
        state.delay[rank, AWAITED, r] = new if better else awaited
        wins = better if r == 0 else wins
    return latest, wins


@step
def _floor(table: Any, state: Any, rules: Any, rank: int, row: int, waited: float) -> Any:
    """Return the time from which the slack of what a call waits for counts, before any is known."""
    for r in range(state.delay.shape[2]):
        state.delay[rank, AWAITED, r] = -_NEVER if rules.policy == LOWER else _NEVER
    return _NEVER if waited > 0 else table.times[row, START] + call_cost(table, rules, row)


@step
def end_call(
    table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int
) -> Any:
    """End a collective if that can be; return whether it ended."""
    call, kind = state.rank[rank, RECEIVING], table.whole[row, KIND]
    if not collectives.is_complete(table, state, call, row):
        return False
    if not collectives.waits_for_others(table, state, row):
        end_alone(table, state, rules, outcome, rank, row)
        return True
    if kind != ALL:
        collectives.gather_scan(table, state, rules, call, row)
        waited = _waited(table, rules, row)
        last = _floor(table, state, rules, rank, row, waited)
        _fold(state, rules, rank, last, state.record_time[call, TOGETHER], call, TOGETHER, False)
        cause = CAUSES * state.record[call, EVENT] + BY_COMING
        _settle(table, state, rules, outcome, rank, row, waited, cause)
        return True
    record, column = call, TOGETHER
    if rules.butterfly:
        collectives.butterfly(deltas, state, rules, table.whole[row, OUT], call)
        record, column = collectives.member_of(state, call, table.whole[row, INTO]), VALUE
    for r in range(state.delay.shape[2]):
        local = state.delay[rank, BEGUN, r] + state.delay[rank, ADDED, r]
        end = state.record_delay[record, column, r]
        state.delay[rank, DELAY, r] = end
        _record_change(table, state, rank, row, end - local)
    if len(outcome.cause):
        outcome.cause[row] = CAUSES * state.record[call, EVENT] + BY_COMING
    return True


@step
def _fold_equation_2(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, kind: int, record: int
) -> None:  # fmt: skip
    """Take in one side of a message by equation (2) as printed: from the wait's own time on."""
    send, post = state.record[record, EVENT], state.record[record, POST]
    source, target = state.record[record, SENDER], state.record[record, RECEIVER]
    length = state.record_time[record, LENGTH]
    for r in range(state.delay.shape[2]):
        first = noise(table, deltas, state, rules, source, send, r)
        second = noise(table, deltas, state, rules, target, post, r)
        added, back = state.delay[rank, ADDED, r], latency(deltas, state, source, send, 0, r)
        if kind == RELEASE:
            by_sender = first + flight(deltas, state, source, send, length, r) + back + added
            by_receiver = second + back + added
        else:
            by_sender, by_receiver = second + added, first + back
        awaited = state.delay[rank, BEGUN, r] + max(by_sender, by_receiver)
        state.delay[rank, AWAITED, r] = max(state.delay[rank, AWAITED, r], awaited)


@step
def _fold_edge(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, last: float, edge: Any
) -> Any:  # fmt: skip
    """Take in one of those that a call waits for."""
    kind, record, opener = edge
    wait = table.whole[row, KIND] == WAIT
    if rules.equation_2 and wait and kind in (ARRIVAL, RELEASE):
        nonblocking = table.whole[state.record[record, EVENT], KIND] in (ISEND, ISSEND, IESEND)
        if nonblocking and table.whole[state.record[record, POST], KIND] == IRECV:
            _fold_equation_2(table, deltas, state, rules, rank, kind, record)
            return last, False
    if kind == CALL:
        collectives.gather_scan(table, state, rules, record, opener)
    column = TOGETHER if kind == CALL else kind
    noisy = wait or kind == ARRIVAL
    free = kind == ARRIVAL and is_signal(table, rules, state.record[record, EVENT])
    at = state.record_time[record, column]
    if noisy and not free:
        at += receipt_cost(table, rules, row)
    return _fold(state, rules, rank, last, at, record, column, noisy)


@step
def end_wait(
    table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int
) -> Any:  # fmt: skip
    """End a call that waits for messages if that can be; return whether it ended."""
    count = edges.edge_count(table, state, rank, row)
    for number in range(state.rank[rank, SATISFIED], count):
        edge = edges.edge_of(table, state, rank, row, number)
        if not edges.resolved(table, state, rank, row, edge):
            state.rank[rank, SATISFIED] = number
            return False
    state.rank[rank, SATISFIED] = 0
    waited = _waited(table, rules, row)
    last = _floor(table, state, rules, rank, row, waited)
    alone, cause = True, ABSENT
    for number in range(count):
        edge = edges.edge_of(table, state, rank, row, number)
        if edges.is_awaited(table, state, edge[0], edge[2]):
            alone = False
            last, wins = _fold_edge(table, deltas, state, rules, rank, row, last, edge)
            cause = edges.cause_of(state, edge[0], edge[1]) if wins else cause
    if alone:
        end_alone(table, state, rules, outcome, rank, row)
    else:
        _settle(table, state, rules, outcome, rank, row, waited, cause)
    edges.release_edges(table, deltas, state, rules, rank, row, count)
    return True
