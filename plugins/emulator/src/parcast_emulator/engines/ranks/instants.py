"""The events of programs in their order: by instant, not by the last bits of their times.

What is one instant tells `parcast.program.reference.instants`. Where all times of an instant are
equal to the last bit, the heap of all events has them in their order; where they are not, they are
put into a heap of their own, by code alone.
"""

from __future__ import annotations

from typing import Any

from parcast.program.reference.instants import SAME
from parcast_emulator.compilation import step
from parcast_emulator.engines.queues import KIND, pop
from parcast_emulator.engines.queues import push as queue
from parcast_emulator.engines.ranks.arrays import EVENTS, INSTANT, TOGETHER, UNTIL

#: A time, times this, is the end of its instant.
WHILE = 1.0 + SAME


@step
def push(state: Any, time: float, kind: int, server: int, tie: int) -> None:
    """Put in an event; ``tie`` orders the ends of one disk at one time."""
    if state.scalars[TOGETHER] > 0 and time <= state.times[UNTIL]:
        rise(state.together, state.scalars[TOGETHER], time, kind * KIND + int(server), tie)
        state.scalars[TOGETHER] += 1
        return
    queue(state, time, kind, server, tie)
    if state.times[INSTANT] < time <= state.times[UNTIL]:
        state.times[UNTIL] = -1.0  # this instant's times are no longer all equal


@step
def take(state: Any) -> Any:
    """Take out the event that comes first; return its time, its code and its tie."""
    if state.scalars[TOGETHER] == 0 and state.heap.time[0] > state.times[UNTIL]:
        state.times[INSTANT] = state.heap.time[0]
        state.times[UNTIL] = state.heap.time[0] * WHILE
        if uneven(state.heap.time, state.scalars[EVENTS], state.times[UNTIL]):
            gather(state)
    if state.scalars[TOGETHER] > 0:
        state.scalars[TOGETHER] -= 1
        return sink(state.together, state.scalars[TOGETHER])
    first = state.heap.time[0], state.heap.code[0], state.heap.tie[0]
    pop(state)
    return first


@step
def uneven(times: Any, count: int, until: float) -> bool:
    """Tell whether times at the top of a heap, up to one, are not all equal."""
    at, first = 0, times[0]
    while True:
        if at < count and times[at] <= until:
            if times[at] > first:
                return True
            at = 2 * at + 1
            continue
        while at > 0 and not at & 1:  # from what is below on the right, up
            at = (at - 1) >> 1
        if at == 0:
            return False
        at += 1


@step
def gather(state: Any) -> None:
    """Put all events of this instant together."""
    while state.scalars[EVENTS] > 0 and state.heap.time[0] <= state.times[UNTIL]:
        time, code, tie = state.heap.time[0], state.heap.code[0], state.heap.tie[0]
        pop(state)
        rise(state.together, state.scalars[TOGETHER], time, code, tie)
        state.scalars[TOGETHER] += 1


@step
def rise(heap: Any, at: int, time: float, code: int, tie: int) -> None:
    """Put an event into a heap by code, of so many others."""
    while at > 0:
        up = (at - 1) >> 1
        if (heap.code[up], heap.tie[up]) <= (code, tie):
            break
        heap[at] = heap[up]
        at = up
    heap.time[at], heap.code[at], heap.tie[at] = time, code, tie


@step
def sink(heap: Any, count: int) -> Any:
    """Take the first event out of a heap by code, in which so many others are left."""
    first = heap.time[0], heap.code[0], heap.tie[0]
    time, code, tie = heap.time[count], heap.code[count], heap.tie[count]
    at, down = 0, 1
    while down < count:
        other = down + 1
        if other < count and (heap.code[other], heap.tie[other]) < (
            heap.code[down],
            heap.tie[down],
        ):
            down = other
        if (code, tie) <= (heap.code[down], heap.tie[down]):
            break
        heap[at] = heap[down]
        at, down = down, 2 * down + 1
    heap.time[at], heap.code[at], heap.tie[at] = time, code, tie
    return first
