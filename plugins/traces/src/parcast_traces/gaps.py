"""What ranks do between their calls."""

from __future__ import annotations

import numpy as np

from parcast.errors import UnsupportedError
from parcast_traces.trace.calls import SLEEP
from parcast_traces.trace.columns import BYTES, END, NAME, START, Floats, Ints, Trace


def gaps_of(trace: Trace) -> Floats:
    """Return what each rank did before each of its events, from 0 on."""
    times = trace.events.times
    gaps = times[:, START].copy()
    gaps[1:] -= times[:-1, END]
    begins = first_events(trace)
    gaps[begins] = times[begins, START]
    return gaps


def recorded_gaps(trace: Trace) -> Floats:
    """Return the gaps of a recorded run: 0 before a rank's first call, when its clock began."""
    gaps = gaps_of(trace)
    gaps[first_events(trace)] = 0.0
    return gaps


def tick_of(trace: Trace) -> float:
    """Return the seconds of a tick.

    Raises
    ------
    UnsupportedError
        If the times have no unit.
    """
    if trace.tick is None:
        raise UnsupportedError(f"{trace.where}: the times have no unit; state it in the trace")
    return trace.tick


def slept(trace: Trace) -> Floats:
    """Return the seconds that each event of a trace of work sleeps, 0 for all but sleeps."""
    asleep = trace.events.whole[:, NAME] == SLEEP
    seconds: Floats = np.where(asleep, trace.events.times[:, BYTES], 0.0)
    return seconds


def first_events(trace: Trace) -> Ints:
    """Return the first event of each rank that has any."""
    offsets = trace.events.offsets
    firsts: Ints = offsets[:-1][np.diff(offsets) > 0]
    return firsts
