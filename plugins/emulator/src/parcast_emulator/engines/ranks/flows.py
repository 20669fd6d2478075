"""The ranks of programs whose messages share links fairly, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast_emulator.compilation import kernel_of_flows, step
from parcast_emulator.engines.ranks.arrays import EVENTS, HANDLED, LEAVING, NOW, READY, Program
from parcast_emulator.engines.ranks.instants import WHILE, take
from parcast_emulator.engines.ranks.messages import arrive
from parcast_emulator.engines.ranks.ranks import DONE, ENOUGH, FULL, advance_rank, handle
from parcast_network.sharing.compiled import new_state
from parcast_network.sharing.growing import with_room as with_room_for
from parcast_network.sharing.steps.ends import move, remove
from parcast_network.sharing.steps.layout import NONE, State
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start

#: Why the kernel returns, beside what ranks tell: there is no room for another flow.
CROWDED = 3

#: Of a flow: its message is in its latency, and on no link yet; its bytes flow.
LATENT, FLOWING = range(2)

#: Flows that there is room for at first.
_ROOM = 1024


class Carried(NamedTuple):
    """The messages that flow, by the numbers of their flows."""

    message: NDArray[np.int64]
    phase: NDArray[np.int64]
    free: NDArray[np.int64]  #: numbers that no message has
    unused: NDArray[np.int64]  #: how many these are
    due: NDArray[np.int64]  #: what begins or ends at one instant
    changed: NDArray[np.float64]  #: when rates changed last


def initial_flows(program: Program, wiring: Any) -> tuple[Carried, State]:
    """Return that no message flows."""
    hops = program.routes.shape[1]
    capacity, shared = wiring.capacity[program.links], wiring.shared[program.links]
    network = new_state(capacity, shared, flows=_ROOM, hops=hops)
    return _carried(np.arange(_ROOM)), network


def _carried(free: NDArray[np.int64]) -> Carried:
    room = int(free[-1]) + 1
    message, phase, unused, due = (np.zeros(room, np.int64) for _ in range(4))
    unused[: len(free)] = free[::-1]
    return Carried(message, phase, unused, np.array([len(free)]), due, np.zeros(1))


def with_room(carried: Carried, network: State) -> tuple[Carried, State]:
    """Return room for twice as many messages, after all room is taken."""
    count = len(carried.message)
    larger = _carried(np.arange(count, 2 * count))
    larger.message[:count], larger.phase[:count] = carried.message, carried.phase
    larger.changed[:] = carried.changed
    return larger, with_room_for(network, flows=2 * count)


@step
def delay(program: Any, state: Any, carried: Any, network: Any) -> None:
    """A message leaves: its bytes flow after its latency."""
    state.scalars[LEAVING] -= 1
    message = state.leaving[state.scalars[LEAVING]]
    carried.unused[0] -= 1
    flow = carried.free[carried.unused[0]]
    carried.message[flow], carried.phase[flow] = message, LATENT
    network.flow.end[flow] = state.message.departure[message] + program.latency[message]
    move(network, flow)


@step
def change(program: Any, charges: Any, state: Any, carried: Any, network: Any) -> None:
    """Let the messages begin or end whose time it is; as the processes' own shared links do."""
    now = max(carried.changed[0], next_end(network))
    carried.changed[0] = state.times[NOW] = now
    count = take_due(now * WHILE, carried, network)
    state.scalars[HANDLED] += count
    for i in range(count):
        flow = carried.due[i]
        if carried.phase[flow] == LATENT:
            begin(flow, now, program, carried, network)
        else:
            end(network, flow)
            carried.free[carried.unused[0]] = flow
            carried.unused[0] += 1
            arrive(carried.message[flow], now, program, charges, state)
    settle(network, now)


@step
def begin(flow: int, now: float, program: Any, carried: Any, network: Any) -> None:
    """The bytes of a message begin to flow over its route."""
    message = carried.message[flow]
    carried.phase[flow] = FLOWING
    size = program.flowing[message]
    cap = size / program.transfer[message]
    row = program.route[message]
    start(network, flow, now, program.routes[row], program.weights, program.shares[row], cap, size)


@step
def take_due(until: float, carried: Any, network: Any) -> Any:
    """Take out what begins or ends by then, in the order of messages; return how many."""
    count = 0
    flow = ended(network, until)
    while flow != NONE:
        remove(network, flow)
        carried.due[count] = flow
        count += 1
        flow = ended(network, until)
    sort_by_message(count, carried)
    return count


@step
def sort_by_message(count: int, carried: Any) -> None:
    """Put what is due in the order of messages: by insertion, over gaps that shrink (Shell)."""
    message, due = carried.message, carried.due
    gap = count
    while gap > 1:
        gap = max(1, gap * 4 // 9)
        for start_at in range(gap, count):
            flow, at = due[start_at], start_at
            while at >= gap and message[due[at - gap]] > message[flow]:
                due[at] = due[at - gap]
                at -= gap
            due[at] = flow


@kernel_of_flows
def run(
    limit: int, program: Any, charges: Any, state: Any, cluster: Any, servers: Any,
    carried: Any, network: Any,
) -> Any:  # fmt: skip
    """Let all ranks run, as in `parcast_emulator.engines.ranks.ranks`, over shared links."""
    enough = state.scalars[HANDLED] + limit
    room = len(state.heap) - 4
    while state.scalars[HANDLED] < enough:
        if state.scalars[LEAVING] > 0:
            if carried.unused[0] == 0:
                return CROWDED
            delay(program, state, carried, network)
            continue
        if state.scalars[READY] > 0:
            rank = state.ready[state.scalars[READY] - 1]
            left = state.rank.end[rank] - state.rank.next[rank]
            if state.scalars[EVENTS] + 2 * left > room:
                return FULL
            state.scalars[READY] -= 1
            advance_rank(rank, program, charges, state)
            continue
        waiting = state.scalars[EVENTS] > 0
        event = state.heap.time[0] if waiting else math.inf
        first = next_end(network)
        if not waiting and first == math.inf:
            return DONE
        if first <= event * WHILE:  # what waits for a disk or for any message comes after it
            change(program, charges, state, carried, network)
            continue
        if state.scalars[EVENTS] > room:
            return FULL
        now, code, tie = take(state)
        state.times[NOW] = now
        state.scalars[HANDLED] += 1
        handle(now, code, tie, program, charges, state, cluster, servers)
    return ENOUGH
