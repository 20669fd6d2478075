"""The kernel: ranks run in turn, the least advanced first, and pass their delays on.

A delay is perturbed minus traced time.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation import collectives, messages
from parcast_perturb.propagation.sampling import call_cost, gap, noise
from parcast_perturb.propagation.state import (
    ABSENT,
    ADDED,
    AFTER,
    AHEAD,
    ARRIVAL,
    BEGUN,
    CALL,
    CALL_ADDS,
    CURSOR,
    DELAY,
    ENDED,
    ENTERED,
    FREE_COUNT,
    HOLDERS,
    NEEDS_RECORDS,
    NOTHING,
    OPENER,
    PAUSED,
    QUEUE_HEAD,
    QUEUE_LENGTH,
    QUEUED,
    RECEIPT_ADDS,
    RECEIVING,
    RELEASE,
    REQUEST_KIND,
    REQUEST_RECORD,
    REQUESTS,
    SENDING,
    TARGET,
)
from parcast_perturb.propagation.waiting import end_alone, end_call, end_wait
from parcast_traces.compilation import merged, step
from parcast_traces.trace.calls import (
    ACCESS,
    ALL,
    ESEND,
    EXSCAN,
    IRECV,
    ISEND,
    ISSEND,
    LOCAL,
    RECV,
    SEND,
    SENDRECV,
    SSEND,
)
from parcast_traces.trace.columns import BYTES, COUNT, END, KIND, START


@step
def _open(table: Any, state: Any, rank: int, row: int, kind: int, record: int) -> None:
    slot = state.rank[rank, REQUESTS] + table.whole[row, COUNT]
    state.request[slot, REQUEST_KIND] = kind
    state.request[slot, REQUEST_RECORD] = record
    state.request[slot, OPENER] = row


@step
def _free(table: Any, state: Any, rank: int, row: int) -> None:
    """Give up the request of a ``request_free``, that nobody will wait for."""
    slot = state.rank[rank, REQUESTS] + table.whole[row, COUNT] - 1
    kind, record = state.request[slot, REQUEST_KIND], state.request[slot, REQUEST_RECORD]
    if kind == CALL:
        collectives.leave(state, record)
    elif kind != NOTHING:
        messages.drop_record(state, record)


@step
def _send(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> None:
    kind = table.whole[row, KIND]
    waits = late = kind in (SSEND, ISSEND)
    if kind in (SEND, ISEND, SENDRECV):
        waits = table.times[row, BYTES] > rules.eager_max
        late = table.times[row, BYTES] > rules.early_max
    record = messages.send(table, deltas, state, rules, rank, row, late, waits)
    state.rank[rank, SENDING] = record if waits else ABSENT
    if ISEND <= kind < RECV:
        _open(table, state, rank, row, RELEASE if waits else NOTHING, record)


@step
def _receive(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> None:
    """Post a receive: at its start, but after what a ``sendrecv`` does itself.

    The receiver of an acknowledged ``irecv`` is one whose call has returned.
    """
    kind, at = table.whole[row, KIND], table.times[row, START]
    noisy = kind == SENDRECV or (kind == IRECV and not rules.rendezvous)
    if kind == SENDRECV:
        at += call_cost(table, rules, row)
    elif noisy:
        at = table.times[row, END]
    record = messages.post(table, deltas, state, rules, rank, row, at, noisy, kind == RECV)
    state.rank[rank, RECEIVING] = record
    if kind == IRECV:
        _open(table, state, rank, row, ARRIVAL, record)


@step
def _enter(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> None:
    """Start a call: what a rank does before it waits."""
    for r in range(state.delay.shape[2]):
        before = state.delay[rank, DELAY, r]
        state.delay[rank, BEGUN, r] = before + gap(table, deltas, state, rules, rank, row, r)
        added = noise(table, deltas, state, rules, rank, row, r)
        own_adds = deltas.event[row, CALL_ADDS] if len(deltas.event) else 0.0
        receipt_adds = deltas.event[row, RECEIPT_ADDS] if len(deltas.event) else 0.0
        state.delay[rank, ADDED, r] = added + own_adds
        state.delay[rank, AFTER, r] = added + receipt_adds
    kind = table.whole[row, KIND]
    if kind >= ALL:
        call = collectives.enter(table, deltas, state, rules, rank, row)
        state.rank[rank, RECEIVING] = call
        if kind > EXSCAN:
            state.record[call, HOLDERS] += 1
            _open(table, state, rank, row, CALL, call)
        return
    if kind == ACCESS:
        record = messages.access(table, deltas, state, rules, rank, row)
        _open(table, state, rank, row, RELEASE, record)
    if SEND <= kind < RECV or kind == SENDRECV:
        _send(table, deltas, state, rules, rank, row)
    if RECV <= kind <= SENDRECV:
        _receive(table, deltas, state, rules, rank, row)
    elif kind == LOCAL and table.whole[row, COUNT] > 0:
        _free(table, state, rank, row)


@merged
def _end(table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, row: int) -> Any:
    """End an event if that can be; return whether it ended."""
    kind = table.whole[row, KIND]
    if kind in (ACCESS, LOCAL, IRECV) or ESEND <= kind < RECV or kind > EXSCAN:
        end_alone(table, state, rules, outcome, rank, row)
        return True
    if kind >= ALL:
        return end_call(table, deltas, state, rules, outcome, rank, row)
    return end_wait(table, deltas, state, rules, outcome, rank, row)


@merged
def _run(
    table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rank: int, target: int
) -> Any:  # fmt: skip
    """Run one rank until it waits, has run far enough, or lacks records."""
    last = table.offsets[rank + 1] - table.offsets[rank]
    while state.rank[rank, CURSOR] < last:
        if state.rank[rank, CURSOR] >= target:
            state.ahead[state.counters[AHEAD]] = rank
            state.counters[AHEAD] += 1
            state.rank[rank, QUEUED] = 2
            return ENDED
        row = table.offsets[rank] + state.rank[rank, CURSOR]
        if not state.rank[rank, ENTERED]:
            if state.counters[FREE_COUNT] < 2:
                return NEEDS_RECORDS
            _enter(table, deltas, state, rules, rank, row)
            state.rank[rank, ENTERED] = 1
        if not _end(table, deltas, state, rules, outcome, rank, row):
            return ENDED
        for r in range(outcome.ends.shape[1]):
            outcome.ends[row, r] = state.delay[rank, DELAY, r]
        state.rank[rank, ENTERED] = 0
        state.rank[rank, CURSOR] += 1
    return ENDED


@step
def _raise_target(state: Any, quantum: int) -> None:
    """Let those run on that have run far enough, as nobody else can."""
    least = state.rank[state.ahead[0], CURSOR]
    for index in range(state.counters[AHEAD]):
        least = min(least, state.rank[state.ahead[index], CURSOR])
    state.counters[TARGET] = least + quantum
    count, state.counters[AHEAD] = state.counters[AHEAD], 0
    for index in range(count):
        rank = state.ahead[index]
        if state.rank[rank, CURSOR] < state.counters[TARGET]:
            state.rank[rank, QUEUED] = 0
            messages.wake(state, rank)
        else:
            state.ahead[state.counters[AHEAD]] = rank
            state.counters[AHEAD] += 1


@step
def advance(table: Any, deltas: Any, state: Any, rules: Any, outcome: Any, rounds: int) -> Any:
    """Run all ranks as far as they get, or until the target has risen so many times.

    Returns
    -------
    int
        ``ENDED``: nobody can go on, for all have ended or wait for ever.
        ``NEEDS_RECORDS``: there must be more records before it is called again. ``PAUSED``: the
        rounds are over.
    """
    counters = state.counters
    while True:
        if counters[QUEUE_LENGTH] == 0:
            if counters[AHEAD] == 0:
                return ENDED
            if rounds == 0:
                return PAUSED
            rounds -= 1
            _raise_target(state, rules.quantum)
        rank = state.queue[counters[QUEUE_HEAD]]
        reason = _run(table, deltas, state, rules, outcome, rank, counters[TARGET])
        if reason != ENDED:
            return reason
        if state.rank[rank, QUEUED] == 1:
            state.rank[rank, QUEUED] = 0
        counters[QUEUE_HEAD] = (counters[QUEUE_HEAD] + 1) % len(state.queue)
        counters[QUEUE_LENGTH] -= 1
