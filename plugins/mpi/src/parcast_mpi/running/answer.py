"""The answer of a real run: the median of its repetitions, and how they spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast import Parts, Prediction
from parcast_mpi.host import Load

_BOTTLENECKS = ("processor", "network", "storage", "synchronization")

#: Work of others, in shares of all cores, that is said beside a measured time.
QUIET = 0.05


@attrs.frozen
class MeasuredRun:
    """Repetitions of a real run."""

    times: tuple[float, ...]  #: seconds
    parts: tuple[Parts, ...]  #: of each repetition, the mean over the ranks
    library: str
    before: Load | None  #: of the host, before the run
    during: Load | None  #: of the host during the run, whose busy share holds the run itself


def collect(answers: Sequence[Any]) -> tuple[tuple[float, ...], tuple[Parts, ...]]:
    """Return times and parts of the repetitions from what each rank answered."""
    times = tuple(float(time) for time, _ in answers[0]["repetitions"])
    of_ranks = np.array([[parts for _, parts in answer["repetitions"]] for answer in answers])
    return times, tuple(Parts(*map(float, parts)) for parts in of_ranks.mean(axis=0))


def prediction(measured: MeasuredRun) -> Prediction:
    """Return a measured answer: median, 95 % interval of the median, quantiles and parts."""
    times = np.array(measured.times)
    order = np.argsort(times, kind="stable")
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    parts = sum((measured.parts[i] for i in middle), Parts()) * (1 / len(middle))
    time = parts.total  # the median, but for rounding
    low, high = median_interval(measured.times)
    spent: dict[str, float] = dict(zip(_BOTTLENECKS, parts.values(), strict=True))
    return Prediction(
        time=time,
        parts=parts,
        std=float(times.std(ddof=1)),
        ci=(min(low, time), max(high, time)),
        quantiles={q: float(np.quantile(times, q)) for q in (0.05, 0.25, 0.75, 0.95)},
        binding=max(spent, key=lambda name: spent[name]) if time else None,
        notes=tuple(_notes(measured)),
        assumptions=(
            "measured on this host: no number of the machine file is used",
            "all waiting for messages counts as communication, that in barriers as synchronization",
        ),
        details={
            "measured": True,
            "repetitions": list(measured.times),
            "library": measured.library,
            "load": {
                when: attrs.asdict(load)
                for when, load in (("before", measured.before), ("during", measured.during))
                if load is not None
            },
        },
    )


def _notes(measured: MeasuredRun) -> list[str]:
    count, low, high = len(measured.times), min(measured.times), max(measured.times)
    notes = [f"median of {count} repetitions, from {low:.4g} to {high:.4g} s"]
    if measured.before and max(measured.before.busy, measured.before.steal) > QUIET:
        notes.append(
            f"the host was busy before the run, so times may be too long: {measured.before}"
        )
    if measured.during and measured.during.steal > QUIET:
        notes.append(
            f"other virtual machines took {measured.during.steal:.1%} of the cores during the run, "
            "so times may be too long"
        )
    return notes


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return an interval that holds the median with a confidence of 0.95 at least.

    The order statistics whose binomial tails are small enough (Hahn & Meeker, Statistical
    Intervals, 1991, section 5.2); all of the values where there are too few.
    """
    ordered = sorted(values)
    n, k = len(ordered), 0
    tail = 0.5**n
    while k < n // 2 and 2 * tail <= 0.05:
        k += 1
        tail += math.comb(n, k) * 0.5**n
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]
