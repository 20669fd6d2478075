"""Intervals by a predictor's own record: how far it was off elsewhere, at a like distance.

Conformal prediction (Vovk, Gammerman, Shafer 2005) on absolute logarithms of predicted over
measured: of n errors of other series the ceil((n + 1) level)-th smallest holds the next one with
at least that probability, if the series are exchangeable. A point's own series is left out, so
that no interval knows what it is to cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from parcast_score.board import Score, distances
from parcast_score.statistics import quantile

LEVEL = 0.9

#: Within a factor of this a distance is like another.
_LIKE = 2.0


@attrs.frozen
class Error:
    """How far a predictor was off at a blind point."""

    dataset: str
    series: str
    distance: float  #: the size over the largest that calibrates; 1 where none does
    size: float  #: the absolute logarithm of predicted over measured


@attrs.frozen
class Record:
    """What intervals by the record are worth at the blind points of a dataset."""

    inside: int
    points: int
    factor: float  #: the median half width: predicted over measured is at most this off
    errors: int  #: the median number of errors of other series

    def __str__(self) -> str:
        return (
            f"within a factor of {self.factor:.3g} nine times of ten by its errors at "
            f"{self.errors} points of other series, which holds at {self.inside} of {self.points}"
        )


def errors_of(scores: Iterable[Score]) -> list[Error]:
    """Return the errors of one predictor's scores at blind points."""
    return [
        Error(score.dataset.name, answer.measured.point.series, distance or 1.0, abs(log_error))
        for score in scores
        for answer, distance in zip(score.answers, distances(score), strict=True)
        if answer.blind and (log_error := answer.log_error) is not None
    ]


def radius(error: Error, others: Sequence[Error], level: float = LEVEL) -> tuple[float, int] | None:
    """Return the half width, in logarithms, that the record gives a point, and by how many errors.

    The record is that of the same dataset at like distances, where it is long enough, else that of
    all datasets at like distances; None where neither is.
    """
    alike = [
        past
        for past in others
        if (past.dataset, past.series) != (error.dataset, error.series)
        and 1 / _LIKE <= past.distance / error.distance <= _LIKE
    ]
    for record in ([past for past in alike if past.dataset == error.dataset], alike):
        rank = math.ceil((len(record) + 1) * level)
        if rank <= len(record):
            return sorted(past.size for past in record)[rank - 1], len(record)
    return None


def record(score: Score, scores: Sequence[Score]) -> Record | None:
    """Return what intervals by the record are worth for a score, beside all scores of the board."""
    errors = errors_of(beside for beside in scores if beside.predictor == score.predictor)
    widths_of = [
        (error, radius(error, errors)) for error in errors if error.dataset == score.dataset.name
    ]
    judged = [(error.size <= width[0], *width) for error, width in widths_of if width is not None]
    if not judged:
        return None
    widths = sorted(width for _, width, _ in judged)
    counts = sorted(count for _, _, count in judged)
    return Record(
        inside=sum(holds for holds, _, _ in judged),
        points=len(judged),
        factor=math.exp(quantile(widths, 0.5) or 0.0),
        errors=counts[len(counts) // 2],
    )
