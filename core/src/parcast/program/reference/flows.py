"""Messages that share links in max-min fair rates, in any exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.model.fabric import NO_LINK
from parcast.model.messages import Wiring


@attrs.define(eq=False)
class Flow:
    """Bytes on their way over all links of a route at once."""

    links: Sequence[int]
    fastest: Any  #: bytes a second that it takes at most; None: whatever its links give
    remaining: Any  #: bytes
    done: Callable[[Any], None]  #: hears when the last byte is through
    rate: Any = 0


class Flows:
    """What is on its way, and how fast: the rates are max-min fair at any moment."""

    def __init__(self, wiring: Wiring | None) -> None:
        self._wiring = wiring
        self._capacity: list[Any] = [] if wiring is None else wiring.capacity.tolist()
        self._shared: list[bool] = [] if wiring is None else wiring.shared.tolist()
        self._flows: list[Flow] = []
        self._now: Any = 0

    def links(self, source: int, target: int) -> list[int]:
        """Return the links of a route that messages share."""
        if self._wiring is None:
            return []
        route = self._wiring.routes(np.array([source]), np.array([target]))[0].tolist()
        return [link for link in route if link != NO_LINK and self._shared[link]]

    def begin(self, flow: Flow, at: Any) -> None:
        """Let a flow begin."""
        self._advance(at)
        self._flows.append(flow)
        self._share()

    def time(self) -> Any:
        """Return when the next flow ends, or None if there is none."""
        return min(map(self._end, self._flows), default=None)

    def end(self) -> None:
        """Let the next flow end, the one that began first of those that end together."""
        flow = min(self._flows, key=self._end)
        end = self._end(flow)
        self._advance(end)
        self._flows.remove(flow)
        self._share()
        flow.done(end)

    def _end(self, flow: Flow) -> Any:
        return self._now + flow.remaining / flow.rate if flow.remaining else self._now

    def _advance(self, at: Any) -> None:
        if at > self._now:
            for flow in self._flows:
                flow.remaining = max(0, flow.remaining - flow.rate * (at - self._now))
            self._now = at

    def _share(self) -> None:
        crossing = {link: self._capacity[link] for flow in self._flows for link in flow.links}
        rates = max_min([(flow.links, flow.fastest) for flow in self._flows], crossing)
        for flow, rate in zip(self._flows, rates, strict=True):
            flow.rate = rate


def max_min(flows: Sequence[tuple[Sequence[int], Any]], capacity: Mapping[int, Any]) -> list[Any]:
    """Return the max-min fair rate of each flow, by progressive filling.

    All rates grow together until a link is full or a flow as fast as it can be; those flows keep
    their rates, and the others grow on (Bertsekas and Gallager, Data Networks, section 6.5.2).

    Parameters
    ----------
    flows
        The links of each, and its fastest rate or None.
    capacity
        Of each link that they pass.
    """
    rates: list[Any] = [None] * len(flows)
    left = dict(capacity)
    growing = set(range(len(flows)))
    while growing:
        count = dict.fromkeys(left, 0)
        for index in growing:
            for link in flows[index][0]:
                count[link] += 1
        levels = {link: left[link] / count[link] for link in left if count[link]}
        limits = [flows[index][1] for index in growing if flows[index][1] is not None]
        level = min([*levels.values(), *limits])
        full = {link for link, share in levels.items() if share == level}
        stopped = {
            index
            for index in growing
            if flows[index][1] == level or not full.isdisjoint(flows[index][0])
        }
        for index in stopped:
            rates[index] = level
            for link in flows[index][0]:
                left[link] -= level
        growing -= stopped
    return rates
