"""Flows that start and end, and the fair rates that change by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast_network.sharing.steps.ends import move, order_all, remove
from parcast_network.sharing.steps.filling import fill
from parcast_network.sharing.steps.layout import (
    AT_CAP,
    ENDS,
    FLOWS,
    LINKS,
    MARK,
    NONE,
    ROUNDS,
    SAME,
    SHIFT,
    STARTED,
    TOUCHED,
)

#: What ``flow.fresh`` says: of a flow that has started since the last settling, that it runs, or
#: that it has ended again.
SETTLED, FRESH, GONE = range(3)


def start(
    state: Any, flow: int, now: float, links: Any, weights: Any, share: float, cap: float,
    size: float,
) -> None:  # fmt: skip
    """Start a flow, whose number no other flow has; it has no rate before `settle`.

    Parameters
    ----------
    state
        The `parcast_network.sharing.steps.layout.State`.
    flow
        Its number, below the number of flows that the state was made for.
    now
        Seconds.
    links
        Of its route; numbers below 0 are none.
    weights
        Of each of these, the bytes on the link for each byte of the flow.
    share
        What it has of a full link, relative to other flows. The flow is kept as one that has as
        much as others: by its bytes and its rate over its share, and as much heavier on links.
    cap
        Bytes a second that it takes at most; infinite only where a link is finite.
    size
        Bytes. A flow of none ends at once.
    """
    link, flows = state.link, state.flow
    shift = state.counters[SHIFT]
    hops, least = 0, cap
    for i in range(len(links)):
        number = links[i]
        if number < 0:
            continue
        least = min(least, link.capacity[number] / weights[i])
        if link.limits[number]:
            state.route[(flow << shift) + hops] = number
            state.weight[(flow << shift) + hops] = weights[i] * share
            hops += 1
    at_once = size <= 0.0 or least == np.inf
    flows.hops[flow] = 0 if at_once else hops
    least /= share
    flows.cap[flow], flows.remaining[flow], flows.since[flow] = least, size / share, now
    flows.rate[flow], flows.bound[flow] = 0.0, AT_CAP
    if at_once:
        flows.end[flow] = now
        move(state, flow)
        return
    flows.end[flow] = np.inf
    for place in range(flow << shift, (flow << shift) + hops):
        number = state.route[place]
        following = link.first[number]
        state.after[place], state.before[place] = following, NONE
        if following != NONE:
            state.before[following] = place
        link.first[number] = place
        link.count[number] += 1
        link.caps[number] += least * state.weight[place]
        touch(state, number)
    if flows.fresh[flow] == SETTLED:
        state.started[state.counters[STARTED]] = flow
        state.counters[STARTED] += 1
    flows.fresh[flow] = FRESH


def end(state: Any, flow: int) -> None:
    """End a flow, done or not; its links' other flows get what it had at the next `settle`."""
    link, flows = state.link, state.flow
    shift = state.counters[SHIFT]
    remove(state, flow)
    for place in range(flow << shift, (flow << shift) + flows.hops[flow]):
        number = state.route[place]
        following, previous = state.after[place], state.before[place]
        if previous == NONE:
            link.first[number] = following
        else:
            state.after[previous] = following
        if following != NONE:
            state.before[following] = previous
        link.count[number] -= 1
        # no error of rounding outlasts the flows
        taken = flows.cap[flow] * state.weight[place]
        link.caps[number] = link.caps[number] - taken if link.count[number] else 0.0
        touch(state, number)
    flows.hops[flow] = 0
    if flows.fresh[flow] == FRESH:
        flows.fresh[flow] = GONE


def next_end(state: Any) -> Any:
    """Return when the next flow ends at the rates that were settled; infinity if none runs."""
    return state.flow.end[state.ends[0]] if state.counters[ENDS] else np.inf


def ended(state: Any, until: float) -> Any:
    """Return the flow that ends first, if that is no later than ``until``, or `NONE`."""
    if state.counters[ENDS] and state.flow.end[state.ends[0]] <= until:
        return state.ends[0]
    return NONE


def settle(state: Any, now: float) -> Any:
    """Give all flows their fair rates, after some have started or ended; return the next end.

    The flows that are new, or whose link has changed, are filled anew while all others stay as
    they are. Rates are max-min fair if and only if each flow runs at its cap or has a full link
    on which no flow is faster (Bertsekas & Gallager 1992, section 6.5.2). Flows of which that is
    true no longer join, and filling is repeated, as long as there are any; so rates change far
    away only if they have to. In the end the region is all flows that are connected by links that
    could be full: those whose flows may together take more than their capacity.
    """
    counters = state.counters
    counters[MARK] += 1
    counters[FLOWS] = counters[LINKS] = 0
    begin_region(state)
    turn = 1
    if counters[FLOWS]:
        fill(state)
        while expand(state, turn > ROUNDS):
            fill(state)
            turn += 1
        apply_rates(state, now)
    return next_end(state)


