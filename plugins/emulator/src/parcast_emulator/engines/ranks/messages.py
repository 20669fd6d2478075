"""Messages of programs, compiled: how they leave, cross the network and are taken."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import inlined, step
from parcast_emulator.engines.ranks.arrays import (
    BUS_FREE,
    CONTENTION,
    HEAD,
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


@step
def known(rank: int, state: Any) -> None:
    """Something that a rank waits for is known; it goes on if that was the last."""
    state.rank.missing[rank] -= 1
    if state.rank.missing[rank] == 0:
        state.ready[state.scalars[READY]] = rank
        state.scalars[READY] += 1


@step
def meet(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """The sender or the receiver has come to a message that waits for both."""
    if state.message.met[message] & MET:
        leave(message, max(now, state.message.left[message]), program, charges, state)
    else:
        state.message.met[message] |= MET
        state.message.left[message] = now


@step
def leave(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """A message begins its transfer, or asks for what it must pass."""
    state.message.left[message] = now
    size = program.amount[message]
    source, target = program.rank[message], program.target[message]
    if state.rank.node[source] == state.rank.node[target]:
        end = now + charges.local_startup + size * charges.local_per_byte
    elif charges.contention == _UNSHARED:
        end = now + charges.startup + size * charges.per_byte
    else:
        push(state, now, SERVE, message, 0)
        return
    arrive(message, end, program, charges, state)


@inlined
def carry(message: int, now: float, program: Any, charges: Any, state: Any) -> None:
    """A message gets the bus, the port out or the port in that it has asked for."""
    seconds = program.amount[message] * charges.per_byte
    if charges.contention == _BUS:
        state.times[BUS_FREE] = max(now, state.times[BUS_FREE]) + seconds
        end = state.times[BUS_FREE] + charges.startup
    elif state.message.met[message] & HEAD:
        node = state.rank.node[program.target[message]]
        end = max(now, state.ports[charges.into, node]) + seconds
        state.ports[charges.into, node] = end
    else:
        node = state.rank.node[program.rank[message]]
        begin = max(now, state.ports[0, node])
        state.ports[0, node] = begin + seconds
        state.message.met[message] |= HEAD
        push(state, begin + charges.startup, SERVE, message, 0)
        return
    arrive(message, end, program, charges, state)


@inlined
def arrive(message: int, time: float, program: Any, charges: Any, state: Any) -> None:
    """It is known when a message arrives."""
    state.message.arrival[message] = time
    if (
        len(program.box)
        and program.box[message] != NONE
        and program.amount[message] <= charges.eager_limit
    ):
        offer(message, program, charges, state)
    if state.message.met[message] & RECEIVER:
        known(program.target[message], state)
    if state.message.met[message] & SENDER:
        known(program.rank[message], state)


# Receives of any message: those that may be taken from a box are a heap, linked by message.


@step
def there(message: int, program: Any, charges: Any, state: Any) -> Any:
    """Return from when on a message may be taken."""
    if program.amount[message] <= charges.eager_limit:
        return state.message.arrival[message]
    return state.message.left[message]


@step
def melded(one: int, other: int, program: Any, charges: Any, state: Any, timed: bool) -> Any:
    """Return the root of two skew heaps made one: by time, then by operation, or by that alone."""
    root, above = NONE, NONE
    while one >= 0 and other >= 0:
        later = other < one
        if timed:
            first = there(one, program, charges, state)
            second = there(other, program, charges, state)
            later = second < first or (second == first and later)
        if later:
            one, other = other, one
        if above == NONE:
            root = one
        else:
            state.links.lower[above] = one
        above = one
        rest = state.links.upper[one]
        state.links.upper[one] = state.links.lower[one]
        one = rest
    last = one if one >= 0 else other
    if above == NONE:
        return last
    state.links.lower[above] = last
    return root


@step
def without(root: int, program: Any, charges: Any, state: Any, timed: bool) -> Any:
    """Return the root of a heap without its root, which is by itself then."""
    lower, upper = state.links.lower[root], state.links.upper[root]
    state.links.lower[root] = state.links.upper[root] = NONE
    return melded(lower, upper, program, charges, state, timed)


@step
def foremost(box: int, state: Any) -> Any:
    """Return the message of a box that a receive takes first."""
    return state.first[box] if state.alike[box] == NONE else state.alike[box]


@step
def take_from(box: int, program: Any, charges: Any, state: Any) -> Any:
    """Take out the message that is there first; of one instant, that of the lowest source."""
    if state.alike[box] == NONE:
        message = state.first[box]
        state.first[box] = without(message, program, charges, state, True)
        rest = state.first[box]
        until = there(message, program, charges, state) * WHILE
        if rest == NONE or there(rest, program, charges, state) > until:
            return message
        state.alike[box], state.until[box] = message, until
        while rest != NONE and there(rest, program, charges, state) <= until:
            state.first[box] = without(rest, program, charges, state, True)
            state.alike[box] = melded(state.alike[box], rest, program, charges, state, False)
            rest = state.first[box]
    message = state.alike[box]
    state.alike[box] = without(message, program, charges, state, False)
    return message


@step
def offer(message: int, program: Any, charges: Any, state: Any) -> None:
    """Put a message into its box, and see whether a receive may take it."""
    box, target = program.box[message], program.target[message]
    time = there(message, program, charges, state)
    if state.alike[box] != NONE and time <= state.until[box]:
        state.alike[box] = melded(state.alike[box], message, program, charges, state, False)
    else:
        state.first[box] = melded(state.first[box], message, program, charges, state, True)
    wanting = state.rank.wanting[target]
    if wanting != NONE and program.box[wanting] == box and foremost(box, state) == message:
        push(state, max(state.rank.clock[target], time), DECIDE, wanting, 0)


@step
def want(receive: int, program: Any, charges: Any, state: Any) -> None:
    """A rank waits for any message."""
    rank = program.rank[receive]
    state.rank.wanting[rank] = receive
    first = foremost(program.box[receive], state)
    if first != NONE:
        time = max(state.rank.clock[rank], there(first, program, charges, state))
        push(state, time, DECIDE, receive, 0)


@step
def decide(receive: int, program: Any, charges: Any, state: Any) -> None:
    """A rank takes the message that is there first, unless it has taken one before."""
    rank = program.rank[receive]
    if state.rank.wanting[rank] != receive:
        return
    state.rank.wanting[rank] = NONE
    message = take_from(program.box[receive], program, charges, state)
    program.received_from[receive] = message
    if program.amount[message] <= charges.eager_limit:
        known(rank, state)
    else:
        state.message.met[message] |= RECEIVER
        time = max(state.rank.clock[rank], state.message.left[message])
        leave(message, time, program, charges, state)
