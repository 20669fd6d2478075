"""Sudden rises: as often and as large as counted, felt by what communicates, and said."""

from __future__ import annotations

import numpy as np
import pytest

from parcast_scaling.forecast import forecast, predict
from parcast_scaling.prior import Prior
from parcast_scaling.rises import (
    CODES,
    COLLECTIVES,
    EXPOSED_CODES,
    ON_CLOUDS,
    ON_CLUSTERS,
    Rises,
    counted_like,
    share_of_rises,
)
from parcast_scaling.scope import Measures, Network, Scope
from parcast_scaling.times import Run

CLOUD = Scope(network=Network.CLOUD, measures=Measures.COMMUNICATION)
FLAT = [Run(p, 0.02) for p in (8.0, 16.0, 32.0)]
DIVIDED = [Run(p, 100 / p) for p in (8.0, 16.0, 32.0)]


def test_rises_are_as_often_and_as_large_as_stated():
    rises, rng = Rises(scope=Scope(network=Network.CLOUD)), np.random.default_rng(1)
    drawn = rises.draw(np.ones(20_000), 2.0, np.array([-1.0, 0.0, 1.0, 2.0]), rng)
    assert not drawn[:, :2].any()
    rate = -np.log1p(-share_of_rises(Network.CLOUD))
    for place, doublings in ((2, 1), (3, 2)):
        risen = drawn[:, place] > 0
        assert risen.mean() == pytest.approx(1 - np.exp(-rate * doublings), abs=1e-3)
        for times in (2, 3, 6):
            above = (drawn[risen, place] > np.log(times) - 1e-9).mean()
            assert above == pytest.approx((2 / times) ** rises.exponent, abs=0.03)
    assert (drawn[:, 3] >= drawn[:, 2]).all()  # what has risen stays so


def test_a_rise_comes_to_what_is_done_together_and_multiplies_that_alone():
    rises = Rises(scope=Scope(network=Network.CLUSTER))
    few, many = (
        rises.draw(np.full(5000, part), 1.0, np.array([1.0]), np.random.default_rng(2))[:, 0]
        for part in (0.1, 0.8)
    )
    rate = -np.log1p(-share_of_rises(Network.CLUSTER))
    assert (few > 0).mean() == pytest.approx(1 - np.exp(-0.1 * rate), abs=1e-3)
    assert (many > 0).mean() == pytest.approx(1 - np.exp(-0.8 * rate), abs=1e-3)
    factor = 1 + np.expm1(many) / 0.8
    np.testing.assert_allclose(np.expm1(few[few > 0]), 0.1 * (factor[few > 0] - 1), atol=1e-12)


def test_families_of_each_network_tell_its_share_of_rises():
    """The beta distribution's mean lies between its own families' and that of all."""
    families = np.array([counted.families for counted in COLLECTIVES.values()])
    means = np.array([counted.mean for counted in COLLECTIVES.values()])
    of_both = families @ means / families.sum()
    assert of_both < share_of_rises(Network.CLOUD) < ON_CLOUDS.mean
    assert ON_CLUSTERS.mean < share_of_rises(Network.CLUSTER) < of_both
    part = sum(counted.threefold for counted in COLLECTIVES.values())
    part /= sum(counted.twofold for counted in COLLECTIVES.values())
    assert part == pytest.approx((2 / 3) ** Rises().exponent, abs=0.15)
    drawn = Rises(scope=CLOUD).draw(np.ones(20_000), 1.0, np.ones(1), np.random.default_rng(3))
    assert (drawn > 0).mean() == pytest.approx(share_of_rises(Network.CLOUD), abs=0.01)


