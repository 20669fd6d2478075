"""Times by size: lines through them, and change points between lines.

The pieces are those with the least sum of squared errors, in spreads, plus a price for each piece
(Bayesian information criterion), found by dynamic programming over all ways to cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Relative errors below this are no reason to cut.
_LEAST_ERROR = 0.02

#: More pieces than this make a file that nobody reads.
MOST_PIECES = 8


@attrs.frozen
class Line:
    """``startup + bytes * per_byte``, in seconds."""

    startup: float
    per_byte: float
    error: float  #: the median relative error
    squares: float  #: squared errors in spreads

    def at(self, size: float) -> float:
        """Return the time of a message."""
        return self.startup + size * self.per_byte


def fit_line(sizes: Floats, times: Floats, spreads: Floats, least: float = 0.0) -> Line:
    """Return the line with the least squared relative errors.

    Parameters
    ----------
    sizes
        Bytes.
    times
        Seconds.
    spreads
        Standard deviations of the times relative to them; less than 2 % counts as 2 %.
    least
        The least time for each byte; neither it nor the startup is below 0.
    """
    weights = 1 / (times * np.maximum(spreads, _LEAST_ERROR))
    candidates = [_free(sizes, times, weights)] if len(sizes) > 1 else []
    startup = float(np.sum(weights**2 * (times - least * sizes)) / np.sum(weights**2))
    candidates.append((max(0.0, startup), least))
    if np.any(sizes > 0):
        slope = float(np.sum(weights**2 * times * sizes) / np.sum(weights**2 * sizes**2))
        candidates.append((0.0, max(least, slope)))
    valid = [(a, s) for a, s in candidates if a >= 0 and s >= least]
    return min(
        (_line(a, s, sizes, times, weights) for a, s in valid), key=lambda line: line.squares
    )


def _free(sizes: Floats, times: Floats, weights: Floats) -> tuple[float, float]:
    matrix = np.stack([weights, weights * sizes], axis=1)
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1.0
    (startup, slope), *_ = np.linalg.lstsq(matrix / scale, weights * times, rcond=None)
    return float(startup / scale[0]), float(slope / scale[1])


def _line(startup: float, slope: float, sizes: Floats, times: Floats, weights: Floats) -> Line:
    errors = startup + slope * sizes - times
    relative = float(np.median(np.abs(errors) / times))
    return Line(startup, slope, relative, float(np.sum((errors * weights) ** 2)))


def cut(count: int, cost: Callable[[int, int], float], least: int = 2) -> list[tuple[int, int]]:
    """Return the pieces of ``count`` points with the least cost together.

    Parameters
    ----------
    count
        How many points there are.
    cost
        Of the points from the one number to the other, the last excluded.
    least
        Points of a piece, unless there are fewer altogether.
    """
    price = 3 * math.log(max(count, 2))
    best: dict[tuple[int, int], tuple[float, int]] = {(0, 0): (0.0, 0)}
    for stop in range(1, count + 1):
        for pieces in range(1, MOST_PIECES + 1):
            options = [
                (best[start, pieces - 1][0] + cost(start, stop) + price, start)
                for start in range(stop)
                if (start, pieces - 1) in best and (stop - start >= least or count < least)
            ]
            if options:
                best[stop, pieces] = min(options)
    pieces = min(
        (number for number in range(1, MOST_PIECES + 1) if (count, number) in best),
        key=lambda number: best[count, number][0],
    )
    bounds: list[tuple[int, int]] = []
    stop = count
    while stop:
        start = best[stop, pieces][1]
        bounds.append((start, stop))
        stop, pieces = start, pieces - 1
    return bounds[::-1]


def memoized(cost: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """Return a cost that works out each piece once."""
    answers: dict[tuple[int, int], Any] = {}

    def remembered(start: int, stop: int) -> Any:
        if (start, stop) not in answers:
            answers[start, stop] = cost(start, stop)
        return answers[start, stop]

    return remembered
