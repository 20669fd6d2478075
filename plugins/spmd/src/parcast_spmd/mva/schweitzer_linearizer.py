"""Approximate multiclass mean value analysis: Bard-Schweitzer and Linearizer.

Classes that are alike are one set of unknowns, so a hundred equal clusters cost as much as
one. With F_rk = Q_rk / N_r, the share of its jobs that a class has at queue k, both methods
guess what a job of class r finds on arrival,

    A_rk = sum_s (N - e_r)_s (F_sk + D_srk),

and iterate R_rk = D_rk (1 + A_rk), F_rk = R_rk / (Z_r + sum_k R_rk). Bard and Schweitzer take
all D_srk = 0. Linearizer (Chandy and Neuse 1982) sets D_srk = F_sk(N - e_r) - F_sk(N) from
solutions with one job of r fewer, and repeats until the D settle.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from parcast.errors import SolveError
from parcast_spmd.mva.mva_kernels import Floats
from parcast_spmd.mva.structure import Component, GroupResult
from parcast_spmd.mva.throughput_bounds import throughput_bounds

CORE_ITERATIONS = 50_000
CORE_TOLERANCE = 1e-13
OUTER_ITERATIONS = 200
OUTER_TOLERANCE = 1e-10


@attrs.frozen(kw_only=True)
class Problem:
    """Kinds of classes as arrays: a row for each kind, shared queues first in the columns."""

    #: Group of each kind (the groups of the component, before one was split)
    group: tuple[int, ...]
    #: Classes of this kind, and jobs in each
    count: Floats
    jobs: Floats
    delay: Floats
    demand: Floats
    shared: int

    def without_one(self, kind: int) -> Problem:
        """Return the problem with one job fewer in one class of kind ``kind``.

        The class that lost a job is the last row; its siblings keep the old row.
        """
        count = np.append(self.count, 1.0)
        count[kind] -= 1
        return Problem(
            group=(*self.group, self.group[kind]),
            count=count,
            jobs=np.append(self.jobs, self.jobs[kind] - 1),
            delay=np.append(self.delay, self.delay[kind]),
            demand=np.vstack([self.demand, self.demand[kind]]),
            shared=self.shared,
        )


@attrs.frozen
class _Changes:
    """How shares change when a job leaves: ``across[s, r]`` for s, ``within[r]`` for its class.

    ``across[r, r]`` is for the siblings of the class that the job left.
    """

    across: Floats
    within: Floats


def solve_bard_schweitzer(component: Component) -> tuple[GroupResult, ...]:
    """Return approximate means of each group by Bard and Schweitzer's fixed point.

    It never leaves the proven bounds: A_k adds up to at most N - 1, and because
    A_rk >= Q_k - 1 the utilization sum_r Q_rk / (1 + A_rk) is at most 1.

    Raises
    ------
    SolveError
        If the iteration does not converge; the residual is named.
    """
    problem = problem_of(component)
    return results_of(component, *_core(problem, np.zeros_like(problem.demand)))


def solve_linearizer(component: Component) -> tuple[tuple[GroupResult, ...], str | None]:
    """Return approximate means of each group by Linearizer, and what was wrong with them.

    Where Linearizer leaves the bounds that are proven for the exact solution, the results are
    Bard and Schweitzer's instead and the second value says so; else it is None.

    Raises
    ------
    SolveError
        If the iteration does not converge; the residual is named.
    """
    results = results_of(component, *_linearize(problem_of(component)))
    return within_bounds(component, results, "Linearizer")


def within_bounds(
    component: Component, results: tuple[GroupResult, ...], name: str
) -> tuple[tuple[GroupResult, ...], str | None]:
    """Return the results, or Bard and Schweitzer's and the reason where they cannot be."""
    for group, result in zip(component.groups, results, strict=True):
        lower, upper = throughput_bounds(component, group)
        if not lower * (1 - 1e-12) <= result.throughput <= upper * (1 + 1e-12):
            reason = (
                f"{name} gave a throughput of {result.throughput:.6g} where {lower:.6g} to "
                f"{upper:.6g} is proven, so Bard and Schweitzer's is given"
            )
            return solve_bard_schweitzer(component), reason
    busy = max(_utilizations(component, results), default=0.0)
    if busy > 1 + 1e-12:
        reason = f"{name} gave a utilization of {busy:.6g}, so Bard and Schweitzer's is given"
        return solve_bard_schweitzer(component), reason
    return results, None


def _utilizations(component: Component, results: tuple[GroupResult, ...]) -> list[float]:
    pairs = list(zip(component.groups, results, strict=True))
    return [
        sum(group.count * result.throughput * group.shared[k] for group, result in pairs)
        for k in range(len(component.shared))
    ]


def problem_of(component: Component) -> Problem:
    """Return a component's groups as arrays."""
    groups, shared = component.groups, len(component.shared)
    demand = np.zeros((len(groups), shared + max(len(group.private) for group in groups)))
    for row, group in zip(demand, groups, strict=True):
        row[:shared] = group.shared
        row[shared : shared + len(group.private)] = group.private
    return Problem(
        group=tuple(range(len(groups))),
        count=np.array([float(group.count) for group in groups]),
        jobs=np.array([float(group.population) for group in groups]),
        delay=np.array([group.delay for group in groups], dtype=np.float64),
        demand=demand,
        shared=shared,
    )


