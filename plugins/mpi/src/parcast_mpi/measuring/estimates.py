"""Estimates from samples: pure functions, each number with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import SolveError
from parcast.quantities import cut, fit_line, memoized, student_t

Floats = NDArray[np.float64]

#: Half of a normal 95 % interval, in standard deviations.
_Z = 1.96

#: Sizes that a protocol of messages is known by.
FEWEST_SIZES = 3


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


def another_round(numbers: Any) -> float:
    """Return the spread of a number in another round, as the rounds of a run tell it.

    Rounds lie apart by seconds, in which a host drifts by more than repeats within a moment differ.
    95 % of what another round gives are within 1.96 spreads of the mean of these (prediction
    interval of Student's t: Hahn & Meeker, Statistical Intervals, 1991, section 4.7); both
    what differs between rounds and what does within them are part of it.

    Parameters
    ----------
    numbers
        One of each round.
    """
    count = len(numbers)
    if count < 2:
        return 0.0
    wider = student_t(0.95, count - 1) / _Z * np.sqrt(1 + 1 / count)
    return float(np.std(numbers, ddof=1) * wider)


def of_rounds(samples: Any) -> Estimate:
    """Return the median of samples, a row for each round, and the spread of another round."""
    rows = np.asarray(samples, float)
    rows = rows.reshape(len(rows), -1)
    return Estimate(float(np.median(rows)), another_round(np.median(rows, axis=1)))


def of_repeats(samples: Any) -> Estimate:
    """Return the median of samples, a row for each round, and the spread of another sample.

    What differs within a round is part of it, and what differs between rounds (variance
    components).
    """
    rows = np.asarray(samples, float)
    rows = rows.reshape(len(rows), -1)
    whole = of_rounds(rows)
    within = np.sqrt(rows.var(axis=1, ddof=1).mean()) if rows.shape[1] > 1 else 0.0
    return Estimate(whole.value, float(np.hypot(whole.spread, within)))


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


def line(sizes: Sequence[float], times: Any, of: str = "times") -> Line:
    """Return the line through the medians of times, by least squares of relative errors.

    The bandwidth is as uncertain as rounds make it, and as times are off the line.

    Parameters
    ----------
    sizes
        Bytes.
    times
        Seconds, of each round a row, or one for each repeat, and a column for each size.
    of
        What errors call the times.

    Raises
    ------
    SolveError
        If times do not grow with the bytes.
    """
    n, (medians, by_round) = np.asarray(sizes, float), _medians(times)
    startup, per_byte = _fit(n, medians)
    if per_byte <= 0:
        raise SolveError(f"the {of} do not grow with the bytes; measure again on a quieter host")
    startups, slopes = zip(*(_fit(n, row) for row in by_round), strict=True)
    errors = np.abs((startup + per_byte * n) / medians - 1)
    misfit = float(np.sqrt(errors @ errors / max(len(n) - 2, 1)))
    apart = another_round(slopes) / per_byte
    return Line(
        Estimate(startup, another_round(startups)),
        Estimate(1 / per_byte, float(np.hypot(apart, misfit)) / per_byte),
        float(errors.max()),
    )


def _medians(times: Any) -> tuple[Floats, Floats]:
    """Return the medians by size: of all, and of each round a row."""
    rounds = np.asarray(times, float)
    repeats = rounds.reshape(len(rounds), -1, rounds.shape[-1])
    return np.median(repeats, axis=(0, 1)), np.median(repeats, axis=1)


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
    sizes: Sequence[int], times: Any, least: float = 0.0, limit: int | None = None
) -> tuple[Piece, ...]:
    """Return the lines that times by size are made of, with the change points between them.

    Their numbers are as uncertain as rounds make them, and as times are off the lines. Messages
    over the eager limit go by another protocol, so that no line is through both kinds.

    Parameters
    ----------
    sizes
        Bytes, rising.
    times
        Seconds, of each round a row, or one for each repeat, and a column for each size.
    least
        The least time for each byte.
    limit
        The eager limit, if there is one.
    """
    n, (medians, by_round) = np.asarray(sizes, float), _medians(times)
    spreads = by_round.std(axis=0) / medians

    def fit(start: int, stop: int, of: Floats = medians) -> tuple[float, float, float]:
        line = fit_line(n[start:stop], of[start:stop], spreads[start:stop], least)
        return line.startup, line.per_byte, line.squares

    lines = []
    squares = memoized(lambda start, stop: fit(start, stop)[2])
    for start, stop in _cut_at(_first_over(sizes, limit), len(n), squares):
        startup, per_byte, _ = fit(start, stop)
        startups, slopes, _ = zip(*(fit(start, stop, row) for row in by_round), strict=True)
        errors = np.abs((startup + per_byte * n[start:stop]) / medians[start:stop] - 1)
        misfit = float(np.sqrt((errors**2).mean()))
        estimates = [
            Estimate(number, float(np.hypot(another_round(rounds), misfit * number)))
            for number, rounds in ((startup, startups), (per_byte, slopes))
        ]
        from_size = int(sizes[start]) if start else 0
        lines.append(Piece(from_size, estimates[0], estimates[1], float(errors.max())))
    return tuple(lines)


def _first_over(sizes: Sequence[int], limit: int | None) -> int:
    """Return the place of the first size over a limit; 0 where too few are on a side of it."""
    below = 0 if limit is None else sum(size <= limit for size in sizes)
    return below if min(below, len(sizes) - below) >= FEWEST_SIZES else 0


def _cut_at(
    place: int, count: int, squares: Callable[[int, int], float]
) -> Iterator[tuple[int, int]]:
    """Yield the ranges that sizes are cut into, one of them from ``place`` on."""
    if place:
        yield from cut(place, squares)
    for start, stop in cut(count - place, lambda start, stop: squares(place + start, place + stop)):
        yield place + start, place + stop


def level(sizes: Sequence[int], times: Any, per_byte: float) -> Estimate:
    """Return what times hold beside so many seconds for each byte, by least relative squares.

    It is as uncertain as rounds make it, and as sizes differ.

    Parameters
    ----------
    sizes
        Bytes.
    times
        Seconds, of each round rows for repeats and a column for each size.
    per_byte
        Seconds.
    """
    medians, by_round = _medians(times)
    beside = by_round - per_byte * np.asarray(sizes, float)
    weights = medians**-2 / (medians**-2).sum()
    rounds = beside @ weights
    value = max(0.0, float((medians - per_byte * np.asarray(sizes, float)) @ weights))
    off = (np.median(beside, axis=0) - value) * weights
    return Estimate(value, float(np.hypot(another_round(rounds), np.sqrt(off @ off))))


def one_piece(whole: Line) -> Piece:
    """Return a line as one that holds for messages of all sizes."""
    return Piece(0, whole.startup, Estimate(1.0, 0.0).over(whole.bandwidth), whole.worst)


def per_byte(sizes: Sequence[int], times: Any) -> Estimate:
    """Return the seconds for each byte, as uncertain as rounds and sizes make it.

    Parameters
    ----------
    sizes
        Bytes.
    times
        Seconds, of each round rows for repeats and a column for each size.
    """
    medians, by_round = _medians(np.asarray(times, float) / np.asarray(sizes, float))
    rounds = another_round(np.median(by_round, axis=1))
    return Estimate(float(np.median(medians)), float(np.hypot(rounds, medians.std())))


@attrs.frozen
class Startup:
    """How the time of an empty message falls to sender, network and receiver."""

    overhead: Estimate
    startup: Estimate
    overhead_receive: Estimate
    hidden: bool  #: the calls by themselves take longer than the whole, which hides part of them


def split_startup(whole: Estimate, sending: Estimate, receiving: Estimate) -> Startup:
    """Return o, t0 and o_r, which sum to the one-way time of an empty message, where they can.

    The calls are timed by themselves, where they may cost more than within a ping-pong: there a
    receive is posted while its message is on the way. Then nothing is left for the network, and
    each is between what it takes by itself, as where a process sends and receives at once, and its
    share of the whole.
    """
    calls = sending.value + receiving.value
    if calls <= whole.value:
        left = Estimate(whole.value - calls, float(np.hypot(whole.spread, sending.spread)))
        return Startup(sending, left, receiving, hidden=False)
    share = whole.value / calls
    overhead, receive = (between(call, call.times(share)) for call in (sending, receiving))
    return Startup(overhead, Estimate(0.0, 0.0), receive, hidden=True)


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
