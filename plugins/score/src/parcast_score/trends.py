"""Columns of numbers that errors grow with.

The logarithm of predicted over measured at blind points is set against that of each column,
relative to the largest calibrating point of the series. A column is named if a line through the
other points takes enough off each, and if shuffled values seldom do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from parcast.model import Measured
from parcast_score.baselines import largest
from parcast_score.board import Score
from parcast_score.statistics import CHANCE, DRAWS, WORTH, median_of

#: Fewer points than this show no line.
FEWEST = 5


@attrs.frozen
class Trend:
    """A column that errors grow with, and what a line through the other points leaves."""

    column: str
    doubling: float  #: what each doubling of the column adds to the prediction
    before: float  #: the median absolute error
    after: float

    def __str__(self) -> str:
        return (
            f"what is missing goes by how much {self.column} grows beyond the largest calibrating "
            f"size, {100 * self.doubling:+.3g} % with each doubling: without a line through the "
            f"other points' errors the median is {100 * self.after:.3g} %, not "
            f"{100 * self.before:.3g} %"
        )


def trend(score: Score) -> Trend | None:
    """Return the column that errors at blind points grow with; None where there is none."""
    pairs = [
        (answer.measured.point, answer.log_error)
        for answer in score.answers
        if answer.blind and answer.log_error is not None
    ]
    logs = [log for _, log in pairs]
    if len(logs) < FEWEST:
        return None
    before = median_of(logs)
    columns = dict(_columns(score))
    best: Trend | None = None
    for name, growth in columns.items():
        left = _left(growth, logs)
        after = math.inf if left is None else median_of(left)
        worth = after <= (1 - WORTH) * before and (best is None or after < best.after)
        if worth and _by_chance(growth, logs, after) <= CHANCE / len(columns):
            best = Trend(name, math.expm1(_slope(growth, logs) * math.log(2)), before, after)
    return best


def _columns(score: Score) -> Iterator[tuple[str, list[float]]]:
    """Yield columns of numbers that grow, with the logarithm of their growth at blind points."""
    series: dict[str, list[Measured]] = {}
    for item in score.dataset.calibrating:
        series.setdefault(item.point.series, []).append(item)
    start = {name: largest(items).point for name, items in series.items()}
    points = [
        answer.measured.point
        for answer in score.answers
        if answer.blind and answer.log_error is not None
    ]
    if not all(point.series in start for point in points):
        return
    for name, unit in score.dataset.units.items():
        ends: list[tuple[Any, Any]] = [
            (start[point.series].facts.get(name), point.facts.get(name)) for point in points
        ]
        if unit == "text" or not all(
            isinstance(value, int | float) and value > 0 for pair in ends for value in pair
        ):
            continue
        growth = [math.log(end / begin) for begin, end in ends]
        if len(set(growth)) > 1:
            yield name, growth


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    products = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return products / math.fsum((a - mean_x) ** 2 for a in x)


def _left(x: Sequence[float], y: Sequence[float]) -> list[float] | None:
    """Return what a line through the other points leaves of each; None if one point makes it."""
    count, mean_x, mean_y = len(x), math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread, slope = math.fsum((a - mean_x) ** 2 for a in x), _slope(x, y)
    left = []
    for a, b in zip(x, y, strict=True):
        leverage = 1 / count + (a - mean_x) ** 2 / spread
        if leverage > 1 - 1e-9:
            return None
        left.append((b - mean_y - slope * (a - mean_x)) / (1 - leverage))
    return left


def _by_chance(x: Sequence[float], y: Sequence[float], after: float) -> float:
    """Return how often shuffled values leave no more."""
    draw = random.Random(len(y))  # noqa: S311  (no secret; the same each time)
    as_good = 0
    for _ in range(DRAWS):
        left = _left(draw.sample(x, len(x)), y)
        as_good += left is not None and median_of(left) <= after
    return (as_good + 1) / (DRAWS + 1)
