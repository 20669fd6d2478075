"""Estimates from samples: pure functions, each number with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import SolveError
from parcast.quantities import cut, fit_line, generator, memoized
from parcast_mpi.running.answer import median_interval

Floats = NDArray[np.float64]

#: How often rounds are drawn again to see how much a fit varies.
_DRAWS = 200

#: Half of a normal 95 % interval, in standard deviations.
_Z = 1.96


@attrs.frozen
class Estimate:
    """A number in its base unit, and the standard deviation of that number."""

    value: float
    spread: float

    def over(self, divisor: Estimate) -> Estimate:
        """Return the estimate of the number divided by another, the two independent."""
        ratio = self.value / divisor.value
        parts = self.spread / self.value, divisor.spread / divisor.value
        return Estimate(ratio, ratio * float(np.hypot(*parts)))

    def times(self, factor: float) -> Estimate:
        """Return the estimate of ``factor`` times the number."""
        return Estimate(factor * self.value, factor * self.spread)


def of_samples(values: Any) -> Estimate:
    """Return the median, its spread from the interval of `median_interval`."""
    listed = np.asarray(values, float).ravel().tolist()
    low, high = median_interval(listed)
    return Estimate(float(np.median(listed)), (high - low) / (2 * _Z))


def between(first: Estimate, second: Estimate) -> Estimate:
    """Return the mean of what two kinds of work say of a number, and the spread that they have."""
    mean = (first.value + second.value) / 2
    apart = abs(first.value - second.value) / 2**0.5
    return Estimate(mean, float(np.hypot(apart, np.hypot(first.spread, second.spread) / 2)))


@attrs.frozen
class Line:
    """A time of ``startup`` + n / ``bandwidth`` for n bytes."""

    startup: Estimate
    bandwidth: Estimate
    worst: float  #: the largest relative error at a size


def line(sizes: Sequence[float], times: Any, of: str = "times", seed: int = 0) -> Line:
    """Return the line through the medians of times, by least squares of relative errors.

    The bandwidth is as uncertain as rounds make it, and as times are off the line.

    Parameters
    ----------
    sizes
        Bytes.
    times
        Seconds, a row for each round and a column for each size.
    of
        What errors call the times.
    seed
        Of the rounds that are drawn again (bootstrap) for the spread.

    Raises
    ------
    SolveError
        If times do not grow with the bytes.
    """
    n, rounds = np.asarray(sizes, float), np.asarray(times, float)
    whole = _fit(n, np.median(rounds, axis=0))
    rng = generator(seed, 0, "line")
    drawn = rng.integers(0, len(rounds), (_DRAWS, len(rounds)))
    fits = np.array([_fit(n, np.median(rounds[rows], axis=0)) for rows in drawn])
    if whole[1] <= 0:
        raise SolveError(f"the {of} do not grow with the bytes; measure again on a quieter host")
    errors = np.abs((whole[0] + whole[1] * n) / np.median(rounds, axis=0) - 1)
    misfit = float(np.sqrt(errors @ errors / max(len(n) - 2, 1)))
    return Line(
        Estimate(max(whole[0], 0.0), float(fits[:, 0].std())),
        Estimate(1 / whole[1], float(np.hypot(fits[:, 1].std() / whole[1], misfit)) / whole[1]),
        float(errors.max()),
    )


def _fit(n: Floats, t: Floats) -> tuple[float, float]:
    """Return intercept and slope that minimize the squared relative errors.

    Where the best intercept is negative, it is 0 and the slope the best for that.
    """
    constant, linear = 1 / t, n / t
    a, b, c = float(constant @ constant), float(constant @ linear), float(linear @ linear)
    d, e = float(constant.sum()), float(linear.sum())
    intercept, slope = (d * c - e * b) / (a * c - b * b), (a * e - b * d) / (a * c - b * b)
    return (intercept, slope) if intercept >= 0 else (0.0, e / c)


@attrs.frozen
class Piece:
    """A line that holds for messages of at least so many bytes."""

    least: int
    startup: Estimate
    per_byte: Estimate
    worst: float  #: the largest relative error at a size


def pieces(
    sizes: Sequence[int], times: Any, least: float = 0.0, seed: int = 0
) -> tuple[Piece, ...]:
    """Return the lines that times by size are made of, with the change points between them.

    Parameters
    ----------
    sizes
        Bytes, rising.
    times
        Seconds, a row for each round and a column for each size.
    least
        The least time for each byte.
    seed
        Of the rounds that are drawn again (bootstrap) for the spread.
    """
    n, rounds = np.asarray(sizes, float), np.asarray(times, float)
    medians = np.median(rounds, axis=0)
    spreads = np.array([of_samples(column).spread for column in rounds.T]) / medians

    def fit(start: int, stop: int, of: Floats = medians) -> tuple[float, float, float]:
        line = fit_line(n[start:stop], of[start:stop], spreads[start:stop], least)
        return line.startup, line.per_byte, line.squares

    rows = generator(seed, 0, "pieces").integers(0, len(rounds), (_DRAWS, len(rounds)))
    drawn = np.median(rounds[rows], axis=1)
    lines = []
    for start, stop in cut(len(n), memoized(lambda start, stop: fit(start, stop)[2])):
        startup, per_byte, _ = fit(start, stop)
        spread = np.std([fit(start, stop, again)[:2] for again in drawn], axis=0)
        errors = np.abs((startup + per_byte * n[start:stop]) / medians[start:stop] - 1)
        lines.append(
            Piece(
                int(sizes[start]) if start else 0,
                Estimate(startup, float(spread[0])),
                Estimate(per_byte, float(spread[1])),
                float(errors.max()),
            )
        )
    return tuple(lines)


@attrs.frozen
class Startup:
    """How the time of an empty message falls to sender, network and receiver."""

    overhead: Estimate
    startup: Estimate
    overhead_receive: Estimate
    scaled_down: bool  #: the calls alone take longer than the whole, so they were scaled down


def split_startup(whole: Estimate, sending: Estimate, receiving: Estimate) -> Startup:
    """Return o, t0 and o_r, which sum to the one-way time of an empty message.

    The calls are timed by themselves, where they may cost more than within a ping-pong; then
    nothing is left for the network, and both are scaled down to the whole.
    """
    calls = sending.value + receiving.value
    if calls <= whole.value:
        left = Estimate(whole.value - calls, float(np.hypot(whole.spread, sending.spread)))
        return Startup(sending, left, receiving, scaled_down=False)
    share = whole.value / calls
    return Startup(
        sending.times(share), Estimate(0.0, whole.spread), receiving.times(share), scaled_down=True
    )


def eager_limit(sizes: Sequence[int], times: Any, delay: float) -> int | None:
    """Return the largest size up to which no send waits for its receiver; None: none ever waits.

    Parameters
    ----------
    sizes
        Bytes, rising.
    times
        Seconds of sends whose receiver comes ``delay`` late, a row for each round and a column
        for each size.
    delay
        Seconds.
    """
    waits = np.median(np.asarray(times, float), axis=0) > delay / 2
    if not waits.any():
        return None
    first = int(np.argmax(waits))
    return int(sizes[first - 1]) if first else 0


@attrs.frozen
class Noise:
    """What a host takes from a computation in quanta of fixed time (FTQ)."""

    quantum: float  #: seconds
    lost: Floats  #: seconds of each quantum in which nothing was computed
    share: float  #: mean part of the time that is lost
    faster: float  #: part of the quanta that did a fifth more than an undisturbed one


#: Width, relative to the most work, of the bins in which quanta count as alike.
_BIN_WIDTH = 0.02


def fixed_time_quantum(counts: Any, quantum: float) -> Noise:
    """Return the noise that the work done in each quantum tells.

    An undisturbed quantum does what most of those that work at all do. It is not the best one
    (Sottile & Minnich, "Analysis of microbenchmarks for performance tuning of clusters", Cluster
    2004): a core whose neighbor idles for a moment is faster, by much where both are threads of
    one, and what it does then is nothing that the others lose.
    """
    work = np.asarray(counts, float)
    usual = _most_frequent(work[work > 0])
    lost = quantum * np.clip(1 - work / usual, 0.0, 1.0) if usual else np.full_like(work, quantum)
    faster = float((work > 1.2 * usual).mean()) if usual else 0.0
    return Noise(quantum, lost, float(lost.mean() / quantum), faster)


def _most_frequent(work: Floats) -> float:
    """Return the middle of the most frequent values, 0 if there are none."""
    if not work.size:
        return 0.0
    ordered, width = np.sort(work), _BIN_WIDTH * float(work.max())
    until = np.searchsorted(ordered, ordered + width, "right")
    first = int(np.argmax(until - np.arange(len(ordered))))
    return float(np.median(ordered[first : until[first]]))


#: Part of a quantum below which a loss is the grain of the measurement.
LEAST_LOSS = 0.01


@attrs.frozen
class Interruptions:
    """Noise as interruptions at random, of equal length; seconds."""

    interval: float  #: of the time computed, from one to the next in the mean
    length: float


def interruptions(lost: Floats, quantum: float) -> Interruptions | None:
    """Return the interruptions that take as much as quanta lost, or None where none tells.

    A quantum counts as interrupted if it lost `LEAST_LOSS` of its time or more. None tells where
    half of the time or more is lost: no computation goes on for longer than an interruption.

    Parameters
    ----------
    lost
        Seconds of each quantum.
    quantum
        Seconds.
    """
    struck = lost[lost >= LEAST_LOSS * quantum]
    computed = quantum * len(lost) - float(struck.sum())
    if not len(struck) or float(struck.sum()) >= computed:
        return None
    return Interruptions(computed / len(struck), float(struck.mean()))


def thin(values: Any) -> list[float]:
    """Return at most 200 values with the same quantiles, smallest and largest kept."""
    ordered = np.sort(np.asarray(values, float))
    if len(ordered) <= 200:
        return [float(value) for value in ordered]
    return [float(v) for v in np.quantile(ordered, np.linspace(0, 1, 200), method="nearest")]
