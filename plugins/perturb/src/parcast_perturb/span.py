"""How long a run took: one definition, for every command and solver."""

from __future__ import annotations

import numpy as np

from parcast_traces.trace.columns import Floats, Trace


def origins(trace: Trace) -> Floats:
    """Return from when each rank's time counts, in ticks of its clock.

    From the first call of any rank where clocks are one. Where they are not, the times of two ranks
    cannot be compared, so each counts from its own first call. Clocks of a modeled run begin
    with it, at 0.
    """
    begins, nonempty = trace.begins, np.diff(trace.events.offsets) > 0
    if trace.modeled or not nonempty.any():
        return np.zeros(trace.size)
    return np.full(trace.size, begins[nonempty].min()) if trace.comparable else begins


def spans(trace: Trace, delays: Floats | None = None) -> Floats:
    """Return how long each rank took.

    Parameters
    ----------
    trace
        What ran.
    delays
        Of the last ends, in ticks: [rank, replication]; None: the run as recorded.
    """
    ends = trace.ends[:, None] if delays is None else trace.ends[:, None] + delays
    durations: Floats = np.where(
        np.diff(trace.events.offsets)[:, None] > 0, ends - origins(trace)[:, None], 0.0
    )
    return durations


def makespans(trace: Trace, delays: Floats | None = None) -> Floats:
    """Return how long the longest rank took, of each replication; arguments as of `spans`."""
    longest: Floats = spans(trace, delays).max(axis=0, initial=0.0)
    return longest


def last_end(trace: Trace) -> float:
    """Return the latest end on the clocks as they stand, whenever these began."""
    return float(trace.ends.max(initial=0.0))
