"""The predictor ``scaling``: bands of each series of a dataset, from its calibrating points."""

from __future__ import annotations

from collections.abc import Sequence

from parcast import Prediction, Status
from parcast.model import Measured, Point, Question
from parcast_scaling.forecast import Band, predict


def answer(question: Question) -> list[Prediction]:
    """Return the median and the 50 and 90 % bands of every point; of single sizes a refusal."""
    answers: dict[int, Prediction] = {}
    for measured, indices in question.series():
        points = [question.points[index] for index in indices]
        answers |= dict(zip(indices, _series(measured, points), strict=True))
    return [answers[index] for index in range(len(question.points))]


def _series(measured: Sequence[Measured], points: Sequence[Point]) -> list[Prediction]:
    if len({(item.point.size, item.point.work) for item in measured}) < 2:
        reason = "one size of its series calibrates, a curve needs two"
        return [Prediction(status=Status.REFUSED, message=reason)] * len(points)
    runs = [(item.point.size, item.seconds, item.point.work) for item in measured]
    return [
        _prediction(band) for band in predict(runs, [(point.size, point.work) for point in points])
    ]


def _prediction(band: Band) -> Prediction:
    quantiles = {0.05: band.low90, 0.25: band.low50, 0.75: band.high50, 0.95: band.high90}
    return Prediction(time=band.median, quantiles=quantiles)
