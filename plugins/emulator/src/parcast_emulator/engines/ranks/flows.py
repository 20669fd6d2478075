"""The ranks of programs whose messages share links fairly, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast_emulator.compilation import kernel_of_flows, step
from parcast_emulator.engines.queues import KIND
from parcast_emulator.engines.ranks.arrays import EVENTS, HANDLED, NOW, READY, Program
from parcast_emulator.engines.ranks.instants import WHILE, take
from parcast_emulator.engines.ranks.messages import SERVE, arrive
from parcast_emulator.engines.ranks.ranks import DONE, ENOUGH, FULL, advance_rank, handle, is_access
from parcast_network.sharing.compiled import new_state
from parcast_network.sharing.growing import with_flow_room
from parcast_network.sharing.steps.layout import STARTED, TOUCHED, State
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start

#: Why the kernel returns, beside what ranks tell: there is no room for another flow.
CROWDED = 3

#: Entries of ``Carried.times``: the latest change of what flows since rates were settled, and the
#: end of the instant of the first.
CHANGED, CHANGED_UNTIL = range(2)

#: Flows that there is room for at first.
_ROOM = 1024


class Carried(NamedTuple):
    """The messages that flow, by the numbers of their flows."""

    message: NDArray[np.int64]
    free: NDArray[np.int64]  #: numbers that no message has
    unused: NDArray[np.int64]  #: how many these are
    times: NDArray[np.float64]


def initial_flows(program: Program, costs: Costs) -> tuple[Carried, State]:
    """Return that no message flows."""
    wiring = costs.wiring()
    network = new_state(wiring.capacity, wiring.shared, flows=_ROOM, hops=program.routes.shape[1])
    free = np.arange(_ROOM)[::-1].copy()
    return Carried(np.zeros(_ROOM, np.int64), free, np.array([_ROOM]), np.zeros(2)), network


def with_room(carried: Carried, network: State) -> tuple[Carried, State]:
    """Return room for twice as many messages, after all room is taken."""
    room = 2 * len(carried.message)
    message, free = np.zeros(room, np.int64), np.zeros(room, np.int64)
    message[: room // 2] = carried.message
    free[: room // 2] = np.arange(room // 2, room)[::-1]
    larger = Carried(message, free, np.array([room // 2]), carried.times)
    return larger, with_flow_room(network, room)


@step
def note_change(now: float, carried: Any, network: Any) -> None:
    """Note when what flows changes."""
    times = carried.times
    if network.counters[TOUCHED] == 0 and network.counters[STARTED] == 0:
        times[CHANGED], times[CHANGED_UNTIL] = now, now * WHILE
    times[CHANGED] = max(times[CHANGED], now)


@step
def begin_flow(message: int, now: float, program: Any, carried: Any, network: Any) -> None:
    """The bytes of a message begin to flow over its route."""
    note_change(now, carried, network)
    carried.unused[0] -= 1
    flow = carried.free[carried.unused[0]]
    carried.message[flow] = message
    size = program.flowing[message]
    cap = size / program.transfer[message]
    start(network, flow, now, program.routes[program.route[message]], cap, size)


@step
def end_flow(flow: int, carried: Any, network: Any) -> Any:
    """The last byte of a message is through; return the message and when that is."""
    now = network.flow.end[flow]
    note_change(now, carried, network)
    end(network, flow)
    carried.free[carried.unused[0]] = flow
    carried.unused[0] += 1
    return carried.message[flow], now


@step
def first_end(before: float, carried: Any, network: Any) -> Any:
    """Return when the first flow ends; rates are settled when nothing more changes them now."""
    first = next_end(network)
    changed = network.counters[TOUCHED] > 0 or network.counters[STARTED] > 0
    if changed and min(before, first) > carried.times[CHANGED_UNTIL]:
        first = settle(network, carried.times[CHANGED])
    return first


@kernel_of_flows
def run(
    limit: int, program: Any, charges: Any, state: Any, cluster: Any, servers: Any,
    carried: Any, network: Any,
) -> Any:  # fmt: skip
    """Let all ranks run, as in `parcast_emulator.engines.ranks.ranks`, over shared links."""
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
        waiting = state.scalars[EVENTS] > 0
        event = state.heap.time[0] if waiting else math.inf
        first = first_end(event, carried, network)
        if not waiting and first == math.inf:
            return DONE
        if first <= event * WHILE:  # what waits for a disk or for any message comes after it
            state.scalars[HANDLED] += 1
            message, now = end_flow(ended(network, first), carried, network)
            state.times[NOW] = now
            arrive(message, now, program, charges, state)
            continue
        if state.scalars[EVENTS] > room:
            return FULL
        if carried.unused[0] == 0:
            return CROWDED
        now, code, tie = take(state)
        state.times[NOW] = now
        state.scalars[HANDLED] += 1
        kind, x = code // KIND, code % KIND
        if kind == SERVE and not is_access(x, program):
            begin_flow(x, now, program, carried, network)
        else:
            handle(now, code, tie, program, charges, state, cluster, servers)
    return ENOUGH
