"""A run in which messages share the links of their routes, in max-min fair rates.

Arguments without type are the named tuples of `parcast_perturb.playing.layout`, and ``network`` is
the allocation of `parcast_network.sharing`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from parcast_network.sharing.steps.layout import STARTED, TOUCHED
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start
from parcast_perturb.playing import heap, ranks
from parcast_perturb.playing.layout import LATER, READY
from parcast_traces.compilation import step

#: Times up to this times another are one change of rates.
TOGETHER = 1.0 + 2.0**-44


class Carried(NamedTuple):
    """The messages that flow, by the numbers of their flows."""

    message: Any
    free: Any  #: numbers that no message has
    unused: Any  #: how many these are
    changed: Any  #: the latest change that rates do not know of


@step
def begin(message: int, at: float, messages: Any, carried: Any, network: Any) -> None:
    """The bytes of a message begin to flow."""
    carried.changed[0] = max(carried.changed[0], at)
    carried.unused[0] -= 1
    flow = carried.free[carried.unused[0]]
    carried.message[flow] = message
    size = messages.bytes[message]
    cap = size / messages.transfer[message]
    row = messages.route[message]
    start(
        network, flow, at, messages.routes[row], messages.weights, messages.shares[row], cap, size
    )


@step
def finish(flow: int, at: float, carried: Any, network: Any) -> Any:
    """The last byte of a message is through; return the message."""
    carried.changed[0] = max(carried.changed[0], at)
    end(network, flow)
    carried.free[carried.unused[0]] = flow
    carried.unused[0] += 1
    return carried.message[flow]


@step
def play(calls: Any, messages: Any, noise: Any, run: Any, carried: Any, network: Any) -> Any:
    """Let all ranks go on until nobody can; return False where there is no room for a flow."""
    while True:
        while run.counters[READY] > 0:
            run.counters[READY] -= 1
            ranks.advance(run.ready[run.counters[READY]], calls, messages, noise, run)
        waiting = run.counters[LATER] > 0
        begins = run.asked[run.later[0]] if waiting else math.inf
        ends = next_end(network)
        changed = network.counters[TOUCHED] > 0 or network.counters[STARTED] > 0
        if changed and min(begins, ends) > carried.changed[0] * TOGETHER:
            ends = settle(network, carried.changed[0])
        if begins == math.inf and ends == math.inf:
            return True
        if ends <= begins:
            message = finish(ended(network, ends), ends, carried, network)
            ranks.arrive(message, ends, messages, run)
            continue
        if carried.unused[0] == 0:
            return False
        message = heap.pop(run.later, run.counters[LATER], run.asked)
        run.counters[LATER] -= 1
        begin(message, begins, messages, carried, network)
