"""The work between two checkpoints, and the expected time of all of it.

Failures are a Poisson process of mean time between failures M, and may also strike during a
checkpoint and a restart. All times are in seconds.

References
----------
J. W. Young, A first order approximation to the optimum checkpoint interval, Communications of
the ACM 17(9), 1974. J. T. Daly, A higher order estimate of the optimum checkpoint interval for
restart dumps, Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math


def young(checkpoint: float, mtbf: float) -> float:
    """Return Young's interval, sqrt(2 delta M)."""
    return math.sqrt(2 * checkpoint * mtbf)


def daly(checkpoint: float, mtbf: float) -> float:
    """Return Daly's higher-order interval."""
    if checkpoint >= 2 * mtbf:
        return mtbf
    root = math.sqrt(checkpoint / (2 * mtbf))
    return young(checkpoint, mtbf) * (1 + root / 3 + root**2 / 9) - checkpoint


def optimum(checkpoint: float, mtbf: float) -> float:
    """Return the interval of the shortest expected time.

    It is M x, where x solves 1 - x = exp(-x - delta / M): the derivative of `segment` over the
    interval is 0 there. Newton's steps from above x fall without end, and stop at x.
    """
    ratio = checkpoint / mtbf
    x = min(1.0, math.sqrt(2 * ratio))
    while True:
        residual = -math.expm1(-x - ratio) - x
        slope = math.exp(-x - ratio) - 1
        after = x - residual / slope if slope else x
        if not 0 < after < x:
            return mtbf * x
        x = after


def segment(work: float, checkpoint: float, restart: float, mtbf: float) -> float:
    """Return the expected time of some work and its checkpoint, by Daly's complete model."""
    return mtbf * math.exp(restart / mtbf) * math.expm1((work + checkpoint) / mtbf)


def total(count: int, work: float, checkpoint: float, restart: float, mtbf: float) -> float:
    """Return the expected time of all work in ``count`` equal segments."""
    return count * segment(work / count, checkpoint, restart, mtbf)
