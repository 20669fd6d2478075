"""How far T^l lies below T on average: an estimate after section 2.3 of the paper."""

from __future__ import annotations

import numpy as np

from parcast_pamela.compilation.compiler import Values

#: Mean of T^l/T by theta. Measured: `benchmarks/accuracy.py`, 1,000 models, seed 0, 500 accesses.
ALPHA = (
    (-2.0, 0.91), (-1.75, 0.887), (-1.5, 0.861), (-1.25, 0.819), (-1.0, 0.777), (-0.75, 0.743),
    (-0.5, 0.665), (-0.25, 0.628), (0.0, 0.589), (0.25, 0.619), (0.5, 0.673), (0.75, 0.733),
    (1.0, 0.784), (1.25, 0.835), (1.5, 0.868), (1.75, 0.89), (2.0, 0.904),
)  # fmt: skip


def estimate(values: Values) -> float | None:
    """Return T^l / alpha(theta), in seconds, never above T^u; None unless -2 <= theta <= 2.

    alpha is the mean of random models, whose accesses find all resources alike busy: the worst
    case for T^l on average. A regular model, such as one of loops with equal times, is nearer
    to T^l.
    """
    theta = values.theta
    if theta is None or not ALPHA[0][0] <= theta <= ALPHA[-1][0]:
        return None
    alpha = float(np.interp(theta, [near for near, _ in ALPHA], [mean for _, mean in ALPHA]))
    return min(float(values.bound) / alpha, float(values.upper))