def test_a_network_that_nobody_names_is_likelier_a_cluster_the_longer_nothing_rose():
    before, after = Rises().likely(0.0), Rises().likely(6.0)
    assert sum(before.values()) == pytest.approx(1)
    assert sum(after.values()) == pytest.approx(1)
    assert Rises().rate(Network.CLOUD, 6.0) < 0.7 * Rises().rate(Network.CLOUD, 0.0)
    assert before[Network.CLOUD] == pytest.approx(9 / 16)
    assert after[Network.CLOUD] < before[Network.CLOUD] - 0.05
    shares = [
        (Rises(scope=scope).draw(np.ones(20_000), 1.0, np.ones(1), np.random.default_rng(4)) > 0)
        .mean()
        for scope in (Scope(network=Network.CLUSTER), Scope(), Scope(network=Network.CLOUD))
    ]  # fmt: skip
    assert shares == sorted(shares)
    assert shares[1] == pytest.approx((shares[0] * 7 + shares[2] * 9) / 16, abs=0.01)


@pytest.mark.parametrize("doublings", [2, 3, 4])
def test_on_a_cloud_the_band_of_communication_holds_a_threefold_rise(doublings):
    sizes = [8.0 * 2**step for step in range(doublings)]
    points = [(p, 0.022) for p in sizes]
    (unknown,), (cluster,), (cloud,) = (
        predict(points, [2 * sizes[-1]], scope=scope)
        for scope in (None, Scope(network=Network.CLUSTER), CLOUD)
    )
    assert cloud.high90 > 2.95 * cloud.median
    assert cluster.high90 < unknown.high90 < cloud.high90
    assert cloud.median == pytest.approx(unknown.median, rel=0.03)


def test_communication_alone_rises_as_a_whole_even_where_its_time_fell():
    """Two sizes of a time that falls look like divided work, which a rise hardly reaches."""
    points = [(32.0, 0.026), (64.0, 0.022)]
    (unknown,), (communication,) = (predict(points, [128], scope=scope) for scope in (None, CLOUD))
    assert communication.high90 > 3 * communication.median
    assert unknown.high90 < 0.8 * communication.high90


def test_where_times_are_flat_a_rise_lies_in_the_bands():
    (band,) = forecast(FLAT, [64]).bands
    assert band.high90 > 2 * band.median
    assert band.high99 > 5 * band.median
    assert band.low90 > 0.7 * band.median  # downwards nothing is wide


def test_where_work_is_divided_the_band_stays_narrow():
    (band,) = forecast(DIVIDED, [64]).bands
    assert band.high90 < 1.5 * band.median
    assert band.low99 < band.low90 < band.high90 < band.high99


@pytest.mark.parametrize(
    ("runs", "scope", "counted"),
    [
        (FLAT, Scope(), "collectives on clouds and 6 of 133 public times of collectives on clus"),
        (FLAT, CLOUD, "7 of 102 public times of collectives on clouds are"),
        (FLAT, Scope(measures=Measures.CODE), "1 of 35 public times of codes that hardly get"),
        (DIVIDED, Scope(), "2 of 173 public times of codes are"),
        (DIVIDED, Scope(measures=Measures.COMMUNICATION), "7 of 102 public times of collectives"),
    ],
)  # fmt: skip
def test_what_is_not_ruled_out_is_said_with_its_base_rate(runs, scope, counted):
    prior = Prior(rises=Rises(scope=scope))
    remarks = forecast(runs, [32, 64], prior=prior).remarks
    assert remarks[0].startswith(
        "nothing measured rules out a sudden rise at p=64, where a network"
    )
    assert counted in remarks[0]
    names_it = "--network" in remarks[0]
    assert names_it == ("collectives" in counted and scope.network is None)
    inner = forecast(runs, [16, 32], prior=prior).remarks
    assert not any("rules out" in remark for remark in inner)


def test_public_times_of_the_same_kind_are_those_that_are_known_to_be():
    assert counted_like(Scope(), 0.2) == (CODES,)
    assert counted_like(Scope(), 0.9) == (ON_CLOUDS, ON_CLUSTERS)
    assert counted_like(Scope(network=Network.CLUSTER), 0.9) == (ON_CLUSTERS,)
    assert counted_like(Scope(measures=Measures.CODE), 0.9) == (EXPOSED_CODES,)
    assert counted_like(CLOUD, 0.1) == (ON_CLOUDS,)
