"""Synchronous I/O by simulation: runs to the end of one cycle, in which all are joined."""

from __future__ import annotations

from parcast_spmd.models.demands import Demands
from parcast_spmd.models.fork_join import joined
from parcast_spmd.models.phase_answer import Answer
from parcast_spmd.simulation.statistics import make_stations, simulate_to_the_end


def simulate_fork_join(phase: Demands, method: str, *, geometric: bool) -> Answer:
    """Return the answer of independent cycles; ``geometric`` as in `make_stations`."""
    simulated = simulate_to_the_end(phase, make_stations(phase, geometric=geometric), 1)
    time, queuing = simulated.estimate.mean, simulated.network
    return joined(phase, method, time, queuing, crowd=simulated.crowd, sampled=simulated.sampled)
