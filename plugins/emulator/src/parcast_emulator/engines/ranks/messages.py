"""Messages of programs, compiled: how they leave, cross the network and are taken."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import inlined, step
from parcast_emulator.engines.ranks.arrays import (
    BUS_FREE,
    CONTENTION,
    HEAD,
    LEAVING,
    MET,
    NONE,
    READY,
    RECEIVER,
    SENDER,
)
from parcast_emulator.engines.ranks.instants import WHILE, push

# Arguments are untyped: they are the named tuples of `parcast_emulator.engines.ranks.arrays`.

#: What happens first of one time: buses of nodes carry, requests are served, receives of any
#: message are decided.
CARRY, SERVE, DECIDE = range(3)

_UNSHARED, _BUS = CONTENTION.index("none"), CONTENTION.index("bus")
_FAIR = CONTENTION.index("fair")


@step
def satisfy(rank: int, state: Any) -> None:
    """Something that a rank waits for is known; it goes on if that was the last."""
    state.rank.pending[rank] -= 1
    if state.rank.pending[rank] == 0:
        state.ready[state.scalars[READY]] = rank
        state.scalars[READY] += 1


@step
def meet(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """The sender or the receiver has come to a message that waits for both."""
    if state.message.status[message] & MET:
        leave(message, max(now, state.message.departure[message]), program, charges, state)
    else:
        state.message.status[message] |= MET
        state.message.departure[message] = now


@step
def crossing(message: int, within: bool, program: Any, charges: Any) -> tuple[float, float]:
    """Return the latency of a message, and the seconds of its bytes on the links alone."""
    if not charges.uniform:
        return program.latency[message], program.transfer[message]
    size = program.amount[message]
    if within:
        return charges.local_startup, size * charges.local_per_byte
    return charges.startup, size * charges.per_byte


@step
def leave(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """A message begins its transfer, or asks for what it must pass."""
    state.message.departure[message] = now
    source, target = program.rank[message], program.target[message]
    within = state.rank.node[source] == state.rank.node[target]
    if charges.contention == _FAIR:
        free = program.route[message] == NONE or program.transfer[message] == 0.0
    else:
        free = charges.contention == _UNSHARED or within or program.amount[message] < 0.0  # signal
    if free:
        latency, transfer = crossing(message, within, program, charges)
        arrive(message, now + latency + transfer, program, charges, state)
    elif charges.contention == _FAIR:
        state.leaving[state.scalars[LEAVING]] = message
        state.scalars[LEAVING] += 1
    else:
        push(state, now, SERVE, message, 0)


@inlined
def carry(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """A message gets the bus, the port out or the port in that it has asked for."""
    latency, seconds = crossing(message, False, program, charges)
    if charges.contention == _BUS:
        state.times[BUS_FREE] = max(now, state.times[BUS_FREE]) + seconds
        end = state.times[BUS_FREE] + latency
    elif state.message.status[message] & HEAD:
        node = state.rank.node[program.target[message]]
        end = max(now, state.ports[charges.into, node]) + seconds
        state.ports[charges.into, node] = end
    else:
        node = state.rank.node[program.rank[message]]
        begin = max(now, state.ports[0, node])
        state.ports[0, node] = begin + seconds
        state.message.status[message] |= HEAD
        push(state, begin + latency, SERVE, message, 0)
        return
    arrive(message, end, program, charges, state)


@inlined
def arrive(message: int, time: float, program: Any, charges: Any, state: Any) -> None:
    """It is known when a message arrives."""
    state.message.arrival[message] = time
    if (
        len(program.box)
        and program.box[message] != NONE
        and program.amount[message] <= charges.early_limit
    ):
        offer(message, program, charges, state)
    if state.message.status[message] & RECEIVER:
        satisfy(program.target[message], state)
    if state.message.status[message] & SENDER:
        satisfy(program.rank[message], state)


# Receives of any message: those that may be taken from a box are a heap, linked by message.


@step
def availability(message: int, program: Any, charges: Any, state: Any) -> Any:
    """Return from when on a message may be taken."""
    if program.amount[message] <= charges.early_limit:
        return state.message.arrival[message]
    return state.message.departure[message]


@step
def meld(left: int, right: int, program: Any, charges: Any, state: Any, timed: bool) -> Any:
    """Return the root of two skew heaps made one: by time, then by operation, or by that alone."""
    root, above = NONE, NONE
    while left >= 0 and right >= 0:
        later = right < left
        if timed:
            first = availability(left, program, charges, state)
            second = availability(right, program, charges, state)
            later = second < first or (second == first and later)
        if later:
            left, right = right, left
        if above == NONE:
            root = left
        else:
            state.links.lower[above] = left
        above = left
        next_left = state.links.upper[left]
        state.links.upper[left] = state.links.lower[left]
        left = next_left
    last = left if left >= 0 else right
    if above == NONE:
        return last
    state.links.lower[above] = last
    return root


@step
def without_root(root: int, program: Any, charges: Any, state: Any, timed: bool) -> Any:
    """Return the root of a heap without its root, which is by itself then."""
    lower, upper = state.links.lower[root], state.links.upper[root]
    state.links.lower[root] = state.links.upper[root] = NONE
    return meld(lower, upper, program, charges, state, timed)


@step
def first_in_box(box: int, state: Any) -> Any:
    """Return the message of a box that a receive takes first."""
    return state.earliest[box] if state.simultaneous[box] == NONE else state.simultaneous[box]


@step
def take_from(box: int, program: Any, charges: Any, state: Any) -> Any:
    """Take out the message that is there first; of one instant, that of the lowest source."""
    if state.simultaneous[box] == NONE:
        message = state.earliest[box]
        state.earliest[box] = without_root(message, program, charges, state, True)
        next_message = state.earliest[box]
        until = availability(message, program, charges, state) * WHILE
        if next_message == NONE or availability(next_message, program, charges, state) > until:
            return message
        state.simultaneous[box], state.until[box] = message, until
        while next_message != NONE and availability(next_message, program, charges, state) <= until:
            state.earliest[box] = without_root(next_message, program, charges, state, True)
            state.simultaneous[box] = meld(
                state.simultaneous[box], next_message, program, charges, state, False
            )
            next_message = state.earliest[box]
    message = state.simultaneous[box]
    state.simultaneous[box] = without_root(message, program, charges, state, False)
    return message


@step
def offer(message: int, program: Any, charges: Any, state: Any) -> None:
    """Put a message into its box, and see whether a receive may take it."""
    box, target = program.box[message], program.target[message]
    time = availability(message, program, charges, state)
    if state.simultaneous[box] != NONE and time <= state.until[box]:
        state.simultaneous[box] = meld(
            state.simultaneous[box], message, program, charges, state, False
        )
    else:
        state.earliest[box] = meld(state.earliest[box], message, program, charges, state, True)
    receive = state.rank.any_receive[target]
    if receive != NONE and program.box[receive] == box and first_in_box(box, state) == message:
        push(state, max(state.rank.clock[target], time), DECIDE, receive, 0)


@step
def await_any(receive: int, program: Any, charges: Any, state: Any) -> None:
    """A rank waits for any message."""
    rank = program.rank[receive]
    state.rank.any_receive[rank] = receive
    first = first_in_box(program.box[receive], state)
    if first != NONE:
        time = max(state.rank.clock[rank], availability(first, program, charges, state))
        push(state, time, DECIDE, receive, 0)


@step
def decide(receive: int, program: Any, charges: Any, state: Any) -> None:
    """A rank takes the message that is there first, unless it has taken one before."""
    rank = program.rank[receive]
    if state.rank.any_receive[rank] != receive:
        return
    state.rank.any_receive[rank] = NONE
    message = take_from(program.box[receive], program, charges, state)
    program.received_from[receive] = message
    if program.amount[message] <= charges.early_limit:
        satisfy(rank, state)
    else:
        state.message.status[message] |= RECEIVER
        time = max(state.rank.clock[rank], state.message.departure[message])
        leave(message, time, program, charges, state)
