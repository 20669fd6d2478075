"""Collectives: who waits for whom, and what the stages of a call add.

What members bring is folded into one number for each replication as they come, so that a call
takes the same room for any number of them. Only prefixes and butterflies keep each member's.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation.messages import fresh, give_back, wake
from parcast_perturb.propagation.sampling import hop, latency, stages
from parcast_perturb.propagation.state import (
    AT_CALL,
    BASE,
    BEGUN,
    CAME,
    CHAIN,
    CLOCKED,
    DONE,
    EVENT,
    HOLDERS,
    LOWER,
    NEXT,
    NO,
    PAPER,
    PLACE,
    RANK,
    ROOT_CAME,
    SCRATCH,
    SENDER,
    SIZE,
    STAGED,
    STAGES,
    TOGETHER,
    VALUE,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import ALL, EXSCAN, FROM_ROOT, NONBLOCKING, SCAN, TO_ROOT
from parcast_traces.trace.columns import BYTES, END, FIRST, INTO, KIND, OUT, START


@step
def behavior(kind: int) -> Any:
    """Return the kind of the blocking form."""
    return kind - NONBLOCKING if kind > EXSCAN else kind


@step
def _following(state: Any, comm: int, member: int) -> Any:
    """Return the record of a member's next call of a communicator, and leave its last one."""
    last = state.member[member, AT_CALL]
    call = state.record[last, NEXT]
    if call == NO:
        call = fresh(state, state.comm[comm, SIZE])
        state.record[call, CHAIN] = NO
        state.record[last, NEXT] = call
    state.member[member, AT_CALL] = call
    leave(state, last)
    return call


@step
def leave(state: Any, call: int) -> None:
    """Say that a member, or a request, is done with a call."""
    if state.record[call, HOLDERS] == 1:  # its last holder
        row = state.record[call, CHAIN]
        while row != NO:
            following = state.record[row, NEXT]
            give_back(state, row)
            row = following
    give_back(state, call)


@step
def _fold(state: Any, into: int, at: float, record: int, policy: int) -> None:
    """Fold a member's delay, in ``VALUE``, into what the call has, the first as it is."""
    first = state.record[into, DONE] == 0
    state.record[into, DONE] = 1
    before = state.time[into, TOGETHER]
    latest = at if first else max(before, at)
    state.time[into, TOGETHER] = latest
    if first:
        state.record[into, EVENT] = state.record[record, EVENT]
    for r in range(state.held.shape[2]):
        new = state.held[record, VALUE, r]
        if first:
            state.held[into, TOGETHER, r] = new
            continue
        met = state.held[into, TOGETHER, r]
        if policy == CLOCKED:
            met -= latest - before
            new -= latest - at
        wins = new < met if policy == LOWER else new > met
        state.held[into, TOGETHER, r] = new if wins else met
        if wins and r == 0:
            state.record[into, EVENT] = state.record[record, EVENT]


