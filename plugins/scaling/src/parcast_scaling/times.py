"""Measured times at several sizes, checked: what the curve is inferred from."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_scaling.discrepancy import Observed
from parcast_scaling.mechanisms import Floats

#: Distinct sizes that a person gets an answer from.
NEEDED = 3

#: A change of time from one size to the next by more than this many times what p changed by is a
#: unit mixed up, not a code.
_UNIT_STEP = 100.0

#: Seconds and p beyond these are no measurement.
_LEAST, _MOST = 1e-15, 1e15

#: So many distinct sizes tell no less than more of them would.
_SIZES = 500

#: Repeats of a size count as so far apart: on a shared network they differ a hundredfold.
_REPEATS_APART = 5.0

#: From so many times on it may be one: minutes among seconds.
_DOUBTFUL_STEP = 8.0

#: Standard deviation of one run where nothing is repeated, and how many runs that counts as.
_NOISE, _NOISE_RUNS = 0.03, 2


@attrs.frozen
class Run:
    """One measured run."""

    p: float
    seconds: float
    n: float = 1.0  #: the work, relative to that of other runs
    place: str = attrs.field(default="", eq=False)


def as_runs(points: Iterable[Any]) -> tuple[Run, ...]:
    """Return runs of ``Run`` values, or of tuples ``(p, seconds)`` or ``(p, seconds, n)``.

    Raises
    ------
    FileError
        If a value is not a finite number above 0.
    """
    runs = []
    for index, point in enumerate(points):
        place = f"points[{index}]"
        run = point if isinstance(point, Run) else _run(point, place)
        runs.append(checked(attrs.evolve(run, place=run.place or place)))
    return tuple(runs)


def checked(run: Run) -> Run:
    """Return a run whose numbers are finite and above 0.

    Raises
    ------
    FileError
        Naming its place, if one is not.
    """
    for name, value in (("p", run.p), ("time", run.seconds), ("n", run.n)):
        if not (math.isfinite(value) and value > 0):
            raise FileError(f"{run.place}: {name} = {value:g} must be above 0")
    return run


def _run(point: Sequence[Any], place: str) -> Run:
    if len(point) not in {2, 3}:
        raise FileError(f"{place} has {len(point)} values; write (p, seconds) or (p, seconds, n)")
    p, seconds, n = (*(float(value) for value in point), 1.0)[:3]
    return Run(p, seconds, n)


def check(runs: Sequence[Run], where: str, needed: int = NEEDED) -> None:
    """Refuse runs that no curve can be inferred from.

    Raises
    ------
    FileError
        If there are too few distinct sizes or too many, all of one process, or a time is in
        another unit than its neighbors.
    """
    for run in runs:
        if not (_LEAST <= run.seconds <= _MOST and run.p <= _MOST):
            raise FileError(
                f"{run.place or where}: {run.seconds:g} s at p={run.p:g} is no measured time; "
                f"write one of {_LEAST:g} to {_MOST:g} s, at a p up to {_MOST:g}"
            )
    sizes = sorted({run.p for run in runs})
    if len(sizes) < needed:
        several = ", ".join(f"{p:g}" for p in sizes) or "none"
        raise FileError(
            f"{where}: times at {len(sizes)} value{'s' * (len(sizes) != 1)} of p ({several}) tell "
            f"no curve; {needed} are needed, such as p, 2 p and 4 p"
        )
    if (count := len({(run.p, run.n) for run in runs})) > _SIZES:
        raise FileError(
            f"{where}: times at {count} sizes; {_SIZES} at most are read, so keep some, such as "
            "p, 2 p and 4 p"
        )
    if sizes[-1] <= 1:
        raise FileError(
            f"{where}: all times are at p = 1, where nothing is shared out; measure a larger p"
        )
    for first, second, apart in _steps(runs):
        ratio = second.seconds / first.seconds
        if max(ratio, 1 / ratio) > _UNIT_STEP * apart:
            raise FileError(
                f"{_beside(first, second)} is a factor of {max(ratio, 1 / ratio):.3g}; if one of "
                "them is in another unit, write it there, such as 12 ms"
            )


def doubtful_steps(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return a sentence for each step of the time that may be a unit mixed up."""
    return tuple(
        f"{_beside(first, second)}: if one of them is in minutes, write it so, such as 5 min"
        for first, second, apart in _steps(runs)
        if max(
            second.seconds / first.seconds / max(second.n / first.n, 1.0),
            first.seconds / second.seconds / apart,
        )
        > _DOUBTFUL_STEP
    )


def doubtful_copies(runs: Sequence[Run], where: str) -> tuple[str, ...]:
    """Return a sentence where every run stands more than once, digit for digit."""
    copies = min(Counter((run.p, run.n, run.seconds) for run in runs).values())
    if copies < 2:
        return ()
    sentence = (
        f"{where}: every time stands {copies} times or more, digit for digit; copies of one run "
        "are no repeats, and make bands narrower: leave them out"
    )
    return (sentence,)


def _steps(runs: Sequence[Run]) -> Iterator[tuple[Run, Run, float]]:
    """Yield the ends of each size, and neighbors of middle time, with how far they are apart."""
    by_p: dict[float, list[Run]] = defaultdict(list)
    for run in runs:
        by_p[run.p].append(run)
    sizes = [by_p[p] for p in sorted(by_p)]
    for alike in sizes:
        rates = [run.seconds / run.n for run in alike]
        yield alike[rates.index(min(rates))], alike[rates.index(max(rates))], _REPEATS_APART
    middles = [_middle(alike) for alike in sizes]
    for before, after in pairwise(middles):
        yield before, after, max(after.p / before.p, after.n / before.n)


def _beside(first: Run, second: Run) -> str:
    return (
        f"{second.place}: {second.seconds:g} s at p={second.p:g} beside {first.seconds:g} s at "
        f"p={first.p:g} ({first.place})"
    )


def _middle(runs: Sequence[Run]) -> Run:
    return sorted(runs, key=lambda run: run.seconds)[(len(runs) - 1) // 2]


def _middle_mean(logs: Floats) -> float:
    cut = (len(logs) + 1) // 4
    return float(np.sort(logs)[cut : len(logs) - cut].mean())


def observe(runs: Sequence[Run]) -> Observed:
    """Return each size with the mean logarithm of its times, and how sure that is.

    Of three runs or more of a size the mean of the middle half counts: nearly as sure as the mean,
    and a run that was disturbed does not move it. How far runs lie apart is estimated at each
    size and pulled towards that of all.
    """
    by_size: dict[tuple[float, float], list[float]] = defaultdict(list)
    for run in runs:
        by_size[run.p, run.n].append(run.seconds)
    keys = sorted(by_size)
    groups = [np.log(by_size[key]) for key in keys]
    centers = np.array([_middle_mean(logs) for logs in groups])
    squares = np.array([((logs - logs.mean()) ** 2).sum() for logs in groups])
    counts = np.array([len(logs) for logs in groups])
    pooled = _NOISE_RUNS * _NOISE**2 + squares.sum()
    pooled /= _NOISE_RUNS + (counts - 1).sum()
    variance = (_NOISE_RUNS * pooled + squares) / (_NOISE_RUNS + counts - 1) / counts
    return Observed(
        p=np.array([p for p, _ in keys]),
        n=np.array([n for _, n in keys]),
        logs=centers,
        variance=variance,
        noise=float(np.sqrt(pooled)),
    )
