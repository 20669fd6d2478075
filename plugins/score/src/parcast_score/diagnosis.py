"""What a prediction lacks, found by experiment: what points whose errors are alike have in common.

Of each fact that tells points apart, what the other points with the same value are off by is taken
off each point (leave one out). The fact that so leaves least is what the model does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from parcast_score.board import Score, distances
from parcast_score.statistics import Answer, quantile

#: Medians above this are explained.
LIMIT = 0.10

#: A fact must take so much off the median to be named.
_WORTH = 0.25

_FEWEST = 4

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
        parts = ", ".join(f"{name} {100 * bias:+.3g} % ({n})" for name, bias, n in self.groups[:5])
        further = ", ..." if len(self.groups) > 5 else ""
        return (
            f"what is missing goes by {self.fact}: without the error that others of the same "
            f"{self.fact} have in common the median is {100 * self.after:.3g} %, not "
            f"{100 * self.before:.3g} % ({parts}{further})"
        )


def lacks(score: Score, beside: Sequence[Score]) -> list[str]:
    """Return what a prediction lacks where its median error at blind points is above 10 %.

    ``beside`` has the other scores of the dataset: a solver that is right with the same workload
    and machine shows that neither of them is what is missing.
    """
    median = score.blind.median
    if median is None or median <= LIMIT:
        return []
    fact = missing(score)
    sentences = [str(fact)] if fact else []
    if score.dataset.modeling is not None:
        near = [other for other in beside if (other.blind.median or 1) < (1 - _WORTH) * LIMIT]
        sentences += [
            f"{other.predictor} has a median of {100 * (other.blind.median or 0):.2g} % with the "
            "same workloads and machines, so that what is missing is in the method, not in them"
            for other in near[:1]
        ]
    return sentences or ["what is missing is not found: no column of the points goes by the errors"]


def missing(score: Score) -> Missing | None:
    """Return the fact that the errors at blind points go by; None where there is none."""
    median = score.blind.median
    if median is None:
        return None
    candidates = [candidate for candidate in _candidates(score, median) if candidate is not None]
    best = min(candidates, key=lambda candidate: candidate.after, default=None)
    return best if best and best.after <= (1 - _WORTH) * median else None


def _candidates(score: Score, median: float) -> Iterator[Missing | None]:
    pairs = [
        (answer, distance)
        for answer, distance in zip(score.answers, distances(score), strict=True)
        if answer.blind and answer.log_error is not None
    ]
    answers = [answer for answer, _ in pairs]
    names = [name for name, unit in score.dataset.units.items() if unit == "text"]
    for name in names:
        yield _by(
            name, [str(answer.measured.point.facts[name]) for answer in answers], answers, median
        )
    if all(distance for _, distance in pairs):
        words = [f"{_power(distance or 1.0)} times" for _, distance in pairs]
        yield _by("distance", words, answers, median)
    yield _by("size", [f"{answer.measured.point.size:g}" for answer in answers], answers, median)


def _power(value: float) -> str:
    return f"{2.0 ** round(math.log2(value)):g}"


def _by(
    fact: str, values: Sequence[str], answers: Sequence[Answer], median: float
) -> Missing | None:
    groups: dict[str, list[float]] = {}
    for value, answer in zip(values, answers, strict=True):
        groups.setdefault(value, []).append(answer.log_error or 0.0)
    alone = sum(len(logs) == 1 for logs in groups.values())
    if len(answers) < _FEWEST or alone > _ALONE * len(answers):
        return None
    left = [abs(math.expm1(log - _others(logs, log))) for logs in groups.values() for log in logs]
    biases = [
        (value, math.expm1(math.fsum(logs) / len(logs)), len(logs))
        for value, logs in groups.items()
    ]
    return Missing(
        fact=fact,
        before=median,
        after=quantile(sorted(left), 0.5) or 0.0,
        groups=tuple(sorted(biases, key=lambda item: (-abs(item[1]), item[0]))),
    )


def _others(logs: Sequence[float], log: float) -> float:
    """Return the mean error of the others of a group; 0 of a point that is alone."""
    return (math.fsum(logs) - log) / (len(logs) - 1) if len(logs) > 1 else 0.0
