"""Messages: which receive takes each, when it arrives and when its sender may go on.

Arguments are untyped: they are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.compilation import step
from parcast_perturb.propagation.state import (
    ARRIVAL,
    ARRIVAL_AT,
    ARRIVED,
    BACK,
    BLOCKING,
    BYTES,
    CLOCKED,
    FLIGHT,
    FOLLOWING,
    HEAD,
    HOLDERS,
    HOLDS_POSTS,
    LATE,
    LOWER,
    NO,
    OUT,
    POSTED,
    POSTED_AT,
    PROBING,
    QUEUE_HEAD,
    QUEUE_LENGTH,
    QUEUED,
    RECEIVER,
    RELEASE,
    RELEASE_AT,
    RELEASED,
    SENDER,
    SENT,
    SENT_AT,
    SIDES,
    TAIL,
)


@step
def wake(ranks: Any, rank: int) -> None:
    """Let a rank look again at what it waits for."""
    if rank >= 0 and not ranks.stand[rank, QUEUED]:
        ranks.stand[rank, QUEUED] = 1
        place = (ranks.counters[QUEUE_HEAD] + ranks.counters[QUEUE_LENGTH]) % len(ranks.queue)
        ranks.queue[place] = rank
        ranks.counters[QUEUE_LENGTH] += 1


@step
def pick(table: Any, row: int, r: int) -> float:
    """Return a number of a table with rows and columns, or one of either for all."""
    return table[row if table.shape[0] > 1 else 0, r if table.shape[1] > 1 else 0]


@step
def fresh(messages: Any) -> int:
    """Take a free record."""
    record = messages.free[0]
    messages.free[0] = messages.record[record, FOLLOWING]
    messages.free[1] -= 1
    messages.record[record, FOLLOWING] = NO
    messages.record[record, SIDES] = 0
    messages.record[record, LATE] = 0
    messages.record[record, BLOCKING] = 0
    messages.record[record, ARRIVED] = 0
    messages.record[record, RELEASED] = 0
    messages.record[record, HOLDERS] = 1
    messages.record[record, RECEIVER] = NO
    messages.record[record, SENDER] = NO
    return record


@step
def give_back(messages: Any, record: int) -> None:
    """Say that one of those who need a record is done with it."""
    messages.record[record, HOLDERS] -= 1
    if messages.record[record, HOLDERS] == 0:
        messages.record[record, FOLLOWING] = messages.free[0]
        messages.free[0] = record
        messages.free[1] += 1


@step
def meet(messages: Any, channel: int, post: bool) -> int:
    """Return the record of a message or a receive, shared with its other side."""
    head = messages.channel[channel, HEAD]
    if head != NO and messages.channel[channel, HOLDS_POSTS] != post:
        messages.channel[channel, HEAD] = messages.record[head, FOLLOWING]
        messages.record[head, FOLLOWING] = NO
        return head
    record = fresh(messages)
    if head == NO:
        messages.channel[channel, HEAD] = record
    else:
        messages.record[messages.channel[channel, TAIL], FOLLOWING] = record
    messages.channel[channel, TAIL] = record
    messages.channel[channel, HOLDS_POSTS] = post
    return record


@step
def join(first: float, first_at: float, second: float, second_at: float, policy: int) -> float:
    """Return the delay of what waits for two, of which no clock has seen the end."""
    if policy == LOWER:
        return min(first, second)
    if policy != CLOCKED:
        return max(first, second)
    latest = max(first_at, second_at)
    return max(first - (latest - first_at), second - (latest - second_at))


@step
def _fly(messages: Any, rules: Any, record: int) -> None:
    """Let a message fly that has waited for its receive."""
    first_at, second_at = messages.times[record, SENT_AT], messages.times[record, POSTED_AT]
    flight = rules.latency + messages.times[record, BYTES] * rules.per_byte
    messages.times[record, ARRIVAL_AT] = max(first_at, second_at) + flight
    messages.times[record, RELEASE_AT] = messages.times[record, ARRIVAL_AT]
    for r in range(messages.delays.shape[2]):
        first, second = messages.delays[record, SENT, r], messages.delays[record, POSTED, r]
        met = join(first, first_at, second, second_at, rules.policy)
        messages.delays[record, ARRIVAL, r] = met + messages.delays[record, FLIGHT, r]
        messages.delays[record, RELEASE, r] = messages.delays[record, ARRIVAL, r]
    messages.record[record, ARRIVED] = 1
    messages.record[record, RELEASED] = 1


@step
def both(ranks: Any, messages: Any, rules: Any, record: int) -> None:
    """Do what follows when a message has met its receive."""
    if not messages.record[record, LATE]:
        return
    if rules.rendezvous:
        _fly(messages, rules, record)
        wake(ranks, messages.record[record, RECEIVER])
        wake(ranks, messages.record[record, SENDER])
    elif not messages.record[record, BLOCKING]:  # a blocking receive acknowledges at its end
        at, second_at = messages.times[record, POSTED_AT], messages.times[record, ARRIVAL_AT]
        messages.times[record, RELEASE_AT] = max(at, second_at) + rules.latency
        for r in range(messages.delays.shape[2]):
            first, second = messages.delays[record, POSTED, r], messages.delays[record, ARRIVAL, r]
            met = join(first, at, second, second_at, rules.policy)
            messages.delays[record, RELEASE, r] = met + messages.delays[record, BACK, r]
        messages.record[record, RELEASED] = 1
        wake(ranks, messages.record[record, SENDER])


@step
def send(
    window: Any, deltas: Any, ranks: Any, messages: Any, rules: Any,
    rank: int, row: int, late: bool, sent_at: float,
) -> int:  # fmt: skip
    """Put a message on its channel; return its record."""
    channel = window.whole[row, OUT]
    record = meet(messages, channel, False)
    messages.record[record, SIDES] |= 1
    messages.record[record, LATE] = late
    messages.record[record, HOLDERS] += late
    messages.times[record, SENT_AT] = sent_at
    messages.times[record, BYTES] = window.times[row, BYTES]
    for r in range(messages.delays.shape[2]):
        noise = pick(deltas.noise, row, r) if rules.lead else 0.0
        messages.delays[record, SENT, r] = ranks.begun[rank, r] + noise
        messages.delays[record, FLIGHT, r] = pick(deltas.latency, row, r)
        messages.delays[record, BACK, r] = pick(deltas.back, row, r)
    if not (late and rules.rendezvous):
        messages.times[record, ARRIVAL_AT] = (
            sent_at + rules.latency + window.times[row, BYTES] * rules.per_byte
        )
        for r in range(messages.delays.shape[2]):
            messages.delays[record, ARRIVAL, r] = (
                messages.delays[record, SENT, r] + messages.delays[record, FLIGHT, r]
            )
        messages.record[record, ARRIVED] = 1
        wake(ranks, messages.record[record, RECEIVER])
    if messages.record[record, SIDES] == 3:
        both(ranks, messages, rules, record)
    if messages.channel[channel, PROBING] != NO:
        wake(ranks, messages.channel[channel, PROBING])
        messages.channel[channel, PROBING] = NO
    return record


@step
def post(
    deltas: Any, ranks: Any, messages: Any, rules: Any,
    channel: int, rank: int, row: int, blocking: bool, noisy: bool, posted_at: float,
) -> int:  # fmt: skip
    """Put a receive on its channel, before or after the noise of its call; return its record."""
    record = meet(messages, channel, True)
    messages.record[record, SIDES] |= 2
    messages.record[record, BLOCKING] = blocking
    messages.times[record, POSTED_AT] = posted_at
    for r in range(messages.delays.shape[2]):
        noise = pick(deltas.noise, row, r) if noisy else 0.0
        messages.delays[record, POSTED, r] = ranks.begun[rank, r] + noise
    if messages.record[record, SIDES] == 3:
        both(ranks, messages, rules, record)
    return record


@step
def acknowledge(ranks: Any, messages: Any, rules: Any, record: int, rank: int,
                received_at: float) -> None:  # fmt: skip
    """Release the sender of a message at the end of a blocking receive."""
    if not messages.record[record, LATE] or rules.rendezvous:
        return
    messages.times[record, RELEASE_AT] = received_at + rules.latency
    for r in range(messages.delays.shape[2]):
        messages.delays[record, RELEASE, r] = (
            ranks.delay[rank, r] + messages.delays[record, BACK, r]
        )
    messages.record[record, RELEASED] = 1
    wake(ranks, messages.record[record, SENDER])
