"""Plain rules: what needs no model, and what every model should beat."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from parcast import Prediction, Status
from parcast.model import Measured, Point, Question

#: Predicts a point from the calibrating points of its series; a text says why it cannot.
Rule = Callable[[Sequence[Measured], Point], float | str]

#: The fact that says which series share a fixed cost and a rate.
GROUP = "group"


def last_value(question: Question) -> list[Prediction]:
    """Predict the time of the largest calibrating size, whatever the size asked."""
    return by_series(question, lambda measured, _: largest(measured).seconds)


def ideal(question: Question) -> list[Prediction]:
    """Predict from the largest calibrating size that time is as work over size."""
    return by_series(question, _ideal)


def power_law(question: Question) -> list[Prediction]:
    """Predict time over work as a power of size, least squares of logarithms in each series."""
    return by_series(question, _power_law)


def work_line(question: Question) -> list[Prediction]:
    """Predict a + b work / size, with a and b from all calibrating points of a group.

    The group is the fact of that name. Relative errors are least, and a and b are not negative.
    """
    groups: dict[str, list[Measured]] = {}
    for item in question.calibrating:
        groups.setdefault(_group(item.point), []).append(item)
    return [
        _prediction(_work_line(groups.get(_group(point), []), point)) for point in question.points
    ]


def largest(items: Sequence[Measured]) -> Measured:
    """Return the point of the largest size; of several, the geometric middle one."""
    size = max(item.point.size for item in items)
    alike = sorted((item for item in items if item.point.size == size), key=_rate)
    return alike[(len(alike) - 1) // 2]


def by_series(question: Question, rule: Rule) -> list[Prediction]:
    """Predict every point by a rule from the calibrating points of its series."""
    answers: dict[int, Prediction] = {}
    for measured, indices in question.series():
        for index in indices:
            point = question.points[index]
            answer = rule(measured, point) if measured else "no point of its series calibrates"
            answers[index] = _prediction(answer)
    return [answers[index] for index in range(len(question.points))]


def _prediction(answer: float | str) -> Prediction:
    if isinstance(answer, str):
        return Prediction(status=Status.REFUSED, message=answer)
    return Prediction(time=answer)


def _rate(item: Measured) -> float:
    return item.seconds / item.point.work


def _ideal(measured: Sequence[Measured], point: Point) -> float:
    reference = largest(measured)
    return _rate(reference) * reference.point.size * point.work / point.size


def _power_law(measured: Sequence[Measured], point: Point) -> float | str:
    x = [math.log(item.point.size) for item in measured]
    y = [math.log(_rate(item)) for item in measured]
    if len(set(x)) < 2:
        return "one size of its series calibrates, a power needs two"
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    products = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = products / math.fsum((a - mean_x) ** 2 for a in x)
    return point.work * math.exp(mean_y + slope * (math.log(point.size) - mean_x))


def _group(point: Point) -> str:
    return str(point.facts.get(GROUP) or point.series)


def _share(point: Point) -> float:
    return point.work / point.size


def _work_line(measured: Sequence[Measured], point: Point) -> float | str:
    shares = [_share(item.point) for item in measured]
    if len({f"{share:.9g}" for share in shares}) < 2:
        return "its group calibrates with one amount of work per size, a line needs two"
    # least squares of relative errors: rows (1, share) / seconds, right side 1
    weights = [1 / item.seconds for item in measured]
    s0 = math.fsum(w * w for w in weights)
    s1 = math.fsum(w * w * x for w, x in zip(weights, shares, strict=True))
    s2 = math.fsum(w * w * x * x for w, x in zip(weights, shares, strict=True))
    t0 = math.fsum(weights)
    t1 = math.fsum(w * x for w, x in zip(weights, shares, strict=True))
    determinant = s0 * s2 - s1 * s1
    fixed, rate = (t0 * s2 - t1 * s1) / determinant, (s0 * t1 - s1 * t0) / determinant
    if fixed < 0:
        fixed, rate = 0.0, t1 / s2
    elif rate < 0:
        fixed, rate = t0 / s0, 0.0
    return fixed + rate * _share(point)
