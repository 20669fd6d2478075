"""How long to compute between two checkpoints: Young's rule, Daly's two, and what is exact.

References
----------
.. [1] J. W. Young, "A first order approximation to the optimum checkpoint interval",
   Commun. ACM 17(9), 1974.
.. [2] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
   Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from parcast.errors import ParcastError
from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.renewal import time_to_finish

#: Below this the logarithm is a series, whose terms do not cancel each other.
_SMALL = 0.05
#: From here on exp(-C/M) is lost beside 1.
_LARGE = 30.0


def young(job: FailingJob) -> float:
    """Return the square root of 2 C M (Young)."""
    return math.sqrt(2 * job.checkpoint * job.mtbf)


def daly_first(job: FailingJob) -> float:
    """Return the square root of 2 C (M + R), less C: Daly's first order.

    0 where that is below 0.
    """
    return max(0.0, math.sqrt(2 * job.checkpoint * (job.mtbf + job.restart)) - job.checkpoint)


def daly(job: FailingJob) -> float:
    """Return Daly's higher order estimate, which is M from C = 2 M on."""
    half = job.checkpoint / (2 * job.mtbf)
    if half >= 1:
        return job.mtbf
    return young(job) * (1 + math.sqrt(half) / 3 + half / 9) - job.checkpoint


def exact(job: FailingJob) -> float:
    """Return the interval of the greatest goodput: M (1 + W(-exp(-C/M - 1))), W of Lambert.

    With u of the interval over M it solves -log(1 - u) - u = C/M.
    """
    target = job.checkpoint / job.mtbf
    if target == 0:
        return 0.0
    if target > _LARGE:
        return job.mtbf
    low, high = 0.0, 1.0
    share = min(math.sqrt(2 * target), -math.expm1(-target - 1))
    for _ in range(200):
        beyond = _excess(share) - target
        low, high = (low, share) if beyond > 0 else (share, high)
        step = share - beyond * (1 - share) / share
        step = step if low < step < high else (low + high) / 2
        if abs(step - share) <= 1e-15 * share:
            break
        share = step
    return job.mtbf * share


def _excess(share: float) -> float:
    """Return -log(1 - u) - u."""
    if share >= _SMALL:
        return -math.log1p(-share) - share
    return math.fsum(share**power / power for power in range(2, 16))


def best_plan(job: FailingJob, computing: float) -> Plan:
    """Return the plan that is done the soonest in the mean: equal intervals, as time is convex."""
    interval = exact(job)
    if interval <= 0:
        raise ParcastError("a checkpoint that takes no time has no optimal interval: the shorter "
                           "the better; state an interval")  # fmt: skip
    least = max(1, math.floor(computing / interval))
    plans = (Plan(interval=computing / count, count=count) for count in (least, least + 1))
    return min(plans, key=lambda plan: time_to_finish(job, plan).mean)


#: By name, as tables show them.
INTERVALS: Mapping[str, Callable[[FailingJob], float]] = {
    "exact optimum": exact,
    "Daly, higher order": daly,
    "Daly, first order": daly_first,
    "Young": young,
}
