"""Benchmarks at more nodes than were measured: how values grow when nodes double.

The logarithm of a value rises by a step with each doubling of the nodes: what messages say where
they explain a collective (`messages`). Else the step is the mean of the run's own last one,
smoothed over neighboring sizes, and of the usual one of public clusters; then no mechanism is
claimed, since on many clouds the times of collectives on full nodes are those of the slowest
process. The interval is that of public clusters around theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs
import numpy as np

from parcast.errors import ParcastError
from parcast_machines_from.records import Series

#: Benchmarks between two processes; all others are between all.
PAIRS = frozenset({"latency", "bandwidth", "bidirectional"})

#: How much the run's own step counts beside the usual one.
_OWN = 0.5


@attrs.frozen
class Law:
    """The usual step of a doubling, and the ends of the 90 % interval around it, in logarithms."""

    step: float
    low: float
    high: float


@attrs.frozen
class Ahead:
    """A value at more nodes."""

    size: float
    value: float
    low: float  #: of the 90 % interval
    high: float


#: Fitted: 32 benchmarks of 11 public systems and 4 to 128 nodes, 2024
#: (converged-computing/performance-study, MIT licence): of pairs, and of all processes.
PAIR_LAW = Law(step=-0.00023, low=-0.242, high=0.378)
COLLECTIVE_LAW = Law(step=0.266, low=-0.972, high=1.448)
#: Fitted: allreduces of seven of them on their second smallest number of nodes, by messages from
#: the smallest; the step is that of each size.
MESSAGE_LAW = Law(step=0.0, low=-0.18, high=1.044)

Steps = Mapping[float, float]  #: from a message's size to the step of one doubling


def steps_of(before: Series, after: Series) -> Steps:
    """Return by how much the logarithm of each value rises for each doubling of the nodes."""
    if not before.nodes or not after.nodes or before.nodes >= after.nodes:
        raise ParcastError("a step is from fewer nodes to more")
    doublings = math.log2(after.nodes / before.nodes)
    values = {value.size: value.value for value in before.values}
    return {
        value.size: math.log(value.value / values[value.size]) / doublings
        for value in after.values
        if value.size in values
    }


def law_of(steps: Sequence[Steps]) -> Law:
    """Return the usual step of several clusters, each left out in turn for the interval.

    Raises
    ------
    ParcastError
        If there are fewer than two clusters.
    """
    if len(steps) < 2:
        raise ParcastError("the usual step of clusters needs two or more of them")
    medians = [float(np.median(list(item.values()))) for item in steps]
    residuals: list[float] = []
    for number, item in enumerate(steps):
        usual = float(np.median(medians[:number] + medians[number + 1 :]))
        residuals += [value - usual for value in item.values()]
    low, high = np.quantile(residuals, [0.05, 0.95])
    return Law(float(np.median(medians)), float(low), float(high))


def ahead(
    series: Sequence[Series], nodes: int, law: Law, steps: Steps = MappingProxyType({})
) -> tuple[Ahead, ...]:
    """Return a benchmark's values at more nodes, from those at fewer.

    Parameters
    ----------
    series
        One benchmark at several numbers of nodes.
    nodes
        More than any of them.
    law
        How such benchmarks grow on other clusters.
    steps
        Those of a doubling where they are known by messages, by size.

    Raises
    ------
    ParcastError
        If no output says its nodes, or there are not fewer.
    """
    ordered = sorted((item for item in series if item.nodes), key=lambda item: item.nodes or 0)
    if not ordered:
        raise ParcastError("no output says on how many nodes it ran")
    last = ordered[-1]
    count = last.nodes or 0
    if nodes <= count:
        raise ParcastError(f"{nodes} nodes are not more than the {count} that were measured")
    smaller = [item for item in ordered if (item.nodes or 0) < count]
    own = smoothed(steps_of(smaller[-1], last)) if smaller else {}
    doublings = math.log2(nodes / count)
    width = math.sqrt(doublings) if doublings < 1 else doublings
    values = []
    for value in last.values:
        step = steps.get(value.size, law.step)
        if value.size in own and value.size not in steps:
            step = _OWN * own[value.size] + (1 - _OWN) * law.step
        middle = value.value * math.exp(step * doublings)
        ends = [middle * math.exp(end * width) for end in (law.low, law.high)]
        values.append(Ahead(value.size, middle, min(*ends, middle), max(*ends, middle)))
    return tuple(values)


def smoothed(steps: Steps) -> Steps:
    """Return the median of each size's step and those of both neighbors."""
    sizes = sorted(steps)
    return {
        size: float(np.median([steps[near] for near in sizes[max(0, i - 1) : i + 2]]))
        for i, size in enumerate(sizes)
    }
