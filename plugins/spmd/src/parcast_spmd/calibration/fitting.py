"""Startup and bandwidth from a ping-pong table, saturation from all-to-all exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import attrs
import numpy as np
import numpy.typing as npt

from parcast.errors import SolveError

_Floats = npt.NDArray[np.float64]

#: Beyond this median error the times do not follow startup + bytes / bandwidth at all.
_WORST = 0.3

#: A total bandwidth that grows by more than this at the largest p is not saturated yet.
_STILL_GROWING = 0.1


@attrs.frozen
class Line:
    """A time of ``startup + bytes / bandwidth``, with standard uncertainties."""

    startup: float
    startup_spread: float
    bandwidth: float
    bandwidth_spread: float
    sizes: int  #: different message sizes
    error: float  #: median of the relative errors over all sizes


def fit_line(sizes: Sequence[float], times: Sequence[float], where: str) -> Line:
    """Return the line through a table of message sizes and times.

    Parameters
    ----------
    sizes, times
        Bytes, and seconds one way; a size may be repeated.
    where
        What messages name as the table.

    Raises
    ------
    SolveError
        If the table has fewer than three sizes, or no such line is in it: the times do not
        grow, the startup is negative, or one of the two numbers cannot be seen.

    Notes
    -----
    Times count by their relative errors, so that small messages give the startup and large
    ones the bandwidth. Of each size the median is taken; of all lines through two of these the
    one is chosen that the nearer half of the points are least off (least trimmed absolute
    errors), which a few wild points cannot move wherever they are; sizes off it by more than
    three standard deviations (by the median deviation, with the factor of Rousseeuw and Leroy,
    1987, for few points) are left out of the weighted least squares that give the answer and its
    uncertainty.
    """
    n, t = _medians(sizes, times)
    if len(n) < 3:
        raise SolveError(f"{where}: {len(n)} message sizes are too few; give three or more")
    startup, slope = _least_trimmed(n, t)
    off = np.abs(1 - (startup + slope * n) / t)
    deviation = 1.4826 * (1 + 5 / (len(n) - 2)) * np.median(off)  # that of Rousseeuw and Leroy
    near = off <= 3 * deviation + 1e-9
    (startup, slope), spreads = _least_squares(n[near], t[near])
    if slope <= 0:
        raise SolveError(f"{where}: the times do not grow with the bytes; check the columns")
    error = float(np.median(np.abs(1 - (startup + slope * n) / t)))
    _check(startup, slope, n, error, where)
    bandwidth = float(1 / slope)
    spread = bandwidth * float(spreads[1] / slope)
    return Line(float(startup), float(spreads[0]), bandwidth, spread, len(n), error)


def _medians(sizes: Sequence[float], times: Sequence[float]) -> tuple[_Floats, _Floats]:
    """Return each size once, in order, and the median of its times."""
    by_size: dict[float, list[float]] = {}
    for size, time in zip(sizes, times, strict=True):
        by_size.setdefault(size, []).append(time)
    ordered = sorted(by_size)
    return np.array(ordered), np.array([median(by_size[size]) for size in ordered])


def _least_trimmed(n: _Floats, t: _Floats) -> tuple[float, float]:
    """Return the line through two points from which the nearer half of all is least off.

    The sum is of absolute relative errors; what the farther half does counts for nothing.
    """
    best, half = (np.inf, 0.0, 0.0), (len(n) + 3) // 2
    for i in range(len(n) - 1):
        slopes = (t[i + 1 :] - t[i]) / (n[i + 1 :] - n[i])
        startups = t[i] - slopes * n[i]
        off = np.abs(1 - (startups[:, None] + slopes[:, None] * n) / t)
        errors = np.sort(off, axis=1)[:, :half].sum(axis=1)
        j = int(np.argmin(errors))
        best = min(best, (float(errors[j]), float(startups[j]), float(slopes[j])))
    return best[1], best[2]


def _least_squares(n: _Floats, t: _Floats) -> tuple[_Floats, _Floats]:
    """Return startup and slope of least squared relative errors, and their uncertainties."""
    scale = n.max()
    design = np.column_stack([1 / t, n / scale / t])
    coefficients, *_ = np.linalg.lstsq(design, np.ones(len(t)), rcond=None)
    freedom = max(len(t) - 2, 1)
    variance = float(((design @ coefficients - 1) ** 2).sum()) / freedom
    covariance = variance * np.linalg.pinv(design.T @ design)
    units = np.array([1.0, scale])
    return coefficients / units, np.sqrt(np.diag(covariance)) / units


def _check(startup: float, slope: float, n: _Floats, error: float, where: str) -> None:
    """Refuse a line that is not in the data."""
    if error > _WORST:
        raise SolveError(
            f"{where}: no line comes nearer than {100 * error:.0f} % in the median; give the sizes "
            "of one protocol, or check the columns"
        )
    if startup <= 0:
        raise SolveError(
            f"{where}: the startup comes out as {1e6 * startup:.3g} us, not above 0; add messages "
            f"smaller than {n[0]:.0f} bytes"
        )
    if slope * n[-1] < 0.1 * startup:
        raise SolveError(
            f"{where}: the largest message, {n[-1]:.0f} bytes, takes no longer than the startup; "
            "add larger ones"
        )
    if slope * n[0] > 10 * startup:
        raise SolveError(
            f"{where}: the smallest message, {n[0]:.0f} bytes, hides the startup; add smaller ones"
        )


@attrs.frozen
class Saturation:
    """The largest total bandwidth, and at how many processes."""

    bandwidth: float
    p: int
    growing: bool  #: it still grew with the largest p


def saturation(processes: Sequence[float], totals: Sequence[float]) -> Saturation:
    """Return the saturation of total bandwidths; of each p the median counts.

    A single p cannot show whether the network is saturated, and counts as growing.
    """
    by_processes: dict[int, list[float]] = {}
    for p, total in zip(processes, totals, strict=True):
        by_processes.setdefault(int(p), []).append(total)
    medians = [(median(at_p), p) for p, at_p in sorted(by_processes.items())]
    best, p = max(medians)
    before = [total for total, at in medians if at < p]
    last = p == medians[-1][1]
    growing = last and (not before or best > (1 + _STILL_GROWING) * max(before))
    return Saturation(best, p, growing)


def exchange_totals(
    processes: Sequence[float], sizes: Sequence[float], times: Sequence[float], where: str
) -> tuple[list[float], list[float]]:
    """Return p and total bandwidth of exchanges in which each of p sends to all others.

    At each p the bandwidth is the slope of the volume p (p - 1) bytes over time, where there
    are three sizes or more, so that startups do not count; else the best volume per time.

    Raises
    ------
    SolveError
        If a p is 1 or no whole number, or times do not grow with the bytes.
    """
    points: dict[float, list[tuple[float, float]]] = {}
    for p, size, time in zip(processes, sizes, times, strict=True):
        if p < 2 or not float(p).is_integer():
            raise SolveError(f"{where}: p = {p:g} must be a whole number from 2")
        points.setdefault(p, []).append((p * (p - 1) * size, time))
    bandwidths = []
    for p, pairs in sorted(points.items()):
        volumes, seconds = zip(*pairs, strict=True)
        if len(set(volumes)) < 3:
            bandwidths.append((p, max(volume / time for volume, time in pairs)))
            continue
        _, slope = _least_trimmed(*_medians(volumes, seconds))
        if slope <= 0:
            raise SolveError(f"{where}: at p = {p:g} the times do not grow with the bytes")
        bandwidths.append((p, 1 / slope))
    return [p for p, _ in bandwidths], [total for _, total in bandwidths]
