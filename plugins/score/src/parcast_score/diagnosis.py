"""What a prediction lacks, found by experiment: what errors go by, and what helps.

Of each fact that tells points apart, what the other points with the same value are off by is taken
off each point (leave one out). The fact that so leaves least is what the model does not have.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

import attrs

from parcast.errors import shorten
from parcast_score.board import Score, distances
from parcast_score.experiments import left_open, uncertain, with_more
from parcast_score.statistics import CHANCE, DRAWS, LIMIT, WORTH, Answer, median_of
from parcast_score.trends import trend

_FEWEST = 5

#: Where the time of a prediction goes.
_PARTS = ("compute", "communication", "io", "synchronization")

_NOT_FOUND = (
    "what is missing is not found: no column of the points goes by the errors, and no rule or "
    "experiment comes nearer"
)

#: Asks again, and says what that shows.
Experiment = Callable[[Score], Sequence[str]]

#: The fact that all points share.
ALL = "all points"

#: A fact that leaves a larger share of the points alone says nothing of them.
_ALONE = 0.25


@attrs.frozen
class Missing:
    """A fact that the errors go by, and what taking its groups' common error off leaves."""

    fact: str
    before: float  #: the median absolute error
    after: float
    groups: tuple[tuple[str, float, int], ...]  #: value, bias, points; the largest biases first

    def __str__(self) -> str:
        if self.fact == ALL:
            ((_, bias, count),) = self.groups
            return (
                f"all {count} points are off alike, by {100 * bias:+.3g} %: without what the "
                f"others have in common the median is {100 * self.after:.3g} %, not "
                f"{100 * self.before:.3g} %"
            )
        parts = ", ".join(
            f"{shorten(name, 40)} {100 * bias:+.3g} % ({n})" for name, bias, n in self.groups[:5]
        )
        further = ", ..." if len(self.groups) > 5 else ""
        return (
            f"what is missing goes by {self.fact}: without the error that others of the same "
            f"{self.fact} have in common the median is {100 * self.after:.3g} %, not "
            f"{100 * self.before:.3g} % ({parts}{further})"
        )


def lacks(
    score: Score, beside: Sequence[Score], experiment: Experiment = lambda _: []
) -> list[str]:
    """Return what a prediction lacks where its median error at blind points is above 10 %.

    ``beside`` has the other scores of the dataset: a solver that is right with the same workload
    and machine shows that neither of them is what is missing, and a rule that has something more
    shows that this is. ``experiment`` asks a solver again with something less.
    """
    median = score.blind.median
    if median is None or median <= LIMIT:
        return []
    sentences = [str(part) for part in (missing(score), trend(score)) if part]
    sentences += [*with_more(score, beside), *experiment(score), *left_open(score)]
    for rival in beside:
        if score.by_solver and rival.by_solver and _is_right(rival, score):
            sentences.append(
                f"{rival.predictor} has a median of {100 * (rival.blind.median or 0):.2g} % with "
                "the same workloads and machines, so that what is missing is in the "
                f"method{_by_part(score, rival)}"
            )
            break
    if sentences:
        return sentences
    few = f"{score.blind.answered} points are too few"
    not_found = (
        f"what is missing is not found: {few}" if score.blind.answered < _FEWEST else _NOT_FOUND
    )
    return uncertain(score, beside) or [not_found]


def _by_part(score: Score, rival: Score) -> str:
    """Return which part of the time two solvers differ by most, where both state parts."""
    shares: dict[str, float] = {}
    for first, second in zip(score.answers, rival.answers, strict=True):
        ours, others = first.prediction.parts, second.prediction.parts
        if not first.blind or ours is None or others is None:
            continue
        for name in _PARTS:
            apart = getattr(others, name) - getattr(ours, name)
            shares[name] = shares.get(name, 0.0) + apart / first.measured.seconds
    total = math.fsum(map(abs, shares.values()))
    if not total:
        return ""
    name = max(shares, key=lambda part: abs(shares[part]))
    short = "too little" if shares[name] > 0 else "too much"
    return f": {short} {name}, {100 * abs(shares[name]) / total:.0f} % of what they differ by"


