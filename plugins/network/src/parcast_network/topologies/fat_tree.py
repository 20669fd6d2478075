"""Fat-trees: extended generalized fat-trees, XGFT (Öhring et al., IPPS 1995)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.model import Fabric, Ports
from parcast_network.description import Description
from parcast_network.topologies.cables import Bundle, cabled, first_links

#: What switches of each level are called, in trees of so many levels.
_WORDS = {1: ("switch",), 2: ("leaf", "spine"), 3: ("leaf", "spine", "core")}

_Ports = NDArray[Any]


def fat_tree(description: Description, ports: Ports) -> Fabric:
    """Return a tree of switches with several roots.

    Level l has ``prod(up[:l]) * prod(down[l:])`` switches, the ports being level 0. A switch's
    number has a digit for each level, the lowest first: those below l count to ``up``, as they
    say which of the parallel switches it is; the others count to ``down``, and say above which
    ports it stands. Two are cabled, ``cables`` times, where all digits but that of the lower
    level agree.
    """
    down, up = description.down, description.up
    cables = description.cables or (1,) * len(down)
    bundles = [
        _bundle(description, ports, level, up[level] * cables[level])
        for level in range(1, len(down))
    ]
    firsts = first_links(ports, bundles)
    choose = _by_hash(ports.seed) if description.routing == "ecmp" else _by_destination(up)
    downs = [prod(down[:level]) for level in range(len(down) + 1)]
    ups = [prod(up[:level]) for level in range(len(up) + 1)]

    def routes(sources: _Ports, targets: _Ports) -> _Ports:
        sources, targets = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        height = len(bundles)
        table = np.full((len(sources), 2 * height), -1, np.int32)
        top = np.zeros(len(sources), np.int64)  # levels of switches that a message climbs
        parallel = np.zeros(len(sources), np.int64)  # which of them it has reached
        steps = []
        for level, bundle in enumerate(bundles, 1):
            apart = sources // downs[level] != targets // downs[level]
            top += apart
            width = up[level] * cables[level]
            port = choose(sources, targets, level, width)
            for switch, way in ((sources, 0), (targets, 1)):
                cable = ((switch // downs[level]) * ups[level] + parallel) * width + port
                steps.append((level, way, apart, firsts[level - 1] + bundle.link(cable, way)))
            parallel = parallel + (port % up[level]) * ups[level]
        for level, way, apart, link in steps:
            rows = np.flatnonzero(apart)
            column = 2 * top[rows] - level if way else np.full(len(rows), level - 1)
            table[rows, column] = link[rows]
        return table

    return cabled(
        ports, bundles, routes,
        bandwidth=description.at_level("bandwidth", 0),
        latency=description.at_level("latency", 0),
    )  # fmt: skip


def _bundle(description: Description, ports: Ports, level: int, width: int) -> Bundle:
    """Return the cables from the switches of a level to those above."""
    down, up = description.down, description.up
    lower = prod(up[:level]) * prod(down[level:])
    stated = description.at_level("bandwidth", level)

    def ends(cable: int) -> tuple[str, str]:
        switch, port = divmod(cable, width)
        parallel, above = switch % prod(up[:level]), switch // prod(up[:level])
        number, side = port % up[level], port // up[level]
        parent = (above // down[level] * up[level] + number) * prod(up[:level]) + parallel
        name = switch_name(len(down), level + 1, parent)
        return switch_name(len(down), level, switch), f"{name} cable{side}" if side else name

    return Bundle(
        count=lower * width,
        bandwidth=ports.bandwidth if stated is None else stated,
        latency=description.at_level("latency", level),
        ends=ends,
        half=description.half,
    )


def switch_name(levels: int, level: int, number: int) -> str:
    """Return what people call a switch: ``leaf3``, ``spine1``."""
    words = _WORDS.get(levels)
    return f"{words[level - 1]}{number}" if words else f"level{level} switch{number}"


def _by_destination(up: tuple[int, ...]) -> Callable[[_Ports, _Ports, int, int], _Ports]:
    """Return d-mod-k: each destination has a way of its own (Zahavi, 2010, equation 1).

    It goes up from level l by port ``destination // prod(up[:l]) mod up[l] * cables[l]``, and
    comes down by the cable of the same number.
    """

    def choose(_sources: _Ports, targets: _Ports, level: int, width: int) -> _Ports:
        return targets // prod(up[:level]) % width

    return choose


def _by_hash(seed: int) -> Callable[[_Ports, _Ports, int, int], _Ports]:
    """Return ecmp: the ports of a route are drawn, all the same for two ends at a seed.

    The hash is splitmix64 (Steele et al., OOPSLA 2014) of seed, source, destination and level.
    """

    def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))

    def choose(sources: _Ports, targets: _Ports, level: int, width: int) -> _Ports:
        value = mixed(np.array([seed % 2**64], np.uint64))
        for part in (sources, targets, np.array([level])):
            value = mixed(value ^ part.astype(np.uint64))
        return (value % np.uint64(width)).astype(np.int64)

    return choose
