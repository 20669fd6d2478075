"""What the messages of like processes take of their network, for models of its mean.

What decides on a real network is its fullest link. So w, the part of a transfer that queues at one
station, is the one at which p processes that all send at once take as long as that link is busy:
(1 - w) + p w transfers. That is 1 on a bus, and 0 where each process has a link of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model.costs import Costs
from parcast.model.fabric import NO_LINK, Ports, star
from parcast.model.phases import Traffic
from parcast.quantities.rows import distinct_rows

Column = NDArray[Any]


@attrs.frozen(kw_only=True)
class Messages:
    """Messages by sender, receiver and size: of each kind so many."""

    sources: Column
    targets: Column
    sizes: Column
    counts: Column
    times: float = 1.0  #: how often all of them are sent, one exchange after another
    posted: bool = False  #: each process has all of its own on the way at once

    @classmethod
    def of(
        cls, sources: Any, targets: Any, sizes: Any, counts: Any = 1.0, *,
        times: float = 1.0, posted: bool = False,
    ) -> Messages:  # fmt: skip
        """Return messages, those of the same processes and size as one kind."""
        columns = np.broadcast_arrays(*map(np.ravel, (sources, targets, sizes, counts)))
        first, kind = distinct_rows(columns[:3])
        sources, targets = (ranks[first].astype(np.int64) for ranks in columns[:2])
        numbers = np.bincount(kind, columns[3].astype(float), len(first))
        return cls(
            sources=sources,
            targets=targets,
            sizes=columns[2][first],
            counts=numbers,
            times=times,
            posted=posted,
        )

    def mean(self, seconds: Column, processes: int) -> float:
        """Return what a mean process takes of these seconds of each message.

        That is the longest of its messages where it has all of them on the way at once.
        """
        if self.posted:
            longest = np.zeros(processes)
            np.maximum.at(longest, self.sources, seconds)
            return float(longest.mean())
        return float(np.sum(self.counts * seconds)) / processes


def traffic_of(exchanges: Sequence[Messages], costs: Costs, processes: int) -> Traffic:
    """Return what messages of so many processes take on a machine with these costs, in the mean.

    Parameters
    ----------
    exchanges
        Messages that are on the network together; those of one exchange are over before the next.
    costs
        What the machine charges.
    processes
        p.
    """
    total = Traffic(fixed=0.0, transfer=0.0, level=0.0)
    busiest, busy = 0.0, 0.0
    for messages in exchanges:
        pairs, sizes = (messages.sources, messages.targets), messages.sizes
        overheads = costs.sending(sizes) + costs.receiving(sizes)
        overhead = float(np.sum(messages.counts * overheads)) / processes
        fixed = overhead + messages.mean(costs.latency(*pairs, sizes), processes)
        seconds, link = _fullest(messages, costs)
        transfer = messages.mean(costs.transfer(*pairs, sizes), processes)
        transfer = max(transfer, seconds / processes)
        busy += messages.times * max(seconds, transfer)
        total = attrs.evolve(
            total,
            fixed=total.fixed + messages.times * fixed,
            transfer=total.transfer + messages.times * transfer,
            fullest=link if messages.times * seconds > busiest else total.fullest,
        )
        busiest = max(busiest, messages.times * seconds)
    level = (busy / total.transfer - 1) / (processes - 1) if total.transfer and processes > 1 else 0
    return attrs.evolve(total, level=min(1.0, max(0.0, level)))


def _fullest(messages: Messages, costs: Costs) -> tuple[float, str]:
    """Return the seconds that the fullest link carries messages, and its name."""
    name: Callable[[int], str]
    pairs = (messages.sources, messages.targets)
    sizes = messages.counts * costs.on_wire(*pairs, messages.sizes)
    if costs.contention == "fair":
        wiring = costs.wiring()
        (routes, weights), name = wiring.loads(*pairs), wiring.name
        per_byte = np.where(wiring.shared, 1 / wiring.capacity.astype(float), 0.0)
    elif costs.contention == "endpoint":
        nodes = costs.placement.node
        ports = star(Ports(nodes=int(nodes.max()) + 1, bandwidth=1.0))
        routes = ports.routes(*(nodes[ranks].astype(np.int32) for ranks in pairs))
        routes[costs.placement.same_node(*pairs)] = NO_LINK
        sizes = sizes * costs.transfer_per_byte(*pairs, messages.sizes)
        weights = np.ones(routes.shape[1])
        per_byte, name = 1 / ports.capacity, ports.name
    else:
        return 0.0, ""
    carried = np.zeros(len(per_byte))
    for links, weight in zip(routes.T, weights.astype(float).tolist(), strict=True):
        passed = links != NO_LINK
        np.add.at(carried, links[passed], weight * sizes[passed])
    seconds = carried * per_byte
    link = int(seconds.argmax())
    return float(seconds[link]), name(link) if seconds[link] else ""
