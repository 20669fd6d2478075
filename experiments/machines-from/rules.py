"""Do collectives of public clouds follow the rules of Open MPI, and do they grow by these?

    python experiments/machines-from/rules.py ../shared/truth/perfstudy/points.csv

A library takes another algorithm at another number of processes, which no growth of smaller runs
tells. Where the measured times jump at the sizes at which its rules change the algorithm, as those
predicted of the cluster's own messages do, the predicted growth is taken for sizes at which the
algorithm changes with the number of processes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from blind import FEWEST, groups, laws

from parcast import Registry
from parcast.program.matching.collectives.libraries import LIBRARIES
from parcast_machines_from.checking import PROGRAMS, check_machine
from parcast_machines_from.estimating.growth import PAIRS, ahead, steps_of
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.records import Reading, Series

#: The library whose rules are tried.
LIBRARY = "openmpi"

#: With more processes it takes long to predict all sizes.
MOST_PROCESSES = 1 << 15

#: Bytes of an element that rules count by; benchmarks sum floats, of half as many.
_ELEMENT = 8

#: Assumed: messages within a node. How collectives grow hardly depends on it.
_NODE = {"startup": "0.5 us", "bandwidth": "8 GB/s"}

#: Times by size.
Times = Mapping[float, float]


def growth_by_rules(
    registry: Registry, pairs: Sequence[Series], series: Sequence[Series], nodes: int
) -> Mapping[float, float]:
    """Return by how much the logarithm of a size's time rises, where its algorithm changes.

    Nothing if no rules are seen.

    Parameters
    ----------
    registry
        Predicts.
    pairs
        Benchmarks between two processes on fewer nodes.
    series
        One collective at several numbers of nodes.
    nodes
        More than any of them.
    """
    ordered = sorted(series, key=lambda item: item.nodes or 0)
    last = ordered[-1]
    per_node = _per_node(last)
    if not per_node or last.benchmark not in PROGRAMS or nodes * per_node > MOST_PROCESSES:
        return {}
    near = [item for item in pairs if item.benchmark in PAIRS and item.memory == last.memory]
    data = _machine(near, last.nodes or 0, per_node)
    if data is None:
        return {}
    known = [item for item in ordered if _per_node(item) == per_node]
    times = [_predicted(registry, data, item, item.nodes or 0) for item in known]
    if not _jumps_are_those_of_the_rules(known, times):
        return {}
    ahead = _predicted(registry, data, last, nodes)
    sizes = [size for size in ahead if size in times[-1]]
    more = attrs.evolve(last, processes=nodes * per_node)
    return {
        size: math.log(ahead[size] / times[-1][size])
        for size, now, then in zip(sizes, _names(last, sizes), _names(more, sizes), strict=True)
        if now != then
    }


def _per_node(series: Series) -> int:
    """Return the processes of a node; 0 where they are not known, or not alike."""
    processes, nodes = series.processes or 0, series.nodes or 1
    return 0 if processes % nodes else processes // nodes


def _machine(pairs: Sequence[Series], nodes: int, per_node: int) -> dict[str, Any] | None:
    """Return the machine that pairs on at most so many nodes show, without contention."""
    near: dict[str, Series] = {}
    for item in sorted(pairs, key=lambda item: item.nodes or 0):
        if (item.nodes or 0) <= nodes:
            near[item.benchmark] = attrs.evolve(item, memory="host")
    data = estimate(Reading(tuple(near.values())), "cluster", {"node": per_node}).data
    if "startup" not in data.get("network", {}):
        return None
    levels = [{"name": "node", "size": per_node, **_NODE}]
    network = {**data["network"], "levels": levels, "contention": "none", "collectives": LIBRARY}
    return {**data, "network": network}


def _predicted(registry: Registry, data: dict[str, Any], series: Series, nodes: int) -> Times:
    """Return the predicted time of each size on so many nodes.

    Sizes are left out with an element for each process of floats, and not of what rules count by.
    """
    processes = _per_node(series) * nodes
    machine = registry.machine({**data, "nodes": {**data["nodes"], "count": nodes}})
    asked = attrs.evolve(series, nodes=nodes, processes=processes, memory="host")
    checked = check_machine(registry, machine, Reading((asked,)), limit=processes, samples=0)
    fewest = _ELEMENT * processes
    return {
        item.size: item.predicted
        for item in checked.compared
        if not item.size < fewest <= 2 * item.size
    }


def _names(series: Series, sizes: Sequence[float]) -> list[str]:
    """Return the algorithm of each size by the rules."""
    algorithm = LIBRARIES[LIBRARY].algorithm
    return [algorithm(series.benchmark, series.processes or 0, size) for size in sizes]


def _jumps_are_those_of_the_rules(known: Sequence[Series], times: Sequence[Times]) -> bool:
    """Tell whether measured times change with the algorithm more as predicted than smoothly."""
    by_rules = smoothly = 0.0
    for series, predicted in zip(known, times, strict=True):
        sizes = [value.size for value in series.values if value.size in predicted]
        measured = {value.size: value.value for value in series.values}
        rises, expected = (
            np.diff(np.log([column[size] for size in sizes])) for column in (measured, predicted)
        )
        names = _names(series, sizes)
        for at in range(1, len(rises) - 1):
            if names[at] != names[at + 1]:
                by_rules += abs(rises[at] - expected[at])
                smoothly += abs(rises[at] - (rises[at - 1] + rises[at + 1]) / 2)
    return by_rules < smoothly


def errors_by(
    steps: Mapping[float, float], true: Mapping[float, float], usual: float
) -> list[float]:
    """Return the error of each size by its step, or by the usual one where it has none."""
    return [abs(math.expm1(steps.get(size, usual) - rise)) for size, rise in true.items()]


def rehearsed(registry: Registry, every: Mapping[tuple[str, str, str], list[Series]]) -> None:
    """Print how the second largest number of nodes is predicted from the one below."""
    collectives = {
        key: items for key, items in every.items() if key[1] not in PAIRS and len(items) > FEWEST
    }
    usual, followed = [], []
    for (system, _, memory), items in collectives.items():
        known, truth = items[-3:-1]
        rest = [steps_of(*other[-3:-1]) for key, other in collectives.items() if key[0] != system]
        step = float(np.median([np.median(list(item.values())) for item in rest]))
        steps = growth_by_rules(registry, pairs_of(every, system, known), [known], truth.nodes or 0)
        true = steps_of(known, truth)
        usual += errors_by({}, true, step)
        followed += errors_by(steps, true, step)
        if steps:
            print(
                f"{system} {memory}: {100 * np.median(errors_by(steps, true, step)):.1f} %, by the "
                f"usual step {100 * np.median(errors_by({}, true, step)):.1f} %"
            )
    print(f"all: {100 * np.median(usual):.1f} %, with rules {100 * np.median(followed):.1f} %")


def pairs_of(
    every: Mapping[tuple[str, str, str], list[Series]], system: str, last: Series
) -> list[Series]:
    """Return a cluster's benchmarks on at most as many nodes as a series."""
    return [
        item
        for key, items in every.items()
        for item in items
        if key[0] == system and (item.nodes or 0) <= (last.nodes or 0)
    ]


