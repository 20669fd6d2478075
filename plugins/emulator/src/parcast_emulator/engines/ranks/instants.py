"""The events of programs in their order: by instant, not by the last bits of their times.

What is one instant tells `parcast.program.reference.instants`. While it lasts, the heap has all its
events at the time of the first, so that their codes alone order them; each has its own time beside.
"""

from __future__ import annotations

from typing import Any

from parcast.program.reference import SAME_INSTANT
from parcast_emulator.compilation import step
from parcast_emulator.engines.queues import pop, settle
from parcast_emulator.engines.queues import push as queue
from parcast_emulator.engines.ranks.arrays import EVENTS, INSTANT, UNTIL

#: A time, times this, is the end of its instant.
WHILE = 1.0 + SAME_INSTANT

#: The end of an instant when all its events are taken.
OVER = -1.0


@step
def push(state: Any, time: float, kind: int, server: int, tie: int) -> None:
    """Put in an event; ``tie`` orders the ends of one disk at one time."""
    key = state.times[INSTANT] if time <= state.times[UNTIL] else time
    at = queue(state, key, kind, server, tie)
    state.heap.own[at] = time


@step
def take(state: Any) -> Any:
    """Take out the event that comes first; return its time, its code and its tie."""
    heap, times = state.heap, state.times
    if times[UNTIL] == OVER:
        times[INSTANT] = heap.time[0]
        times[UNTIL] = heap.time[0] * WHILE
        gather(heap, state.scalars[EVENTS], times[UNTIL])
    first = heap.own[0], heap.code[0], heap.tie[0]
    pop(state)
    if state.scalars[EVENTS] == 0 or heap.time[0] > times[UNTIL]:
        times[UNTIL] = OVER
    return first


@step
def gather(heap: Any, count: int, until: float) -> None:
    """Give all events up to one time the time of the first, and order them anew.

    They are the top of the heap; it is walked so that a node is left after all below it.
    """
    at, first, moved = 0, heap.time[0], False
    while True:
        if at < count and heap.time[at] <= until:
            if heap.time[at] > first:
                heap.time[at] = first
                moved = True
            at = 2 * at + 1
            continue
        while at > 0 and not at & 1:  # from what is below on the right, up
            at = (at - 1) >> 1
            if moved:
                heap[count] = heap[at]
                settle(heap, at, count)
        if at == 0:
            return
        at += 1
