"""Dragonflies: groups of routers that are all cabled to each other (Kim et al., ISCA 2008)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.model import Fabric, Ports
from parcast_network.description import Description
from parcast_network.topologies.cables import Bundle, cabled, first_links


def dragonfly(description: Description, ports: Ports) -> Fabric:
    """Return groups of routers: one cable between two routers of a group, and between two groups.

    The cable of group i to group j is at router ``j % routers`` of group i and at router
    ``i % routers`` of group j. Ports fill router after router. A message goes to the router that
    has the cable to its destination's group, over it, and to its destination's router.
    """
    groups, routers = int(description.groups or 1), int(description.routers or 1)
    nodes, stated = int(description.nodes or 1), description.bandwidth
    local_bandwidth = ports.bandwidth if stated is None else stated
    far, far_latency = description.global_bandwidth, description.global_latency
    within, between = list(combinations(range(routers), 2)), list(combinations(range(groups), 2))

    def in_group(cable: int) -> tuple[str, str]:
        group, pair = divmod(cable, len(within))
        low, high = within[pair]
        return f"group{group} router{low}", f"group{group} router{high}"

    def across(cable: int) -> tuple[str, str]:
        low, high = between[cable]
        return f"group{low} router{high % routers}", f"group{high} router{low % routers}"

    bundles = [
        Bundle(
            count=groups * len(within), bandwidth=local_bandwidth, latency=description.latency,
            ends=in_group, half=description.half,
        ),
        Bundle(
            count=len(between), bandwidth=local_bandwidth if far is None else far,
            latency=description.latency if far_latency is None else far_latency,
            ends=across, half=description.half,
        ),
    ]  # fmt: skip
    firsts = first_links(ports, bundles)

    def local(group: Any, start: Any, goal: Any) -> Any:
        link = bundles[0].link(
            group * len(within) + pair_number(start, goal, routers), start > goal
        )
        return np.where(start == goal, -1, firsts[0] + link)

    def routes(sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        start, goal = np.asarray(sources, np.int64) // nodes, np.asarray(targets, np.int64) // nodes
        (group, left), (target_group, right) = np.divmod(start, routers), np.divmod(goal, routers)
        same = group == target_group
        out = np.where(same, right, target_group % routers)  # the router that the first hop goes to
        entry = np.where(same, right, group % routers)
        link = bundles[1].link(pair_number(group, target_group, groups), group > target_group)
        table = np.empty((len(start), 3), np.int32)
        table[:, 0] = local(group, left, out)
        table[:, 1] = np.where(same, -1, firsts[1] + link)
        table[:, 2] = np.where(same, -1, local(target_group, entry, right))
        return closed_up(table)

    return cabled(ports, bundles, routes, latency=description.latency)


def pair_number(first: Any, second: Any, count: int) -> Any:
    """Return the number of a pair among those of ``itertools.combinations``, whichever way round.

    Of two that are the same it is any number.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return low * (2 * count - low - 1) // 2 + high - low - 1


def closed_up(table: NDArray[Any]) -> NDArray[Any]:
    """Return routes with their links at the front, in order."""
    order = np.argsort(table < 0, axis=1, kind="stable")
    return np.take_along_axis(table, order, axis=1)
