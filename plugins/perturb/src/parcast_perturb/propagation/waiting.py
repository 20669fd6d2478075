"""Waiting: what a call waits for, and the delay with which it ends.

At the end of a call meet what the rank did itself and what it waited for; each counts less
its slack, by which it could have been later.
Arguments are untyped: they are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.compilation import step
from parcast_perturb.propagation import collectives, messages
from parcast_perturb.propagation.messages import pick
from parcast_perturb.propagation.state import (
    ARRIVAL,
    ARRIVAL_AT,
    ARRIVED,
    BYTES,
    CALL,
    CLOCKED,
    COLLECTIVE,
    COMM,
    COUNT,
    END,
    FIRST,
    FLIGHT,
    HEAD,
    HOLDS_POSTS,
    INTO,
    LOWER,
    NO,
    NOTHING,
    OUT,
    PAPER,
    PLACE,
    PROBED,
    PROBING,
    RECEIVER,
    RECEIVING,
    RELEASE,
    RELEASE_AT,
    RELEASED,
    REQUEST_BASE,
    SENDER,
    SENDING,
    SENT,
    SENT_AT,
    SLOT_SHIFT,
    START,
    VALUE,
    WHAT,
    WHICH,
)
from parcast_perturb.trace.calls import ALL, EXSCAN, LOCAL, PROBE, RECV, SEND, SENDRECV, SSEND, WAIT

#: Times this close, relative to the clock, are one: as far as subtracting rounds.
_ROUNDING = 4e-15


@step
def own(window: Any, rules: Any, row: int, kind: int) -> float:
    """Return what a call costs its rank when it waits for nobody."""
    if kind == LOCAL or kind >= ALL:
        return rules.overhead
    if kind < RECV or kind == SENDRECV:
        return rules.overhead + window.times[row, BYTES] * rules.overhead_per_byte
    return rules.overhead_receive


@step
def _waited(window: Any, rules: Any, row: int, kind: int) -> float:
    """Return how long a call was seen to wait, 0 for what rounding can make."""
    end, alone = window.times[row, END], window.times[row, START] + own(window, rules, row, kind)
    waited = end - alone
    return waited if waited > _ROUNDING * max(abs(end), abs(alone)) else 0.0


@step
def _met(local: float, remote: float, waited: float, policy: int) -> float:
    """Return the delay where a rank's own and the latest of what it waits for meet."""
    if policy == PAPER:
        return max(local, remote)
    if policy == LOWER and waited == 0:
        return local
    return max(local - waited, remote)


@step
def end_alone(ranks: Any, deltas: Any, rank: int, row: int) -> None:
    """End a call that waits for nobody."""
    for r in range(ranks.delay.shape[1]):
        ranks.delay[rank, r] = ranks.begun[rank, r] + pick(deltas.noise, row, r)


@step
def end_call(
    window: Any, deltas: Any, ranks: Any, calls: Any, rules: Any, rank: int, row: int, kind: int
) -> bool:  # fmt: skip
    """End a collective if that can be; return whether it ended."""
    if kind > EXSCAN:
        end_alone(ranks, deltas, rank, row)
        return True
    comm, place, ordinal = (
        window.whole[row, OUT],
        window.whole[row, INTO],
        ranks.stand[rank, RECEIVING],
    )
    if not collectives.over(calls, comm, ordinal, place, kind):
        return False
    low, high = collectives.sources(calls, comm, ordinal, place, kind)
    if kind == ALL:
        collectives.together(calls, rules, comm, ordinal)
        at = collectives.first_row(calls, comm, ordinal) + place
        for r in range(ranks.delay.shape[1]):
            ranks.delay[rank, r] = calls.delays[at, VALUE, r]
    elif low == high:
        end_alone(ranks, deltas, rank, row)
    else:
        waited = _waited(window, rules, row, kind)
        floor = -1e300 if waited > 0 else window.times[row, START] + own(window, rules, row, kind)
        last = collectives.arrival_at(calls, rules, comm, ordinal, place, kind, floor)
        for r in range(ranks.delay.shape[1]):
            local = ranks.begun[rank, r] + pick(deltas.noise, row, r)
            met = collectives.arrival(calls, rules, comm, ordinal, place, kind, last, r)
            ranks.delay[rank, r] = _met(local, met, waited, rules.policy)
    collectives.leave(calls, comm, ordinal)
    return True


@step
def _edges(window: Any, ranks: Any, rank: int, row: int, kind: int) -> int:
    """Return how many a call waits for."""
    if kind == WAIT:
        return window.whole[row, COUNT]
    if kind == SENDRECV:
        return 1 + (ranks.stand[rank, SENDING] != NO)
    if kind in (SEND, SSEND):
        return 1 if ranks.stand[rank, SENDING] != NO else 0
    return 1


@step
def _edge(window: Any, ranks: Any, mail: Any, rank: int, row: int, kind: int, number: int) -> Any:
    """Return what one of them is, and its record or slot."""
    if kind == WAIT:
        first = window.whole[row, FIRST] + window.at[rank, SLOT_SHIFT]
        slot = ranks.stand[rank, REQUEST_BASE] + window.slots[first + number]
        what = ranks.request[slot, WHAT]
        return what, slot if what == COLLECTIVE else ranks.request[slot, WHICH]
    if kind == PROBE:
        channel = window.whole[row, INTO]
        head = mail.channel[channel, HEAD]
        return PROBED, NO if head != NO and mail.channel[channel, HOLDS_POSTS] else head
    if kind in (SEND, SSEND) or number == 1:
        return RELEASE, ranks.stand[rank, SENDING]
    return ARRIVAL, ranks.stand[rank, RECEIVING]


