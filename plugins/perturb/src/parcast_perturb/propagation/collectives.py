"""Collectives: who waits for whom, and what the stages of a call add.

What members bring is folded into one number for each replication as they come, so that a call
takes the same room for any number of them. Only prefixes and butterflies keep each member's.
Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation.messages import drop_record, new_record, wake
from parcast_perturb.propagation.sampling import hop, latency, stages
from parcast_perturb.propagation.state import (
    ABSENT,
    AT_CALL,
    BASE,
    BEGUN,
    CAME,
    CHAIN,
    CLOCKED,
    EVENT,
    FOLDED,
    HOLDERS,
    LOWER,
    NEXT,
    PAPER,
    POSITION,
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
    if call == ABSENT:
        call = new_record(state, state.comm[comm, SIZE])
        state.record[call, CHAIN] = ABSENT
        state.record[last, NEXT] = call
    state.member[member, AT_CALL] = call
    leave(state, last)
    return call


@step
def leave(state: Any, call: int) -> None:
    """Say that a member, or a request, is done with a call."""
    if state.record[call, HOLDERS] == 1:  # its last holder
        row = state.record[call, CHAIN]
        while row != ABSENT:
            following = state.record[row, NEXT]
            drop_record(state, row)
            row = following
    drop_record(state, call)


@step
def _fold(state: Any, into: int, at: float, record: int, policy: int) -> None:
    """Fold a member's delay, in ``VALUE``, into what the call has, the first as it is."""
    first = state.record[into, FOLDED] == 0
    state.record[into, FOLDED] = 1
    before = state.record_time[into, TOGETHER]
    latest = at if first else max(before, at)
    state.record_time[into, TOGETHER] = latest
    if first:
        state.record[into, EVENT] = state.record[record, EVENT]
    for r in range(state.record_delay.shape[2]):
        new = state.record_delay[record, VALUE, r]
        if first:
            state.record_delay[into, TOGETHER, r] = new
            continue
        awaited = state.record_delay[into, TOGETHER, r]
        if policy == CLOCKED:
            awaited -= latest - before
            new -= latest - at
        wins = new < awaited if policy == LOWER else new > awaited
        state.record_delay[into, TOGETHER, r] = new if wins else awaited
        if wins and r == 0:
            state.record[into, EVENT] = state.record[record, EVENT]


@step
def enter(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int) -> Any:
    """Say that a rank has come to a collective; return the record of the call."""
    kind, position = behavior(table.whole[row, KIND]), table.whole[row, INTO]
    comm, root = table.whole[row, OUT], table.whole[row, FIRST]
    call = _following(state, comm, state.comm[comm, BASE] + position)
    together = table.whole[row, KIND] == ALL
    start, count = table.times[row, START], state.comm[comm, STAGES]
    # all leave at one time, so how long each was there says how early it came
    at = -table.times[row, END] if together else count * (rules.overhead + rules.latency)
    at = start + at + table.times[row, BYTES] * rules.per_byte
    record = new_record(state, 1)
    state.record[record, POSITION] = position
    state.record[record, EVENT] = row
    state.record[record, SENDER] = rank
    state.record_time[record, TOGETHER] = at
    for r in range(state.record_delay.shape[2]):
        cost = stages(table, deltas, state, rules, rank, row, count, r)
        state.record_delay[record, VALUE, r] = state.delay[rank, BEGUN, r] + cost
        state.record_delay[record, TOGETHER, r] = state.delay[rank, BEGUN, r]
        state.record_delay[record, SCRATCH, r] = cost
    state.record[call, CAME] += 1
    state.record[call, ROOT_CAME] |= position == root
    if kind in (SCAN, EXSCAN) or (together and rules.butterfly):
        state.record[record, NEXT] = state.record[call, CHAIN]
        state.record[call, CHAIN] = record
    else:
        if kind == ALL or (position == root) == (kind == FROM_ROOT):
            policy = CLOCKED if together and rules.policy != PAPER else rules.policy
            _fold(state, call, at, record, policy)
        drop_record(state, record)
    _wake_members(state, comm, call, position, root, kind)
    return call


@step
def _wake_members(state: Any, comm: int, call: int, position: int, root: int, kind: int) -> None:
    """Wake the members who may go on now that one more has come."""
    size, base = state.comm[comm, SIZE], state.comm[comm, BASE]
    full = state.record[call, CAME] == size
    if kind == TO_ROOT:
        if full:
            wake(state, state.member[base + root, RANK])
    elif full or kind in (SCAN, EXSCAN) or (kind == FROM_ROOT and position == root):
        for member in range(base, base + size):
            wake(state, state.member[member, RANK])


