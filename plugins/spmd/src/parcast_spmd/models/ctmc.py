"""The exact mean makespan of SIO's fork-join: time to absorption of its Markov chain.

P jobs start at an exponential delay of mean z, pass one exponential queue of mean x, and then
leave with probability q = 1/n_io or go back to the delay. In state (i, k) i jobs have not left
and k of them are at the queue. With a = (i - k) / z and m = 1/x where k > 0, the mean time
until all have left obeys

    (a + m) h_i(k) = 1 + a h_i(k+1) + m ((1 - q) h_i(k-1) + q h_(i-1)(k-1)),

a tridiagonal system for each i, which is eliminated upwards in k. What is subtracted from the
diagonal is kept as a sum of positive terms, so nothing cancels. With k in place of the 1 the
same system gives the mean time that all jobs together spend at the queue.
"""

from __future__ import annotations

from typing import Any

import attrs

from parcast.errors import UnsupportedError
from parcast.plugins import kernel
from parcast_spmd.models.order_statistics import harmonic

#: Jobs at the most: 2e8 states, some seconds of compiled work.
MOST_JOBS = 20_000


@attrs.frozen
class Absorption:
    """Means in seconds, of all bursts together."""

    time: float  #: until the last job has left
    queuing: float  #: of one job at the queue, service included


@kernel("parcast-spmd")
def absorption_kernel(
    size: Any, ratio: Any, leave: Any, time: Any, queued: Any, ahead: Any, behind: Any, weights: Any
) -> Any:
    """Return makespan and queuing of all jobs in units of x; the arrays are work space."""
    for i in range(1, size + 1):
        ahead[0], behind[0], weights[0] = ratio / i, 0.0, 1.0
        # The level below is still in ``time`` and ``queued``, at k - 1 when k is eliminated
        out = 0.0  # 1 - weights[k - 1]
        for k in range(1, i + 1):
            arriving = (i - k) / ratio
            staying = leave + (1.0 - leave) * out
            scale = arriving + staying
            ahead[k] = (1.0 + (1.0 - leave) * ahead[k - 1] + leave * time[k - 1]) / scale
            behind[k] = (k + (1.0 - leave) * behind[k - 1] + leave * queued[k - 1]) / scale
            weights[k] = arriving / scale
            out = staying / scale
        time[i], queued[i] = ahead[i], behind[i]
        for k in range(i - 1, -1, -1):
            time[k] = ahead[k] + weights[k] * time[k + 1]
            queued[k] = behind[k] + weights[k] * queued[k + 1]
    return time[0], queued[0]


def absorption(jobs: int, delay: float, service: float, bursts: float) -> Absorption:
    """Return the exact means of ``jobs`` that each do a geometric number of bursts.

    Parameters
    ----------
    jobs
        P, at least 1.
    delay, service
        z and x in seconds, 0 or more.
    bursts
        n_io, the mean number of bursts, at least 1.

    Raises
    ------
    UnsupportedError
        If there are more jobs than `MOST_JOBS`, or less than one burst.
    """
    if bursts < 1:
        raise UnsupportedError(
            f"method 'ctmc' takes one burst or more per I/O, not {bursts:g}; use 'eq16'"
        )
    if service == 0:
        return Absorption(bursts * delay * harmonic(jobs), 0.0)
    if delay == 0:
        # A job's round takes as long as all who are left; it is the mean over the leaving order
        return Absorption(jobs * bursts * service, _without_delay(jobs, service, bursts))
    if jobs > MOST_JOBS:
        raise UnsupportedError(
            f"method 'ctmc' takes up to {MOST_JOBS} synchronization groups, not {jobs}; use 'eq16'"
        )
    arguments = (jobs, delay / service, 1.0 / bursts)
    large = absorption_kernel.worth_compiling(3.0 * jobs**2)
    solve = absorption_kernel.compiled if large else absorption_kernel.plain
    time, queued = solve(*arguments, *_work(jobs + 1, large))
    return Absorption(time * service, queued * service / jobs)


def _work(length: int, large: bool) -> list[Any]:
    """Return five arrays for the compiled kernel, or lists, which plain Python reads faster."""
    if not large:
        return [[0.0] * length for _ in range(5)]
    import numpy as np

    return [np.zeros(length) for _ in range(5)]


def _without_delay(jobs: int, service: float, bursts: float) -> float:
    """Return the mean time of a job at the queue where there is nothing else.

    With i jobs left a service takes x and i jobs wait for it; on average n_io services pass
    until one job leaves.
    """
    return service * bursts * (jobs + 1) / 2
