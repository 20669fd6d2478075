"""Intervals by a predictor's own record: how far it was off elsewhere, at a like distance.

Conformal prediction (Vovk, Gammerman, Shafer 2005) on absolute logarithms of predicted over
measured: of n errors the ceil((n + 1) level)-th smallest holds the next one with at least that
probability, if it is exchangeable with them. On the board a point's own series is left out, so
that no interval knows what it is to cover; and whole datasets are, to see whether a record holds
elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

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
    distance: float | None  #: the size over the largest that calibrates; None where none does
    size: float  #: the absolute logarithm of predicted over measured
    simulated: bool = False


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
    """Return the errors of one predictor's scores at blind points, where datasets record them."""
    return [
        Error(
            score.dataset.name,
            answer.measured.point.series,
            distance,
            abs(log_error),
            score.dataset.simulated,
        )
        for score in scores
        if not score.dataset.unrecorded
        for answer, distance in zip(score.answers, distances(score), strict=True)
        if answer.blind and (log_error := answer.log_error) is not None
    ]


def like(first: float | None, second: float | None) -> bool:
    """Tell whether two distances are alike; where nothing calibrates is a distance of its own."""
    if first is None or second is None:
        return first is second
    return 1 / _LIKE <= first / second <= _LIKE


def conformal(sizes: Sequence[float], level: float = LEVEL) -> float | None:
    """Return the half width, in logarithms, that holds the next error; None by too few errors."""
    rank = math.ceil((len(sizes) + 1) * level)
    return sorted(sizes)[rank - 1] if rank <= len(sizes) else None


def radius(error: Error, others: Sequence[Error], level: float = LEVEL) -> tuple[float, int] | None:
    """Return the half width, in logarithms, that the record gives a point, and by how many errors.

    The record is that of the same dataset at like distances, where it is long enough, else that of
    all datasets at like distances; None where neither is.
    """
    alike = _alike(error, others, lambda past: (past.dataset, past.series))
    return _radius([past for past in alike if past.dataset == error.dataset], level) or _radius(
        alike, level
    )


def elsewhere(error: Error, others: Sequence[Error]) -> tuple[float, int] | None:
    """Return the half width by the errors of other datasets alone, and their number."""
    return _radius(_alike(error, others, lambda past: past.dataset), LEVEL)


def _alike(error: Error, others: Sequence[Error], own: Callable[[Error], object]) -> list[Error]:
    """Return the errors at like distances, measured or simulated alike, without the own ones."""
    return [
        past
        for past in others
        if own(past) != own(error)
        and past.simulated == error.simulated
        and like(past.distance, error.distance)
    ]


def _radius(record: Sequence[Error], level: float) -> tuple[float, int] | None:
    width = conformal([past.size for past in record], level)
    return None if width is None else (width, len(record))


def held_out(errors: Sequence[Error]) -> tuple[int, int]:
    """Return how many errors the record of the other datasets holds, of how many it can judge."""
    judged = [
        error.size <= width[0]
        for error in errors
        if (width := elsewhere(error, errors)) is not None
    ]
    return sum(judged), len(judged)


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
