"""The solution of a problem: best fit, rank, intervals, and what each parameter's state is."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from parcast_fit.identifiability import take_apart
from parcast_fit.intervals import bootstrap, profiles, scatter
from parcast_fit.parameters import Floats
from parcast_fit.problem import STUCK, Problem
from parcast_fit.search import SearchResult, search
from parcast_fit.solution import Interval, Solution
from parcast_fit.wording import dimension

#: A profile that comes upon a better fit starts the search again there, so often at most.
MOST_RESTARTS = 4


@attrs.frozen(kw_only=True)
class Estimate:
    """One fitted parameter, in base units.

    ``state`` is ``determined``; ``at bound``; ``at least`` or ``at most`` where the interval has
    one end; ``open`` where it has none; or ``undetermined`` where a null direction changes it.
    ``used`` is the number that predictions and the written file have; ``value`` is the same where
    the data determine it and None elsewhere.
    """

    name: str
    of: str  #: workload or machine
    dimension: str
    start: float
    used: float
    state: str
    low: float | None = None  #: ends of the 95 % interval; None where there is none
    high: float | None = None
    bounds: tuple[float, float] = (0.0, math.inf)

    @property
    def value(self) -> float | None:
        """The estimate, or None where the data do not determine it."""
        return self.used if self.state in {"determined", "at bound"} else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        plain = attrs.asdict(self)
        plain["bounds"] = [end if math.isfinite(end) else None for end in self.bounds]
        return {"name": plain.pop("name"), "value": self.value, **plain}


def solve(problem: Problem, kind: str, seed: int) -> Solution:
    """Return the best fit with intervals of a kind: ``profile`` or ``bootstrap``."""
    start = problem.model.start
    for _ in range(MOST_RESTARTS):
        best = search(problem.model, problem.targets, start)
        problem, inner = problem.rescaled(best.inner)
        solution = _at(problem, attrs.evolve(best, inner=inner), kind)
        if solution.spare <= 0 or not solution.best.converged:
            return solution
        if kind == "bootstrap":
            intervals = bootstrap(
                problem.model, problem.targets, solution.best, solution.measured.rank, seed
            )
            return attrs.evolve(solution, intervals=intervals)
        intervals, better = profiles(problem.model, problem.targets, solution)
        solution = attrs.evolve(solution, intervals=intervals)
        if better is None:
            break
        start = better.inner
    return solution


def _at(problem: Problem, best: SearchResult, kind: str) -> Solution:
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


def describe_estimate(solution: Solution, j: int) -> Estimate:
    """Return what is known of parameter ``j``."""
    problem = solution.problem
    parameter, inner = problem.parameters[j], solution.best.inner[j]
    low, high = problem.model.bounds
    ends = _ends(problem, j, solution.intervals.get(j))
    estimate = Estimate(
        name=parameter.name,
        of=parameter.of,
        dimension=dimension(parameter),
        start=parameter.start,
        used=parameter.value(inner),
        state="determined",
        low=ends[0],
        high=ends[1],
        bounds=(parameter.low, parameter.high),
    )
    if j in solution.rank.involved:
        return attrs.evolve(estimate, state="undetermined")
    stuck = j in problem.stuck(solution.best.inner)
    if stuck:
        estimate = attrs.evolve(
            estimate, used=parameter.low if inner - low[j] < STUCK else parameter.high
        )
    interval = solution.intervals.get(j)
    if interval is None:
        return attrs.evolve(estimate, state="at bound" if stuck else "determined")
    from_low, to_high = interval.low <= low[j] + STUCK, interval.high >= high[j] - STUCK
    if from_low and to_high:
        return attrs.evolve(estimate, state="open")
    if stuck:
        return attrs.evolve(estimate, state="at bound")
    return attrs.evolve(
        estimate, state="at most" if from_low else "at least" if to_high else "determined"
    )


def _ends(problem: Problem, j: int, interval: Interval | None) -> tuple[float | None, float | None]:
    """Return an interval's ends in base units: the bound, or None, where there is no limit."""
    if interval is None:
        return None, None
    parameter = problem.parameters[j]
    ends: Floats = np.array([interval.low, interval.high])
    bounds = (parameter.low, parameter.high)
    values = [
        parameter.value(end) if math.isfinite(end) else bound
        for end, bound in zip(ends, bounds, strict=True)
    ]
    low, high = (value if math.isfinite(value) else None for value in values)
    return low, high
