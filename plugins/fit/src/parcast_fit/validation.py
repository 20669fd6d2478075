"""Cross-validation: the largest p predicted by a fit to the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parcast.errors import ParcastError
from parcast_fit.observations import Observations
from parcast_fit.parameters import Floats
from parcast_fit.problem import Problem
from parcast_fit.result import Fitted, HeldOut
from parcast_fit.search import search


def fitted_points(
    observations: Observations, residuals: Floats, binding: Sequence[str | None]
) -> tuple[Fitted, ...]:
    """Return the points with their fitted values; residuals are ln(predicted / measured)."""
    measured, predicted = observations.values, observations.values * np.exp(residuals)
    rows = zip(observations.positions, observations.at, measured, predicted, binding, strict=True)
    return tuple(
        Fitted(place=position, at=at, measured=float(value), predicted=float(fitted), binding=binds)
        for position, at, value, fitted, binds in rows
    )


def leave_largest_out(problem: Problem, rank: int) -> HeldOut:
    """Return the errors at the largest p of a fit to the rest, or why there are none.

    ``rank`` is that of all data: where the rest determine less, the prediction depends on the
    start, which is said.
    """
    observations = problem.observations
    processes = np.array([query.p for query in observations.queries])
    largest = int(processes.max())
    smaller, last = processes < largest, processes == largest
    left = len({key for key, chosen in zip(observations.keys, smaller, strict=True) if chosen})
    count = len(problem.parameters)
    if left < count:
        return HeldOut(
            p=largest,
            message=f"without p={largest} there are {left} points for {count} free parameters",
        )
    try:
        part, last_part = problem.part(smaller), problem.part(last)
        best = search(part.model, part.targets, part.model.start)
        rank_without = part.measured_rank(part.model.jacobian(best.inner, checked=True)).rank
        logs = last_part.model.logs([best.inner])[0]
    except ParcastError as error:
        return HeldOut(p=largest, message=f"it cannot be left out: {error}")
    residuals = (logs - last_part.targets)[: last_part.model.points]
    if not np.isfinite(residuals).all():
        return HeldOut(p=largest, message=f"the fit without it has no answer at p={largest}")
    message = best.message
    if rank_without < rank:
        message = (
            f"without p={largest} the rank is {rank_without}, not {rank}, so this depends on where "
            "the search starts"
        )
    binding = last_part.model.binding(best.inner)
    points = fitted_points(last_part.observations, residuals, binding)
    return HeldOut(p=largest, points=points, message=message)
