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

#: What part of the way remains where a band is all but narrow enough: another run is needed.
_MISS = 0.5

#: A run that leaves more of a band's width than this tells nothing that draws do not differ by.
_TELLING = 0.98


@attrs.frozen(kw_only=True)
class Proposal:
    """A run that is not measured yet."""

    p: float
    seconds: float  #: expected: the median
    cost: float  #: p times hours
    before: float  #: width of the 90 % band at the goal, as a factor
    after: float  #: the same when it is measured, expected
    gain: float  #: per cost: how much of the way to a band that is narrow enough, 0 to 1


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
    and a band results. What a run tells is how much of the way to a band that is narrow enough it
    goes, in the mean of its outcomes; then no more is proposed. Since a band that is all but narrow
    enough asks for another run as well, an outcome that ends it counts for half of the way. The
    best is taken as measured at its median before the next is sought. These bands are without
    sudden rises, which no run rules out but one at the goal.

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
    drawn = draw(posterior, at, work(at), rng, curve_only=True)
    order = np.argsort(drawn.seen[:, -1])
    goals, truths = drawn.seen[order, -1], drawn.logs[order, :-1]
    largest = observed.p.max()
    before = _width(goals, lighter_part(prior, goal, largest), np.ones(len(goals)))
    if before <= math.log(enough):
        return None
    proposals = []
    for size, truth in zip(sizes, truths.T, strict=True):
        tails = lighter_part(prior, goal, max(size, largest))
        seen = truth + observed.noise * rng.standard_normal(len(truth))
        outcomes = np.quantile(seen, _OUTCOMES)
        chances = [np.exp(-0.5 * ((log - truth) / observed.noise) ** 2) for log in outcomes]
        widths = np.array([_width(goals, tails, chance) for chance in chances])
        middle = float(np.exp(np.median(seen)))
        cost = float(size) * middle / 3600
        proposals.append(
            Proposal(
                p=float(size),
                seconds=middle,
                cost=cost,
                before=math.exp(before),
                after=math.exp(float(np.mean(widths))),
                gain=float(_progress(before, widths, math.log(enough)).mean()) / cost,
            )
        )
    telling = [run for run in proposals if math.log(run.after) <= _TELLING * before]
    return max(telling or proposals, key=lambda run: run.gain)


def _progress(before: float, widths: Floats, enough: float) -> Floats:
    """Return how much of the way from a width to one that is enough others are, at most 1."""
    left = np.log(np.maximum(widths / enough, 1)) / math.log(before / enough)
    progress: Floats = np.where(widths <= enough, 1.0, (1 - _MISS) * np.maximum(1 - left, 0))
    return progress


def _sizes(runs: Sequence[Run], limit: float) -> Floats:
    """Return the measured sizes, and what doubles and halves the largest, down to the smallest."""
    measured = {run.p for run in runs}
    smallest, largest = min(measured), max(measured)
    steps = np.arange(math.ceil(math.log2(smallest / largest)), math.log2(limit / largest) + 1e-9)
    around = largest * 2.0**steps
    return np.array(sorted(p for p in {*measured, *around} if p <= limit and p % 1 == 0), float)


def _width(logs: Floats, tails: float, weights: Floats) -> float:
    """Return the width of the 90 % band of weighted draws; of outer quarters a part is kept.

    ``logs`` rise, shape (draws,).
    """
    mass = np.cumsum(weights)
    places = np.searchsorted(mass, np.array([0.05, 0.25, 0.75, 0.95]) * mass[-1])
    low, first, third, high = logs[np.minimum(places, len(logs) - 1)]
    return float(third - first + tails * (high - third + first - low))
