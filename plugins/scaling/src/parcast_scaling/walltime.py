"""The time limit to ask for: a quantile of the run time, and what asking for more costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, ParcastError
from parcast_scaling.curves import SEED, curves
from parcast_scaling.mechanisms import Floats
from parcast_scaling.times import NEEDED, Run, check, observe

#: Runs at the size that is asked from which its own times suffice, without a curve.
ENOUGH = 20

#: Limits that are set beside the one asked for.
_LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99)


@attrs.frozen(kw_only=True)
class Limit:
    """A time limit and what comes of it."""

    quantile: float
    seconds: float
    killed: float  #: probability that a run takes longer
    unused: float  #: seconds asked for and not used, in the mean
    lost: float  #: seconds of runs that are killed, in the mean of all runs


@attrs.frozen(kw_only=True)
class Walltime:
    """The answer: the limit asked for, and others beside it."""

    where: str
    p: float
    counts: str
    runs: int
    runs_there: int  #: at the size that is asked
    limit: Limit
    others: tuple[Limit, ...]  #: as far as the runs tell them
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"schema": 1, "source": self.where, **attrs.asdict(self)}


@attrs.frozen
class _Distribution:
    """Run times in rising order with their probabilities; what lacks to 1 is beyond them all."""

    seconds: Floats
    weights: Floats

    def limit(self, level: float) -> Limit | None:
        """Return the time within which a run ends with a probability; None if beyond all."""
        reached = np.cumsum(self.weights)
        if level > reached[-1] * (1 + 1e-9):
            return None
        seconds = float(np.interp(level, reached, self.seconds))
        return Limit(
            quantile=level,
            seconds=seconds,
            killed=1 - level,
            unused=float(self.weights @ np.maximum(seconds - self.seconds, 0)),
            lost=(1 - level) * seconds,
        )


def walltime(
    runs: Sequence[Run],
    p: float,
    quantile: float,
    *,
    killed: Sequence[Run] = (),
    where: str = "the times given",
    counts: str = "p",
    seed: int = SEED,
    remarks: tuple[str, ...] = (),
) -> Walltime:
    """Return the time limit that a run at ``p`` keeps with a probability of ``quantile``.

    The curve is inferred from runs at all sizes; single runs lie about it as measured runs do
    about the middle of their size. Runs that were ``killed`` count as longer than they ran: each
    passes its probability on to those that took longer, as in the estimate of survival by Kaplan
    and Meier.

    Raises
    ------
    FileError
        If there are neither enough sizes for a curve nor enough runs at ``p``, or so many runs
        were killed that the others do not tell the quantile.
    ParcastError
        If the quantile is no probability.
    """
    if not 0 < quantile < 1:
        raise ParcastError(
            f"--quantile {quantile:g}: write a probability between 0 and 1, such as 0.95"
        )
    at_size = [run.seconds for run in runs if run.p == p]
    sizes = len({run.p for run in runs})
    if sizes < NEEDED and len(at_size) < ENOUGH:
        raise FileError(
            f"{where}: {_count(len(at_size), 'run')} at {counts}={p:g}, and "
            f"{_count(sizes, 'value')} of {counts}, tell no limit; give {ENOUGH} runs at "
            f"{counts}={p:g}, or runs at {NEEDED} values of {counts}"
        )
    if sizes >= NEEDED:
        spread, longer = _of_curve(runs, killed, p, where, seed), list(killed)
    else:
        longer = [run for run in killed if run.p == p]
        spread = _of_runs(at_size, [run.seconds for run in longer])
    asked = spread.limit(quantile)
    if asked is None:
        raise FileError(_untold(quantile, spread, runs, longer, where))
    limits = [spread.limit(level) for level in sorted({*_LEVELS, quantile})]
    return Walltime(
        where=where,
        p=p,
        counts=counts,
        runs=len(runs),
        runs_there=len(at_size),
        limit=asked,
        others=tuple(limit for limit in limits if limit is not None),
        remarks=(*remarks, *_on_killed(longer)),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _untold(
    quantile: float, spread: _Distribution, runs: Sequence[Run], killed: Sequence[Run], where: str
) -> str:
    """Return why no limit follows, and what would tell it."""
    most = int(1000 * spread.weights.sum()) / 1000
    if not killed:
        return (
            f"{where}: {len(runs)} runs at one size tell at most --quantile {most:g}, not "
            f"{quantile:g}; give more runs, or runs at {NEEDED} sizes"
        )
    return (
        f"{where}: {len(killed)} of {_count(len(runs) + len(killed), 'run')} ran into "
        f"{'its' if len(killed) == 1 else 'their'} limit, so that the others tell at most "
        f"--quantile {most:g}, not {quantile:g}; give runs with longer limits"
    )


def _on_killed(killed: Sequence[Run]) -> tuple[str, ...]:
    if not killed:
        return ()
    if len(killed) == 1:
        return ("1 run was killed at its limit: it counts as longer than that",)
    return (f"{len(killed)} runs were killed at their limit: they count as longer than that",)


def _of_runs(seconds: Sequence[float], killed: Sequence[float]) -> _Distribution:
    """Return the distribution of the next run, from runs of its size alone.

    The next run is no longer than the longest of n with a probability of n / (n + 1).
    """
    weights, _ = _survival(np.array(seconds), np.array(killed))
    order = np.argsort(seconds)
    count = len(seconds) + len(killed)
    return _Distribution(np.array(seconds)[order], weights[order] * count / (count + 1))


def _of_curve(
    runs: Sequence[Run], killed: Sequence[Run], p: float, where: str, seed: int
) -> _Distribution:
    """Return the distribution of one run at p: draws of the curve, with runs' residuals."""
    check(runs, where)
    observed = observe(runs)
    centers = dict(zip(observed.p, observed.logs, strict=True))
    others = sorted({run.p for run in killed} - centers.keys())
    drawn, _ = curves(observed, np.array([p, *others]), np.ones(1 + len(others)), seed=seed)
    centers |= dict(zip(others, np.median(drawn.logs[:, 1:], axis=0), strict=True))
    counts = {size: sum(run.p == size for run in runs) for size in centers}
    # a middle of few runs is near each of them: their scatter is that much larger
    residuals = np.array(
        [
            (np.log(run.seconds) - centers[run.p])
            * np.sqrt(counts[run.p] / max(counts[run.p] - 1, 1))
            for run in runs
        ]
    )
    limits = np.array([np.log(run.seconds) - centers[run.p] for run in killed])
    weights, beyond = _survival(residuals, limits)
    repeated = np.array([counts[run.p] > 1 for run in runs])
    rng = np.random.default_rng(seed + 1)
    count = len(drawn.logs)
    scatter = rng.choice(
        residuals[repeated], count, p=weights[repeated] / weights[repeated].sum()
    ) if repeated.sum() >= ENOUGH else (
        observed.noise * rng.standard_t(5, count)
    )  # fmt: skip
    seconds = np.sort(np.exp(drawn.logs[:, 0] + scatter))
    return _Distribution(seconds, np.full(count, (1 - beyond) / count))


def _survival(values: Floats, limits: Floats) -> tuple[Floats, float]:
    """Return the probability of each value, where other runs are known to be above limits.

    Returns
    -------
    ndarray of shape (len(values),), and the probability of what is beyond all values.

    Notes
    -----
    E. L. Kaplan and P. Meier, Nonparametric estimation from incomplete observations, 1958,
    equation (2b): of those at risk at each value, one ends there.
    """
    times = np.concatenate([values, limits])
    ends = np.arange(len(times)) < len(values)
    order = np.lexsort((~ends, times))
    at_risk = len(times) - np.arange(len(times))
    survives = np.cumprod(np.where(ends[order], 1 - 1 / at_risk, 1.0))
    weights = np.empty(len(times))
    weights[order] = -np.diff(survives, prepend=1.0)
    return weights[: len(values)], float(survives[-1])
