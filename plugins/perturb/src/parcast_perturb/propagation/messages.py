"""Messages: which receive takes each, when it arrives and when its sender may go on.

Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation.sampling import call_cost, flight, latency, transfer_time
from parcast_perturb.propagation.state import (
    ABSENT,
    ADDED,
    ARRIVAL,
    ARRIVED,
    ARRIVED_BY,
    AWAITS,
    BEGUN,
    BLOCKING,
    BY_BOTH,
    BY_END,
    BY_MESSAGE,
    BY_POST,
    CAUSES,
    CLOCKED,
    DELAY,
    EVENT,
    FREE,
    FREE_COUNT,
    HEAD,
    HOLDERS,
    HOLDS_POSTS,
    LATE,
    LENGTH,
    LOWER,
    NEXT,
    PAPER,
    POST,
    POSTED,
    PROBING,
    QUEUE_HEAD,
    QUEUE_LENGTH,
    QUEUED,
    RECEIVER,
    RECORD,
    RELEASE,
    RELEASED,
    RELEASED_BY,
    SENDER,
    SENT,
    SIDES,
    TAIL,
)
from parcast_traces.compilation import step
from parcast_traces.trace.columns import BYTES, INTO, OUT, START


@step
def wake(state: Any, rank: int) -> None:
    """Let a rank look again at what it waits for."""
    if rank >= 0 and not state.rank[rank, QUEUED]:
        state.rank[rank, QUEUED] = 1
        position = state.counters[QUEUE_HEAD] + state.counters[QUEUE_LENGTH]
        state.queue[position % len(state.queue)] = rank
        state.counters[QUEUE_LENGTH] += 1


@step
def wake_for(state: Any, rank: int, record: int) -> None:
    """Let a rank go on if it is this that it waits for."""
    if rank >= 0 and state.rank[rank, AWAITS] == record:
        state.rank[rank, AWAITS] = ABSENT
        wake(state, rank)


@step
def new_record(state: Any, holders: int) -> Any:
    """Take a free record."""
    record = state.counters[FREE]
    state.counters[FREE] = state.record[record, NEXT]
    state.counters[FREE_COUNT] -= 1
    for column in range(RECORD):
        state.record[record, column] = 0
    state.record[record, NEXT] = ABSENT
    state.record[record, SENDER] = ABSENT
    state.record[record, RECEIVER] = ABSENT
    state.record[record, HOLDERS] = holders
    return record


@step
def drop_record(state: Any, record: int) -> None:
    """Say that one of those who need a record is done with it."""
    state.record[record, HOLDERS] -= 1
    if state.record[record, HOLDERS] == 0:
        state.record[record, NEXT] = state.counters[FREE]
        state.counters[FREE] = record
        state.counters[FREE_COUNT] += 1


@step
def match_record(state: Any, channel: int, post: bool) -> Any:
    """Return the record of a message or a receive, shared with its other side."""
    head = state.channel[channel, HEAD]
    if head != ABSENT and state.channel[channel, HOLDS_POSTS] != post:
        state.channel[channel, HEAD] = state.record[head, NEXT]
        state.record[head, NEXT] = ABSENT
        return head
    record = new_record(state, 1)
    if head == ABSENT:
        state.channel[channel, HEAD] = record
    else:
        state.record[state.channel[channel, TAIL], NEXT] = record
    state.channel[channel, TAIL] = record
    state.channel[channel, HOLDS_POSTS] = post
    return record


@step
def delay_of_both(
    first: float, first_at: float, second: float, second_at: float, policy: int
) -> Any:
    """Return the delay of what waits for two, and whether the second decides.

    No clock has seen the end of this wait.
    """
    if policy == LOWER:
        return min(first, second), second < first
    if policy == CLOCKED:
        latest = max(first_at, second_at)
        first, second = first - (latest - first_at), second - (latest - second_at)
    return max(first, second), second > first


@step
def _fly(deltas: Any, state: Any, rules: Any, record: int) -> None:
    """Let a message fly that has waited for its receive."""
    row, times, delays = state.record[record, EVENT], state.record_time, state.record_delay
    sender = state.record[record, SENDER]
    at = max(times[record, SENT], times[record, POSTED])
    length = times[record, LENGTH]
    at += transfer_time(deltas, rules, row, length)
    times[record, ARRIVAL] = at
    times[record, RELEASE] = at
    for r in range(delays.shape[2]):
        awaited, by_post = delay_of_both(
            delays[record, SENT, r], times[record, SENT],
            delays[record, POSTED, r], times[record, POSTED], rules.policy,
        )  # fmt: skip
        if r == 0 and by_post:
            state.record[record, ARRIVED_BY] = CAUSES * state.record[record, POST] + BY_POST
        awaited += flight(deltas, state, sender, row, length, r)
        delays[record, ARRIVAL, r] = awaited
        delays[record, RELEASE, r] = awaited
    state.record[record, RELEASED_BY] = state.record[record, ARRIVED_BY]
    state.record[record, ARRIVED] = 1
    state.record[record, RELEASED] = 1
    wake_for(state, state.record[record, RECEIVER], record)
    wake_for(state, sender, record)


@step
def _match_late(deltas: Any, state: Any, rules: Any, record: int) -> None:
    """Do what follows when a late message has met its receive."""
    if rules.rendezvous:
        _fly(deltas, state, rules, record)
    elif not state.record[record, BLOCKING]:  # a blocking receive acknowledges at its end
        times, delays = state.record_time, state.record_delay
        row, sender = state.record[record, EVENT], state.record[record, SENDER]
        times[record, RELEASE] = max(times[record, POSTED], times[record, ARRIVAL]) + rules.latency
        for r in range(delays.shape[2]):
            awaited, by_send = delay_of_both(
                delays[record, POSTED, r], times[record, POSTED],
                delays[record, ARRIVAL, r], times[record, ARRIVAL], rules.policy,
            )  # fmt: skip
            if r == 0:
                cause = CAUSES * row + BY_BOTH
                if not by_send:
                    cause = CAUSES * state.record[record, POST] + BY_END
                state.record[record, RELEASED_BY] = cause
            delays[record, RELEASE, r] = awaited + latency(deltas, state, sender, row, 0, r)
        state.record[record, RELEASED] = 1
        wake_for(state, sender, record)


@step
def send(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, late: bool, waits: bool
) -> Any:  # fmt: skip
    """Put a message on its channel; return its record.

    One that is late needs its receive, and its sender waits for that or not.
    """
    channel, times = table.whole[row, OUT], table.times
    record = match_record(state, channel, False)
    state.record[record, SIDES] |= 1
    state.record[record, LATE] = late
    state.record[record, HOLDERS] += waits
    state.record[record, EVENT] = row
    state.record[record, SENDER] = rank
    state.record[record, ARRIVED_BY] = CAUSES * row + BY_MESSAGE
    sent, length = times[row, START] + call_cost(table, rules, row), times[row, BYTES]
    state.record_time[record, LENGTH] = length
    state.record_time[record, SENT] = sent
    state.record_time[record, ARRIVAL] = sent + transfer_time(deltas, rules, row, length)
    for r in range(state.record_delay.shape[2]):
        # by the paper's equation (1) a send's own noise does not delay its message
        lead = 0.0 if rules.policy == PAPER else state.delay[rank, ADDED, r]
        state.record_delay[record, SENT, r] = state.delay[rank, BEGUN, r] + lead
    for r in range(state.record_delay.shape[2]):  # of one that waits to fly, when a probe sees it
        flight_delay = flight(deltas, state, rank, row, length, r)
        state.record_delay[record, ARRIVAL, r] = state.record_delay[record, SENT, r] + flight_delay
    if not (late and rules.rendezvous):
        state.record[record, ARRIVED] = 1
        wake_for(state, state.record[record, RECEIVER], record)
    if late and state.record[record, SIDES] == 3:
        _match_late(deltas, state, rules, record)
    if state.channel[channel, PROBING] != ABSENT:
        wake(state, state.channel[channel, PROBING])
        state.channel[channel, PROBING] = ABSENT
    return record


@step
def access(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> Any:
    """Ask for something of memory elsewhere, done a way there and back later; return its record."""
    record = new_record(state, 1)
    state.record[record, EVENT] = row
    state.record[record, SENDER] = rank
    state.record[record, RELEASED_BY] = CAUSES * row + BY_BOTH
    state.record[record, RELEASED] = 1
    length = table.times[row, BYTES]
    finish = table.times[row, START] + call_cost(table, rules, row) + 2 * rules.latency
    state.record_time[record, RELEASE] = finish + length * rules.per_byte
    for r in range(state.record_delay.shape[2]):
        lead = 0.0 if rules.policy == PAPER else state.delay[rank, ADDED, r]
        round_trip = flight(deltas, state, rank, row, length, r)
        round_trip += latency(deltas, state, rank, row, 0, r)
        state.record_delay[record, RELEASE, r] = state.delay[rank, BEGUN, r] + lead + round_trip
    return record


@step
def post(
    table: Any, deltas: Any, state: Any, rules: Any,
    rank: int, row: int, at: float, noisy: bool, blocking: bool,
) -> Any:  # fmt: skip
    """Put a receive on its channel, before or after the noise of its call; return its record."""
    record = match_record(state, table.whole[row, INTO], True)
    state.record[record, SIDES] |= 2
    state.record[record, POST] = row
    state.record[record, BLOCKING] = blocking
    state.record[record, RECEIVER] = rank
    state.record_time[record, POSTED] = at
    for r in range(state.record_delay.shape[2]):
        added = state.delay[rank, ADDED, r] if noisy else 0.0
        state.record_delay[record, POSTED, r] = state.delay[rank, BEGUN, r] + added
    if state.record[record, LATE] and state.record[record, SIDES] == 3:
        _match_late(deltas, state, rules, record)
    return record


@step
def acknowledge(deltas: Any, state: Any, rules: Any, record: int, rank: int, at: float) -> None:
    """Release the sender of a late message at the end of a blocking receive."""
    if not state.record[record, LATE] or rules.rendezvous:
        return
    row, sender = state.record[record, EVENT], state.record[record, SENDER]
    state.record_time[record, RELEASE] = at + rules.latency
    for r in range(state.record_delay.shape[2]):
        back = latency(deltas, state, sender, row, 0, r)
        state.record_delay[record, RELEASE, r] = state.delay[rank, DELAY, r] + back
    state.record[record, RELEASED_BY] = CAUSES * state.record[record, POST] + BY_END
    state.record[record, RELEASED] = 1
    wake_for(state, sender, record)
