"""Which runs would narrow the answer most per node-hour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from parcast_scaling.curves import Curves, curves
from parcast_scaling.mechanisms import Floats
from parcast_scaling.prior import Prior
from parcast_scaling.times import Run, observe

#: Explanations that are followed for each imagined outcome, and outcomes of each run.
_PARTICLES, _OUTCOMES = 800, (0.15, 0.5, 0.85)


@attrs.frozen(kw_only=True)
class Proposal:
    """A run that is not measured yet."""

    p: float
    seconds: float  #: expected: the median
    cost: float  #: p times hours
    before: float  #: width of the 90 % band at the goal, as a factor
    after: float  #: the same when it is measured, expected


def worth_measuring(
    runs: Sequence[Run],
    goal: float,
    count: int,
    *,
    work: Callable[[Floats], Floats] = np.ones_like,
    seed: int,
    most: float | None = None,
    prior: Prior | None = None,
) -> tuple[Proposal, ...]:
    """Return the runs that narrow the 90 % band at a size most per node-hour, one after another.

    For each size up to ``most``, the outcomes of a run there are imagined as they are predicted,
    the curve is inferred with each, and the widths that result are averaged. The best is taken as
    measured at its median before the next is sought.

    Parameters
    ----------
    runs
        What is measured.
    goal
        The p whose band is to be narrow.
    count
        How many to propose.
    most
        The largest p that can be measured; half of the goal where it is not stated.
    prior
        What is known before; that of codes in general where it is not stated.
    """
    limit = goal / 2 if most is None else most
    proposals: list[Proposal] = []
    all_runs = list(runs)

    def draws(several: Sequence[Run], p: Floats) -> Curves:
        drawn, _ = curves(
            observe(several), p, work(p), prior=prior, seed=seed, particles=_PARTICLES
        )
        return drawn

    for _ in range(count):
        best = _best(all_runs, goal, limit, work, draws)
        if best is None:
            break
        proposals.append(best)
        all_runs.append(Run(best.p, best.seconds, float(work(np.array([best.p]))[0])))
    return tuple(proposals)


def _best(
    runs: Sequence[Run],
    goal: float,
    limit: float,
    work: Callable[[Floats], Floats],
    draws: Callable[[Sequence[Run], Floats], Curves],
) -> Proposal | None:
    sizes = _candidates(runs, limit)
    if len(sizes) == 0:
        return None
    drawn = draws(runs, np.append(sizes, goal))
    before = _width(drawn)
    proposals = []
    for index, size in enumerate(sizes):
        outcomes = np.exp(np.quantile(drawn.seen[:, index], _OUTCOMES))
        widths = [
            _width(draws([*runs, Run(size, seconds, float(work(np.array([size]))[0]))],
                         np.array([goal])))
            for seconds in outcomes
        ]  # fmt: skip
        middle = float(outcomes[len(outcomes) // 2])
        proposals.append(
            Proposal(
                p=float(size),
                seconds=middle,
                cost=float(size) * middle / 3600,
                before=math.exp(before),
                after=math.exp(float(np.mean(widths))),
            )
        )
    return max(proposals, key=_gain)


def _gain(proposal: Proposal) -> float:
    """Return the narrowing of the logarithm per node-hour."""
    return (math.log(proposal.before) - math.log(proposal.after)) / proposal.cost


def _candidates(runs: Sequence[Run], limit: float) -> Floats:
    """Return the measured sizes and doublings of the largest, up to the limit."""
    measured = sorted({run.p for run in runs})
    largest = measured[-1]
    steps = math.floor(math.log2(limit / largest) + 1e-9) if limit >= largest else 0
    farther = [largest * 2.0**step for step in range(1, steps + 1)]
    return np.array([p for p in [*measured, *farther] if p <= limit])


def _width(drawn: Curves) -> float:
    """Return the width of the 90 % band at the last size, of logarithms."""
    low, high = np.quantile(drawn.seen[:, -1], [0.05, 0.95])
    return float(high - low)
