"""Fair shares in any exact numbers: progressive filling of all links, from the start each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parcast.program.reference import end_of_instant


def rates(
    capacity: Sequence[Any],
    routes: Mapping[int, Sequence[int]],
    caps: Sequence[Any],
    weights: Sequence[Any] | None = None,
    shares: Sequence[Any] | None = None,
) -> dict[int, Any]:
    """Return the max-min fair rate of each flow.

    Progressive filling (Bertsekas & Gallager, Data Networks, 1992, section 6.5.2): all rates grow
    together until a link is full or a flow is at its cap; the flows that are stopped by that
    stay, and the others grow on.

    Parameters
    ----------
    capacity
        Of each link, bytes a second.
    routes
        The links of each flow, by the flow's number.
    caps
        What each flow takes at most, bytes a second.
    weights
        What a flow takes of the first, second, ... link of its route for each byte; 1 of all where
        not stated.
    shares
        Of each flow what it has of a full link, relative to others; equal where not stated.
    """
    left, growing, fair = list(capacity), dict(routes), {}
    taken = weights or [1] * max(map(len, growing.values()), default=0)
    has = dict.fromkeys(growing, 1) if shares is None else {flow: shares[flow] for flow in growing}
    while growing:
        load = dict.fromkeys((link for route in growing.values() for link in route), 0)
        for flow, route in growing.items():
            for link, weight in zip(route, taken, strict=False):
                load[link] += weight * has[flow]
        share = {link: left[link] / whole for link, whole in load.items()}
        level = min([*share.values(), *(caps[flow] / has[flow] for flow in growing)])
        for flow, route in list(growing.items()):
            if caps[flow] / has[flow] == level or any(share[link] == level for link in route):
                fair[flow] = level * has[flow]
                del growing[flow]
                for link, weight in zip(route, taken, strict=False):
                    left[link] -= fair[flow] * weight
    return fair


def finish_times(
    capacity: Sequence[Any],
    routes: Sequence[Sequence[int]],
    caps: Sequence[Any],
    sizes: Sequence[Any],
    starts: Sequence[Any],
    weights: Sequence[Any] | None = None,
    shares: Sequence[Any] | None = None,
) -> list[Any]:
    """Return when each flow ends.

    Parameters
    ----------
    capacity
        Of each link, bytes a second.
    routes, caps, sizes, starts
        Of each flow its links, what it takes at most, its bytes, and when it starts.
    weights, shares
        As of `rates`.
    """
    ends: list[Any] = [None] * len(sizes)
    waiting = sorted(range(len(sizes)), key=starts.__getitem__, reverse=True)
    left: dict[int, Any] = {}
    now: Any = None
    while waiting or left:
        fair = rates(capacity, {flow: routes[flow] for flow in left}, caps, weights, shares)
        next_ends = {flow: now + size / fair[flow] for flow, size in left.items()}
        first = min([*next_ends.values(), *(starts[flow] for flow in waiting[-1:])])
        left = {flow: size - fair[flow] * (first - now) for flow, size in left.items()}
        now, instant = first, end_of_instant(first)
        for flow, end in next_ends.items():
            if end <= instant:
                ends[flow] = end
                del left[flow]
        while waiting and starts[waiting[-1]] <= instant:
            flow = waiting.pop()
            if sizes[flow] > 0:
                left[flow] = sizes[flow]
            else:
                ends[flow] = starts[flow]
    return ends