def touch(state: Any, number: int) -> None:
    """Note that the flows of a link change."""
    if not state.link.touched[number]:
        state.link.touched[number] = True
        state.touched[state.counters[TOUCHED]] = number
        state.counters[TOUCHED] += 1


def begin_region(state: Any) -> None:
    """Take the flows that have started, and those that the touched links bound, or now may."""
    link, flows, counters = state.link, state.flow, state.counters
    shift = state.counters[SHIFT]
    for i in range(counters[TOUCHED]):
        number = state.touched[i]
        # a link that could not be full before bounds nobody: all its flows have to be looked at
        link.level[number] = np.nan if link.tight[number] else 0.0
        link.tight[number] = link.caps[number] > link.capacity[number]
    for i in range(counters[STARTED]):
        flow = state.started[i]
        if flows.fresh[flow] == FRESH:
            join(state, flow, shift)
        flows.fresh[flow] = SETTLED
    for i in range(counters[TOUCHED]):
        number = state.touched[i]
        link.touched[number] = False
        newly = link.tight[number] and link.level[number] == 0.0
        place = link.first[number]
        while place != NONE:
            flow = place >> shift
            if newly or flows.bound[flow] == number:
                join(state, flow, shift)
            place = state.after[place]
    counters[TOUCHED] = counters[STARTED] = 0


def join(state: Any, flow: int, shift: int) -> None:
    """Take a flow into the region, and the links of it that can be full."""
    link, counters, mark = state.link, state.counters, state.counters[MARK]
    if state.flow.mark[flow] == mark:
        return
    state.flow.mark[flow] = mark
    state.region[counters[FLOWS]] = flow
    counters[FLOWS] += 1
    for place in range(flow << shift, (flow << shift) + state.flow.hops[flow]):
        number = state.route[place]
        if link.tight[number] and link.mark[number] != mark:
            link.mark[number] = mark
            state.frontier[counters[LINKS]] = number
            counters[LINKS] += 1


def expand(state: Any, wholly: bool) -> Any:
    """Take in flows whose rate is fair no longer; tell whether there were any.

    Parameters
    ----------
    state
        After `fill`.
    wholly
        Take in all flows that links connect, if any has to be.
    """
    counters, shift = state.counters, state.counters[SHIFT]
    before, links = counters[FLOWS], counters[LINKS]
    for i in range(links):
        take_in(state, state.frontier[i], shift)
    if wholly and counters[FLOWS] > before:
        i = 0
        while i < counters[LINKS]:
            place = state.link.first[state.frontier[i]]
            while place != NONE:
                join(state, place >> shift, shift)
                place = state.after[place]
            i += 1
    return counters[FLOWS] > before


def take_in(state: Any, number: int, shift: int) -> None:
    """Take in those flows of a link that it bounded and bounds no longer, or that are too fast."""
    link, flows, mark = state.link, state.flow, state.counters[MARK]
    if not link.fixed[number]:
        return
    slowest = link.fastest[number] * (1.0 - SAME)
    if link.left[number] > link.capacity[number] * SAME:  # no longer full
        slowest = np.inf
    highest = link.level[number] * (1.0 + SAME)  # NaN where nobody is bounded anew
    place = link.first[number]
    while place != NONE:
        flow = place >> shift
        if flows.mark[flow] != mark:
            rate = flows.rate[flow]
            freed = flows.bound[flow] == number and rate < slowest
            if freed or rate > highest:
                flows.fair[flow] = -1.0
                join(state, flow, shift)
        place = state.after[place]


def apply_rates(state: Any, now: float) -> None:
    """Give the flows of the region their rates from now on, and put their ends in order."""
    flows, counters = state.flow, state.counters
    many = 8 * counters[FLOWS] > counters[ENDS]
    for i in range(counters[FLOWS]):
        flow = state.region[i]
        fair, rate = flows.fair[flow], flows.rate[flow]
        if abs(fair - rate) <= SAME * rate:
            continue
        left = flows.remaining[flow] - rate * (now - flows.since[flow])
        flows.remaining[flow] = max(left, 0.0)
        flows.since[flow], flows.rate[flow] = now, fair
        flows.end[flow] = now + flows.remaining[flow] / fair
        if not many:
            move(state, flow)
        elif flows.place[flow] == NONE:
            flows.place[flow] = counters[ENDS]
            state.ends[counters[ENDS]] = flow
            counters[ENDS] += 1
    if many:
        order_all(state)
