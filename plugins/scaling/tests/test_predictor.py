"""The scoreboard's predictor: bands from the calibrating points of each series alone."""

from parcast import Status
from parcast.model import Measured, Point, Question
from parcast_scaling import predict
from parcast_scaling.predictor import answer


def measured(series: str, size: float, seconds: float) -> Measured:
    return Measured(Point(series, size), seconds)


def test_bands_are_those_of_predict_series_by_series():
    known = (measured("a", 1, 8.0), measured("a", 2, 4.2), measured("b", 4, 3.0))
    points = (*(item.point for item in known), Point("a", 8), Point("b", 8))
    predictions = answer(Question(dataset="d", counts="nodes", calibrating=known, points=points))
    (band,) = predict([(1, 8.0), (2, 4.2)], [8])[-1:]
    asked = predictions[3]
    assert 0.2 < asked.time / 1.1 < 5
    assert asked.quantiles[0.05] < asked.quantiles[0.25] < asked.time < asked.quantiles[0.95]
    assert 0.8 < asked.time / band.median < 1.25
    assert {item.status for item in predictions} == {Status.OK}
    widths = [item.quantiles[0.95] / item.quantiles[0.05] for item in predictions[3:]]
    assert widths[1] > 1.5  # one size is enough for the prior's band


def test_nothing_or_one_process_is_refused():
    known = (measured("a", 1, 8.0),)
    points = (known[0].point, Point("a", 8), Point("b", 8))
    answers = answer(Question(dataset="d", counts="nodes", calibrating=known, points=points))
    assert "all times are at p = 1" in answers[1].message
    assert "no point of its group calibrates" in answers[2].message
