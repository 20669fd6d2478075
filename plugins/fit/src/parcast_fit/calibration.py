"""Calibration: parameters of any solver fitted to measured times or speedups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast import Registry
from parcast.comparison import Settings
from parcast.errors import ParcastError, UnknownNameError
from parcast.model import Machine, Workload
from parcast.quantities import format_seconds
from parcast_fit.design import Candidate, candidates, next_point
from parcast_fit.estimates import describe_estimate, solve
from parcast_fit.observations import Observations, observe
from parcast_fit.parameters import read_parameters
from parcast_fit.problem import Problem, make_problem
from parcast_fit.result import Fit, Identifiability
from parcast_fit.solution import Solution
from parcast_fit.undetermined import describe_combinations, describe_directions
from parcast_fit.validation import fitted_points, leave_largest_out


def fit(
    registry: Registry,
    workload: Any,
    machine: Any,
    measured: Any,
    *,
    free: Sequence[str] | str,
    solver: str | None = None,
    settings: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    mapping: str | tuple[int, ...] = "block",
    interval: str = "profile",
    seed: int = 0,
) -> Fit:
    """Fit parameters of a workload and a machine to measurements by least squares on logarithms.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value each.
    measured
        A file, DataFrame or list of mappings with columns ``p``, ``time`` (seconds) or
        ``speedup``, and any of ``d`` and workload parameters. Rows of the same point are repeated
        runs.
    free
        Names of workload parameters and machine values, such as ``network.bandwidth``.
    solver
        A solver or family; may be left out where one is installed.
    settings
        What else is set, as in `parcast.comparison.compare.compare`; for a free name, where to
        start.
    bounds
        By free name ``(low, high)`` in base units or text such as ``"1 MB/s..1 GB/s"``.
    mapping
        How processes go to nodes.
    interval
        ``"profile"`` or ``"bootstrap"``.
    seed
        Of the bootstrap and of solvers that draw random numbers.

    Returns
    -------
    Fit
        Estimates with intervals, errors, what the data determine, and what to measure next.

    Raises
    ------
    ParcastError
        If a name, a setting or the table is wrong, or a free name changes no prediction.
    UnsupportedError, SolveError
        If the solver cannot take a measured point, or fails there.
    """
    if interval not in {"profile", "bootstrap"}:
        raise UnknownNameError(f"interval {interval!r} must be 'profile' or 'bootstrap'")
    names = [name.strip() for name in free.split(",")] if isinstance(free, str) else list(free)
    if not names or len(set(names)) < len(names) or "" in names:
        raise UnknownNameError(f"--free {','.join(names)!r} must name each parameter once")
    work, mach = registry.workload(workload), registry.machine(machine)
    chosen = Settings.sort(settings or {}, registry, [work])
    sorted_names = Settings.sort(dict.fromkeys(names, 0), registry, [work])
    observations = observe(registry, work, mach, measured, chosen, mapping, seed)
    parameters = read_parameters(registry, names, bounds or {}, observations.queries, sorted_names)
    distinct = len(set(observations.keys))
    if distinct < len(names):
        raise ParcastError(
            f"{observations.where}: {distinct} measured point{'s' * (distinct != 1)} for "
            f"{len(names)} free parameters; measure at more p and d, or free fewer"
        )
    problem = make_problem(registry, _solver(registry, solver), chosen, parameters, observations)
    solution = solve(problem, interval, seed)
    return _describe(solution, work, mach, dict(settings or {}), seed)


def _solver(registry: Registry, name: str | None) -> str:
    families = sorted({entry.family for entry in registry.solvers.values() if not entry.on_request})
    if name is None:
        if len(families) != 1:
            choices = ", ".join(families) or "none; install a plugin such as parcast-spmd"
            raise UnknownNameError(f"Name the solver to fit, with -s or solver=: {choices}")
        return families[0]
    if name not in {entry.family for entry in registry.solvers.values()}:
        registry.lookup("solvers", name, {**registry.families, **registry.solvers})
    return name


def _describe(
    solution: Solution, workload: Workload, machine: Machine, settings: Mapping[str, Any], seed: int
) -> Fit:
    """Say everything about where a search ended."""
    problem, best = solution.problem, solution.best
    model, observations = problem.model, problem.observations
    names = [parameter.name for parameter in problem.parameters]
    grid = candidates(problem, best.inner)
    relative, stuck = problem.relative(best.inner), problem.stuck(best.inner)
    suggested = next_point(grid, solution.rank, relative, solution.scatter, names, stuck)
    return Fit(
        workload=workload,
        machine=machine,
        solvers=model.solvers,
        quantity=observations.quantity,
        where=observations.where,
        status="ok" if best.converged else "not_converged",
        message=best.message,
        estimates=tuple(describe_estimate(solution, j) for j in range(len(names))),
        points=fitted_points(
            observations, best.residuals[: model.points], model.binding(best.inner)
        ),
        scatter=None if math.isnan(solution.scatter) else solution.scatter,
        repeatability=_repeatability(observations),
        interval=solution.kind,
        held_out=leave_largest_out(problem, solution.measured.rank),
        identifiability=_identifiability(solution, grid),
        suggestion=None if suggested is None or solution.spare <= 0 else attrs.asdict(suggested),
        settings=settings,
        seed=seed,
    )


def _identifiability(solution: Solution, grid: Sequence[Candidate]) -> Identifiability:
    problem, best, measured = solution.problem, solution.best, solution.measured
    return Identifiability(
        rank=measured.rank,
        parameters=len(problem.parameters),
        singular_values=tuple(measured.singular_values.tolist()),
        threshold=measured.threshold,
        scale=_scale(problem) if problem.model.anchored else "",
        directions=describe_directions(problem, best, solution.rank, grid),
        combinations=describe_combinations(
            problem, best, solution.rank, solution.scatter, solution.spare
        ),
        exact_derivatives=solution.exact,
    )


def _scale(problem: Problem) -> str:
    seconds = format_seconds(math.exp(problem.targets[-1]))
    return (
        "speedups tell no seconds: making all times longer alike changes nothing, so T(1,1) "
        f"stays at {seconds}, as at the start"
    )


def _repeatability(observations: Observations) -> float | None:
    """Return the pooled standard deviation of ln(value) among repeated runs."""
    runs: dict[Any, list[float]] = defaultdict(list)
    for key, value in zip(observations.keys, observations.values, strict=True):
        runs[key].append(math.log(value))
    spare = sum(len(values) - 1 for values in runs.values())
    if not spare:
        return None
    return math.sqrt(sum(float(np.var(values)) * len(values) for values in runs.values()) / spare)
