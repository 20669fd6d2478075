"""Extra-P as a peer: its own published numbers first, and a plain sentence where it has no say."""

from __future__ import annotations

import math

import attrs
import pytest

import parcast_score
from parcast import Registry, Status
from parcast.model import Measured, Point, Question
from parcast_score import extra_p
from parcast_score.board import datasets, predictors

SIZES = (4, 8, 16, 32, 64, 128)

#: Of Extra-P's own tests (test_basic_modeler.py, test_compare; BSD-3-Clause): seconds at
#: SIZES, exponents of p and of log2(p), and the constant and the factor that its authors state.
PUBLISHED = [
    ((1303.2010356851542, 1505.917143334448, 1746.9885808766455, 2033.672449625761,
      2374.5989460987153, 2780.0311613973026), (0.25, 0), (231.803, 757.593)),
    ((1519.7387478270496, 3001.272390797349, 5483.459690230956, 9541.078290708863,
      16053.382203308038, 26357.722033338472), (0.5, 1), (198.498, 330.31)),
    ((588.4695961869953, 1150.6918482661176, 1937.8030011768885, 2949.803054919308,
      4186.692009493378, 5648.469864899094), (0, 2), (138.692, 112.444)),
]  # fmt: skip


def question(seconds, *, work=lambda size: size, beyond=4096.0):
    points = [Point("s", float(size), float(work(size))) for size in (*SIZES, beyond)]
    calibrating = tuple(Measured(p, t) for p, t in zip(points, seconds, strict=False))
    return Question(dataset="d", counts="processes", calibrating=calibrating, points=tuple(points))


@pytest.mark.parametrize(("seconds", "exponents", "coefficients"), PUBLISHED)
def test_extra_p_has_its_own_published_models(seconds, exponents, coefficients):
    pytest.importorskip("extrap", reason="Extra-P is not installed")
    (i, j), (constant, factor) = exponents, coefficients
    asked = question(seconds)
    for point, prediction in zip(asked.points, extra_p.predict(asked), strict=True):
        published = constant + factor * point.size**i * math.log2(point.size) ** j
        assert prediction.time == pytest.approx(published, rel=1e-5)


def test_strong_scaling_has_negative_exponents():
    pytest.importorskip("extrap", reason="Extra-P is not installed")
    asked = question([3 + 100 / size for size in SIZES], work=lambda _: 1.0)
    assert extra_p.predict(asked)[-1].time == pytest.approx(3 + 100 / 4096, rel=1e-6)


@pytest.mark.parametrize(
    ("count", "work", "reason"),
    [
        (4, lambda size: size, "4 sizes of its series calibrate, Extra-P asks for 5"),
        (6, lambda size: size % 7 + 1, "its work changes otherwise than with the size"),
        (0, lambda size: size, "no point of its series calibrates"),
    ],
)
def test_what_extra_p_does_not_model_is_refused(monkeypatch, count, work, reason):
    monkeypatch.setattr(extra_p, "find_spec", lambda _: object())
    asked = question(PUBLISHED[0][0], work=work)
    asked = attrs.evolve(asked, calibrating=asked.calibrating[:count])
    answers = extra_p.predict(asked)
    assert {answer.status for answer in answers} == {Status.REFUSED}
    assert reason in answers[-1].message


def test_without_extra_p_it_is_asked_only_when_named_and_says_why(monkeypatch):
    registry = Registry([parcast_score])
    monkeypatch.setattr(extra_p, "find_spec", lambda _: None)
    monkeypatch.setattr("parcast_score.board.find_spec", lambda _: None)
    asked = question(PUBLISHED[0][0])
    assert extra_p.predict(asked)[0].message == (
        "Extra-P is not installed; pip install extrap brings it"
    )
    dataset = datasets(registry, ["sailor"])["sailor"]
    assert "extra-p" not in list(predictors(registry, dataset, ()))
    assert list(predictors(registry, dataset, ["extra-p"])) == ["extra-p"]
