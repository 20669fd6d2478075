"""The critical path of a program without contention: no run is faster where links are shared.

Each wait, overhead and message is that of the table of costs (``docs/program.md``), but nothing
waits for a bus, a port, a link or a disk. What may come in another order is left out: a
``recv(ANY)`` waits for nobody, and tasks of a pool take no time here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.plugins import kernel
from parcast.program.matching import CODE, Columns, Matched
from parcast.program.source import SENDS

#: What an operation does, for `path_ends`: it has a message that is ready to go, posts a receive,
#: and ends when its own message or the one that it receives has arrived
SENDS_ONE, POSTS_ONE, AWAITS_SENT, AWAITS_RECEIVED = 1, 2, 4, 8

_ACTS = {
    "send": SENDS_ONE | AWAITS_SENT,
    "isend": SENDS_ONE,
    "recv": POSTS_ONE | AWAITS_RECEIVED,
    "irecv": POSTS_ONE,
    "sendrecv": SENDS_ONE | POSTS_ONE | AWAITS_SENT | AWAITS_RECEIVED,
}


def critical_path(matched: Matched, costs: Costs) -> float:
    """Return how long a program takes at least, in seconds.

    Parameters
    ----------
    matched
        A program without ``start()``.
    costs
        What the machine charges.
    """
    columns, matching = matched.columns, matched.matching
    messages = np.flatnonzero(columns.among(SENDS))
    wire, taking = np.zeros((2, len(columns.op)))
    wire[messages] = of_messages(columns, messages, costs)
    taking[messages] = costs.receiving(columns.amount[messages])
    acts = np.zeros(len(columns.op), np.int8)
    for name, act in _ACTS.items():
        acts[columns.op == CODE[name]] = act
    late = columns.amount > costs.eager_limit
    acts[~late] &= ~AWAITS_SENT
    arguments = (
        columns.offsets,
        acts,
        _alone(columns, costs),
        matching.sent_to,
        matching.received_from,
        late,
        late if costs.eager == "buffered" else np.ones(len(late), np.bool_),
        wire,
        taking,
        least_receiving(costs),
        np.searchsorted(columns.wait_op, np.arange(len(columns.op) + 1)),
        columns.wait_request,
        costs.overhead_by == "message",
    )
    ends = path_ends.form(20 * len(columns.op))(*arguments)
    return float(ends.max(initial=0.0))


def least_receiving(costs: Costs) -> float:
    """Return how long any message keeps its receiver busy at least."""
    return float(min([costs.overhead_receive, *(size.overhead_receive for size in costs.sizes)]))


def of_messages(columns: Columns, messages: NDArray[Any], costs: Costs) -> NDArray[Any]:
    """Return the seconds from the end of sending to the arrival, of each of these messages."""
    if not len(messages):
        return np.zeros(0)
    sources, targets = columns.rank_of(messages), columns.dst[messages].astype(np.int64)
    sizes, size = np.unique(columns.amount[messages], return_inverse=True)
    pairs = sources * columns.unrolled.size + targets
    kinds, kind = np.unique(pairs * len(sizes) + size, return_inverse=True)
    pairs, size = np.divmod(kinds, len(sizes))
    seconds = costs.wire(*np.divmod(pairs, columns.unrolled.size), sizes[size])
    return np.broadcast_to(seconds, len(kinds))[kind]


def _alone(columns: Columns, costs: Costs) -> NDArray[np.float64]:
    """Return what each operation takes of its process's time before or after it waits."""
    ranks, unrolled = columns.rank_of(np.arange(len(columns.op))), columns.unrolled
    seconds = columns.own_seconds(costs, ranks)
    if costs.overhead_by == "call":
        seconds[columns.among({"irecv", "wait", "waitall"})] = costs.overhead_receive
    if len(ids := np.flatnonzero(columns.among({"read", "write"}))):
        orders = columns.order[ids].tolist()
        files = np.array([unrolled.blocks[order].arguments["file"] for order in orders])
        for file in np.unique(files).tolist():
            chosen = ids[files == file]
            seconds[chosen] = costs.piece(columns.amount[chosen], file)
    for i in np.flatnonzero(columns.among({"pool"})).tolist():
        pool = unrolled.pools[unrolled.blocks[columns.order[i]].arguments["pool"]]
        if ranks[i] != pool.master:  # a master may come when all is done
            seconds[i] = fetching(ranks[i : i + 1], 0, costs, pool.master)[0]
    return seconds


def fetching(
    ranks: NDArray[Any], n: Any, costs: Costs, master: int | None = None, sent: float = 0
) -> NDArray[Any]:
    """Return the seconds in which a task of so many bytes is fetched, if nothing is in the way.

    A ``master`` is asked by a message of ``sent`` bytes.
    """
    keeper = master or 0
    request = costs.latency(ranks, 0, 0) if master is None else costs.wire(ranks, keeper, sent)
    reply = costs.wire(keeper, ranks, n)
    return np.asarray(costs.sending(sent) + request + reply + costs.receiving(n))


