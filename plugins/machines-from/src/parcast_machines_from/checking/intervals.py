"""What was measured beside its prediction, and the intervals that it is to be in."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from parcast_machines_from.simultaneous import Deviation, critical

#: Half of a normal 95 % interval in standard deviations, and the median of its absolute values.
_Z, _MEDIAN = 1.96, 0.6745

#: Other benchmarks that tell how far one may be off.
_FEWEST = 4


@attrs.frozen
class Compared:
    """One measured value and its prediction, in base units."""

    benchmark: str
    quantity: str
    processes: int
    nodes: int | None
    within: str
    size: float
    measured: float
    predicted: float
    low: float | None
    high: float | None
    where: str
    all_low: float | None = None  #: of the interval that holds together with those of all others
    all_high: float | None = None
    spread: float = 0.0  #: of the median of its repeats, relative to it
    rounds: tuple[float, ...] = ()

    @property
    def error(self) -> float:
        """How far the prediction is above what was measured, as a part of that."""
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool | None:
        """Whether what was measured is in the interval; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high

    @property
    def inside_with_all(self) -> bool | None:
        """Whether what was measured is in the interval that holds together with all others."""
        if self.all_low is None or self.all_high is None:
            return None
        return self.all_low <= self.measured <= self.all_high

    @property
    def deviation(self) -> Deviation:
        """What it may be off by, as far as its repeats tell it."""
        assert self.low
        assert self.high
        half = math.log(self.high / self.low) / 2
        share = (_Z * self.spread / half) ** 2 if half else 0.0
        return Deviation(share, self.rounds, self.where.rpartition(":")[0])

    def with_all(self, deviations: float) -> Compared:
        """Return it with an interval of so many standard deviations to either side as well."""
        if not self.low or not self.high:
            return self
        low, high = (
            self.predicted * (end / self.predicted) ** (deviations / _Z)
            for end in (self.low, self.high)
        )
        return attrs.evolve(self, all_low=low, all_high=high)

    @property
    def is_message(self) -> bool:
        """Whether it is a benchmark of messages."""
        return not self.benchmark.startswith(("triad", "gemm", "write"))

    def widened(self, spread: float) -> Compared:
        """Return it with an interval that holds a further spread, relative to the prediction."""
        if self.low is None or self.high is None or not spread:
            return self
        low, high = (
            math.hypot(math.log(end / self.predicted), _Z * spread) for end in (self.low, self.high)
        )
        return attrs.evolve(
            self, low=self.predicted * math.exp(-low), high=self.predicted * math.exp(high)
        )


def with_record(compared: Sequence[Compared]) -> tuple[Compared, ...]:
    """Return all with intervals that hold how far the other benchmarks of messages are off.

    A file's numbers are of some benchmarks, and others are not made of messages as these are; how
    far they usually are off is known where there are several. Each benchmark's own errors do not
    count for it.
    """
    errors: dict[str, list[float]] = {}
    for item in compared:
        if item.is_message:
            errors.setdefault(item.benchmark, []).append(math.log(item.predicted / item.measured))
    middles = {name: float(np.median(np.abs(values))) for name, values in errors.items()}
    spreads = {
        name: math.sqrt(sum(value**2 for value in others) / len(others)) / _MEDIAN
        for name in middles
        if len(others := [value for key, value in middles.items() if key != name]) >= _FEWEST
    }
    return tuple(item.widened(spreads.get(item.benchmark, 0.0)) for item in compared)


def at_once(compared: Sequence[Compared]) -> tuple[Compared, ...]:
    """Return all with intervals that hold together."""
    uncertain = [item for item in compared if item.low and item.high]
    if not uncertain:
        return tuple(compared)
    deviations = critical([item.deviation for item in uncertain])
    return tuple(item.with_all(deviations) for item in compared)
