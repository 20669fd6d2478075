"""The solution of a problem: best fit, rank, intervals, and what each parameter's state is."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from parcast_fit.identifiability import Rank, take_apart
from parcast_fit.intervals import Interval, bootstrap, profiles, scatter
from parcast_fit.parameters import Floats
from parcast_fit.problem import STUCK, Problem
from parcast_fit.result import Estimate
from parcast_fit.search import Found, search
from parcast_fit.wording import dimension

#: A profile that comes upon a better fit starts the search again there, so often at most.
MOST_RESTARTS = 4


@attrs.frozen(kw_only=True)
class Solution:
    """Where the search ended, and what is known there."""

    problem: Problem  #: in units that are sensible there
    best: Found
    rank: Rank  #: with the anchor, where there is one
    measured: Rank  #: of the measurements alone
    spare: int  #: measurements beyond what is determined
    scatter: float
    exact: tuple[str, ...]  #: parameters whose derivatives the solver gave
    kind: str
    intervals: Mapping[int, Interval]


def solve(problem: Problem, kind: str, seed: int) -> Solution:
    """Return the best fit with intervals of a kind: ``profile`` or ``bootstrap``."""
    start = problem.model.start
    for _ in range(MOST_RESTARTS):
        best = search(problem.model, problem.targets, start)
        problem, inner = problem.rescaled(best.inner)
        found = _at(problem, attrs.evolve(best, inner=inner), kind)
        if found.spare <= 0 or not found.best.converged:
            return found
        if kind == "bootstrap":
            made = bootstrap(problem.model, problem.targets, found.best, found.measured.rank, seed)
            return attrs.evolve(found, intervals=made)
        intervals, better = profiles(problem.model, problem.targets, found)
        found = attrs.evolve(found, intervals=intervals)
        if better is None:
            break
        start = better.inner
    return found


def _at(problem: Problem, best: Found, kind: str) -> Solution:
    jacobian = problem.model.jacobian(best.inner, checked=True)
    measured = problem.measured_rank(jacobian)
    spare = len(problem.observations) - measured.rank
    return Solution(
        problem=problem,
        best=best,
        rank=take_apart(jacobian),
        measured=measured,
        spare=spare,
        scatter=scatter(best, spare),
        exact=jacobian.exact,
        kind=kind,
        intervals={},
    )


def estimate(found: Solution, j: int) -> Estimate:
    """Return what is known of parameter ``j``."""
    problem = found.problem
    one, inner = problem.parameters[j], found.best.inner[j]
    low, high = problem.model.bounds
    ends = _ends(problem, j, found.intervals.get(j))
    made = Estimate(
        name=one.name,
        of=one.of,
        dimension=dimension(one),
        start=one.start,
        used=one.value(inner),
        state="determined",
        low=ends[0],
        high=ends[1],
        bounds=(one.low, one.high),
    )
    if j in found.rank.involved:
        return attrs.evolve(made, state="undetermined")
    stuck = j in problem.stuck(found.best.inner)
    if stuck:
        made = attrs.evolve(made, used=one.low if inner - low[j] < STUCK else one.high)
    interval = found.intervals.get(j)
    if interval is None:
        return attrs.evolve(made, state="at bound" if stuck else "determined")
    from_low, to_high = interval.low <= low[j] + STUCK, interval.high >= high[j] - STUCK
    if from_low and to_high:
        return attrs.evolve(made, state="open")
    if stuck:
        return attrs.evolve(made, state="at bound")
    return attrs.evolve(
        made, state="at most" if from_low else "at least" if to_high else "determined"
    )


def _ends(problem: Problem, j: int, interval: Interval | None) -> tuple[float | None, float | None]:
    """Return an interval's ends in base units: the bound, or None, where there is no limit."""
    if interval is None:
        return None, None
    one = problem.parameters[j]
    ends: Floats = np.array([interval.low, interval.high])
    bounds = (one.low, one.high)
    values = [
        one.value(end) if math.isfinite(end) else bound
        for end, bound in zip(ends, bounds, strict=True)
    ]
    low, high = (value if math.isfinite(value) else None for value in values)
    return low, high
