"""What messages keep busy: links that they share fairly, or ports and a bus that serve in turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program.matching import Matched
from parcast.program.source import SENDS
from parcast_pamela.programs.words import resource_of

#: Operations that leave their messages for a later one to wait for.
_POSTING = frozenset({"isend", "irecv"})


def link_seconds(matched: Matched, costs: Costs) -> dict[str, float]:
    """Return how long messages keep the fullest links busy, by name, the fullest first.

    No run is shorter: all that passes a link, headers with it, is through by the end. Nothing
    where no links are shared.
    """
    if costs.contention != "fair":
        return {}
    columns = matched.columns
    messages = np.flatnonzero(columns.among(SENDS))
    sources, targets = columns.rank_of(messages), columns.dst[messages]
    return _shared(sources, targets, columns.amount[messages], costs)


def longest_sending(matched: Matched, costs: Costs) -> float:
    """Return the seconds that all messages of a process take one by one, of whom they take most.

    Of messages that are posted together, with none waited for in between, one latency counts.
    """
    columns = matched.columns
    messages = np.flatnonzero(columns.among(SENDS))
    if not messages.size:
        return 0.0
    sources, targets = columns.rank_of(messages), columns.dst[messages]
    pairs = sources, targets, columns.amount[messages]
    seconds = np.broadcast_to(costs.transfer(*pairs), sources.shape)
    latency = np.broadcast_to(costs.latency(*pairs), sources.shape)
    posting = np.cumsum(~columns.among(_POSTING))[messages]  # operations stand rank by rank
    _, group = np.unique(np.stack((sources, posting)), axis=1, return_inverse=True)
    group = group.ravel()
    longest = np.zeros(group.max() + 1)
    np.maximum.at(longest, group, latency)
    owner = np.zeros(len(longest), np.int64)
    owner[group] = sources
    return float((np.bincount(sources, seconds) + np.bincount(owner, longest)).max())


def fullest(
    sources: NDArray[Any], targets: NDArray[Any], sizes: NDArray[Any], costs: Costs
) -> tuple[str, float]:
    """Return the resource that messages of one step keep busy longest, and for how long."""
    if costs.contention == "fair":
        seconds = {resource_of(k): v for k, v in _shared(sources, targets, sizes, costs).items()}
    else:
        seconds = defaultdict(float)
        for name, each in passed(sources, targets, sizes, costs):
            seconds[resource_of(name)] += each
    return max(seconds.items(), key=lambda item: item[1], default=("", 0.0))


def passed(
    sources: NDArray[Any], targets: Any, sizes: Any, costs: Costs
) -> Iterator[tuple[str, float]]:
    """Yield what messages between nodes hold where they are served in turn, and for how long."""
    if costs.contention in {"none", "fair"}:
        return
    node = costs.placement.node
    seconds = np.broadcast_to(costs.transfer(sources, targets, sizes), len(sources)).tolist()
    to = np.broadcast_to(node[targets], len(sources)).tolist()
    for source, target, duration in zip(node[sources].tolist(), to, seconds, strict=True):
        if source == target:
            continue
        if costs.contention == "bus":
            yield "bus", duration
        else:
            yield f"out[{source}]", duration
            yield f"into[{target}]", duration


def _shared(
    sources: NDArray[Any], targets: NDArray[Any], sizes: NDArray[Any], costs: Costs
) -> dict[str, float]:
    from parcast_network.utilization import link_utilization

    whole = np.broadcast_to(costs.on_wire(sources, targets, sizes), len(sources))
    return link_utilization(costs.wiring(), sources, targets, whole, 1.0)
