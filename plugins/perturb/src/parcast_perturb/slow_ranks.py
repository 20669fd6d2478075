"""Slow ranks: who computes for longer than the others, and what if it did not.

What a rank computes between the same two calls is compared with the median of all ranks. A rank
whose mean is above it is propagated with its gaps shortened to that, alone and with all others; how
much earlier the run then ends is what that rank costs (the slowdown S and S_w of
arXiv 2505.05713, for any trace).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.span import makespans
from parcast_traces.gaps import first_events, gaps_of
from parcast_traces.trace.columns import SITE, Floats, Ints, Trace

#: How many ranks are examined alone: those that compute longest beyond the median.
MOST = 8


@attrs.frozen(eq=False, kw_only=True)
class Slowness:
    """What slow ranks cost, in ticks."""

    before: float  #: the makespan
    even: float  #: with nobody slower than the median rank
    without: Mapping[int, float]  #: with one rank no slower, the costliest first
    excess: Floats = attrs.field(repr=False)  #: how much longer each rank computes

    @property
    def slowdown(self) -> float:
        """By what the run takes longer than with even ranks."""
        return self.before / self.even if self.even > 0 else 1.0


def excess_of(trace: Trace) -> Floats:
    """Return how much longer each gap is than the median rank's between the same two calls.

    0 before a rank's first event, where a clock began.
    """
    events = trace.events
    if not trace.count:
        return np.empty(0)
    gaps, ranks = gaps_of(trace), np.repeat(np.arange(trace.size), np.diff(events.offsets))
    sites = events.whole[:, SITE].astype(np.int64)
    pairs = np.concatenate([[0], sites[:-1] * len(trace.sites)]) + sites
    starts = first_events(trace)
    pairs[starts] = -1
    if not trace.modeled:
        gaps[starts] = 0.0
    _, pair = np.unique(pairs, return_inverse=True)
    groups, group = np.unique(pair.reshape(-1) * trace.size + ranks, return_inverse=True)
    counts = np.bincount(group)
    mean = np.bincount(group, gaps) / counts
    usual = _medians(groups // trace.size, mean)
    longer = np.divide(usual - mean, mean, out=np.zeros_like(mean), where=mean > usual)
    excess: Floats = -gaps * longer[group]
    return excess


def _medians(pair: Ints, mean: Floats) -> Floats:
    """Return for each rank's mean the median of all ranks between the same two calls."""
    order = np.lexsort((mean, pair))
    begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
    counts = np.diff(begins, append=len(order))
    low, high = begins + (counts - 1) // 2, begins + counts // 2
    median = (mean[order][low] + mean[order][high]) / 2
    medians = np.empty(len(mean))
    medians[order] = np.repeat(median, counts)
    return medians


def slowness(trace: Trace, recorded: Recorded, policy: str) -> Slowness:
    """Return what slow ranks cost.

    Raises
    ------
    UnsupportedError
        If the trace has no times.
    TraceError
        As `propagate` does.
    """
    if not trace.timed:
        raise UnsupportedError(
            f"{trace.where} has no times, so no rank is slow; time it on a machine first"
        )
    excess = excess_of(trace)
    ranks = np.repeat(np.arange(trace.size), np.diff(trace.events.offsets))
    longer: Floats = np.bincount(ranks, excess, minlength=trace.size).astype(np.float64)

    def makespan(rows: Any) -> float:
        added = Perturbation(removed=(rows, -excess[rows]))
        delays = propagate(trace, added, recorded, policy)
        return float(makespans(trace, delays.final)[0])

    slow = np.flatnonzero(excess > 0)
    slowest = [int(rank) for rank in np.argsort(-longer, kind="stable")[:MOST] if longer[rank] > 0]
    alone = {rank: makespan(slow[ranks[slow] == rank]) for rank in slowest}
    return Slowness(
        before=float(makespans(trace)[0]),
        even=makespan(slow),
        without=dict(sorted(alone.items(), key=lambda item: item[1])),
        excess=longer,
    )
