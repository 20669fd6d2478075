"""The heap of ends: each flow with a rate has a place in it, the first to end at the top."""

from __future__ import annotations

from typing import Any

from parcast_network.sharing.steps.layout import ENDS, NONE


def rise(state: Any, place: int) -> None:
    """Move a flow towards the top as long as it ends before the flow above it."""
    ends, end, places = state.ends, state.flow.end, state.flow.place
    flow = ends[place]
    while place > 0:
        above = (place - 1) >> 1
        if end[ends[above]] <= end[flow]:
            break
        ends[place] = ends[above]
        places[ends[place]] = place
        place = above
    ends[place] = flow
    places[flow] = place


def sink(state: Any, place: int) -> None:
    """Move a flow down as long as a flow below it ends before."""
    ends, end, places = state.ends, state.flow.end, state.flow.place
    count = state.counters[ENDS]
    flow = ends[place]
    below = 2 * place + 1
    while below < count:
        if below + 1 < count and end[ends[below + 1]] < end[ends[below]]:
            below += 1
        if end[flow] <= end[ends[below]]:
            break
        ends[place] = ends[below]
        places[ends[place]] = place
        place, below = below, 2 * below + 1
    ends[place] = flow
    places[flow] = place


def move(state: Any, flow: int) -> None:
    """Put a flow where it belongs, in the heap already or not."""
    place = state.flow.place[flow]
    if place == NONE:
        place = state.counters[ENDS]
        state.counters[ENDS] += 1
        state.ends[place] = flow
    rise(state, place)
    sink(state, state.flow.place[flow])


def remove(state: Any, flow: int) -> None:
    """Take a flow out of the heap."""
    place = state.flow.place[flow]
    if place == NONE:
        return
    state.flow.place[flow] = NONE
    state.counters[ENDS] -= 1
    last = state.counters[ENDS]
    if place < last:
        mover = state.ends[last]
        state.ends[place] = mover
        state.flow.place[mover] = place
        rise(state, place)
        sink(state, state.flow.place[mover])


def order_all(state: Any) -> None:
    """Order the whole heap, after many ends have changed."""
    for place in range((state.counters[ENDS] >> 1) - 1, -1, -1):
        sink(state, place)
