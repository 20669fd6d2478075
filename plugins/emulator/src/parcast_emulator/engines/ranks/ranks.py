"""The ranks of programs, compiled: each runs on until it waits for what is not known."""

from __future__ import annotations

import math
from typing import Any

from parcast.program.matching import CODE, TIMING
from parcast_emulator.compilation import inlined, kept, kernel, step
from parcast_emulator.engines.queues import KIND
from parcast_emulator.engines.ranks.arrays import (
    EVENTS,
    HANDLED,
    NOW,
    READY,
    RECEIVER,
    SENDER,
    STARTED,
)
from parcast_emulator.engines.ranks.disks import access, carry_access
from parcast_emulator.engines.ranks.instants import WHILE, push, take
from parcast_emulator.engines.ranks.messages import (
    CARRY,
    DECIDE,
    SERVE,
    await_any,
    carry,
    decide,
    leave,
    meet,
    offer,
)
from parcast_emulator.engines.ranks.spending import (
    COMMUNICATION,
    COMPUTE,
    charge_wait,
    spend,
)

# Arguments are untyped: they are the named tuples of `parcast_emulator.engines.ranks.arrays`.

_COMPUTE, _ELAPSE, _START = CODE["compute"], CODE["elapse"], CODE["start"]
_SEND, _ISEND, _EXCHANGE = CODE["send"], CODE["isend"], CODE["sendrecv"]
_RECV, _IRECV = CODE["recv"], CODE["irecv"]
_WAIT, _WAITALL = CODE["wait"], CODE["waitall"]
_READ, _WRITE = CODE["read"], CODE["write"]

#: Why the kernel returns: all has been handled, or so much; the heap has no room.
DONE, ENOUGH, FULL = range(3)


@step
def await_message(message: int, rank: int, side: int, state: Any) -> None:
    """A rank cannot go on before it is known when a message arrives."""
    if math.isnan(state.message.arrival[message]):
        state.message.status[message] |= side
        state.rank.pending[rank] += 1


@step
def is_rendezvous(message: int, program: Any, charges: Any) -> Any:
    """Return whether the sender of a message waits for it."""
    return program.amount[message] > charges.eager_limit


@step
def is_early(message: int, program: Any, charges: Any) -> Any:
    """Return whether a message leaves before its receive is posted."""
    return program.amount[message] <= charges.early_limit


@step
def receiving(message: int, program: Any) -> Any:
    """Return a receiver's own time for a message."""
    return program.receiving[message if len(program.receiving) > 1 else 0]


