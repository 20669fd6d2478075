"""Messages that share links in max-min fair rates: their classes, and the links of a net.

The messages of a class pass the same links, and are as fast where they are alone. Rates are over
each message's share of a full link, and relative to the fastest of all; a class that is slower has
a link of its own besides, with as much capacity as its messages can use.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs, Wiring
from parcast.quantities import distinct_rows
from parcast_petri.nets.net import Link, Tokens

#: The class of messages that never share a link that could be full.
ALONE = -1

#: How much more than all of its messages together can use, relative to it, a link has that is
#: never full: what rounding may be.
_ROUNDED = 1e-12


@attrs.frozen(eq=False)
class Flows:
    """Messages by class, and the links of all classes."""

    number: NDArray[np.int64]  #: of each message its class, or `ALONE`
    work: NDArray[np.float64]  #: of each message, its seconds at the rate of the fastest
    links: tuple[Link, ...]

    @classmethod
    def of(cls, costs: Costs, src: Any, dst: Any, size: Any) -> Flows:
        """Return the classes of messages of ``size`` bytes between these ranks."""
        per_byte = np.asarray(costs.transfer_per_byte(src, dst, size), float)
        share = np.asarray(costs.share(src, dst), float)
        flowing = costs.on_wire(src, dst, size) * per_byte > 0
        number, work = np.full(len(src), ALONE), np.zeros(len(src))
        routes, weights = np.zeros((len(src), 0), np.int32), np.ones(0)
        if np.any(flowing):
            routes, weights = _routes(costs.wiring(), src, dst, per_byte, flowing)
            flowing &= np.any(routes >= 0, axis=1)
        if not np.any(flowing):
            return cls(number, work, ())
        own = per_byte * share
        fastest = own[flowing].min()
        keys = (*routes[flowing].T, own[flowing], share[flowing])
        first, number[flowing] = distinct_rows(keys)
        work[flowing] = (costs.on_wire(src, dst, size) * fastest / share)[flowing]
        loads = weights * share[flowing][first, None]
        of_classes = routes[flowing][first], loads, own[flowing][first]
        return cls(number, work, _links(costs.wiring(), *of_classes, float(fastest)))


def class_load(number: int) -> str:
    """Return the name that counts the messages of a class that are on their way."""
    return f"flow_{number}"


def _routes(wiring: Wiring, src: Any, dst: Any, per_byte: Any, flowing: Any) -> Any:
    """Return the links of each message that may be full or -1, and the weights of columns."""
    size = len(wiring.nodes)
    pairs, row = np.unique(np.asarray(src, np.int64) * size + dst, return_inverse=True)
    routes, weights = wiring.loads(*np.divmod(pairs, size))
    demand = np.bincount(row.ravel(), np.where(flowing, 1 / np.where(flowing, per_byte, 1), 0))
    passes = routes >= 0
    most = np.bincount(
        routes[passes],
        (demand[:, None] * weights.astype(float))[passes],
        minlength=len(wiring.capacity),
    )
    full = wiring.shared & (most > wiring.capacity * (1 + _ROUNDED))
    routes = np.where(passes & full[routes], routes, -1)
    for weight in np.unique(weights):  # what passes the same links in another order is of one class
        routes[:, weights == weight] = np.sort(routes[:, weights == weight], axis=1)
    return routes[row.ravel()], weights.astype(float)


def _links(
    wiring: Wiring, routes: Any, weights: Any, per_byte: Any, fastest: float
) -> tuple[Link, ...]:
    """Return the links of classes, given the route of each, its weights, and its seconds a byte."""
    loads: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for number, passed in enumerate(zip(routes.tolist(), weights.tolist(), strict=True)):
        for link, weight in zip(*passed, strict=True):
            if link >= 0:
                loads[link][class_load(number)] += weight
    relative = (fastest / (1 / wiring.capacity)).tolist()
    links = [
        Link(Tokens.read(repr(relative[link])), tuple(loads[link]), tuple(loads[link].values()))
        for link in sorted(loads)
    ]
    for number, slower in enumerate((fastest / per_byte).tolist()):
        if slower < 1:
            links.append(
                Link(Tokens.read(f"{slower!r}*{class_load(number)}"), (class_load(number),))
            )
    return tuple(links)
