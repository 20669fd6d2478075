"""Exact means of a job under failures, as a renewal process.

With failures at the rate 1/M, an interval of T seconds of computing and a checkpoint of C takes
a job that restarts in R

    E = M exp(R/M) (exp((T + C)/M) - 1)

seconds in the mean, failures during checkpoint and restart included (Daly's complete model, 2006).
"""

from __future__ import annotations

import math

import attrs

from parcast.errors import UnsupportedError
from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.failures import waiting_share

#: exp of this is still a number.
_MOST = 700.0


@attrs.frozen(kw_only=True)
class Shares:
    """Where the time of an endless job goes; together 1."""

    useful: float  #: goodput: what computes what lasts, at full speed
    stragglers: float  #: what computing takes longer for stragglers
    checkpoints: float  #: writing those that count
    lost: float  #: computing and writing that a failure undid
    restarts: float
    waiting: float  #: for a node, where no spare is left


@attrs.frozen(kw_only=True)
class Moments:
    """Of a time in seconds."""

    mean: float
    variance: float

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


def shares(job: FailingJob, interval: float) -> Shares:
    """Return where the time goes in the long run.

    Waiting for spares is Erlang's loss formula, whatever the law of repairs. Stragglers come and
    go whenever failures do, and checkpoints are written by the clock.

    Raises
    ------
    UnsupportedError
        If failures come so fast that hardly any interval is ever done.
    """
    mean = _passage(job, interval + job.checkpoint).mean
    waiting = waiting_share(job)
    running = 1 - waiting
    computing, writing = interval / mean, job.checkpoint / mean
    restarts = -math.expm1(-job.restart / job.mtbf)
    return Shares(
        useful=running * computing * job.speed,
        stragglers=running * computing * (1 - job.speed),
        checkpoints=running * writing,
        lost=running * max(0.0, 1 - computing - writing - restarts),
        restarts=running * restarts,
        waiting=waiting,
    )


def goodput(job: FailingJob, interval: float) -> float:
    """Return the share of the time that is useful, in the long run."""
    return shares(job, interval).useful


def time_to_finish(job: FailingJob, plan: Plan) -> Moments:
    """Return mean and variance of the time until the last checkpoint of a plan.

    Without waiting for spares, of which `waiting_share` says how much there is in the long run.

    Raises
    ------
    UnsupportedError
        As `shares`.
    """
    whole = _passage(job, plan.interval + job.checkpoint)
    last = _passage(job, plan.last + job.checkpoint if plan.last else 0.0)
    return Moments(
        mean=plan.count * whole.mean + last.mean,
        variance=plan.count * whole.variance + last.variance,
    )


def _passage(job: FailingJob, length: float) -> Moments:
    """Return the time until a stretch is passed without a failure, restarts included.

    The first attempt lasts ``length``, each later one a restart more.
    """
    if (job.restart + length) / job.mtbf > _MOST / 2:
        raise UnsupportedError(
            f"an attempt of {job.restart + length:g} s at a failure every {job.mtbf:g} s is never "
            "done; shorten the interval, the checkpoint or the restart"
        )
    first, later = length / job.mtbf, (job.restart + length) / job.mtbf
    failing = -math.expm1(-first)
    again = math.expm1(later)
    mean = math.exp(job.restart / job.mtbf) * math.expm1(first)
    # E[T^2] = E[min(F, x)^2] + 2 E[F; F < x] E[again] + P(F < x) E[again^2], in units of M
    cut = _cut_mean(first)
    second = 2 * cut + 2 * cut * again + failing * (_spread(later) + again**2)
    return Moments(mean=job.mtbf * mean, variance=job.mtbf**2 * max(0.0, second - mean**2))


def _cut_mean(length: float) -> float:
    """Return 1 - exp(-x) (1 + x), the mean of a failure's time where it is before x, else 0."""
    if length > 0.05:
        return -math.expm1(-length) - length * math.exp(-length)
    terms = (length**k / (math.factorial(k)) for k in range(2, 14))
    return math.exp(-length) * math.fsum(terms)


def _spread(length: float) -> float:
    """Return exp(2 x) - 1 - 2 x exp(x), the variance of the time to pass x with no restart."""
    if length > 0.05:
        return math.expm1(2 * length) - 2 * length * math.exp(length)
    odd = (length**k / math.factorial(k) for k in range(3, 14, 2))
    return 2 * math.exp(length) * math.fsum(odd)
