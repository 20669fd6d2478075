"""A predictor: each point takes its share of the first one's work."""

from __future__ import annotations

from parcast import Prediction, Status
from parcast.model import Question


def predict(question: Question) -> list[Prediction]:
    """Predict each point from the first of its series, with the work divided evenly."""
    answers = {}
    for calibrating, indices in question.series():
        for index in indices:
            point = question.points[index]
            if not calibrating:
                message = f"{point.series} has no calibrating point"
                answers[index] = Prediction(status=Status.REFUSED, message=message)
                continue
            first = calibrating[0]
            share = first.point.size / point.size * point.work / first.point.work
            answers[index] = Prediction(time=first.seconds * share)
    return [answers[index] for index in range(len(question.points))]