@step
def _there(
    window: Any, ranks: Any, mail: Any, calls: Any, rank: int, row: int, what: int, which: int
) -> bool:  # fmt: skip
    """Return whether what a rank waits for is known; if not, it will be woken."""
    if what == ARRIVAL:
        mail.record[which, RECEIVER] = rank
        return mail.record[which, ARRIVED] == 1
    if what == RELEASE:
        mail.record[which, SENDER] = rank
        return mail.record[which, RELEASED] == 1
    if what == COLLECTIVE:
        return collectives.over(
            calls, ranks.request[which, COMM], ranks.request[which, WHICH],
            ranks.request[which, PLACE], ranks.request[which, CALL],
        )  # fmt: skip
    if what == PROBED and which == NO:
        mail.channel[window.whole[row, INTO], PROBING] = rank
        return False
    return True


@step
def _time(ranks: Any, mail: Any, calls: Any, rules: Any, kind: int, what: int, which: int) -> float:
    """Return when, by the clocks, a call ends if this is what it waits for."""
    after = rules.overhead_receive
    if what == ARRIVAL:
        return mail.times[which, ARRIVAL_AT] + after
    if what == RELEASE:
        return mail.times[which, RELEASE_AT] + (after if kind == WAIT else 0.0)
    if what == PROBED:
        return (
            mail.times[which, SENT_AT]
            + rules.latency
            + mail.times[which, BYTES] * rules.per_byte
            + after
        )
    comm, place = ranks.request[which, COMM], ranks.request[which, PLACE]
    return after + collectives.arrival_at(
        calls, rules, comm, ranks.request[which, WHICH], place, ranks.request[which, CALL], -1e300
    )


@step
def _delay(
    ranks: Any, mail: Any, calls: Any, rules: Any, kind: int, what: int, which: int,
    noise: float, r: int,
) -> float:  # fmt: skip
    """Return the delay with which a call ends if this is what it waits for."""
    if what == ARRIVAL:
        return mail.delays[which, ARRIVAL, r] + noise
    if what == RELEASE:
        return mail.delays[which, RELEASE, r] + (noise if kind == WAIT else 0.0)
    if what == PROBED:
        return mail.delays[which, SENT, r] + mail.delays[which, FLIGHT, r] + noise
    comm, place = ranks.request[which, COMM], ranks.request[which, PLACE]
    ordinal, call = ranks.request[which, WHICH], ranks.request[which, CALL]
    last = collectives.arrival_at(calls, rules, comm, ordinal, place, call, -1e300)
    return noise + collectives.arrival(calls, rules, comm, ordinal, place, call, last, r)


@step
def _counts(ranks: Any, calls: Any, what: int, which: int) -> bool:
    """Return whether a request is one that a wait can wait for."""
    if what == COLLECTIVE:
        low, high = collectives.sources(
            calls, ranks.request[which, COMM], ranks.request[which, WHICH],
            ranks.request[which, PLACE], ranks.request[which, CALL],
        )  # fmt: skip
        return low < high
    return what != NOTHING


@step
def _done(
    window: Any, ranks: Any, mail: Any, calls: Any, rules: Any,
    rank: int, row: int, kind: int, count: int,
) -> None:  # fmt: skip
    """Give back what a call waited for."""
    for number in range(count):
        what, which = _edge(window, ranks, mail, rank, row, kind, number)
        if what == COLLECTIVE:
            collectives.leave(calls, ranks.request[which, COMM], ranks.request[which, WHICH])
        elif what in (ARRIVAL, RELEASE):
            if kind == RECV:
                messages.acknowledge(ranks, mail, rules, which, rank, window.times[row, END])
            messages.give_back(mail, which)


@step
def end_wait(
    window: Any, deltas: Any, ranks: Any, mail: Any, calls: Any, rules: Any,
    rank: int, row: int, kind: int,
) -> bool:  # fmt: skip
    """End a call that waits for messages if that can be; return whether it ended."""
    count = _edges(window, ranks, rank, row, kind)
    for number in range(count):
        what, which = _edge(window, ranks, mail, rank, row, kind, number)
        if not _there(window, ranks, mail, calls, rank, row, what, which):
            return False
    waited = _waited(window, rules, row, kind)
    last = -1e300 if waited > 0 else window.times[row, START] + own(window, rules, row, kind)
    if rules.policy == CLOCKED:
        for number in range(count):
            what, which = _edge(window, ranks, mail, rank, row, kind, number)
            if _counts(ranks, calls, what, which):
                last = max(last, _time(ranks, mail, calls, rules, kind, what, which))
    for r in range(ranks.delay.shape[1]):
        noise = pick(deltas.noise, row, r)
        latest, least = -1e300, 1e300
        for number in range(count):
            what, which = _edge(window, ranks, mail, rank, row, kind, number)
            if _counts(ranks, calls, what, which):
                delay = _delay(ranks, mail, calls, rules, kind, what, which, noise, r)
                if rules.policy == CLOCKED:
                    delay -= last - _time(ranks, mail, calls, rules, kind, what, which)
                latest, least = max(latest, delay), min(least, delay)
        local = ranks.begun[rank, r] + noise
        if latest == -1e300:
            ranks.delay[rank, r] = local
        else:
            remote = least if rules.policy == LOWER else latest
            ranks.delay[rank, r] = _met(local, remote, waited, rules.policy)
    _done(window, ranks, mail, calls, rules, rank, row, kind, count)
    return True