def fixed_point(
    problem: Problem, arrivals: Callable[[Floats], Floats], start: Floats | None
) -> tuple[Floats, Floats]:
    """Return shares F and cycle times that give themselves.

    Parameters
    ----------
    problem
        The kinds of classes.
    arrivals
        What a job finds at each queue, by the shares; less than 0 counts as 0.
    start
        The shares to begin with; those of a job alone where None.

    Raises
    ------
    SolveError
        If they still change after `CORE_ITERATIONS`; the residual is named.
    """
    alone = problem.delay[:, None] + problem.demand.sum(axis=1, keepdims=True)
    share = problem.demand / alone if start is None else start
    change = np.inf
    for _ in range(CORE_ITERATIONS):
        response = problem.demand * (1.0 + np.maximum(arrivals(share), 0.0))
        cycle = problem.delay + response.sum(axis=1)
        new = response / cycle[:, None]
        change = float(np.abs(new - share).max(initial=0.0))
        share = new
        if change <= CORE_TOLERANCE:
            return share, cycle
        if np.isnan(change):
            break
    raise SolveError(
        f"The approximation still changes by {change:.1e} after {CORE_ITERATIONS} iterations; "
        "ask for another method."
    )


def settle(
    step: Callable[[Floats], tuple[Floats, Floats]], share: Floats, name: str
) -> tuple[Floats, Floats]:
    """Return shares F and cycle times that a step no longer changes.

    Raises
    ------
    SolveError
        If they still change after `OUTER_ITERATIONS`; the residual is named.
    """
    moved = np.inf
    for _ in range(OUTER_ITERATIONS):
        new, cycle = step(share)
        moved = float(np.abs(new - share).max(initial=0.0))
        share = new
        if moved <= OUTER_TOLERANCE:
            return share, cycle
    raise SolveError(
        f"{name} still changes by {moved:.1e} after {OUTER_ITERATIONS} iterations; "
        "ask for method 'bard-schweitzer'."
    )


def _core(
    problem: Problem, correction: Floats, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return shares F and cycle times at the fixed point for a correction of the arrivals."""
    shared, present = problem.shared, np.minimum(problem.jobs, 1.0)[:, None]
    weights, remaining = problem.count * problem.jobs, problem.jobs[:, None] - present

    def arrivals(share: Floats) -> Floats:
        lengths = remaining * share
        lengths[:, :shared] = weights @ share[:, :shared] - present * share[:, :shared]
        return lengths + correction

    return fixed_point(problem, arrivals, start)


def _correction(problem: Problem, changes: _Changes) -> Floats:
    """Return sum_s (N - e_r)_s D_srk for every kind r and queue k."""
    correction = np.maximum(problem.jobs - 1.0, 0.0)[:, None] * changes.within[list(problem.group)]
    index = np.ix_(problem.group, problem.group)
    others = changes.across[index][:, :, : problem.shared]
    weights = problem.count * problem.jobs
    total = np.einsum("s,srk->rk", weights, others)
    # A class is not its own sibling
    itself = problem.jobs[:, None] * others[np.arange(len(correction)), np.arange(len(correction))]
    correction[:, : problem.shared] += total - itself
    return correction


def _linearize(problem: Problem) -> tuple[Floats, Floats]:
    """Return shares F and cycle times after Linearizer's outer iteration has settled."""
    kinds, queues = problem.demand.shape
    changes = _Changes(np.zeros((kinds, kinds, queues)), np.zeros((kinds, queues)))

    def step(share: Floats) -> tuple[Floats, Floats]:
        nonlocal changes
        changes = _new_changes(problem, changes, share)
        return _core(problem, _correction(problem, changes), share)

    return settle(step, _core(problem, np.zeros((kinds, queues)))[0], "Linearizer")


def _new_changes(problem: Problem, changes: _Changes, share: Floats) -> _Changes:
    across, within = np.zeros_like(changes.across), np.zeros_like(changes.within)
    for kind in range(len(problem.group)):
        reduced = problem.without_one(kind)
        start = np.vstack([share + changes.across[:, kind], share[kind] + changes.within[kind]])
        reduced_share, _ = _core(reduced, _correction(reduced, changes), start)
        across[:, kind] = reduced_share[:-1] - share
        within[kind] = reduced_share[-1] - share[kind]
    return _Changes(across, within)


def results_of(component: Component, share: Floats, cycle: Floats) -> tuple[GroupResult, ...]:
    """Return each group's means from its shares F and cycle time."""
    shared, results = len(component.shared), []
    for group, shares, time in zip(component.groups, share, cycle, strict=True):
        lengths = group.population * shares
        results.append(
            GroupResult(
                throughput=group.population / float(time),
                shared=lengths[:shared],
                private=lengths[shared : shared + len(group.private)],
            )
        )
    return tuple(results)
