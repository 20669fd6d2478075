"""Times for traces that have none: their work on a machine that is named."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np

from parcast import Query
from parcast.errors import UnsupportedError
from parcast.model import Costs, Machine
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.gaps import first_events, gaps_of, slept
from parcast_traces.trace.calls import SLEEP
from parcast_traces.trace.columns import BYTES, END, NAME, NONE, OUT, START, Floats, Trace


def timed_on(trace: Trace, machine: Machine) -> tuple[Trace, Recorded]:
    """Return a trace of work as a run by the machine's table of costs, and what calls cost there.

    It is the run that `Clocked` answers for the same trace and machine: collectives are the
    messages of the machine's algorithms.

    Raises
    ------
    UnsupportedError
        If the trace has times, the machine lacks a number, or a message graph cannot say what it
        does.
    """
    from parcast_perturb.from_program import ZERO, of_work
    from parcast_traces.workload import Traced, workload

    if trace.timed:
        raise UnsupportedError(
            f"{trace.where} has times of its own; say what it was recorded on (--recorded-on)"
        )
    query = Query(workload=workload(trace, Path(trace.where)), machine=machine, p=trace.size)
    made = of_work(query)
    content: Traced = made.workload.content
    still = content.trace
    found = propagate(
        still,
        Perturbation(event=content.added),
        attrs.evolve(ZERO, eager_max=content.eager_limit),
        "clocked",
        every_end=True,
    )
    assert found.ends is not None
    times, delays = still.events.times.copy(), found.ends[:, 0]
    times[:, END] += delays
    moved = delays[:-1].copy()
    moved[first_events(still)[1:] - 1] = 0.0  # of another rank
    times[1:, START] += moved
    timed = attrs.evolve(still, events=attrs.evolve(still.events, times=times), where=trace.where)
    return timed, _recorded(timed, Costs.of(made, ()))


def _recorded(trace: Trace, costs: Costs) -> Recorded:
    """Return what the costs say of a run, in seconds."""
    return Recorded(
        overhead=costs.overhead,
        overhead_per_byte=costs.overhead_per_byte,
        overhead_receive=costs.overhead_receive,
        latency=costs.startup,
        per_byte=costs.per_byte,
        eager_max=costs.eager_limit,
        way=_ways(trace, costs),
    )


def _ways(trace: Trace, costs: Costs) -> Floats | None:
    """Return latency and time of a byte of each event's message; None: they are the same of all."""
    sends = np.flatnonzero(trace.events.whole[:, OUT] != NONE)
    source = trace.events.rank_of(sends)
    target = trace.channels.target[trace.events.whole[sends, OUT]]
    local = costs.placement.same_node(source, target)
    network = (costs.startup, costs.per_byte)
    within = (costs.local_startup, costs.local_per_byte)
    if within == network or not local.any():
        return None
    found = np.tile(np.array(network), (trace.count, 1))
    found[sends[local]] = within
    return found


def with_times(trace: Trace, costs: Recorded, seconds: float) -> Trace:
    """Return a trace with times in seconds, by the graph's own rules for calls.

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
    gaps = gaps_of(trace) * seconds + slept(trace)
    still = work.copy()
    still[trace.events.whole[:, NAME] == SLEEP, BYTES] = 0.0  # it is in the times now
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