@step
def waits_for_others(table: Any, state: Any, row: int) -> Any:
    """Return whether a member waits for any other."""
    kind, position = behavior(table.whole[row, KIND]), table.whole[row, INTO]
    if kind in (SCAN, EXSCAN):
        return position > 0
    alone = state.comm[table.whole[row, OUT], SIZE] == 1
    return kind == ALL or (not alone and (position == table.whole[row, FIRST]) == (kind == TO_ROOT))


@step
def is_complete(table: Any, state: Any, call: int, row: int) -> Any:
    """Return whether a member has all that it waits for."""
    if not waits_for_others(table, state, row):
        return True
    kind, comm = behavior(table.whole[row, KIND]), table.whole[row, OUT]
    if kind == FROM_ROOT:
        return state.record[call, ROOT_CAME] == 1
    if kind not in (SCAN, EXSCAN):
        return state.record[call, CAME] == state.comm[comm, SIZE]
    position, before, record = table.whole[row, INTO], 0, state.record[call, CHAIN]
    while record != ABSENT:
        before += state.record[record, POSITION] < position
        record = state.record[record, NEXT]
    return before == position


@step
def gather_scan(table: Any, state: Any, rules: Any, call: int, row: int) -> None:
    """Put what a member of a scan waits for where other calls have it."""
    if behavior(table.whole[row, KIND]) not in (SCAN, EXSCAN):
        return
    position, record = table.whole[row, INTO], state.record[call, CHAIN]
    state.record[call, FOLDED] = 0
    while record != ABSENT:
        if state.record[record, POSITION] < position:
            _fold(state, call, state.record_time[record, TOGETHER], record, rules.policy)
        record = state.record[record, NEXT]


@step
def butterfly(deltas: Any, state: Any, rules: Any, comm: int, call: int) -> None:
    """Compute the delays with which members leave a butterfly, once.

    At stage k a member waits for the one 2^k before it; each brings noise of its own.
    """
    if state.record[call, FOLDED]:
        return
    state.record[call, FOLDED] = 1
    size, latest, record = state.comm[comm, SIZE], -1e300, state.record[call, CHAIN]
    while record != ABSENT:
        state.order[state.record[record, POSITION]] = record
        latest = max(latest, state.record_time[record, TOGETHER])
        record = state.record[record, NEXT]
    for r in range(state.record_delay.shape[2]):
        for position in range(size):
            record = state.order[position]
            slack = 0.0 if rules.policy == PAPER else latest - state.record_time[record, TOGETHER]
            state.record_delay[record, VALUE, r] = state.record_delay[record, TOGETHER, r] - slack
        for k in range(state.comm[comm, STAGES]):
            _stage(deltas, state, rules, size, k, r)
        for position in range(size):
            record = state.order[position]
            state.record_delay[record, VALUE, r] += state.record_delay[record, SCRATCH, r]


@step
def _stage(deltas: Any, state: Any, rules: Any, size: int, k: int, r: int) -> None:
    """Pass delays on as stage k of a butterfly does.

    ``SCRATCH`` keeps what the call adds besides its stages; its hops are taken out of it here.
    """
    for position in range(size):
        record, partner = state.order[position], state.order[(position - (1 << k)) % size]
        row, peer_row = state.record[record, EVENT], state.record[partner, EVENT]
        rank, peer = state.record[record, SENDER], state.record[partner, SENDER]
        noise = hop(deltas, rules, rank, row, k, r)
        arrival = hop(deltas, rules, peer, peer_row, k, r)
        arrival += latency(deltas, state, peer, peer_row, k, r)
        state.record_delay[record, STAGED, r] = max(
            state.record_delay[record, VALUE, r] + noise,
            state.record_delay[partner, VALUE, r] + arrival,
        )
        state.record_delay[record, SCRATCH, r] -= noise + latency(deltas, state, rank, row, k, r)
    for position in range(size):
        record = state.order[position]
        state.record_delay[record, VALUE, r] = state.record_delay[record, STAGED, r]


@step
def member_of(state: Any, call: int, position: int) -> Any:
    """Return what is kept of a member of a call."""
    record = state.record[call, CHAIN]
    while state.record[record, POSITION] != position:
        record = state.record[record, NEXT]
    return record
