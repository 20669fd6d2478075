"""Values by size, of all outputs of one benchmark together, with their spread."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from parcast.quantities import Line, fit_line
from parcast_machines_from.naming import pattern_of
from parcast_machines_from.records import Series, Value

#: The mean range of samples of a normal law in standard deviations, by their number.
_RANGES = {2: 1.128, 3: 1.693, 5: 2.326, 10: 3.078, 20: 3.735, 30: 4.086, 50: 4.498, 100: 5.015}

#: So many files are named one by one.
_NAMED = 2

#: A benchmark's value is not better known than this.
LEAST_SPREAD = 0.01


@attrs.frozen
class Point:
    """What was measured at one size."""

    size: float
    value: float  #: the median of all outputs
    spread: float  #: a standard deviation relative to it; `LEAST_SPREAD` or more
    repeats: int  #: runs that it is of
    where: tuple[str, ...]  #: files and lines


@attrs.frozen
class Curve:
    """A benchmark's values by size, ascending."""

    points: tuple[Point, ...]
    tool: str

    @property
    def source(self) -> str:
        """Where its values are from: each file with its first and last line.

        Many files with the same lines are a pattern and their number.
        """
        lines: dict[str, list[int]] = {}
        for point in self.points:
            for place in point.where:
                name, _, line = place.rpartition(":")
                lines.setdefault(name, []).append(int(line))
        by_lines: dict[str, list[str]] = {}
        for name, numbers in lines.items():
            last = f"-{max(numbers)}" if len(set(numbers)) > 1 else ""
            by_lines.setdefault(f"{min(numbers)}{last}", []).append(name)
        places = (place for where, names in by_lines.items() for place in _places(names, where))
        return f"{self.tool}, " + ", ".join(places)

    def part(self, first: int, last: int) -> Curve:
        """Return the points from the one number to the other, the last excluded."""
        return attrs.evolve(self, points=self.points[first:last])

    def at(self, size: float) -> float:
        """Return the value at a size, between the nearest ones on logarithmic scales."""
        sizes = [math.log(point.size + 1) for point in self.points]
        values = [math.log(point.value) for point in self.points]
        return math.exp(float(np.interp(math.log(size + 1), sizes, values)))


def _places(names: Sequence[str], lines: str) -> Iterator[str]:
    if len(names) > _NAMED:
        yield f"{pattern_of(names)}:{lines} ({len(names)} files)"
    else:
        yield from (f"{name}:{lines}" for name in names)


def line_through(points: Sequence[Point], least: float) -> Line:
    """Return the line through points, with ``least`` seconds a byte or more."""
    sizes, times, spreads = (
        np.array([getattr(point, name) for point in points]) for name in ("size", "value", "spread")
    )
    return fit_line(sizes, times, spreads, least)


def curve_of(series: Sequence[Series]) -> Curve | None:
    """Return the medians of all series by size; None where there are none."""
    by_size: dict[float, list[tuple[Value, Series]]] = {}
    for item in series:
        for value in item.values:
            by_size.setdefault(value.size, []).append((value, item))
    if not by_size:
        return None
    points = tuple(_point(size, by_size[size]) for size in sorted(by_size))
    tools = sorted({item.tool for item in series})
    benchmark = series[0].benchmark
    return Curve(points, f"{' and '.join(tools)} {benchmark}")


def _point(size: float, values: Sequence[tuple[Value, Series]]) -> Point:
    numbers = [value.value for value, _ in values]
    middle = float(np.median(numbers))
    spreads = [spread_of(value) for value, _ in values]
    if len(numbers) > 1:
        spreads.append(float(np.std(numbers, ddof=1)) / middle)
    where = tuple(f"{item.where.rpartition(':')[0]}:{value.line}" for value, item in values)
    repeats = sum(value.repeats for value, _ in values)
    return Point(size, middle, max(LEAST_SPREAD, *spreads), repeats, where)


def spread_of(value: Value) -> float:
    """Return the standard deviation relative to a value that its least and largest repeat tell."""
    if not value.low or value.high is None or value.repeats < 2:
        return 0.0
    counts, ranges = zip(*_RANGES.items(), strict=True)
    expected = float(np.interp(math.log(value.repeats), np.log(counts), ranges))
    return math.log(value.high / value.low) / expected


def contradictions(series: Sequence[Series]) -> Iterator[str]:
    """Yield what outputs of one benchmark say differently at one size, beyond their spread.

    The furthest apart is told, and how many pairs of outputs are. A single run has no spread of
    its own; 15 % is taken then.
    """
    apart = [
        _contradiction(first, second)
        for number, first in enumerate(series)
        for second in series[number + 1 :]
    ]
    apart = [entry for entry in apart if entry[0] > 0]
    if apart:
        more = f"; so do {len(apart) - 1} other pairs of outputs" if len(apart) > 1 else ""
        yield max(apart)[1] + more


#: Why outputs of one benchmark may contradict each other, and what to do.
_OTHERWISE = (
    "they may be of two machines (each needs its own call), of near and far nodes, or of one node "
    "(--within node=FILES)"
)


def _contradiction(first: Series, second: Series) -> tuple[float, str]:
    """Return how far two outputs are apart where they are furthest, and what to say of it."""
    opposites = {value.size: value for value in second.values}
    worst, text = 0.0, ""
    for value in first.values:
        opposite = opposites.get(value.size)
        if opposite is None:
            continue
        ratio = abs(math.log(opposite.value / value.value))
        allowed = 2 * math.hypot(*(spread_of(item) or 0.075 for item in (value, opposite)))
        if ratio > allowed and ratio > worst:
            worst = ratio
            of = f" of {value.size:.0f} bytes" if value.size else ""
            text = (
                f"{first.benchmark}{of}: {_place(first, value)} and "
                f"{_place(second, opposite)} differ by {100 * (math.exp(ratio) - 1):.0f} %, "
                f"more than their repeats do; {_OTHERWISE}"
            )
    return worst, text


def _place(series: Series, value: Value) -> str:
    return f"{series.where.rpartition(':')[0]}:{value.line}"
