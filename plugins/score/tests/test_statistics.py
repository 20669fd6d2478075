"""What answers are worth, against plain references."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from parcast import Prediction
from parcast.model import Measured, Point
from parcast.testing import seeds
from parcast_score.record import Error, radius
from parcast_score.statistics import Answer, quantile, summary


def answer(time, seconds=1.0, *, series="s", size=1.0, blind=True, **rest):
    point = Point(series=series, size=size)
    bottleneck = rest.pop("bottleneck", "")
    prediction = Prediction(time=time, **rest)
    return Answer(Measured(point, seconds, bottleneck=bottleneck), prediction, blind)


def test_quantiles_are_those_of_numpy():
    for seed in seeds(50):
        draw = random.Random(seed)
        values = sorted(draw.uniform(0, 9) for _ in range(draw.randrange(1, 30)))
        share = draw.random()
        assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)))


def test_errors_bias_and_refusals():
    answers = [answer(2.0), answer(0.5), answer(1.1), answer(None, message="no")]
    found = summary(answers)
    assert (found.points, found.answered, found.refused) == (4, 3, {"no": 1})
    assert found.median == pytest.approx(0.5)
    assert found.worst == 1.0
    assert found.bias == pytest.approx(1.1 ** (1 / 3) - 1)


def test_coverage_counts_stated_intervals_alone():
    narrow = {0.05: 0.9, 0.25: 0.95, 0.75: 1.05, 0.95: 1.1}
    answers = [answer(1.0, 1.0, quantiles=narrow), answer(1.0, 1.08, quantiles=narrow), answer(1.0)]
    assert summary(answers).coverage == {50: (1, 2), 90: (2, 2)}


def test_a_knee_is_right_within_a_doubling():
    measured = {1: 8.0, 2: 4.0, 4: 2.0, 8: 2.0, 16: 3.0}
    for shift, right in ((1, 1), (2, 1), (4, 0)):
        curve = [
            answer(measured.get(size / shift, 20.0), seconds, size=size)
            for size, seconds in measured.items()
        ]
        assert summary(curve).knees == (right, 1)
    assert summary(curve[:2]).knees == (0, 0)


def test_bottlenecks_are_judged_where_they_are_known():
    answers = [
        answer(1.0, bottleneck="network", binding="network"),
        answer(1.0, bottleneck="network", binding="storage"),
        answer(1.0, bottleneck="network"),
        answer(1.0, binding="network"),
    ]
    assert summary(answers).bottlenecks == (1, 2)


def test_nothing_of_nothing():
    empty = summary([])
    assert (empty.points, empty.median, empty.bias) == (0, None, None)


def test_intervals_by_the_record_hold_where_series_are_alike():
    """Of exchangeable errors nine of ten must be inside; by a record that is short, none."""
    inside = count = 0
    for seed in seeds(60):
        draw = random.Random(seed)
        errors = [Error("d", f"s{i}", 2.0, abs(draw.gauss(0, 0.2))) for i in range(20)]
        for error in errors:
            width, others = radius(error, errors)
            assert others == 19
            inside += error.size <= width
            count += 1
    assert 0.87 < inside / count < 0.99
    short = [Error("d", f"s{i}", 2.0, 0.1) for i in range(9)]
    assert radius(short[0], short) is None


def test_a_record_leaves_out_the_own_series_and_other_distances():
    own = Error("d", "a", 2.0, 5.0)
    others = [Error("d", f"s{i}", 2.0, 0.1) for i in range(12)]
    far = [Error("d", f"f{i}", 64.0, 9.0) for i in range(12)]
    again = [Error("d", "a", 2.0, 7.0)] * 20
    assert radius(own, [own, *others, *far, *again]) == (0.1, 12)
    assert radius(Error("e", "a", 2.0, 1.0), others) == (0.1, 12)  # all datasets' record
    assert math.isclose(radius(Error("d", "a", 64.0, 1.0), [*others, *far])[0], 9.0)
