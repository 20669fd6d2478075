"""Times for traces of work by the message graph's own rules, without any machine."""

import attrs
import numpy as np

from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.gaps import first_events, gaps_of, slept
from parcast_traces.trace.calls import SLEEP
from parcast_traces.trace.columns import BYTES, END, NAME, START


def with_times(trace, costs, seconds):
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
    times = trace.events.times.copy()
    gaps = gaps_of(trace) * seconds + slept(trace)
    times[trace.events.whole[:, NAME] == SLEEP, BYTES] = 0.0  # it is in the times now
    times[:, START] = times[:, END] = 0.0
    resting = attrs.evolve(trace, events=attrs.evolve(trace.events, times=times))
    rows = np.flatnonzero(gaps)
    network = Perturbation.of(
        noise=costs.overhead, latency=costs.latency or 0.0, per_byte=costs.per_byte or 0.0
    )
    delays = propagate(
        resting,
        attrs.evolve(network, removed=(rows, gaps[rows])),
        Recorded(latency=0.0, per_byte=0.0, eager_max=costs.eager_max),
        "clocked",
        every_end=True,
    )
    times[:, END] = delays.ends[:, 0]
    times[1:, START] = times[:-1, END]
    times[first_events(trace), START] = 0.0
    times[:, START] += gaps
    return attrs.evolve(resting, tick=1.0, comparable=True, timed=True)
