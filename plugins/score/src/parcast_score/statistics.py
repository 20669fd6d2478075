"""What the answers of a predictor are worth: errors, bias, coverage, knees, bottlenecks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from parcast import Prediction
from parcast.model import Measured

#: Probabilities between which 50 and 90 % intervals lie.
LEVELS: Mapping[int, tuple[float, float]] = {50: (0.25, 0.75), 90: (0.05, 0.95)}

#: A curve's knee is its smallest size within this of the shortest time.
_FLAT = 1.05

#: Medians above this are explained.
LIMIT = 0.10

#: What explains errors must take so much off their median.
WORTH = 0.25

#: How likely chance may explain errors as well, and how often it is tried.
CHANCE, DRAWS = 0.05, 999


@attrs.frozen
class Answer:
    """What was measured at a point, and what was predicted without having seen it or having."""

    measured: Measured
    prediction: Prediction
    blind: bool

    @property
    def error(self) -> float | None:
        """The relative error, positive where the prediction is longer; None without one."""
        time = self.prediction.time
        return None if time is None else time / self.measured.seconds - 1

    @property
    def log_error(self) -> float | None:
        """The logarithm of predicted over measured; None without a prediction."""
        time = self.prediction.time
        return None if not time else math.log(time / self.measured.seconds)


@attrs.frozen(kw_only=True)
class Summary:
    """What answers are worth together; errors are relative, of those that were answered."""

    points: int
    answered: int
    refused: Mapping[str, int] = attrs.field(hash=False)  #: how many points by reason
    median: float | None
    ninety: float | None  #: nine of ten errors are at most this
    worst: float | None
    bias: float | None  #: geometric mean of predicted over measured, less 1
    coverage: Mapping[int, tuple[int, int]] = attrs.field(hash=False)  #: inside, of how many
    knees: tuple[int, int]  #: within a doubling, of how many curves
    bottlenecks: tuple[int, int]  #: right, of how many

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **attrs.asdict(self, recurse=False),
            "refused": dict(self.refused),
            "coverage": {str(level): list(pair) for level, pair in self.coverage.items()},
            "knees": list(self.knees),
            "bottlenecks": list(self.bottlenecks),
        }


def summary(answers: Sequence[Answer], curves: Sequence[Answer] = ()) -> Summary:
    """Return what some answers are worth; knees are judged on whole ``curves``."""
    errors = sorted(abs(answer.error) for answer in answers if answer.error is not None)
    logs = [answer.log_error for answer in answers if answer.log_error is not None]
    refused: dict[str, int] = {}
    for answer in answers:
        if answer.error is None:
            refused[answer.prediction.message] = refused.get(answer.prediction.message, 0) + 1
    return Summary(
        points=len(answers),
        answered=len(errors),
        refused=dict(sorted(refused.items(), key=lambda item: (-item[1], item[0]))),
        median=quantile(errors, 0.5),
        ninety=quantile(errors, 0.9),
        worst=errors[-1] if errors else None,
        bias=math.expm1(math.fsum(logs) / len(logs)) if logs else None,
        coverage={level: _coverage(answers, ends) for level, ends in LEVELS.items()},
        knees=_knees(curves or answers),
        bottlenecks=_bottlenecks(answers),
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the quantile of sorted values, between neighbors where it lies there."""
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def median_of(logs: Iterable[float]) -> float:
    """Return the median of the relative errors that logarithms of predicted over measured are."""
    return quantile(sorted(abs(math.expm1(log)) for log in logs), 0.5) or 0.0


def _coverage(answers: Iterable[Answer], ends: tuple[float, float]) -> tuple[int, int]:
    inside = count = 0
    for answer in answers:
        interval = answer.prediction.quantiles
        if answer.error is None or not {*ends} <= interval.keys():
            continue
        count += 1
        inside += interval[ends[0]] <= answer.measured.seconds <= interval[ends[1]]
    return inside, count


def _knees(answers: Iterable[Answer]) -> tuple[int, int]:
    """Return how many knees are within a doubling, of curves with three or more sizes."""
    curves: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.error is not None:
            curves.setdefault(answer.measured.point.series, []).append(answer)
    right = count = 0
    for curve in curves.values():
        sizes = {answer.measured.point.size for answer in curve}
        if len(sizes) < 3 or len(sizes) < len(curve):
            continue
        count += 1
        measured = _knee(curve, lambda answer: answer.measured.seconds)
        predicted = _knee(curve, lambda answer: answer.prediction.time or 0.0)
        right += 0.5 <= predicted / measured <= 2
    return right, count


def _knee(curve: Sequence[Answer], seconds: Callable[[Answer], float]) -> float:
    """Return the smallest size whose time for each work is about the shortest."""
    times = {
        answer.measured.point.size: seconds(answer) / answer.measured.point.work for answer in curve
    }
    limit = _FLAT * min(times.values())
    return min(size for size, time in times.items() if time <= limit)


def _bottlenecks(answers: Iterable[Answer]) -> tuple[int, int]:
    judged = [
        answer.measured.bottleneck == answer.prediction.binding
        for answer in answers
        if answer.measured.bottleneck and answer.prediction.binding
    ]
    return sum(judged), len(judged)
