"""Cables: bundles of links of a kind, numbered behind the links of the ports."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Fabric, Ports, port_name

#: Numbers of links or of ports.
Indices = NDArray[np.int32]

#: From arrays of ports that send and receive to their routes, without the links of the ports.
Routes = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

#: The most routes of single pairs that a fabric keeps: who follows messages asks for one at a time.
_PAIRS = 65_536


@attrs.frozen(kw_only=True)
class Bundle:
    """Cables of a kind; each is two links, one for each way, or one for both."""

    count: int
    bandwidth: Any  #: of a cable each way, or of each cable in an array
    latency: Any = 0.0
    #: the two ends of a cable, of which the first sends on the first way
    ends: Callable[[int], tuple[str, str]]
    half: bool = False
    shared: Any = True  #: of all cables, or of each in an array

    @property
    def ways(self) -> int:
        """Links of a cable."""
        return 1 if self.half else 2

    @property
    def links(self) -> int:
        """How many links there are."""
        return self.count * self.ways

    def link(self, cable: Any, way: Any) -> Any:
        """Return the number of a cable's link among those of the bundle."""
        return cable if self.half else cable * 2 + way

    def name(self, link: int) -> str:
        """Return what people call a link of the bundle."""
        cable, way = divmod(link, self.ways)
        ends = self.ends(cable)
        return f"{ends[0]} <-> {ends[1]}" if self.half else f"{ends[way]} -> {ends[1 - way]}"


def port_links(ports: Ports) -> int:
    """Return how many links the ports have, which come first."""
    return ports.count * (1 if ports.half else 2)


def first_links(ports: Ports, bundles: Sequence[Bundle]) -> list[int]:
    """Return the number of each bundle's first link, and behind them how many links there are."""
    return list(accumulate((bundle.links for bundle in bundles), initial=port_links(ports)))


def cabled(
    ports: Ports,
    bundles: Sequence[Bundle],
    routes: Routes,
    *,
    bandwidth: Any = None,
    latency: Any = 0.0,
) -> Fabric:
    """Return the fabric of ports and of the cables between what they are plugged in.

    Parameters
    ----------
    ports
        Each with links of its own, numbered as those of a star.
    bundles
        Of cables.
    routes
        Between the links of the two ports; numbers are of the fabric.
    bandwidth, latency
        Of the cable of a port; it has the lower of two bandwidths.
    """
    firsts, width = first_links(ports, bundles), 1 if ports.half else 2
    number = Fraction if isinstance(ports.bandwidth, Fraction) else float

    def column(name: str, of_ports: Any) -> NDArray[Any]:
        parts = [np.full(firsts[0], of_ports)]
        for bundle in bundles:
            values = getattr(bundle, name)
            exact = [number(v) if v < np.inf else v for v in np.atleast_1d(values).tolist()]
            parts.append(_of_links(np.array(exact), bundle))
        return np.concatenate(parts)

    def routed(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.int32]:
        if len(sources) == 1:
            return single(int(sources[0]), int(targets[0]))
        return whole(sources, targets)

    @lru_cache(_PAIRS)
    def single(source: int, target: int) -> NDArray[np.int32]:
        row = whole(np.array([source], np.int32), np.array([target], np.int32))
        row.setflags(write=False)
        return row

    def whole(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.int32]:
        between = routes(sources, targets)
        table = np.empty((len(between), between.shape[1] + 2), np.int32)
        table[:, 0] = np.asarray(sources) * width
        table[:, 1:-1] = between
        table[:, -1] = -1
        hops = (between >= 0).sum(axis=1)
        table[np.arange(len(table)), hops + 1] = np.asarray(targets) * width + (width - 1)
        return table

    def name(link: int) -> str:
        if link < firsts[0]:
            return port_name(ports, link)
        which = bisect_right(firsts, link) - 1
        return bundles[which].name(link - firsts[which])

    at_ports = ports.bandwidth if bandwidth is None else min(ports.bandwidth, number(bandwidth))
    shared = [np.ones(firsts[0], np.bool_)]
    shared += [_of_links(np.atleast_1d(b.shared), b).astype(np.bool_) for b in bundles]
    return Fabric(
        capacity=column("bandwidth", at_ports),
        latency=column("latency", number(latency)),
        routes=routed,
        name=name,
        shared=np.concatenate(shared),
    )


def _of_links(values: NDArray[Any], bundle: Bundle) -> NDArray[Any]:
    """Return a value for each link of a bundle: of its cable, or the value of all cables."""
    if len(values) == 1:
        return np.full(bundle.links, values[0])
    return np.repeat(values, bundle.ways)
