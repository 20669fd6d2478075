"""95 % intervals of fitted parameters: by profile likelihood, or by bootstrap.

The profile of a parameter is the sum of squares S(x) of the best fit with that parameter held at
x. Its interval is where (S(x) - S) / s^2 stays below F(1, n - r), with s^2 = S / (n - r): Bates and
Watts, Nonlinear Regression Analysis, 1988, section 6.1. It does not depend on the coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from parcast.errors import SolveError
from parcast.quantities import generator, student_t
from parcast_fit.model import Model
from parcast_fit.parameters import Floats
from parcast_fit.search import SMALLEST, SearchResult, search
from parcast_fit.solution import Interval, Solution

CONFIDENCE = 0.95

#: A profile is followed so far: factors for logarithmic parameters, starts for others.
FARTHEST = 1000.0

#: Resamples of a bootstrap.
RESAMPLES = 200


def scatter(best: SearchResult, spare: int) -> float:
    """Return s, the standard deviation of ln(predicted / measured)."""
    return max(SMALLEST, math.sqrt(best.squares / spare)) if spare > 0 else math.nan


def profiles(
    model: Model, targets: Floats, solution: Solution
) -> tuple[dict[int, Interval], SearchResult | None]:
    """Return the profile interval of each parameter, or a better fit if one is come upon.

    Parameters of null directions have none: their profile is flat.
    """
    intervals: dict[int, Interval] = {}
    for j in range(len(solution.best.inner)):
        if j in solution.rank.involved:
            continue
        ends = []
        for sign in (-1.0, 1.0):
            end, better = _end(model, targets, solution, j, sign)
            if better is not None:
                return intervals, better
            ends.append(end)
        intervals[j] = Interval(*ends)
    return intervals, None


def _direction(solution: Solution, j: int) -> Floats:
    """Return how the others move with parameter ``j`` to first order; its own entry is 1."""
    along = solution.rank.covariance[:, j]
    return along / along[j] if along[j] else np.zeros(len(along))


def _end(
    model: Model, targets: Floats, solution: Solution, j: int, sign: float
) -> tuple[float, SearchResult | None]:
    """Follow one side: a secant on the root of (S(x) - S) / s^2, which is nearly linear in x."""
    best, s, t = solution.best, solution.scatter, student_t(CONFIDENCE, solution.spare)
    center = best.inner[j]
    limit = model.bounds[0 if sign < 0 else 1][j]
    reach = math.log(FARTHEST) if model.parameters[j].log else FARTHEST * max(1, abs(center))
    width = min(abs(limit - center), reach)
    if width <= 0:
        return sign * math.inf, None
    error = s * math.sqrt(solution.rank.covariance[j, j])
    distance = min(width, t * error)
    inside, outside = (0.0, 0.0), (math.inf, math.inf)  # distance and root on either side of t
    direction = _direction(solution, j)
    for number in range(12):
        fixed = center + sign * distance
        try:
            ahead = best.inner + sign * distance * direction
            trial = search(model, targets, ahead, {j: fixed}, tolerance=1e-4, max_steps=30)
        except SolveError:  # there is no answer so far out: the limit is nearer
            outside, distance = (distance, math.inf), (inside[0] + distance) / 2
            continue
        if trial.squares < best.squares - max(1e-3 * s**2, 1e-6 * best.squares):
            return math.nan, trial
        root = math.sqrt(max(0.0, trial.squares - best.squares)) / s
        direction = sign * (trial.inner - best.inner) / distance
        if abs(root - t) < 0.02 * t:
            return center + sign * distance * t / root, None
        if root < t and distance >= width:
            return sign * math.inf, None
        if root < t:
            inside = (distance, root)
        else:
            outside = (distance, root)
        if outside[0] - inside[0] < 1e-9 * width:
            break
        distance = _next(inside, outside, t, width, halved=number % 3 == 2)
    return center + sign * inside[0], None


def _next(
    inside: tuple[float, float],
    outside: tuple[float, float],
    t: float,
    width: float,
    *,
    halved: bool,
) -> float:
    """Return the next distance: by a secant, and by halving now and then."""
    if math.isinf(outside[0]):
        grown = inside[0] * min(4.0, max(1.2, t / max(inside[1], 1e-300)))
        return min(width, grown)
    if halved or math.isinf(outside[1]):
        return (inside[0] + outside[0]) / 2
    share = (t - inside[1]) / (outside[1] - inside[1])
    return inside[0] + min(0.95, max(0.05, share)) * (outside[0] - inside[0])


def bootstrap(
    model: Model, targets: Floats, best: SearchResult, free: int, seed: int
) -> dict[int, Interval]:
    """Return intervals from refits to resampled residuals, widened for the fitted parameters.

    Percentiles of `RESAMPLES` refits, each to the fitted values with residuals drawn with
    replacement, centered and scaled by sqrt(n / (n - r)): Efron and Tibshirani, An Introduction
    to the Bootstrap, 1993, section 9.4.
    """
    n = model.points
    fitted = targets + best.residuals
    residuals = best.residuals[:n] - best.residuals[:n].mean()
    residuals = residuals * math.sqrt(n / max(1, n - free))
    refits: list[Floats] = []
    for number in range(RESAMPLES):
        drawn = generator(seed, number, "bootstrap").integers(0, n, n)
        resampled = fitted.copy()
        resampled[:n] -= residuals[drawn]
        try:
            refits.append(search(model, resampled, best.inner, tolerance=1e-6).inner)
        except SolveError:
            continue
    if len(refits) < RESAMPLES // 2:
        return {}
    ends = np.quantile(np.array(refits), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return {j: Interval(float(ends[0, j]), float(ends[1, j])) for j in range(len(best.inner))}
