"""Which runs would narrow the answer most per node-hour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from parcast_scaling.curves import draw, lighter_part
from parcast_scaling.evidence import infer
from parcast_scaling.mechanisms import Floats
from parcast_scaling.prior import Prior
from parcast_scaling.times import Run, observe

#: Draws of the curve of each explanation, and outcomes that are imagined of each run.
_DRAWS, _OUTCOMES = 5, np.linspace(0.05, 0.95, 10)


@attrs.frozen(kw_only=True)
class Proposal:
    """A run that is not measured yet."""

    p: float
    seconds: float  #: expected: the median
    cost: float  #: p times hours
    before: float  #: width of the 90 % band at the goal, as a factor
    after: float  #: the same when it is measured, expected
    gain: float  #: per cost: the logarithm of how many times narrower, down to what is enough


def worth_measuring(
    runs: Sequence[Run],
    goal: float,
    count: int,
    *,
    work: Callable[[Floats], Floats] = np.ones_like,
    seed: int,
    most: float | None = None,
    prior: Prior | None = None,
    enough: float = 1.5,
) -> tuple[Proposal, ...]:
    """Return the runs that tell most of the time at a size per node-hour, one after another.

    Curves are drawn as they are inferred. For each size up to ``most``, outcomes of a run there are
    imagined as they are predicted; each draw then counts as much as it makes the outcome likely,
    and the widths that result are averaged. What a run tells is the logarithm of how many times
    narrower the band becomes, down to what is enough: then no more is proposed. The best is taken
    as measured at its median before the next is sought.

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
    enough
        How narrow a band is wanted, its upper end over its lower one.
    """
    limit = goal / 2 if most is None else most
    proposals: list[Proposal] = []
    all_runs = list(runs)
    for _ in range(count):
        best = _best(
            all_runs, goal, limit, work, prior or Prior(), enough, np.random.default_rng(seed)
        )
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
    prior: Prior,
    enough: float,
    rng: np.random.Generator,
) -> Proposal | None:
    """Return the run that tells most, None where none can be measured or the band is narrow."""
    sizes = _sizes(runs, limit)
    if len(sizes) == 0:
        return None
    observed = observe(runs)
    posterior = infer(observed, prior, rng)
    posterior = posterior.take(np.tile(np.arange(len(posterior.scale)), _DRAWS))
    at = np.append(sizes, goal)
    drawn = draw(posterior, at, work(at), rng, whole_tails=True)
    largest = observed.p.max()
    before = _width(drawn.seen[:, -1], lighter_part(prior, goal, largest))
    if before <= math.log(enough):
        return None
    proposals = []
    for index, size in enumerate(sizes):
        truth = drawn.logs[:, index]
        tails = lighter_part(prior, goal, max(size, largest))
        seen = truth + observed.noise * rng.standard_normal(len(truth))
        outcomes = np.quantile(seen, _OUTCOMES)
        chances = [np.exp(-0.5 * ((log - truth) / observed.noise) ** 2) for log in outcomes]
        widths = np.array([_width(drawn.seen[:, -1], tails, chance) for chance in chances])
        middle = float(np.exp(np.median(seen)))
        cost = float(size) * middle / 3600
        narrower = before / np.maximum(widths, math.log(enough))
        proposals.append(
            Proposal(
                p=float(size),
                seconds=middle,
                cost=cost,
                before=math.exp(before),
                after=math.exp(float(np.mean(widths))),
                gain=float(np.log(narrower).mean()) / cost,
            )
        )
    return max(proposals, key=lambda proposal: proposal.gain)


def _sizes(runs: Sequence[Run], limit: float) -> Floats:
    """Return the measured sizes and doublings of the largest, up to the limit."""
    measured = sorted({run.p for run in runs})
    largest = measured[-1]
    steps = math.floor(math.log2(limit / largest) + 1e-9) if limit >= largest else 0
    farther = [largest * 2.0**step for step in range(1, steps + 1)]
    return np.array([p for p in [*measured, *farther] if p <= limit])


def _width(logs: Floats, tails: float, weights: Floats | None = None) -> float:
    """Return the width of the 90 % band of weighted draws; of outer quarters a part is kept."""
    order = np.argsort(logs)
    mass = np.cumsum(np.ones(len(logs)) if weights is None else weights[order])
    places = np.searchsorted(mass, np.array([0.05, 0.25, 0.75, 0.95]) * mass[-1])
    low, first, third, high = logs[order][np.minimum(places, len(logs) - 1)]
    return float(third - first + tails * (high - third + first - low))
