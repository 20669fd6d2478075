"""The kernel: ranks run in turn, the least advanced first, and pass their delays on.

A delay is perturbed minus traced time.
Arguments are untyped: they are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.compilation import kernel, step
from parcast_perturb.propagation import collectives, messages
from parcast_perturb.propagation.messages import pick
from parcast_perturb.propagation.state import (
    AHEAD,
    ARRIVAL,
    BASE,
    BYTES,
    CALL,
    COLLECTIVE,
    COMM,
    COUNT,
    CURSOR,
    END,
    ENDED,
    ENTERED,
    HIGH,
    INTO,
    KIND,
    LACKING,
    MORE_CALLS,
    MORE_EVENTS,
    MORE_RECORDS,
    NO,
    NOTHING,
    OLDEST,
    ORDINAL,
    OUT,
    PLACE,
    QUEUE_HEAD,
    QUEUE_LENGTH,
    QUEUED,
    RECEIVING,
    RELEASE,
    REQUEST_BASE,
    SENDING,
    SHIFT,
    START,
    TARGET,
    TOTAL,
    WHAT,
    WHICH,
)
from parcast_perturb.propagation.waiting import end_alone, end_call, end_wait, own
from parcast_perturb.trace.calls import (
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


@step
def _open(ranks: Any, slot: int, what: int, request: int) -> None:
    ranks.request[slot, WHAT] = what
    ranks.request[slot, WHICH] = request


@step
def _free(ranks: Any, mail: Any, rank: int, number: int) -> None:
    """Give up a request that nobody will wait for."""
    slot = ranks.stand[rank, REQUEST_BASE] + number
    if ranks.request[slot, WHAT] == RELEASE:
        messages.give_back(mail, ranks.request[slot, WHICH])


@step
def _enter(
    window: Any, deltas: Any, ranks: Any, mail: Any, calls: Any, rules: Any,
    rank: int, row: int, kind: int,
) -> None:  # fmt: skip
    """Start a call: what a rank does before it waits."""
    for r in range(ranks.delay.shape[1]):
        ranks.begun[rank, r] = ranks.delay[rank, r] + pick(deltas.gap, row, r)
    start, slot = (
        window.times[row, START],
        ranks.stand[rank, REQUEST_BASE] + window.whole[row, COUNT],
    )
    if kind >= ALL:
        ordinal = collectives.enter(window, deltas, ranks, calls, rules, rank, row)
        ranks.stand[rank, RECEIVING] = ordinal
        if kind > EXSCAN:
            _open(ranks, slot, COLLECTIVE, ordinal)
            ranks.request[slot, COMM] = window.whole[row, OUT]
            ranks.request[slot, PLACE] = window.whole[row, INTO]
            ranks.request[slot, CALL] = kind
        return
    if SEND <= kind < RECV or kind == SENDRECV:
        sized = kind in (SEND, ISEND, SENDRECV)
        late = kind in (SSEND, ISSEND) or (sized and window.times[row, BYTES] > rules.eager_max)
        left = start + own(window, rules, row, kind)
        record = messages.send(window, deltas, ranks, mail, rules, rank, row, late, left)
        ranks.stand[rank, SENDING] = record if late else NO
        if ISEND <= kind < RECV:
            _open(ranks, slot, RELEASE if late else NOTHING, record)
    if kind == RECV:
        ranks.stand[rank, RECEIVING] = messages.post(
            deltas, ranks, mail, rules, window.whole[row, INTO], rank, row, True, False, start
        )
    elif kind == SENDRECV:
        ranks.stand[rank, RECEIVING] = messages.post(
            deltas, ranks, mail, rules, window.whole[row, INTO], rank, row, False, True,
            start + own(window, rules, row, kind),
        )  # fmt: skip
    elif kind == IRECV:
        at = start if rules.rendezvous else window.times[row, END]
        record = messages.post(
            deltas,
            ranks,
            mail,
            rules,
            window.whole[row, INTO],
            rank,
            row,
            False,
            not rules.rendezvous,
            at,
        )
        _open(ranks, slot, ARRIVAL, record)


@step
def _lacking(window: Any, mail: Any, calls: Any, row: int, kind: int) -> int:
    """Return what there must be more of before an event can start, or ``ENDED``."""
    if kind < ALL:
        return ENDED if mail.free[1] >= 2 else MORE_RECORDS
    comm = window.whole[row, OUT]
    ordinal = calls.member[calls.comm[comm, BASE] + window.whole[row, INTO], ORDINAL]
    return ENDED if ordinal - calls.comm[comm, OLDEST] < calls.depth else MORE_CALLS


@step
def _end(
    window: Any, deltas: Any, ranks: Any, mail: Any, calls: Any, rules: Any,
    rank: int, row: int, kind: int,
) -> bool:  # fmt: skip
    """End an event if that can be; return whether it ended."""
    if kind >= ALL:
        return end_call(window, deltas, ranks, calls, rules, rank, row, kind)
    if kind in (LOCAL, IRECV) or ESEND <= kind < RECV:
        if kind == LOCAL and window.whole[row, COUNT] > 0:
            _free(ranks, mail, rank, window.whole[row, COUNT] - 1)
        end_alone(ranks, deltas, rank, row)
        return True
    return end_wait(window, deltas, ranks, mail, calls, rules, rank, row, kind)


@step
def _run(
    window: Any, deltas: Any, ranks: Any, mail: Any, calls: Any, rules: Any, outcome: Any, rank: int
) -> int:  # fmt: skip
    """Run one rank until it waits, has run far enough, or lacks something."""
    while ranks.stand[rank, CURSOR] < ranks.stand[rank, TOTAL]:
        if ranks.stand[rank, CURSOR] >= ranks.counters[TARGET]:
            ranks.ahead[ranks.counters[AHEAD]] = rank
            ranks.counters[AHEAD] += 1
            ranks.stand[rank, QUEUED] = 2
            return ENDED
        if ranks.stand[rank, CURSOR] >= window.at[rank, HIGH]:
            ranks.counters[LACKING] = rank
            return MORE_EVENTS
        row = ranks.stand[rank, CURSOR] + window.at[rank, SHIFT]
        kind = window.whole[row, KIND]
        if not ranks.stand[rank, ENTERED]:
            reason = _lacking(window, mail, calls, row, kind)
            if reason != ENDED:
                return reason
            _enter(window, deltas, ranks, mail, calls, rules, rank, row, kind)
            ranks.stand[rank, ENTERED] = 1
        if not _end(window, deltas, ranks, mail, calls, rules, rank, row, kind):
            return ENDED
        for r in range(outcome.ends.shape[1]):
            outcome.ends[row, r] = ranks.delay[rank, r]
        ranks.stand[rank, ENTERED] = 0
        ranks.stand[rank, CURSOR] += 1
    return ENDED


@step
def _raise_target(ranks: Any, rules: Any) -> None:
    """Let those run on that have run far enough, as nobody else can."""
    least = ranks.stand[ranks.ahead[0], CURSOR]
    for place in range(ranks.counters[AHEAD]):
        least = min(least, ranks.stand[ranks.ahead[place], CURSOR])
    ranks.counters[TARGET] = least + rules.quantum
    count, ranks.counters[AHEAD] = ranks.counters[AHEAD], 0
    for place in range(count):
        rank = ranks.ahead[place]
        if ranks.stand[rank, CURSOR] < ranks.counters[TARGET]:
            ranks.stand[rank, QUEUED] = 0
            messages.wake(ranks, rank)
        else:
            ranks.ahead[ranks.counters[AHEAD]] = rank
            ranks.counters[AHEAD] += 1


@kernel
def advance(
    window: Any, deltas: Any, ranks: Any, mail: Any, calls: Any, rules: Any, outcome: Any
) -> Any:  # fmt: skip
    """Run all ranks as far as they get.

    Returns
    -------
    int
        ``ENDED``: nobody can go on, for all have ended or wait for ever. Else what there must
        be more of before it is called again.
    """
    while True:
        if ranks.counters[QUEUE_LENGTH] == 0:
            if ranks.counters[AHEAD] == 0:
                return ENDED
            _raise_target(ranks, rules)
        rank = ranks.queue[ranks.counters[QUEUE_HEAD]]
        reason = _run(window, deltas, ranks, mail, calls, rules, outcome, rank)
        if reason != ENDED:
            return reason
        if ranks.stand[rank, QUEUED] == 1:
            ranks.stand[rank, QUEUED] = 0
        ranks.counters[QUEUE_HEAD] = (ranks.counters[QUEUE_HEAD] + 1) % len(ranks.queue)
        ranks.counters[QUEUE_LENGTH] -= 1
