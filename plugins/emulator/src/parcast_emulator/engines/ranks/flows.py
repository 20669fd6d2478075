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
from parcast_network.sharing.growing import with_room as with_room_for
from parcast_network.sharing.steps.ends import move, remove
from parcast_network.sharing.steps.layout import STARTED, TOGETHER, TOUCHED, State
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
    changed: NDArray[np.float64]  #: the latest change that rates do not know of


def initial_flows(program: Program, costs: Costs) -> tuple[Carried, State]:
    """Return that no message flows."""
    wiring, hops = costs.wiring(), program.routes.shape[1]
    network = new_state(wiring.capacity, wiring.shared, flows=_ROOM, hops=hops)
    return _carried(np.arange(_ROOM)), network


def _carried(free: NDArray[np.int64]) -> Carried:
    room = int(free[-1]) + 1
    message, phase, unused = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, int)
    unused[: len(free)] = free[::-1]
    return Carried(message, phase, unused, np.array([len(free)]), np.zeros(1))


def with_room(carried: Carried, network: State) -> tuple[Carried, State]:
    """Return room for twice as many messages, after all room is taken."""
    count = len(carried.message)
    larger = _carried(np.arange(count, 2 * count))
    larger.message[:count], larger.phase[:count] = carried.message, carried.phase
    larger.changed[:] = carried.changed
    return larger, with_room_for(network, flows=2 * count)


@step
def delay(message: int, now: float, program: Any, carried: Any, network: Any) -> None:
    """A message leaves: its bytes flow after its latency."""
    carried.unused[0] -= 1
    flow = carried.free[carried.unused[0]]
    carried.message[flow], carried.phase[flow] = message, LATENT
    network.flow.end[flow] = now + program.latency[message]
    move(network, flow)


@step
def begin(flow: int, now: float, program: Any, carried: Any, network: Any) -> None:
    """The bytes of a message begin to flow over its route."""
    carried.changed[0] = max(carried.changed[0], now)
    message = carried.message[flow]
    carried.phase[flow] = FLOWING
    remove(network, flow)
    size = program.flowing[message]
    cap = size / program.transfer[message]
    start(network, flow, now, program.routes[program.route[message]], cap, size)


@step
def finish(flow: int, now: float, carried: Any, network: Any) -> Any:
    """The last byte of a message is through; return the message."""
    carried.changed[0] = max(carried.changed[0], now)
    end(network, flow)
    carried.free[carried.unused[0]] = flow
    carried.unused[0] += 1
    return carried.message[flow]


@step
def first_change(carried: Any, network: Any) -> Any:
    """Return when the next flow begins or ends; rates are settled if that is not now."""
    first = next_end(network)
    changed = network.counters[TOUCHED] > 0 or network.counters[STARTED] > 0
    if changed and first > carried.changed[0] * TOGETHER:
        first = settle(network, carried.changed[0])
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
        first = first_change(carried, network)
        if not waiting and first == math.inf:
            return DONE
        if first <= event * WHILE:  # what waits for a disk or for any message comes after it
            state.scalars[HANDLED] += 1
            state.times[NOW] = first
            flow = ended(network, first)
            if carried.phase[flow] == LATENT:
                begin(flow, first, program, carried, network)
            else:
                message = finish(flow, first, carried, network)
                arrive(message, first, program, charges, state)
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
            delay(x, now, program, carried, network)
        else:
            handle(now, code, tie, program, charges, state, cluster, servers)
    return ENOUGH
