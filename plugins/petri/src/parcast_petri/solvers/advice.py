"""What the solvers cost and take for granted, told without solving: for ``parcast advise``.

The seconds are measured: on one core of a server of 2023, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from parcast import Assumption, Query
from parcast.program.matching import matched_program
from parcast_petri.options import SampledOptions
from parcast_petri.programs.traffic import random_traffic
from parcast_petri.solvers import preparation

#: Seconds to build the net of one operation; to load the kernel; and for one firing.
_BUILT, _LOADED, _FIRED = 36e-6, 0.2, 5e-7


def of_one_run(query: Query) -> float:
    """Return the seconds that one run takes, most of them for building the net."""
    return _LOADED + _BUILT * matched_program(query, pools=True).unrolled.count()


def of_sampled_runs(query: Query) -> float:
    """Return the seconds of as many runs as are asked for, each computation drawn by itself."""
    return _of_runs(query, max(1, _computations(query)))


def of_explicit_runs(query: Query) -> float:
    """Return the seconds of as many runs as are asked for, jobs lasting beyond computations."""
    return _of_runs(query, 1)


def _of_runs(query: Query, independent: int) -> float:
    if not preparation.loads(query) and not random_traffic(query):
        return of_one_run(query)
    options: SampledOptions = query.options or SampledOptions()
    spread = _spread(query) / math.sqrt(independent)
    runs = min(options.most, max(10.0, (1.96 * spread / options.tolerance) ** 2))
    return of_one_run(query) + _FIRED * runs * matched_program(query, pools=True).unrolled.count()


def _spread(query: Query) -> float:
    """Return the deviation over the mean of one process's computing, on the worst node.

    A computation that is short beside the jobs meets a steady number of them, whose spread is
    the root of the utilization.
    """
    unrolled, rate = matched_program(query, pools=True).unrolled, query.machine.processor.rate
    flops = sum(
        float(np.mean(block.arguments["flops"])) * len(unrolled.ranks_of(block)) / query.p
        for block in unrolled.blocks
        if block.op == "compute"
    )
    if not rate or not flops:
        return 0.1
    alone = flops / rate
    return max(
        (
            min(load.spread(alone) / (load.factor() * alone), math.sqrt(load.utilization))
            for load in preparation.loads(query).values()
        ),
        default=0.1,
    )


def _computations(query: Query) -> int:
    """Return how many computations a process has in the mean."""
    unrolled = matched_program(query, pools=True).unrolled
    ranks = (len(unrolled.ranks_of(block)) for block in unrolled.blocks if block.op == "compute")
    return sum(ranks) // query.p


def of_mean(query: Query) -> Iterator[Assumption]:
    """Yield what mean delays take for granted."""
    yield from _of_network(query)
    if loaded := len(preparation.loads(query)):
        yield Assumption(
            "only one node is loaded, so that means are enough",
            f"{loaded} are" if loaded > 1 else "",
        )


def of_sampled(query: Query) -> Iterator[Assumption]:
    """Yield what times that are drawn one by one take for granted."""
    yield from _of_network(query)
    if preparation.loads(query):
        count = _computations(query)
        yield Assumption(
            "each computation meets other jobs than the one before it",
            f"{count} follow each other" if count > 1 else "",
        )


def of_explicit(query: Query) -> Iterator[Assumption]:
    """Yield what jobs in the net take for granted."""
    yield from _of_network(query)
    if preparation.loads(query):
        yield Assumption("jobs of others come at random, whatever the program does")


def _of_network(query: Query) -> Iterator[Assumption]:
    if query.machine.network.contention in ("endpoint", "bus"):
        yield Assumption(
            "messages that meet share the bandwidth by equal parts (option sharing)",
        )
