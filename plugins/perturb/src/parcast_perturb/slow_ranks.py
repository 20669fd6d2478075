"""Slow ranks: who computes for longer than the others, and what if it did not.

What a rank computes before a call is compared with the median of the others (`excess`). A rank that
computes longer is propagated with what they compute, alone and with all ranks even; how much
earlier the run then ends is what that rank costs (the slowdown S and S_w of arXiv 2505.05713, for
any trace).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast_perturb.excess import beyond_noise, delayed, excess_of
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.span import makespans
from parcast_traces.trace.columns import Floats, Trace

#: How many ranks are examined alone: those that compute longest beyond the median.
MOST = 8


@attrs.frozen(kw_only=True)
class Delays:
    """Stretches of computation of one rank that take longer than its others, in ticks."""

    count: int
    of: int  #: its stretches that are compared
    longer: float  #: the median of them, beyond the median of its others
    without: float  #: the makespan if they took what its others take


@attrs.frozen(eq=False, kw_only=True)
class Slowness:
    """What slow ranks cost, in ticks."""

    before: float  #: the makespan
    even: float  #: with all computing as long as the median rank
    without: Mapping[int, float]  #: with one rank as the others, the slowest first
    excess: Floats = attrs.field(repr=False)  #: how much longer each rank computes, or less
    beyond: float | None = None
    """The excess of the slowest in standard deviations of the others' noise, where rounds tell."""
    delays: Delays | None = None  #: of the slowest, where its stretches are of two levels

    @property
    def slowdown(self) -> float:
        """By what the run takes longer than with even ranks."""
        return self.before / self.even if self.even > 0 else 1.0


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

    def makespan(beyond: Floats, rows: Any) -> float:
        added = Perturbation(removed=(rows, -beyond[rows]))
        delays = propagate(trace, added, recorded, policy)
        return float(makespans(trace, delays.final)[0])

    other = np.flatnonzero(excess)
    slowest = [int(rank) for rank in np.argsort(-longer, kind="stable")[:MOST] if longer[rank] > 0]
    uneven = excess_of(trace, others=False)

    def delays_of(rank: int) -> Delays | None:
        rows = other[ranks[other] == rank]
        late = delayed(excess[rows])
        if not late.size:
            return None
        beyond = excess - np.median(np.delete(excess[rows], late))
        longer = float(np.median(beyond[rows[late]]))
        without = makespan(beyond, rows[late])
        return Delays(count=len(late), of=len(rows), longer=longer, without=without)

    return Slowness(
        before=float(makespans(trace)[0]),
        even=makespan(uneven, np.flatnonzero(uneven)),
        without={rank: makespan(excess, other[ranks[other] == rank]) for rank in slowest},
        excess=longer,
        beyond=beyond_noise(trace, excess, slowest[0]) if slowest else None,
        delays=delays_of(slowest[0]) if slowest else None,
    )