@step
def enter(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> Any:
    """Say that a rank has come to a collective; return the record of the call."""
    kind, place = behavior(table.whole[row, KIND]), table.whole[row, INTO]
    comm, root = table.whole[row, OUT], table.whole[row, FIRST]
    call = _following(state, comm, state.comm[comm, BASE] + place)
    together = table.whole[row, KIND] == ALL
    start, count = table.times[row, START], state.comm[comm, STAGES]
    # all leave at one time, so how long each was there says how early it came
    at = -table.times[row, END] if together else count * (rules.overhead + rules.latency)
    at = start + at + table.times[row, BYTES] * rules.per_byte
    mine = fresh(state, 1)
    state.record[mine, PLACE] = place
    state.record[mine, EVENT] = row
    state.record[mine, SENDER] = rank
    state.time[mine, TOGETHER] = at
    for r in range(state.held.shape[2]):
        cost = stages(table, deltas, state, rules, rank, row, count, r)
        state.held[mine, VALUE, r] = state.delay[rank, BEGUN, r] + cost
        state.held[mine, TOGETHER, r] = state.delay[rank, BEGUN, r]
        state.held[mine, SCRATCH, r] = cost
    state.record[call, CAME] += 1
    state.record[call, ROOT_CAME] |= place == root
    if kind in (SCAN, EXSCAN) or (together and rules.butterfly):
        state.record[mine, NEXT] = state.record[call, CHAIN]
        state.record[call, CHAIN] = mine
    else:
        if kind == ALL or (place == root) == (kind == FROM_ROOT):
            policy = CLOCKED if together and rules.policy != PAPER else rules.policy
            _fold(state, call, at, mine, policy)
        give_back(state, mine)
    _tell(state, comm, call, place, root, kind)
    return call


@step
def _tell(state: Any, comm: int, call: int, place: int, root: int, kind: int) -> None:
    """Wake the members who may go on now that one more has come."""
    size, base = state.comm[comm, SIZE], state.comm[comm, BASE]
    full = state.record[call, CAME] == size
    if kind == TO_ROOT:
        if full:
            wake(state, state.member[base + root, RANK])
    elif full or kind in (SCAN, EXSCAN) or (kind == FROM_ROOT and place == root):
        for member in range(base, base + size):
            wake(state, state.member[member, RANK])


@step
def waits(table: Any, state: Any, row: int) -> Any:
    """Return whether a member waits for any other."""
    kind, place = behavior(table.whole[row, KIND]), table.whole[row, INTO]
    if kind in (SCAN, EXSCAN):
        return place > 0
    alone = state.comm[table.whole[row, OUT], SIZE] == 1
    return kind == ALL or (not alone and (place == table.whole[row, FIRST]) == (kind == TO_ROOT))


@step
def over(table: Any, state: Any, call: int, row: int) -> Any:
    """Return whether a member has all that it waits for."""
    if not waits(table, state, row):
        return True
    kind, comm = behavior(table.whole[row, KIND]), table.whole[row, OUT]
    if kind == FROM_ROOT:
        return state.record[call, ROOT_CAME] == 1
    if kind not in (SCAN, EXSCAN):
        return state.record[call, CAME] == state.comm[comm, SIZE]
    place, before, one = table.whole[row, INTO], 0, state.record[call, CHAIN]
    while one != NO:
        before += state.record[one, PLACE] < place
        one = state.record[one, NEXT]
    return before == place


@step
def gather(table: Any, state: Any, rules: Any, call: int, row: int) -> None:
    """Put what a member of a scan waits for where other calls have it."""
    if behavior(table.whole[row, KIND]) not in (SCAN, EXSCAN):
        return
    place, one = table.whole[row, INTO], state.record[call, CHAIN]
    state.record[call, DONE] = 0
    while one != NO:
        if state.record[one, PLACE] < place:
            _fold(state, call, state.time[one, TOGETHER], one, rules.policy)
        one = state.record[one, NEXT]


@step
def butterfly(deltas: Any, state: Any, rules: Any, comm: int, call: int) -> None:
    """Compute the delays with which members leave a butterfly, once.

    At stage k a member waits for the one 2^k before it; each brings noise of its own.
    """
    if state.record[call, DONE]:
        return
    state.record[call, DONE] = 1
    size, latest, one = state.comm[comm, SIZE], -1e300, state.record[call, CHAIN]
    while one != NO:
        state.order[state.record[one, PLACE]] = one
        latest = max(latest, state.time[one, TOGETHER])
        one = state.record[one, NEXT]
    for r in range(state.held.shape[2]):
        for place in range(size):
            one = state.order[place]
            slack = 0.0 if rules.policy == PAPER else latest - state.time[one, TOGETHER]
            state.held[one, VALUE, r] = state.held[one, TOGETHER, r] - slack
        for k in range(state.comm[comm, STAGES]):
            _stage(deltas, state, rules, size, k, r)
        for place in range(size):
            one = state.order[place]
            state.held[one, VALUE, r] += state.held[one, SCRATCH, r]


@step
def _stage(deltas: Any, state: Any, rules: Any, size: int, k: int, r: int) -> None:
    """Pass delays on as stage k of a butterfly does.

    ``SCRATCH`` keeps what the call adds besides its stages; its hops are taken out of it here.
    """
    for place in range(size):
        one, other = state.order[place], state.order[(place - (1 << k)) % size]
        mine, its = state.record[one, EVENT], state.record[other, EVENT]
        rank, peer = state.record[one, SENDER], state.record[other, SENDER]
        noise = hop(deltas, rules, rank, mine, k, r)
        way = hop(deltas, rules, peer, its, k, r) + latency(deltas, state, peer, its, k, r)
        state.held[one, STAGED, r] = max(
            state.held[one, VALUE, r] + noise, state.held[other, VALUE, r] + way
        )
        state.held[one, SCRATCH, r] -= noise + latency(deltas, state, rank, mine, k, r)
    for place in range(size):
        one = state.order[place]
        state.held[one, VALUE, r] = state.held[one, STAGED, r]


@step
def member_of(state: Any, call: int, place: int) -> Any:
    """Return what is kept of a member of a call."""
    one = state.record[call, CHAIN]
    while state.record[one, PLACE] != place:
        one = state.record[one, NEXT]
    return one
