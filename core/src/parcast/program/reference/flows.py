"""Messages that share links in max-min fair rates, in any exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.model.fabric import NO_LINK
from parcast.model.messages import Wiring
from parcast.program.reference.instants import end_of_instant


@attrs.define(eq=False)
class Flow:
    """Bytes on their way over all links of a route at once."""

    links: Mapping[int, Any]  #: what it takes of each for each byte of its own
    fastest: Any  #: bytes a second that it takes at most; None: whatever its links give
    remaining: Any  #: bytes
    done: Callable[[Any], None]  #: hears when the last byte is through
    share: Any = 1  #: of a full link, relative to others
    rate: Any = 0


class Flows:
    """What is on its way, and how fast: the rates are max-min fair at any moment."""

    def __init__(self, wiring: Wiring | None) -> None:
        self._wiring = wiring
        self._capacity: list[Any] = [] if wiring is None else wiring.capacity.tolist()
        self._shared: list[bool] = [] if wiring is None else wiring.shared.tolist()
        self._flows: list[Flow] = []
        self._waiting: list[tuple[Any, Flow]] = []
        self._now: Any = 0

    def links(self, source: int, target: int) -> dict[int, Any]:
        """Return what a message takes of each link that messages share, for each of its bytes."""
        loads: dict[int, Any] = {}
        if self._wiring is not None:
            links, weights = self._wiring.loads(np.array([source]), np.array([target]))
            for link, weight in zip(links[0].tolist(), weights.tolist(), strict=True):
                if link != NO_LINK and self._shared[link]:
                    loads[link] = loads.get(link, 0) + weight
        return loads

    def begin(self, flow: Flow, at: Any) -> None:
        """Let a flow begin at a time that has not passed."""
        self._waiting.append((at, flow))

    def time(self) -> Any:
        """Return when the next flow begins or ends, or None if there is none."""
        times = [at for at, _ in self._waiting]
        return min([*times, *map(self._end, self._flows)], default=None)

    def change(self) -> None:
        """Let those flows begin and end whose instant is next, all at the first time of it."""
        now = max(self._now, self.time())
        until = end_of_instant(now)
        ended = [flow for flow in self._flows if self._end(flow) <= until]
        begun = [flow for at, flow in self._waiting if at <= until]
        self._advance(now)
        self._waiting = [(at, flow) for at, flow in self._waiting if at > until]
        self._flows = [flow for flow in self._flows if flow not in ended] + begun
        self._share()
        for flow in ended:
            flow.done(now)

    def _end(self, flow: Flow) -> Any:
        return self._now + flow.remaining / flow.rate if flow.remaining else self._now

    def _advance(self, at: Any) -> None:
        if at > self._now:
            for flow in self._flows:
                flow.remaining = max(0, flow.remaining - flow.rate * (at - self._now))
            self._now = at

    def _share(self) -> None:
        crossing = {link: self._capacity[link] for flow in self._flows for link in flow.links}
        levels = max_min([_weighed(flow) for flow in self._flows], crossing)
        for flow, level in zip(self._flows, levels, strict=True):
            flow.rate = level * flow.share


def _weighed(flow: Flow) -> tuple[dict[int, Any], Any]:
    """Return a flow as one of equal share, whose rate is this one's over its share."""
    links = {link: weight * flow.share for link, weight in flow.links.items()}
    return links, None if flow.fastest is None else flow.fastest / flow.share


def max_min(
    flows: Sequence[tuple[Mapping[int, Any], Any]], capacity: Mapping[int, Any]
) -> list[Any]:
    """Return the max-min fair rate of each flow, by progressive filling.

    All rates grow together until a link is full or a flow as fast as it can be; those flows keep
    their rates, and the others grow on (Bertsekas and Gallager, Data Networks, section 6.5.2).

    Parameters
    ----------
    flows
        Of each what it takes of its links, for each byte of its own; and its fastest rate or None.
    capacity
        Of each link that they pass.
    """
    rates: list[Any] = [None] * len(flows)
    left = dict(capacity)
    growing = set(range(len(flows)))
    while growing:
        loads = dict.fromkeys(left, 0)
        for index in growing:
            for link, weight in flows[index][0].items():
                loads[link] += weight
        levels = {link: left[link] / loads[link] for link in left if loads[link]}
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
            for link, weight in flows[index][0].items():
                left[link] -= level * weight
        growing -= stopped
    return rates
