"""Closed networks by the exact mean value analysis of LINE, where that is installed.

LINE (Casale, Winter Simulation Conference 2020; BSD-3) shares no code with parcast's own methods.
"""

from __future__ import annotations

import math
import warnings
from importlib.util import find_spec

import numpy as np

from parcast.errors import UnsupportedError
from parcast_spmd.mva.closed_network import ClosedNetwork, NetworkSolution

_MISSING = "LINE is not installed; pip install line-solver brings it"

#: Populations that LINE walks through, a step in plain Python each.
_MOST_STATES = 1_000_000


def missing() -> str | None:
    """Return None, or what is to be installed first."""
    return None if find_spec("line_solver") else _MISSING


def solve_line(network: ClosedNetwork) -> NetworkSolution:
    """Return the means of a network by LINE.

    Raises
    ------
    UnsupportedError
        If LINE is not installed, or would take minutes.
    """
    if (absent := missing()) is not None:
        raise UnsupportedError(absent)
    populations = [job.population for job in network.classes]
    states = math.prod(population + 1 for population in populations)
    if states > _MOST_STATES:
        raise UnsupportedError(
            f"LINE's exact analysis walks through {states:,} populations, and at most "
            f"{_MOST_STATES:,} are taken; use 'auto'"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        from line_solver.api.pfqn import pfqn_mva

    queues = [station for station in network.stations if station.type == "queue"]
    think = np.zeros(len(populations))
    for station in network.stations:
        think += 0.0 if station.type == "queue" else np.array(station.demand)
    demand = np.array([station.demand for station in queues]).reshape(-1, len(populations))
    lengths = np.zeros(demand.shape)
    if queues:
        throughput, _, jobs, *_ = pfqn_mva(demand, np.array(populations, float), think)
        rates, lengths = np.nan_to_num(throughput).reshape(-1), np.nan_to_num(jobs)
    else:
        rates = np.array(populations) / think
    at_queues = dict(zip([station.name for station in queues], lengths.tolist(), strict=True))
    return NetworkSolution(
        method="line",
        throughput=tuple(rates.tolist()),
        response={
            name: tuple(q / x if x else 0.0 for q, x in zip(row, rates.tolist(), strict=True))
            for name, row in at_queues.items()
        },
        queue_length={
            station.name: tuple(
                at_queues.get(station.name) or (rates * np.array(station.demand)).tolist()
            )
            for station in network.stations
        },
        cycle_time=tuple(
            n / x if x else 0.0 for n, x in zip(populations, rates.tolist(), strict=True)
        ),
    )
