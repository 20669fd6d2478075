"""Collectives: who waits for whom, and what the stages of a call add.

Arguments are untyped: they are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.compilation import step
from parcast_perturb.propagation.messages import pick, wake
from parcast_perturb.propagation.state import (
    BASE,
    BYTES,
    CALL_ARRIVED,
    CALL_DONE,
    CALL_LEFT,
    CALL_PREFIX,
    CALL_ROOT,
    CLOCKED,
    COST,
    DELAY,
    END,
    FIRST,
    HERE,
    INTO,
    KIND,
    LOWER,
    OLDEST,
    ORDINAL,
    OUT,
    PAPER,
    RANK,
    SCRATCH,
    SIZE,
    STAGES,
    START,
    VALUE,
)
from parcast_perturb.trace.calls import ALL, EXSCAN, FROM_ROOT, NONBLOCKING, SCAN, TO_ROOT


@step
def kept(calls: Any, comm: int, ordinal: int) -> int:
    """Return where a call of a communicator is kept."""
    return comm * calls.depth + ordinal % calls.depth


@step
def first_row(calls: Any, comm: int, ordinal: int) -> int:
    """Return the row of the first member of a call."""
    return calls.comm[comm, BASE] * calls.depth + (ordinal % calls.depth) * calls.comm[comm, SIZE]


@step
def hop(deltas: Any, row: int, k: int, r: int) -> float:
    """Return what noise and latency add at a stage."""
    if deltas.hop.shape[0] == 0:
        return pick(deltas.noise, row, r) + pick(deltas.latency, row, r)
    return deltas.hop[deltas.hop_at[row] + k, r]


@step
def hop_noise(deltas: Any, row: int, k: int, r: int) -> float:
    """Return what noise alone adds at a stage."""
    if deltas.hop.shape[0] == 0:
        return pick(deltas.noise, row, r)
    return deltas.hop_noise[deltas.hop_at[row] + k, r]


@step
def tell(ranks: Any, calls: Any, comm: int, ordinal: int, place: int, kind: int) -> None:
    """Wake the members who may go on now that one more has come."""
    call, rows = kept(calls, comm, ordinal), calls.comm[comm, BASE]
    size, behavior = calls.comm[comm, SIZE], kind - NONBLOCKING if kind > EXSCAN else kind
    at = first_row(calls, comm, ordinal)
    before = calls.call[call, CALL_PREFIX]
    while (
        calls.call[call, CALL_PREFIX] < size
        and calls.rows[at + calls.call[call, CALL_PREFIX], HERE]
    ):
        calls.call[call, CALL_PREFIX] += 1
    full = calls.call[call, CALL_ARRIVED] == size
    if (behavior == ALL and full) or (
        behavior == FROM_ROOT and place == calls.call[call, CALL_ROOT]
    ):
        for member in range(size):
            wake(ranks, calls.member[rows + member, RANK])
    elif behavior == TO_ROOT and full:
        wake(ranks, calls.member[rows + calls.call[call, CALL_ROOT], RANK])
    elif behavior in (SCAN, EXSCAN):
        for member in range(before + 1, min(calls.call[call, CALL_PREFIX] + 1, size)):
            wake(ranks, calls.member[rows + member, RANK])


@step
def enter(
    window: Any, deltas: Any, ranks: Any, calls: Any, rules: Any, rank: int, row: int
) -> int:  # fmt: skip
    """Say that a rank has come to a collective; return the call's ordinal."""
    comm, place = window.whole[row, OUT], window.whole[row, INTO]
    mine = calls.comm[comm, BASE] + place
    ordinal = calls.member[mine, ORDINAL]
    calls.member[mine, ORDINAL] += 1
    call, at = kept(calls, comm, ordinal), first_row(calls, comm, ordinal) + place
    calls.rows[at, HERE] = 1
    calls.rows[at, START] = window.times[row, START]
    calls.rows[at, END] = window.times[row, END]
    calls.rows[at, BYTES] = window.times[row, BYTES]
    calls.call[call, CALL_ROOT] = window.whole[row, FIRST]
    stages = calls.comm[comm, STAGES]
    for r in range(calls.delays.shape[2]):
        calls.delays[at, DELAY, r] = ranks.begun[rank, r]
        cost = 0.0
        for k in range(stages):
            cost += hop(deltas, row, k, r)
        if rules.policy != PAPER:
            cost += window.times[row, BYTES] * deltas.per_byte
        calls.delays[at, COST, r] = cost
        if rules.butterfly:
            for k in range(stages):
                calls.hops[at, 0, k, r] = hop(deltas, row, k, r)
                calls.hops[at, 1, k, r] = hop_noise(deltas, row, k, r)
    calls.call[call, CALL_ARRIVED] += 1
    tell(ranks, calls, comm, ordinal, place, window.whole[row, KIND])
    return ordinal


@step
def over(calls: Any, comm: int, ordinal: int, place: int, kind: int) -> bool:
    """Return whether a member has all that it waits for."""
    call, behavior = kept(calls, comm, ordinal), kind - NONBLOCKING if kind > EXSCAN else kind
    if behavior == ALL:
        return calls.call[call, CALL_ARRIVED] == calls.comm[comm, SIZE]
    if behavior == FROM_ROOT:
        return calls.rows[first_row(calls, comm, ordinal) + calls.call[call, CALL_ROOT], HERE] == 1
    if behavior == TO_ROOT:
        return (
            place != calls.call[call, CALL_ROOT]
            or calls.call[call, CALL_ARRIVED] == calls.comm[comm, SIZE]
        )
    return calls.call[call, CALL_PREFIX] >= place