def judged(registry: Registry, every: Mapping[tuple[str, str, str], list[Series]]) -> None:
    """Print how the largest number of nodes is predicted, where rules are seen."""
    law = laws(dict(every))[False]
    usual, followed = [], []
    for (system, benchmark, memory), items in every.items():
        if benchmark in PAIRS:
            continue
        *known, truth = items
        values = {value.size: value.value for value in truth.values}
        steps = growth_by_rules(
            registry, pairs_of(every, system, known[-1]), known, truth.nodes or 0
        )
        last = {value.size: value.value for value in known[-1].values}
        plain = {item.size: item.value for item in ahead(known, truth.nodes or 0, law)}
        changed = {size: last[size] * math.exp(rise) for size, rise in steps.items()}
        off, by_rules = (
            [abs(column[size] / values[size] - 1) for size in plain if size in values]
            for column in (plain, plain | changed)
        )
        usual += off
        followed += by_rules
        if steps:
            print(
                f"{system} {memory}: {100 * np.median(by_rules):.1f} %, by growth "
                f"{100 * np.median(off):.1f} %"
            )
    print(f"all: {100 * np.median(usual):.1f} %, with rules {100 * np.median(followed):.1f} %")


if __name__ == "__main__":
    points = groups(Path(sys.argv[1]))
    print("second largest:")
    rehearsed(Registry(), points)
    print("largest:")
    judged(Registry(), points)
