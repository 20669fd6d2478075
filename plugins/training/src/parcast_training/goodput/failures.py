"""How many failures there are, exactly, and how long a job waits for spare nodes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parcast.errors import UnsupportedError
from parcast_training.goodput.failing import FailingJob, Plan

Floats = NDArray[np.float64]

#: So many probabilities are computed at most.
_MOST = 2**22


def failures_within(job: FailingJob, span: float) -> Floats:
    """Return the probabilities of 0, 1, 2, ... failures while the job runs for so long.

    They are Poisson's: failures come at one rate, whatever the job does.
    """
    mean = span / job.mtbf
    last = math.ceil(mean + 12 * math.sqrt(mean) + 30)
    _check(last)
    if mean == 0:
        return np.ones(1)
    steps = math.log(mean) - np.log(np.arange(1, last + 1))  # from each number to the next
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logarithms - logarithms.max())
    probabilities: Floats = weights / weights.sum()
    return probabilities


def failures_to_finish(job: FailingJob, plan: Plan) -> Floats:
    """Return the probabilities of 0, 1, 2, ... failures until the plan is done.

    Each interval fails at first with 1 - a and then, a restart longer, with 1 - b at each attempt;
    so its number of failures has the generating function a + (1 - a) b z / (1 - (1 - b) z). The
    product over all intervals is evaluated on a circle and transformed back.
    """
    lengths = [(plan.interval, plan.count), (plan.last, 1 if plan.last else 0)]
    attempts = [
        ((length + job.checkpoint) / job.mtbf, (length + job.checkpoint + job.restart) / job.mtbf)
        for length, _ in lengths
    ]
    moments = [_count_moments(first, later) for first, later in attempts]
    counts = [count for _, count in lengths]
    mean = math.fsum(n * mean for n, (mean, _) in zip(counts, moments, strict=True))
    variance = math.fsum(n * spread for n, (_, spread) in zip(counts, moments, strict=True))
    slowest = max(math.exp(later) for _, later in attempts)
    # what lies beyond is less than 1e-15: 12 deviations, and the longest geometric tail
    size = 2 ** math.ceil(math.log2(mean + 12 * math.sqrt(variance) + 40 * slowest + 32))
    _check(size)
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    transform = np.ones_like(z)
    for (first, later), count in zip(attempts, counts, strict=True):
        passing, passing_later = math.exp(-first), math.exp(-later)
        failing, failing_later = -math.expm1(-first), -math.expm1(-later)
        transform *= (passing + failing * passing_later * z / (1 - failing_later * z)) ** count
    probabilities: Floats = np.maximum(np.fft.irfft(transform, size), 0.0)
    return probabilities


def _count_moments(first: float, later: float) -> tuple[float, float]:
    """Return mean and variance of the failures of an interval: none, or a geometric number."""
    failing, passing = -math.expm1(-first), math.exp(-later)
    mean = failing / passing
    return mean, failing * (2 - passing) / passing**2 - mean**2


def _check(size: int) -> None:
    if size > _MOST:
        raise UnsupportedError(
            f"up to {size:,} failures are too many for their distribution ({_MOST:,} at most)"
        )


def quantile_of(probabilities: Floats, level: float) -> int:
    """Return the least number that is not exceeded with this probability."""
    return int(np.searchsorted(np.cumsum(probabilities), level - 1e-12))


def waiting_share(job: FailingJob) -> float:
    """Return the share of the time that the job waits for a node, in the long run.

    With S spares the job waits while S + 1 nodes are in repair. While it waits nothing fails, so
    that this is a line of S + 1 repairs that takes no more: Erlang's loss formula, which holds for
    every law of repairs of the same mean.
    """
    if job.spares is None or job.repair is None:
        return 0.0
    load, share = job.repair.mean / job.mtbf, 1.0
    for servers in range(1, job.spares + 2):
        share = load * share / (servers + load * share)
    return share