@kernel("parcast-pamela")
def path_ends(  # noqa: PLR0912, PLR0915  (in three functions it takes over twice as long)
    offsets: Any,
    acts: Any,
    alone: Any,
    sent_to: Any,
    received_from: Any,
    late: Any,
    held: Any,
    wire: Any,
    taking: Any,
    least: float,
    bounds: Any,
    requests: Any,
    in_turn: bool,
) -> Any:
    """Return when each process ends if nothing is shared.

    Parameters
    ----------
    offsets : (p + 1,)
        Where the operations of each process begin.
    acts, alone, sent_to, received_from, late, held, wire, taking : (operations,)
        Of each: what it does; its process's own seconds, before a message is ready and else at
        its end; the partners of its messages; whether who sends it waits for it; whether it leaves
        only when its receive is posted; its seconds on the way, and those in which it is taken.
    least
        Seconds in which any message is taken at least.
    bounds, requests
        What operation i waits for: ``requests[bounds[i]:bounds[i + 1]]``.
    in_turn
        Whether a wait takes one message after another, as they arrive.
    """
    count, size = len(acts), len(offsets) - 1
    ready, posted = np.full(count, -1.0), np.full(count, -1.0)
    asleep, behind = np.full(count, -1), np.full(size, -1)  # who waits for an operation to begin
    clock, at, entered = np.zeros(size), offsets[:-1].copy(), np.zeros(size, np.bool_)
    stack, top = np.arange(size)[::-1].copy(), size
    while top:
        top -= 1
        rank = stack[top]
        while at[rank] < offsets[rank + 1]:
            i = at[rank]
            act, sent, receive = acts[i], received_from[i], sent_to[i]
            if not entered[rank]:
                entered[rank] = True
                if act & SENDS_ONE:
                    clock[rank] += alone[i]
                    ready[i] = clock[rank]
                if act & POSTS_ONE:
                    posted[i] = clock[rank]
                waiter = asleep[i]
                asleep[i] = -1
                while waiter >= 0:
                    stack[top] = waiter
                    top += 1
                    waiter = behind[waiter]
            missing = -1  # an operation that has to begin before this one can end
            if act & AWAITS_SENT and receive >= 0 and posted[receive] < 0:
                missing = receive
            if act & AWAITS_RECEIVED and sent >= 0 and ready[sent] < 0:
                missing = sent
            for k in range(bounds[i], bounds[i + 1]):
                request = requests[k]
                needed, since = received_from[request], ready
                if acts[request] & SENDS_ONE:
                    needed, since = sent_to[request], posted
                    if not late[request]:
                        needed = -1
                if needed >= 0 and since[needed] < 0:
                    missing = needed
            if missing >= 0:
                behind[rank] = asleep[missing]
                asleep[missing] = rank
                break
            now = clock[rank]
            if act & AWAITS_SENT:
                leaves = ready[i]
                if receive >= 0:
                    leaves = max(leaves, posted[receive])
                now = max(now, leaves + wire[i])
            if act & AWAITS_RECEIVED and sent >= 0:
                leaves = max(ready[sent], posted[i]) if held[sent] else ready[sent]
                arrival = leaves + wire[sent]
                if act & SENDS_ONE:  # taken meanwhile
                    now = max(now, arrival + taking[sent])
                else:
                    now = max(now, arrival) + taking[sent]
            elif act & AWAITS_RECEIVED and not act & SENDS_ONE:
                now += least
            awaited = bounds[i + 1] - bounds[i]
            if awaited:
                arrivals, taken = np.zeros(awaited), np.zeros(awaited)
                for k in range(awaited):
                    request = requests[bounds[i] + k]
                    sent, receive = received_from[request], request
                    if acts[request] & SENDS_ONE:
                        sent, receive = request if late[request] else -1, sent_to[request]
                    else:
                        taken[k] = taking[sent] if sent >= 0 else least
                    if sent >= 0:
                        leaves = ready[sent]
                        if held[sent] and receive >= 0:
                            leaves = max(leaves, posted[receive])
                        arrivals[k] = leaves + wire[sent]
                if in_turn:
                    gap = awaited  # in the order of arrivals (Shell); numpy's compiles for a second
                    while gap > 1:
                        gap = max(1, gap * 4 // 9)
                        for start in range(gap, awaited):
                            arrival, seconds, k = arrivals[start], taken[start], start
                            while k >= gap and arrivals[k - gap] > arrival:
                                arrivals[k], taken[k] = arrivals[k - gap], taken[k - gap]
                                k -= gap
                            arrivals[k], taken[k] = arrival, seconds
                    for k in range(awaited):
                        now = max(now, arrivals[k]) + taken[k]
                else:
                    for k in range(awaited):
                        now = max(now, arrivals[k])
            if not act & SENDS_ONE:
                now += alone[i]
            clock[rank] = now
            at[rank] += 1
            entered[rank] = False
    return clock
