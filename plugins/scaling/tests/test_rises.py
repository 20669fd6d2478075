"""Sudden rises: as often and as large as counted, felt by what communicates, and said."""

from __future__ import annotations

import numpy as np
import pytest

from parcast_scaling.forecast import forecast
from parcast_scaling.rises import APPLICATIONS, COLLECTIVES, Rises
from parcast_scaling.times import Run

FLAT = [Run(p, 0.02) for p in (8.0, 16.0, 32.0)]
DIVIDED = [Run(p, 100 / p) for p in (8.0, 16.0, 32.0)]


def test_rises_are_as_often_and_as_large_as_stated():
    rises, rng = Rises(), np.random.default_rng(1)
    drawn = rises.draw(np.ones(20_000), 2.0, np.array([-1.0, 0.0, 1.0, 2.0]), rng)
    assert not drawn[:, :2].any()
    rate = 1 / (1 / rises.chance + 2)
    for place, doublings in ((2, 1), (3, 2)):
        risen = drawn[:, place] > 0
        assert risen.mean() == pytest.approx(1 - np.exp(-rate * doublings), abs=1e-3)
        for times in (2, 3, 6):
            above = (drawn[risen, place] > np.log(times) - 1e-9).mean()
            assert above == pytest.approx((2 / times) ** rises.exponent, abs=0.03)
    assert (drawn[:, 3] >= drawn[:, 2]).all()  # what has risen stays so


def test_a_rise_comes_to_what_is_done_together_and_multiplies_that_alone():
    few, many = (
        Rises().draw(np.full(5000, part), 1.0, np.array([1.0]), np.random.default_rng(2))[:, 0]
        for part in (0.1, 0.8)
    )
    rate = 1 / (1 / Rises().chance + 1)
    assert (few > 0).mean() == pytest.approx(1 - np.exp(-0.1 * rate), abs=1e-3)
    assert (many > 0).mean() == pytest.approx(1 - np.exp(-0.8 * rate), abs=1e-3)
    factor = 1 + np.expm1(many) / 0.8
    np.testing.assert_allclose(np.expm1(few[few > 0]), 0.1 * (factor[few > 0] - 1), atol=1e-12)


def test_the_chance_is_what_public_collectives_show():
    rises = Rises()
    doublings = np.array([1, 2, 3])  # that were measured there
    expected = (1 / (1 / rises.chance + doublings)).mean()
    assert expected == pytest.approx(COLLECTIVES.mean, abs=0.01)
    part = COLLECTIVES.threefold / COLLECTIVES.twofold
    assert part == pytest.approx((2 / 3) ** rises.exponent, abs=0.15)


def test_where_times_are_flat_a_rise_lies_in_the_bands():
    (band,) = forecast(FLAT, [64]).bands
    assert band.high90 > 2 * band.median
    assert band.high99 > 5 * band.median
    assert band.low90 > 0.7 * band.median  # downwards nothing is wide


def test_where_work_is_divided_the_band_stays_narrow():
    (band,) = forecast(DIVIDED, [64]).bands
    assert band.high90 < 1.5 * band.median
    assert band.low99 < band.low90 < band.high90 < band.high99


@pytest.mark.parametrize(("runs", "counted"), [(FLAT, COLLECTIVES), (DIVIDED, APPLICATIONS)])
def test_what_is_not_ruled_out_is_said_with_its_base_rate(runs, counted):
    remarks = forecast(runs, [32, 64]).remarks
    assert remarks[0].startswith(
        f"nothing measured rules out a sudden rise: {counted.twofold} of {counted.times} public "
        f"times of {counted.what} are more than twice the prediction at one doubling; here, at p=64"
    )
    assert not any("rules out" in remark for remark in forecast(runs, [16, 32]).remarks)
