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
    others: tuple[Limit, ...]
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"schema": 1, "source": self.where, **attrs.asdict(self)}


def walltime(
    runs: Sequence[Run],
    p: float,
    quantile: float,
    *,
    where: str = "the times given",
    counts: str = "p",
    seed: int = SEED,
    remarks: tuple[str, ...] = (),
) -> Walltime:
    """Return the time limit that a run at ``p`` keeps with a probability of ``quantile``.

    The curve is inferred from runs at all sizes; single runs lie about it as measured runs do
    about the middle of their size.

    Raises
    ------
    FileError
        If there are neither enough sizes for a curve nor enough runs at ``p``.
    ParcastError
        If the quantile is no probability.
    """
    if not 0 < quantile < 1:
        raise ParcastError(
            f"--quantile {quantile:g}: write a probability between 0 and 1, such as 0.95"
        )
    there = np.array([run.seconds for run in runs if run.p == p])
    sizes = len({run.p for run in runs})
    if sizes < NEEDED and len(there) < ENOUGH:
        raise FileError(
            f"{where}: {_count(len(there), 'run')} at {counts}={p:g}, and "
            f"{_count(sizes, 'value')} of {counts}, tell no limit; give {ENOUGH} runs at "
            f"{counts}={p:g}, or runs at {NEEDED} values of {counts}"
        )
    draws = _runs_at(runs, p, where, seed) if sizes >= NEEDED else there
    levels = sorted({*_LEVELS, quantile})
    limits = {level: _limit(draws, level) for level in levels}
    return Walltime(
        where=where,
        p=p,
        counts=counts,
        runs=len(runs),
        runs_there=len(there),
        limit=limits[quantile],
        others=tuple(limits[level] for level in levels),
        remarks=remarks,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _runs_at(runs: Sequence[Run], p: float, where: str, seed: int) -> Floats:
    """Return draws of the time of one run at p: the curve's, with measured runs' residuals."""
    check(runs, where)
    observed = observe(runs)
    drawn, _ = curves(observed, np.array([p]), np.ones(1), seed=seed)
    centers = dict(zip(observed.p, observed.logs, strict=True))
    counts = {size: sum(run.p == size for run in runs) for size in centers}
    residuals = [
        # a middle of few runs is near each of them: their scatter is that much larger
        (np.log(run.seconds) - centers[run.p]) * np.sqrt(counts[run.p] / (counts[run.p] - 1))
        for run in runs
        if counts[run.p] > 1
    ]
    rng = np.random.default_rng(seed + 1)
    count = len(drawn.logs)
    scatter = rng.choice(residuals, count) if len(residuals) >= ENOUGH else (
        observed.noise * rng.standard_t(5, count)
    )  # fmt: skip
    seconds: Floats = np.exp(drawn.logs[:, 0] + scatter)
    return seconds


def _limit(draws: Floats, level: float) -> Limit:
    seconds = float(np.quantile(draws, level))
    over = draws > seconds
    return Limit(
        quantile=level,
        seconds=seconds,
        killed=float(over.mean()),
        unused=float(np.maximum(seconds - draws, 0).mean()),
        lost=float(over.mean() * seconds),
    )
