"""Gauss-Legendre quadrature of log-concave weights on the half line."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from parcast.errors import SolveError
from parcast_spmd.mva.mva_kernels import Floats

#: exp(-45) is below the rounding of anything it is added to.
DROP = 45.0
_PASSES = 12


@attrs.frozen
class Support:
    """Where a weight is worth integrating, a row for each weight; all of shape (rows,)."""

    left: Floats
    peak: Floats
    right: Floats


def support(log_weight: Callable[[Floats], Floats], jobs: int, rows: int) -> Support:
    """Return the interval around the peak outside which a log weight has dropped by 45.

    Parameters
    ----------
    log_weight
        Concave in u, of slope between -1 and -1 + jobs / u; takes and returns (rows, columns).
    jobs
        Jobs in the component. The slope says that the right end is below
        jobs + 10 sqrt(jobs) + 60, and at least 45 to the right of the peak.
    rows
        How many weights are searched at once.
    """
    end = jobs + 10.0 * math.sqrt(jobs) + 60.0
    columns = max(24, math.ceil(3.0 * math.log(end / 0.01)))
    grid = np.broadcast_to(np.geomspace(0.01, end, columns), (rows, columns))
    for _ in range(_PASSES):
        marks = _brackets(grid, log_weight(grid))
        left_out, left_in, before, peak, after, right_in, right_out = marks
        spread = (left_in - left_out) + (after - before) + (right_out - right_in)
        if np.all(spread <= 0.2 * (right_out - left_out)):
            break
        pieces = (
            np.linspace(left_out, left_in, 9, axis=1)[:, 1:],
            np.linspace(before, after, 17, axis=1),
            np.linspace(right_in, right_out, 9, axis=1),
        )
        grid = np.sort(np.concatenate(pieces, axis=1), axis=1)
        grid = np.maximum(grid, 1e-3)
    return Support(left_out, peak, right_out)


def _brackets(grid: Floats, values: Floats) -> tuple[Floats, ...]:
    """Return, per row, the grid points that bracket left end, peak and right end."""
    rows, columns = grid.shape
    positions = np.arange(columns)
    top = values.argmax(axis=1)
    low = values < values.max(axis=1)[:, None] - DROP
    left = np.where(low & (positions < top[:, None]), positions, -1).max(axis=1)
    right = np.where(low & (positions > top[:, None]), positions, columns).min(axis=1)
    padded = np.concatenate([np.zeros((rows, 1)), grid, grid[:, -1:]], axis=1)
    lines = np.arange(rows)

    def at(index: Any) -> Floats:
        picked: Floats = padded[lines, index + 1]
        return picked

    return at(left), at(left + 1), at(top - 1), at(top), at(top + 1), at(right - 1), at(right)


@functools.cache
def _legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def panels(region: Support, count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of two panels of ``count`` nodes that meet at the peak.

    Both have shape (rows, 2 count).
    """
    nodes, weights = _legendre(count)
    below = (region.peak - region.left)[:, None]
    above = (region.right - region.peak)[:, None]
    points = [region.left[:, None] + below * nodes, region.peak[:, None] + above * nodes]
    return np.concatenate(points, axis=1), np.concatenate(
        [below * weights, above * weights], axis=1
    )


def converge(
    both: Callable[[int], tuple[Floats, Floats]],
    *,
    start: int,
    largest: int,
    tolerance: float,
    failure: float,
) -> Floats:
    """Return the finer of two rules that agree, doubling the node count until they do.

    Parameters
    ----------
    both
        Positive means from ``count`` and ``2 count`` nodes a panel.
    start, largest
        The first and the last ``count``.
    tolerance, failure
        Relative change that is enough; and the largest that rounding can explain, accepted
        when more nodes stop helping.

    Raises
    ------
    SolveError
        If the change stays above ``failure``.
    """
    count, before = start, math.inf
    while True:
        coarse, fine = both(count)
        scale = np.where(fine > 0, fine, 1.0)
        change = float(np.max(np.abs(fine - coarse) / scale, initial=0.0))
        stalled = change <= failure and change > 0.25 * before
        if change <= tolerance or stalled:
            return fine
        if 2 * count > largest or math.isnan(change):
            break
        count, before = 2 * count, change
    if change <= failure:
        return fine
    raise SolveError(
        f"The quadrature still changes by {change:.1e} of a result with {2 * count} nodes a "
        "panel; ask for method 'lattice' or 'linearizer'."
    )
