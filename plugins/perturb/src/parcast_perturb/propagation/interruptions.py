"""Noise that comes in time: what interrupts computation, counted on each rank's recorded clock.

An interruption makes the gap that it falls into longer; one that falls into a call is taken to
fall into its waiting, and costs nothing. Periodic ones have a random phase, others come as a
Poisson process. Those that are together strike all ranks at the same times, as co-scheduled
daemons do (Ferreira, Bridges & Brightwell, SC 2008; Hoefler, Schneider & Lumsdaine, SC 2010).
"""

from __future__ import annotations

import numpy as np

from parcast.errors import ParcastError
from parcast_perturb.perturbation import Arrivals
from parcast_traces.trace.columns import END, START, Floats, Ints, Trace

#: More interruptions of one rank than these, or numbers in a table, are not drawn.
_MOST = 50_000_000


def interruptions(
    trace: Trace, arrivals: Arrivals, ranks: Ints, replications: int, seed: int
) -> tuple[Ints, Floats]:
    """Return the events whose gap is interrupted, and what that takes, in ticks.

    The latter is [event, replication].

    Raises
    ------
    ParcastError
        If ranks without a common clock are to be struck together, or there are too many.
    """
    if arrivals.together and not trace.comparable:
        raise ParcastError(
            f"{trace.where}: the clocks of its ranks are not known to be one, so noise cannot "
            "strike them together; leave out ',together'"
        )
    rows, values = [np.empty(0, np.int64)], [np.empty((0, replications))]
    for rank in ranks.tolist():
        events, begin, end = _gaps(trace, rank)
        if not len(events):
            continue
        since, until = float(begin[0]), float(end[-1])
        if arrivals.together:
            since, until = float(trace.begins.min()), float(trace.ends.max())
        lasts = until - since
        if lasts / arrivals.interval * replications > _MOST or len(events) * replications > _MOST:
            raise ParcastError(
                f"{trace.where}: rank {rank} would be interrupted more than {_MOST:,} times; give "
                "a longer interval or fewer replications"
            )
        counts = np.empty((len(events), replications))
        for r in range(replications):
            rng = np.random.default_rng([seed, r] if arrivals.together else [seed, r, rank])
            counts[:, r] = _counts(arrivals, begin - since, end - since, lasts, rng)
        interrupted = counts.any(axis=1)
        rows.append(events[interrupted])
        values.append(counts[interrupted] * arrivals.length)
    return np.concatenate(rows), np.concatenate(values)


def _gaps(trace: Trace, rank: int) -> tuple[Ints, Floats, Floats]:
    """Return the events of a rank that a gap comes before, and when these begin and end.

    Before the first one, what a rank did is known of modeled runs only.
    """
    first, last = trace.events.offsets[rank : rank + 2].tolist()
    times = trace.events.times[first:last]
    if trace.modeled:
        return (
            np.arange(first, last),
            np.append(0.0, times[:-1, END])[: len(times)],
            times[:, START],
        )
    return np.arange(first + 1, last), times[:-1, END], times[1:, START]


def _counts(
    arrivals: Arrivals, begin: Floats, end: Floats, lasts: float, rng: np.random.Generator
) -> Floats:
    """Return how many interruptions fall into each gap."""
    if arrivals.periodic:
        phase = rng.random() * arrivals.interval
        until, since = (np.floor((times - phase) / arrivals.interval) for times in (end, begin))
        counted: Floats = until - since
        return counted
    count = rng.poisson(lasts / arrivals.interval)
    at = np.sort(rng.random(count)) * lasts
    return (np.searchsorted(at, end) - np.searchsorted(at, begin)).astype(np.float64)
