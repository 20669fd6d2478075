"""The algorithm of each collective: the one whose prediction is nearest to what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.machine import Estimate
from parcast_machines_from.estimating.numbers import Stated
from parcast_machines_from.records import Reading, Series

if TYPE_CHECKING:
    from parcast import Registry

#: Rules that choose an algorithm by size.
LIBRARIES = ("openmpi", "mpich")

#: What is tried beside these: the algorithms of a collective.
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "allreduce": (
        "dissemination", "ring", "tree", "recursive-doubling", "rabenseifner", "hierarchical",
    ),
    "alltoall": ("bruck", "pairwise", "linear", "scattered"),
    "allgather": ("dissemination", "ring", "neighbor"),
    "bcast": ("binomial", "chain", "binary", "scatter-allgather", "scatter-ring-allgather"),
    "reduce": ("binomial", "chain", "binary", "rabenseifner"),
    "barrier": ("dissemination", "recursive-doubling", "tree"),
}  # fmt: skip

#: With more processes it takes minutes to try all of them.
_PROCESSES = 64

#: An algorithm is named whose median factor is less than this, and less than another's.
_CLOSE = math.log(1.3)


def with_collectives(registry: Registry, result: Estimate, reading: Reading) -> Estimate:
    """Return the estimate with ``network.collectives``, where outputs tell algorithms apart.

    Parameters
    ----------
    result
        A machine with the numbers of pairs; without these nothing is tried.
    reading
        All that was read.
    """
    if "startup" not in result.data.get("network", {}):
        return result
    borrowed = "network.collectives" in result.taken
    instead = f"; {result.others.name}'s is taken" if borrowed and result.others else ""
    names, sources, missing = [], [], []
    for benchmark in CANDIDATES:
        series = [
            item
            for item in reading.series
            if item.benchmark == benchmark
            and item.memory == "host"
            and 2 < (item.processes or 0) <= _PROCESSES
        ]
        if not series:
            continue
        ranked = _ranked(registry, result, benchmark, series)
        where = ", ".join(item.where for item in series)
        (best, name), (second, runner) = ranked[:2]
        if best < _CLOSE and second > 1.2 * best:
            names.append(f"{benchmark} {name}")
            sources.append(
                f"{name}, {100 * (math.exp(best) - 1):.0f} % off in the median, {runner} "
                f"{100 * (math.exp(second) - 1):.0f} % ({where})"
            )
        else:
            missing.append(
                f"network.collectives {benchmark!r}: {name} is nearest to {where}, "
                f"{100 * (math.exp(best) - 1):.0f} % off in the median, {runner} "
                f"{100 * (math.exp(second) - 1):.0f} %{instead}"
            )
    result = attrs.evolve(result, open=(*result.open, *missing))
    if not names:
        return result
    stated = Stated("network.collectives", ", ".join(names), "fitted: " + "; ".join(sources))
    return attrs.evolve(result, numbers=(*result.numbers, stated))


def _ranked(
    registry: Registry, result: Estimate, benchmark: str, series: Sequence[Series]
) -> list[tuple[float, str]]:
    """Return each algorithm with the median of how many times off it is, as logarithms.

    Rules that come to what an algorithm comes to are left out.
    """
    ranked: list[tuple[float, str]] = []
    for name in (*CANDIDATES[benchmark], *LIBRARIES):
        network = {**result.data["network"], "collectives": f"{benchmark} {name}"}
        machine = registry.machine({**result.data, "network": network})
        checked = check_machine(
            registry, machine, Reading(tuple(series)), limit=_PROCESSES, samples=0
        )
        factors = [abs(math.log(item.predicted / item.measured)) for item in checked.compared]
        if factors:
            factor = float(np.median(factors))
            if not any(math.isclose(factor, better, abs_tol=1e-9) for better, _ in ranked):
                ranked.append((factor, name))
    return [*sorted(ranked), (math.inf, "none"), (math.inf, "none")]
