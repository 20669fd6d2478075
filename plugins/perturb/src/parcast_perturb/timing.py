"""Times for traces that have none: their work on a machine that is named."""

from __future__ import annotations

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import Machine
from parcast_perturb.asking import signature
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.gaps import first_events, gaps_of
from parcast_traces.trace.columns import END, START, Trace


def timed_on(trace: Trace, machine: Machine) -> Trace:
    """Return a trace of work as one with times, as if recorded on a machine.

    Raises
    ------
    UnsupportedError
        If the trace has times, or the machine lacks a number.
    """
    if trace.timed:
        raise UnsupportedError(
            f"{trace.where} has times of its own; say what it was recorded on (--recorded-on)"
        )
    seconds = trace.tick  # schedules say how long computation takes, others its operations
    if seconds is None:
        seconds = 1.0 / machine.need("processor.rate", "a trace of operations")
    return with_times(trace, signature(machine, 1.0), seconds)


def with_times(trace: Trace, costs: Recorded, seconds: float) -> Trace:
    """Return a trace with times in seconds.

    Parameters
    ----------
    trace
        Its clocks count work.
    costs
        What the network costs, in seconds.
    seconds
        Of a unit of work.
    """
    work = trace.events.times
    gaps = gaps_of(trace) * seconds
    still = work.copy()
    still[:, START] = still[:, END] = 0.0
    resting = attrs.evolve(trace, events=attrs.evolve(trace.events, times=still))
    rows = np.flatnonzero(gaps)
    added = Perturbation.of(
        noise=costs.overhead, latency=costs.latency or 0.0, per_byte=costs.per_byte or 0.0
    )
    found = propagate(
        resting,
        attrs.evolve(added, removed=(rows, gaps[rows])),
        Recorded(latency=0.0, per_byte=0.0, eager_max=costs.eager_max),
        "clocked",
        every_end=True,
    )
    assert found.ends is not None
    still[:, END] = found.ends[:, 0]
    still[1:, START] = still[:-1, END]
    still[first_events(trace), START] = 0.0
    still[:, START] += gaps
    return attrs.evolve(resting, tick=1.0, comparable=True, timed=True)
