"""Scaling as a predictor of measured series: the bands of what is blind, from what calibrates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parcast import Prediction, Status
from parcast.errors import FileError
from parcast.model import Measured, Question
from parcast_scaling.curves import curves
from parcast_scaling.forecast import Band, bands
from parcast_scaling.times import Run, check, observe

_NONE = "no point of its group calibrates"


def answer(question: Question) -> list[Prediction]:
    """Predict each point from the calibrating points of its group; of its series without groups.

    Series of one group (the fact ``group``) are one code on one system, with more or less work.
    One size is enough: the prior says how codes scale, and the bands how little that is.
    """
    answers: dict[int, Prediction] = {}
    groups: dict[str, list[int]] = {}
    for index, point in enumerate(question.points):
        groups.setdefault(point.group, []).append(index)
    for name, indices in groups.items():
        measured = [item for item in question.calibrating if item.point.group == name]
        answers |= zip(indices, _of_group(question, measured, indices), strict=True)
    return [answers[index] for index in range(len(question.points))]


def _of_group(
    question: Question, measured: Sequence[Measured], indices: Sequence[int]
) -> list[Prediction]:
    if not measured:
        return [Prediction(status=Status.REFUSED, message=_NONE)] * len(indices)
    unit = measured[0].point.work
    runs = [
        Run(item.point.size, item.seconds, item.point.work / unit, item.point.place)
        for item in measured
    ]
    try:
        check(runs, question.dataset, needed=1)
    except FileError as error:
        return [Prediction(status=Status.REFUSED, message=str(error))] * len(indices)
    points = [question.points[index] for index in indices]
    p = np.array([point.size for point in points], dtype=float)
    n = np.array([point.work / unit for point in points])
    drawn, _ = curves(observe(runs), p, n)
    return [_prediction(band) for band in bands(drawn, 0.5)]


def _prediction(band: Band) -> Prediction:
    return Prediction(
        time=band.median,
        quantiles={0.05: band.low90, 0.25: band.low50, 0.75: band.high50, 0.95: band.high90},
        notes=(f"{band.binds} takes the largest part in {band.binds_chance:.0%} of the draws",),
    )