@step
def leave(calls: Any, comm: int, ordinal: int) -> None:
    """Forget a call that all members have left, and those after it that they have."""
    call = kept(calls, comm, ordinal)
    calls.call[call, CALL_LEFT] += 1
    oldest = calls.comm[comm, OLDEST]
    call = kept(calls, comm, oldest)
    while calls.call[call, CALL_LEFT] == calls.comm[comm, SIZE]:
        at = first_row(calls, comm, oldest)
        calls.rows[at : at + calls.comm[comm, SIZE], HERE] = 0
        calls.call[call] = 0
        oldest += 1
        call = kept(calls, comm, oldest)
    calls.comm[comm, OLDEST] = oldest


@step
def sources(calls: Any, comm: int, ordinal: int, place: int, kind: int) -> Any:
    """Return the range of members whose coming a member waits for; it may be one of them."""
    behavior = kind - NONBLOCKING if kind > EXSCAN else kind
    root = calls.call[kept(calls, comm, ordinal), CALL_ROOT]
    if behavior == ALL or (behavior == TO_ROOT and place == root):
        return 0, calls.comm[comm, SIZE]
    if behavior == FROM_ROOT and place != root:
        return root, root + 1
    if behavior in (SCAN, EXSCAN):
        return 0, place
    return 0, 0


@step
def stage_time(calls: Any, rules: Any, comm: int, row: int) -> float:
    """Return how long after a member's coming others knew of it on the recording machine."""
    each = rules.overhead + rules.latency
    return calls.comm[comm, STAGES] * each + calls.rows[row, BYTES] * rules.per_byte


@step
def arrival_at(
    calls: Any, rules: Any, comm: int, ordinal: int, place: int, kind: int, floor: float
) -> float:
    """Return when the last of what a member waits for was there, by the clocks, or ``floor``."""
    low, high = sources(calls, comm, ordinal, place, kind)
    at = first_row(calls, comm, ordinal)
    last = floor
    for one in range(low, high):
        if one == place and kind != ALL + NONBLOCKING:
            continue
        last = max(last, calls.rows[at + one, START] + stage_time(calls, rules, comm, at + one))
    return last


@step
def arrival(
    calls: Any, rules: Any, comm: int, ordinal: int, place: int, kind: int, last: float, r: int
) -> float:
    """Return the delay of that, ``last`` being its time."""
    low, high = sources(calls, comm, ordinal, place, kind)
    at = first_row(calls, comm, ordinal)
    found, least = -1e300, 1e300
    for one in range(low, high):
        if one == place and kind != ALL + NONBLOCKING:
            continue
        delay = calls.delays[at + one, DELAY, r] + calls.delays[at + one, COST, r]
        if rules.policy == CLOCKED:
            delay -= last - (calls.rows[at + one, START] + stage_time(calls, rules, comm, at + one))
        found, least = max(found, delay), min(least, delay)
    return least if rules.policy == LOWER else found


@step
def _sum(calls: Any, row: int, stages: int, r: int) -> float:
    total = 0.0
    for k in range(stages):
        total += calls.hops[row, 0, k, r]
    return total


@step
def _butterfly(calls: Any, at: int, size: int, stages: int, r: int) -> None:
    """Pass delays on as a dissemination does: at stage k from the member 2^k before."""
    for k in range(stages):
        for place in range(size):
            row, other = at + place, at + (place - (1 << k)) % size
            calls.delays[row, SCRATCH, r] = max(
                calls.delays[row, VALUE, r] + calls.hops[row, 1, k, r],
                calls.delays[other, VALUE, r] + calls.hops[other, 0, k, r],
            )
        for row in range(at, at + size):
            calls.delays[row, VALUE, r] = calls.delays[row, SCRATCH, r]
    for row in range(at, at + size):
        calls.delays[row, VALUE, r] += calls.delays[row, COST, r] - _sum(calls, row, stages, r)


@step
def together(calls: Any, rules: Any, comm: int, ordinal: int) -> None:
    """Compute the delays with which all members leave a call in which all wait for all.

    They leave at one time, so how long each was in the call says how early it came.
    """
    call, at, size = (
        kept(calls, comm, ordinal),
        first_row(calls, comm, ordinal),
        calls.comm[comm, SIZE],
    )
    if calls.call[call, CALL_DONE]:
        return
    calls.call[call, CALL_DONE] = 1
    shortest = 1e300
    for row in range(at, at + size):
        shortest = min(shortest, calls.rows[row, END] - calls.rows[row, START])
    for r in range(calls.delays.shape[2]):
        latest = -1e300
        for row in range(at, at + size):
            slack = calls.rows[row, END] - calls.rows[row, START] - shortest
            early = calls.delays[row, DELAY, r] - (0.0 if rules.policy == PAPER else slack)
            calls.delays[row, VALUE, r] = early
            latest = max(latest, early + calls.delays[row, COST, r])
        if rules.butterfly:
            _butterfly(calls, at, size, calls.comm[comm, STAGES], r)
        else:
            for row in range(at, at + size):
                calls.delays[row, VALUE, r] = latest
