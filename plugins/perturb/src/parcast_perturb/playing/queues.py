"""A run in which a bus or the ports of nodes serve one message at a time, first come, first served.

Of requests of one instant the first by rank and place is served (``docs/program.md``).
Arguments without type are the named tuples of `parcast_perturb.playing.layout`.
"""

from __future__ import annotations

from typing import Any

from parcast.program.reference import SAME_INSTANT
from parcast_perturb.playing import heap, ranks
from parcast_perturb.playing.layout import BUS, LATER, NOW, READY
from parcast_traces.compilation import step

#: A time, times this, is the end of its instant.
_WHILE = 1.0 + SAME_INSTANT


@step
def ask(message: int, run: Any) -> None:
    """Put in a request: among those of the instant that lasts, if it is of it."""
    if run.counters[NOW] > 0 and run.asked[message] <= run.until[0]:
        heap.push(run.now, run.counters[NOW], run.none, message)
        run.counters[NOW] += 1
    else:
        heap.push(run.later, run.counters[LATER], run.asked, message)
        run.counters[LATER] += 1


@step
def move(run: Any) -> None:
    """Put the requests up to the end of an instant among those of it."""
    while run.counters[LATER] > 0 and run.asked[run.later[0]] <= run.until[0]:
        message = heap.pop(run.later, run.counters[LATER], run.asked)
        run.counters[LATER] -= 1
        heap.push(run.now, run.counters[NOW], run.none, message)
        run.counters[NOW] += 1


@step
def serve(message: int, network: int, messages: Any, run: Any) -> None:
    """Give a message what it asks for, from when that is free."""
    held, inward = messages.transfer[message], run.inward[message]
    if network == BUS:
        port = 0
    else:
        port = 2 * messages.enters[message] + 1 if inward else 2 * messages.leaves[message]
    begin = max(run.asked[message], run.free[port])
    run.free[port] = begin + held
    if network == BUS or inward:
        there = begin + held
        ranks.arrive(message, there if inward else there + messages.latency[message], messages, run)
    else:
        run.inward[message] = True
        run.asked[message] = begin + messages.latency[message]
        ask(message, run)


@step
def play(network: int, calls: Any, messages: Any, noise: Any, run: Any) -> None:
    """Let all ranks go on until nobody can."""
    while True:
        while run.counters[READY] > 0:
            run.counters[READY] -= 1
            ranks.advance(run.ready[run.counters[READY]], calls, messages, noise, run)
        if run.counters[NOW] > 0:
            move(run)
        elif run.counters[LATER] > 0:
            run.until[0] = run.asked[run.later[0]] * _WHILE
            move(run)
        else:
            return
        message = heap.pop(run.now, run.counters[NOW], run.none)
        run.counters[NOW] -= 1
        serve(message, network, messages, run)
