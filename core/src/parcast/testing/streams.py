"""Messages in max-min fair rates, written apart from `parcast.program.reference.flows`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.model.costs import Costs
from parcast.model.fabric import NO_LINK
from parcast.program.reference import end_of_instant


@attrs.define(eq=False)
class Stream:
    """The bytes of a message that are not through yet, and what they pass."""

    rest: Any
    fastest: Any  #: bytes a second
    links: Mapping[int, Any]  #: what it takes of each for each byte of its own
    share: Any = 1  #: of a full link, relative to others
    rate: Any = 0


class Streams:
    """All messages whose bytes are on their way, by what they carry."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._wiring = None if costs.fabric is None else costs.wiring()
        self._streams: dict[Any, Stream] = {}
        self._asked: list[tuple[Any, Any, Stream]] = []
        self._since: Any = 0

    def route(self, source: int, target: int) -> list[int]:
        """Return all links between two ranks."""
        if self._wiring is None:
            return []
        rows = self._wiring.routes(np.array([source]), np.array([target]))
        return [link for link in rows[0].tolist() if link != NO_LINK]

    def crossed(self, source: int, target: int) -> dict[int, Any]:
        """Return how many bytes each link carries for each one between two ranks."""
        carried: dict[int, Any] = dict.fromkeys(self.route(source, target), 1)
        if self._wiring is not None and self._wiring.nodes[source] != self._wiring.nodes[target]:
            for link in self.route(target, source) if self._wiring.acknowledgements else ():
                if link not in carried:
                    carried[link] = self._wiring.acknowledgements
                elif self._wiring.shared[link]:
                    carried[link] += self._wiring.acknowledgements
        return carried

    def add(self, letter: Any, rest: Any, per_byte: Any, at: Any) -> None:
        """Let the bytes of a letter go, ``1 / per_byte`` a second of them where nothing limits."""
        assert self._wiring is not None
        crossed = self.crossed(letter.source, letter.target)
        limits = [1 / per_byte] if per_byte else []
        limits += [self._wiring.capacity[link] / weight for link, weight in crossed.items()]
        links = {link: weight for link, weight in crossed.items() if self._wiring.shared[link]}
        share = self._share(letter.source, letter.target)
        self._asked.append((at, letter, Stream(rest, min(limits), links, share)))

    def _share(self, source: int, target: int) -> Any:
        """Return one over the latency of a route and the time of some bytes on each link."""
        costs, seconds = self._costs, self._costs.startup
        if costs.weight_bytes is None or self._wiring is None:
            return 1
        near = [level for level in costs.levels if level.instance[source] == level.instance[target]]
        if near:
            seconds = near[0].startup
        elif self._wiring.nodes[source] == self._wiring.nodes[target]:
            seconds = costs.local_startup
        for link in self.route(source, target):
            seconds += self._wiring.latency[link]
            if (capacity := self._wiring.capacity[link]) < np.inf:
                seconds += costs.weight_bytes / capacity
        return 1 / seconds if seconds else 1

    def next_change(self) -> Any:
        """Return when the first goes or is through, or None if there is none."""
        ends = [self._since + stream.rest / stream.rate for stream in self._streams.values()]
        return min([*(time for time, _, _ in self._asked), *ends], default=None)

    def change(self, now: Any) -> list[Any]:
        """Let all go, or take them out, whose instant it is; return what these carried."""
        until = end_of_instant(now)
        through = [
            letter
            for letter, stream in self._streams.items()
            if self._since + stream.rest / stream.rate <= until
        ]
        self._go_on(now)
        for letter in through:
            del self._streams[letter]
        self._streams |= {letter: stream for time, letter, stream in self._asked if time <= until}
        self._asked = [entry for entry in self._asked if entry[0] > until]
        self._choose_rates()
        return through

    def _go_on(self, now: Any) -> None:
        passed = max(now - self._since, 0)
        for stream in self._streams.values():
            stream.rest = max(stream.rest - passed * stream.rate, 0)
        self._since += passed

    def _choose_rates(self) -> None:
        assert self._wiring is not None
        streams = list(self._streams.values())
        used = {link for stream in streams for link in stream.links}
        capacity = {link: self._wiring.capacity[link] for link in used}
        choose_rates(streams, capacity)


def choose_rates(streams: Sequence[Stream], capacity: Mapping[int, Any]) -> None:
    """Set the rates: the tightest bottleneck first, link by link.

    A link's share is what those that are settled leave of it, for each that is not, times what
    each has relative to others. Whoever can take no more than the smallest share of all is settled
    at what it can take; else those of the tightest link are, at its share.
    """
    open_streams = list(streams)
    settled: list[Stream] = []
    while open_streams:
        shares = {}
        for link, whole in capacity.items():
            crossing = sum(stream.links.get(link, 0) * stream.share for stream in open_streams)
            taken = sum(stream.rate * stream.links.get(link, 0) for stream in settled)
            if crossing:
                shares[link] = (whole - taken) / crossing
        tightest = min(shares, key=lambda link: shares[link], default=None)
        slow = [
            stream
            for stream in open_streams
            if tightest is None or stream.fastest <= shares[tightest] * stream.share
        ]
        chosen = slow or [stream for stream in open_streams if tightest in stream.links]
        for stream in chosen:
            if slow or tightest is None:
                stream.rate = stream.fastest
            else:
                stream.rate = shares[tightest] * stream.share
        settled += chosen
        open_streams = [stream for stream in open_streams if stream not in chosen]