def _is_right(rival: Score, score: Score) -> bool:
    """Tell whether a rival answered as many points with a median well below 10 %."""
    median = rival.blind.median
    as_many = rival.blind.answered >= score.blind.answered
    return median is not None and as_many and median < (1 - WORTH) * LIMIT


def missing(score: Score) -> Missing | None:
    """Return the fact that the errors at blind points go by; None where there is none.

    A fact counts only where shuffling its values over the points does as well in less than one of
    twenty draws, over all facts together; that all points are off alike, where other signs do.
    """
    pairs = [
        (answer, distance)
        for answer, distance in zip(score.answers, distances(score), strict=True)
        if answer.blind and answer.log_error is not None
    ]
    logs = [answer.log_error or 0.0 for answer, _ in pairs]
    facts = [(name, values) for name, values in _facts(score, pairs) if _tells(values)]
    if len(logs) < _FEWEST:
        return None
    before = median_of(logs)
    best: Missing | None = None
    for name, values in facts:
        after = median_of(_left(values, logs))
        worth = after <= (1 - WORTH) * before and (best is None or after < best.after)
        if worth and _by_chance(values, logs, after) <= CHANCE / len(facts):
            best = Missing(name, before, after, _groups(values, logs))
    return best


def _facts(
    score: Score, pairs: Sequence[tuple[Answer, float | None]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield what may tell points apart, with the value of each point."""
    yield ALL, [ALL] * len(pairs)
    points = [answer.measured.point for answer, _ in pairs]
    for name, unit in score.dataset.units.items():
        if unit == "text":
            yield name, [str(point.facts[name]) for point in points]
    if all(distance for _, distance in pairs):
        yield "distance", [f"{2.0 ** round(math.log2(d or 1.0)):g} times" for _, d in pairs]
    yield "size", [f"{point.size:g}" for point in points]


def _tells(values: Sequence[str]) -> bool:
    """Tell whether few enough points are alone with their value."""
    alone = sum(values.count(value) == 1 for value in values)
    several = len(set(values)) > 1 or values[:1] == [ALL]
    return several and alone <= _ALONE * len(values)


def _left(values: Sequence[str], logs: Sequence[float]) -> list[float]:
    """Return the errors without the mean of the other points with the same value."""
    sums: dict[str, tuple[float, int]] = {}
    for value, log in zip(values, logs, strict=True):
        total, count = sums.get(value, (0.0, 0))
        sums[value] = total + log, count + 1
    left = []
    for value, log in zip(values, logs, strict=True):
        total, count = sums[value]
        left.append(log - (total - log) / (count - 1) if count > 1 else log)
    return left


def _by_chance(values: Sequence[str], logs: Sequence[float], after: float) -> float:
    """Return how often chance leaves no more: shuffled values, or other signs where all is one."""
    draw = random.Random(len(logs))  # noqa: S311  (no secret; the same each time)
    as_good = 0
    for _ in range(DRAWS):
        if values[0] == ALL:
            left = _left(values, [log * draw.choice((-1, 1)) for log in logs])
        else:
            left = _left(draw.sample(values, len(values)), logs)
        as_good += median_of(left) <= after
    return (as_good + 1) / (DRAWS + 1)


def _groups(values: Sequence[str], logs: Sequence[float]) -> tuple[tuple[str, float, int], ...]:
    groups: dict[str, list[float]] = {}
    for value, log in zip(values, logs, strict=True):
        groups.setdefault(value, []).append(log)
    biases = [
        (value, math.expm1(math.fsum(logs) / len(logs)), len(logs))
        for value, logs in groups.items()
    ]
    return tuple(sorted(biases, key=lambda item: (-abs(item[1]), item[0])))
