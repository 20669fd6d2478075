"""Intervals that hold for all benchmarks at once hold as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parcast.quantities import generator
from parcast_machines_from.simultaneous import LEVEL, Deviation, critical


def test_what_is_independent_needs_the_quantile_of_the_largest_of_all() -> None:
    assert critical([Deviation(0.0)]) == pytest.approx(1.645, abs=0.05)
    exact = 3.233  # of 86 normal values: erf(z / sqrt(2)) ** 86 = 0.9
    assert math.erf(exact / 2**0.5) ** 86 == pytest.approx(LEVEL, abs=1e-3)
    assert critical([Deviation(0.0)] * 86) == pytest.approx(exact, abs=0.06)


def test_what_all_repeats_share_counts_once() -> None:
    rounds = tuple(np.exp(generator(1, 0, "rounds").standard_normal(11)).tolist())
    alike = [Deviation(1.0, rounds, "a.csv")] * 86
    assert critical(alike) == pytest.approx(1.645, abs=0.06)
    assert critical([*alike[:43], *[Deviation(1.0, rounds, "b.csv")] * 43]) > 1.8  # by themselves
    inverse = Deviation(1.0, tuple(1 / value for value in rounds), "a.csv")  # a rate, not a time
    assert critical([alike[0], inverse]) == pytest.approx(1.645, abs=0.06)


def test_all_are_inside_as_often_as_stated() -> None:
    random = generator(2, 0, "checks")
    held = 0
    for check in range(150):
        common = random.standard_normal((2000, 1))
        off = 0.8**0.5 * common + 0.2**0.5 * random.standard_normal((2000, 20))
        rounds, new = np.exp(0.1 * off[:11]), off[11]
        deviations = [Deviation(1.0, tuple(column), "t") for column in rounds.T.tolist()]
        held += bool(np.abs(new).max() <= critical(deviations, seed=check))
    assert 0.82 <= held / 150 <= 0.97
