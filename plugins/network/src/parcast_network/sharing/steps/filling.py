"""Progressive filling of a region: some flows, the links that they can fill, all others fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_network.sharing.steps.layout import AT_CAP, FLOWS, LINKS, NONE, SHIFT


def fill(state: Any) -> None:
    """Give the flows of the region their rates in ``flow.fair``.

    The link that has least for each of its flows is full first, each counted by its weight on
    the link; its flows get that, or their cap where it is less. What a link has for each never
    falls while others are filled, so a heap of links needs a new entry only when a link comes to
    its top.
    """
    link, flow = state.link, state.flow
    shift = state.counters[SHIFT]
    count = 0
    for i in range(state.counters[FLOWS]):
        member = state.region[i]
        flow.fair[member] = -1.0
        flow.bound[member] = AT_CAP
    for i in range(state.counters[LINKS]):
        number = state.frontier[i]
        open_to(state, number, shift)
        if link.growing[number] > 0:
            count = push(state, count, link.left[number] / link.weight[number], number)
    while count > 0:
        key, number = state.keys[0], state.heap[0]
        count = pop(state, count)
        if link.growing[number] == 0:
            continue
        share = max(link.left[number], 0.0) / link.weight[number]
        if share > key or (
            link.least[number] < share and stop_at_caps(state, number, share, shift)
        ):
            if link.growing[number] > 0:
                share = max(link.left[number], 0.0) / link.weight[number]
                count = push(state, count, share, number)
            continue
        link.level[number] = share
        place = link.first[number]
        while place != NONE:
            member = place >> shift
            if flow.fair[member] < 0.0:
                flow.bound[member] = number
                stop(state, member, share, shift)
            place = state.after[place]
    for i in range(state.counters[FLOWS]):
        member = state.region[i]
        if flow.fair[member] < 0.0:  # no link of it can be full
            flow.fair[member] = flow.cap[member]


def open_to(state: Any, number: int, shift: int) -> None:
    """Set what a link has for the flows of the region, and how many and how heavy these are."""
    link, flow, mark = state.link, state.flow, state.link.mark[number]
    left, growing, weight, least = link.capacity[number], 0, 0.0, np.inf
    place = link.first[number]
    while place != NONE:
        member = place >> shift
        if flow.mark[member] == mark:
            growing += 1
            weight += state.weight[place]
            least = min(least, flow.cap[member])
        else:
            left -= flow.rate[member] * state.weight[place]
        place = state.after[place]
    link.left[number], link.level[number], link.least[number] = max(left, 0.0), np.nan, least
    link.fastest[number] = 0.0
    link.growing[number], link.fixed[number] = growing, link.count[number] - growing
    link.weight[number] = weight


def stop_at_caps(state: Any, number: int, share: float, shift: int) -> Any:
    """Stop those flows of a link whose cap is less than its share; tell whether there were any."""
    flow, stopped = state.flow, False
    place = state.link.first[number]
    while place != NONE:
        member = place >> shift
        if flow.fair[member] < 0.0 and flow.cap[member] < share:
            stop(state, member, flow.cap[member], shift)
            stopped = True
        place = state.after[place]
    return stopped


def stop(state: Any, member: int, rate: float, shift: int) -> None:
    """Give a flow its rate, and take it off its links."""
    link = state.link
    state.flow.fair[member] = rate
    for place in range(member << shift, (member << shift) + state.flow.hops[member]):
        number = state.route[place]
        link.left[number] -= rate * state.weight[place]
        link.weight[number] -= state.weight[place]
        link.growing[number] -= 1
        link.fastest[number] = max(link.fastest[number], rate)


def push(state: Any, count: int, key: float, number: int) -> Any:
    """Put a link into the heap; return how many are in it."""
    keys, heap, place = state.keys, state.heap, count
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place], heap[place] = keys[above], heap[above]
        place = above
    keys[place], heap[place] = key, number
    return count + 1


def pop(state: Any, count: int) -> Any:
    """Take the first link out of the heap; return how many are left."""
    keys, heap = state.keys, state.heap
    count -= 1
    key, number = keys[count], heap[count]
    place, below = 0, 1
    while below < count:
        if below + 1 < count and keys[below + 1] < keys[below]:
            below += 1
        if key <= keys[below]:
            break
        keys[place], heap[place] = keys[below], heap[below]
        place, below = below, 2 * below + 1
    keys[place], heap[place] = key, number
    return count
