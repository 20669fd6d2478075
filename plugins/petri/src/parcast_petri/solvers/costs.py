"""What runs of a net cost: seconds measured on one core by ``core/benchmarks/costs.py``."""

from __future__ import annotations

import math

import numpy as np

from parcast import Query
from parcast.program.matching import matched_program
from parcast_petri.options import Options, SampledOptions
from parcast_petri.programs.at_once import is_plain
from parcast_petri.programs.traffic import random_traffic
from parcast_petri.solvers.preparation import loads

#: Seconds for an answer; to build the net of one operation, in columns and by objects; for one
#: firing; for an operation beside those of each other process that shares links fairly; and to
#: find by a plain run who takes a task.
_ANSWER, _IN_COLUMNS, _BUILT, _FIRED, _BESIDE, _DEALT = 2e-3, 1.5e-6, 12e-6, 5e-7, 3e-8, 3e-4


def one_run(query: Query) -> float:
    """Return the seconds that one run takes, most of them for building the net."""
    plain = not loads(query) and is_plain(query, query.options or Options())
    built = _IN_COLUMNS if plain else _BUILT
    if query.machine.network.contention == "fair":
        built += _BESIDE * query.p
    unrolled = matched_program(query, pools=True).unrolled
    return _ANSWER + built * unrolled.count() + _DEALT * unrolled.tasks()


def several_runs(query: Query, independent: int = 1) -> float:
    """Return the seconds of as many runs as the options need.

    A process's time is a sum of ``independent`` draws, which deviates less than one of the same
    mean.
    """
    if not loads(query) and not random_traffic(query):
        return one_run(query)
    options: SampledOptions = query.options or SampledOptions()
    spread = _spread(query) / math.sqrt(independent)
    runs = min(options.most, max(10.0, (1.96 * spread / options.tolerance) ** 2))
    return one_run(query) + _FIRED * runs * matched_program(query, pools=True).unrolled.count()


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
            for load in loads(query).values()
        ),
        default=0.1,
    )
