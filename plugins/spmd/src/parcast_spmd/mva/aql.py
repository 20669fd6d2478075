"""Aggregate queue length: approximate multiclass mean value analysis.

Zahorjan, Eager and Sweillam (1988) guess what a job of class r finds at queue k from the whole
queue instead of each class's share,

    A_rk = (N - 1) (Q_k / N + g_rk),    g_rk = Q_k(N - e_r) / (N - 1) - Q_k(N) / N,

where N counts the jobs of all classes. Bard and Schweitzer take all g_rk = 0; here they come from
solutions with one job of r fewer, for which they are taken to be the same, until they settle.
"""

from __future__ import annotations

import numpy as np

from parcast_spmd.mva.mva_kernels import Floats
from parcast_spmd.mva.schweitzer_linearizer import (
    Problem,
    fixed_point,
    problem_of,
    results_of,
    settle,
    within_bounds,
)
from parcast_spmd.mva.structure import Component, GroupResult


def solve_aql(component: Component) -> tuple[tuple[GroupResult, ...], str | None]:
    """Return approximate means of each group, and what was wrong with them, or None.

    Where they leave the bounds that are proven for the exact solution, the results are Bard and
    Schweitzer's instead and the second value says so.

    Raises
    ------
    SolveError
        If the iteration does not converge; the residual is named.
    """
    problem = problem_of(component)
    changes = np.zeros_like(problem.demand)

    def step(share: Floats) -> tuple[Floats, Floats]:
        nonlocal changes
        changes = _new_changes(problem, changes, share)
        return _core(problem, changes, share)

    settled = settle(step, _core(problem, changes)[0], "AQL")
    return within_bounds(component, results_of(component, *settled), "AQL")


def _total(problem: Problem) -> float:
    """Return the jobs of all classes."""
    return float(problem.count @ problem.jobs)


def _lengths(problem: Problem, share: Floats) -> Floats:
    """Return the mean number at every queue that a class meets, shape (kinds, queues)."""
    lengths = problem.jobs[:, None] * share
    lengths[:, : problem.shared] = problem.count @ lengths[:, : problem.shared]
    return lengths


def _core(problem: Problem, changes: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
    """Return shares and cycle times at the fixed point for given changes g."""
    total = _total(problem)

    def arrivals(share: Floats) -> Floats:
        return (total - 1.0) * (_lengths(problem, share) / total + changes)

    return fixed_point(problem, arrivals, start)


def _new_changes(problem: Problem, changes: Floats, share: Floats) -> Floats:
    """Return g from one solution for each kind of class that may lose a job."""
    total = _total(problem)
    now = _lengths(problem, share) / total
    if total == 1:
        return np.zeros_like(now)
    differences = np.zeros_like(now)
    for kind in range(len(problem.group)):
        reduced = problem.without_one(kind)
        start = np.vstack([share, share[kind]])
        less, _ = _core(reduced, np.vstack([changes, changes[kind]]), start)
        differences[kind] = _lengths(reduced, less)[-1] / (total - 1.0) - now[kind]
    return differences