@inlined
def send(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """A message is ready to go."""
    spend(rank, COMMUNICATION, state.rank.clock[rank] + program.seconds[x], charges, state)
    now = state.rank.clock[rank]
    timed = len(program.box) and program.box[x] >= 0
    if is_early(x, program, charges):
        leave(x, now, program, charges, state)
    elif timed:
        state.message.departure[x] = now
        offer(x, program, charges, state)
    else:
        meet(x, now, program, charges, state)


@step
def post(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """A receive of a certain message is posted."""
    message = program.received_from[x]
    if not is_early(message, program, charges):
        meet(message, state.rank.clock[rank], program, charges, state)


@inlined
def enter_operation(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """Begin an operation, and count what it waits for."""
    op = program.op[x]
    if op in (_COMPUTE, _ELAPSE):
        spend(rank, COMPUTE, state.rank.clock[rank] + program.seconds[x], charges, state)
    elif op in (_SEND, _ISEND, _EXCHANGE):
        send(x, rank, program, charges, state)
        if op == _EXCHANGE:
            post(x, rank, program, charges, state)
            await_message(program.received_from[x], rank, RECEIVER, state)
        if op != _ISEND and is_rendezvous(x, program, charges):
            await_message(x, rank, SENDER, state)
    elif op == _RECV and program.received_from[x] == TIMING:
        state.rank.pending[rank] += 1
        await_any(x, program, charges, state)
    elif op in (_RECV, _IRECV):
        post(x, rank, program, charges, state)
        if op == _RECV:
            await_message(program.received_from[x], rank, RECEIVER, state)
    elif op in (_WAIT, _WAITALL):
        enter_wait(x, rank, program, charges, state)
    elif op in (_READ, _WRITE):
        state.rank.pending[rank] += 1
        push(state, state.rank.clock[rank], SERVE, x, 0)
    elif op == _START:
        state.rank.started[rank] = state.rank.clock[rank]
        state.times[STARTED] = max(state.times[STARTED], state.rank.clock[rank])


@step
def enter_wait(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """Begin to wait for requests."""
    position = state.rank.wait[rank]
    while position < len(program.waited) and program.waiting[position] == x:
        request = program.waited[position]
        if program.op[request] == _IRECV:
            await_message(program.received_from[request], rank, RECEIVER, state)
        elif is_rendezvous(request, program, charges):
            await_message(request, rank, SENDER, state)
        position += 1


@inlined
def leave_operation(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """End an operation: all that it waits for is known."""
    op = program.op[x]
    if op == _SEND and is_rendezvous(x, program, charges):
        charge_wait(rank, state.message.departure[x], state.message.arrival[x], charges, state)
    elif op == _RECV:
        message = program.received_from[x]
        charge_wait(
            rank, state.message.departure[message], state.message.arrival[message], charges, state
        )
        end = state.rank.clock[rank] + receiving(message, program)
        spend(rank, COMMUNICATION, end, charges, state)
    elif op == _IRECV:
        spend(rank, COMMUNICATION, state.rank.clock[rank] + charges.receiving, charges, state)
    elif op in (_WAIT, _WAITALL):
        if charges.by_message:
            take_messages(x, rank, program, charges, state)
        else:
            leave_wait(x, rank, program, charges, state)
        spend(rank, COMMUNICATION, state.rank.clock[rank] + charges.receiving, charges, state)
    elif op == _EXCHANGE:
        message = program.received_from[x]
        last = state.message.arrival[message] + receiving(message, program)
        left = state.message.departure[message]
        if is_rendezvous(x, program, charges):
            arrival, departure = state.message.arrival[x], state.message.departure[x]
            if arrival > last * WHILE:
                left = departure
            elif last <= arrival * WHILE:
                left = min(left, departure)
            last = max(last, arrival)
        charge_wait(rank, left, last, charges, state)


@step
def leave_wait(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """End a wait for requests, when a round of checks finds them done."""
    since = state.rank.clock[rank]
    first = position = state.rank.wait[rank]
    last, left = -math.inf, math.inf
    while position < len(program.waited) and program.waiting[position] == x:
        last = max(last, completion(position, program, charges, state)[0])
        position += 1
    for request in range(first, position):
        end, begin = completion(request, program, charges, state)
        if last <= end * WHILE:
            left = min(left, begin)
    state.rank.wait[rank] = position
    charge_wait(rank, left, last, charges, state)
    round_time = charges.polling * (position - first)
    if round_time > 0:
        detected = detection(since, state.rank.clock[rank], round_time)
        spend(rank, COMMUNICATION, detected, charges, state)


@step
def take_messages(x: int, rank: int, program: Any, charges: Any, state: Any) -> None:
    """End a wait that pays for each message, in the order of arrivals, then of departures."""
    since = state.rank.clock[rank]
    first = position = state.rank.wait[rank]
    while position < len(program.waited) and program.waiting[position] == x:
        position += 1
    state.rank.wait[rank] = position
    sort_by_arrival(first, position, program, charges, state)
    for request in range(first, position):
        move_first_of_instant(request, position, program, charges, state)
        end, begin = completion(request, program, charges, state)
        message = program.waited[request]
        if end > -math.inf:
            charge_wait(rank, begin, end, charges, state)
        if program.op[message] == _IRECV:
            cost = receiving(program.received_from[message], program)
            spend(rank, COMMUNICATION, state.rank.clock[rank] + cost, charges, state)
    round_time = charges.polling * (position - first)
    if round_time > 0:
        detected = detection(since, state.rank.clock[rank], round_time)
        spend(rank, COMMUNICATION, detected, charges, state)


@step
def sort_by_arrival(first: int, behind: int, program: Any, charges: Any, state: Any) -> None:
    """Put the requests of a wait in the order of arrivals; they mostly are, or few."""
    for start in range(first + 1, behind):
        request = program.waited[start]
        end = completion(start, program, charges, state)[0]
        at = start
        while at > first and completion(at - 1, program, charges, state)[0] > end:
            program.waited[at] = program.waited[at - 1]
            at -= 1
        program.waited[at] = request


@step
def move_first_of_instant(first: int, behind: int, program: Any, charges: Any, state: Any) -> None:
    """Of sorted requests of one instant, put that before the others which left first."""
    until = completion(first, program, charges, state)[0] * WHILE
    chosen, begin = first, completion(first, program, charges, state)[1]
    at = first + 1
    while at < behind and completion(at, program, charges, state)[0] <= until:
        if completion(at, program, charges, state)[1] < begin:
            chosen, begin = at, completion(at, program, charges, state)[1]
        at += 1
    request = program.waited[chosen]
    for at in range(chosen, first, -1):
        program.waited[at] = program.waited[at - 1]
    program.waited[first] = request


@step
def completion(position: int, program: Any, charges: Any, state: Any) -> tuple[float, float]:
    """Return when what a wait is for has arrived and had left, if it is waited for at all."""
    message = program.waited[position]
    sent = program.op[message] == _ISEND
    if sent and not is_rendezvous(message, program, charges):
        return -math.inf, math.inf
    if not sent:
        message = program.received_from[message]
    return state.message.arrival[message], state.message.departure[message]


@step
def detection(since: float, completed: float, round_time: float) -> Any:
    """Return when rounds of checking find it; as `parcast_emulator.processes.clock.detection`."""
    rounds = max(1, -int(-(completed - since) // round_time))
    end = since + rounds * round_time
    return end if end >= completed else end + round_time


@kept
def advance_rank(rank: int, program: Any, charges: Any, state: Any) -> None:
    """Let a rank run until it waits for what is not known, or to its end."""
    x, end = state.rank.next[rank], state.rank.end[rank]
    begun = x
    while x < end:
        if not state.rank.entered[rank]:
            state.rank.entered[rank] = True
            enter_operation(x, rank, program, charges, state)
        if state.rank.pending[rank] > 0:
            break
        leave_operation(x, rank, program, charges, state)
        state.rank.entered[rank] = False
        x += 1
    state.rank.next[rank] = x
    state.scalars[HANDLED] += x - begun


@step
def is_access(x: int, program: Any) -> Any:
    """Return whether an operation accesses disks."""
    return program.op[x] in (_READ, _WRITE)


@kept
def handle(
    now: float, code: int, tie: int, program: Any, charges: Any, state: Any, cluster: Any,
    servers: Any,
) -> None:  # fmt: skip
    """Serve what was asked for: a disk, a bus or a port, a receive of any message."""
    kind, x = code // KIND, code % KIND
    if kind == CARRY:
        carry_access(x, state.accessed[tie], now, program, charges, state, cluster, servers)
    elif kind == DECIDE:
        decide(x, program, charges, state)
    elif is_access(x, program):
        access(x, now, program, charges, state, cluster, servers)
    else:
        carry(x, now, program, charges, state)


@kernel
def run(limit: int, program: Any, charges: Any, state: Any, cluster: Any, servers: Any) -> Any:
    """Let all ranks run, and serve what they ask for in the order of time."""
    enough = state.scalars[HANDLED] + limit
    room = len(state.heap) - 4
    while state.scalars[HANDLED] < enough:
        if state.scalars[READY] > 0:
            rank = state.ready[state.scalars[READY] - 1]
            left = state.rank.end[rank] - state.rank.next[rank]
            if state.scalars[EVENTS] + 2 * left > room:
                return FULL
            state.scalars[READY] -= 1
            advance_rank(rank, program, charges, state)
            continue
        if state.scalars[EVENTS] == 0:
            return DONE
        if state.scalars[EVENTS] > room:
            return FULL
        now, code, tie = take(state)
        state.times[NOW] = now
        state.scalars[HANDLED] += 1
        handle(now, code, tie, program, charges, state, cluster, servers)
    return ENOUGH
