"""The mean maximum of several values, against closed forms, exact fractions and samples."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.quantities.distributions import LAWS, Distribution
from parcast_spmd.models.order_statistics import harmonic, highest_mean, mean_maximum

WRITTEN = (
    "const:1",
    "exp:1",
    "uniform:0.5,2",
    "erlang:3,1",
    "gamma:0.3,2",
    "lognormal:1,0.7",
    "weibull:2.5,1",
    "weibull:0.5,1",
    "sampled:0.4,1,1,3.7",
)


def law(text: str) -> Distribution:
    return Distribution.read(text, "1")


def test_every_law_is_tested() -> None:
    assert {law(text).law for text in WRITTEN} == set(LAWS)


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("count", [1, 2, 5, 64])
def test_the_mean_maximum_is_that_of_samples(text: str, count: int) -> None:
    drawn = law(text).sample(np.random.default_rng(5), 20_000 * count).reshape(-1, count)
    largest = drawn.max(axis=1)
    error = largest.std() / math.sqrt(len(largest))
    assert abs(mean_maximum(law(text), count) - largest.mean()) <= 4 * error + 1e-6


def erlang_by_multinomials(stages: int, count: int) -> Fraction:
    """Return E[max] of Erlang(stages) of stage mean 1: inclusion and exclusion, exactly."""
    total = Fraction(0)
    for size in range(1, count + 1):
        # P(T > t)^size = e^(-size t) (sum_j t^j / j!)^size
        inside = Fraction(0)
        for powers in product(range(stages), repeat=size):
            degree = sum(powers)
            weight = Fraction(math.factorial(degree), size ** (degree + 1))
            inside += weight / math.prod(math.factorial(j) for j in powers)
        total += (-1) ** (size + 1) * math.comb(count, size) * inside
    return total


@pytest.mark.parametrize(("stages", "count"), [(1, 4), (2, 5), (3, 4), (5, 3)])
def test_erlang_maxima_are_exact(stages: int, count: int) -> None:
    wanted = float(erlang_by_multinomials(stages, count) / stages)
    for name in ("erlang", "gamma"):
        found = mean_maximum(law(f"{name}:{stages},1"), count)
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("count", [2, 30, 10**5])
def test_laws_that_are_the_exponential_agree_with_harmonic_numbers(count: int) -> None:
    harmonic = math.fsum(1 / i for i in range(1, count + 1))
    for text in ("exp:1", "erlang:1,1", "gamma:1,1", "weibull:1,1"):
        assert mean_maximum(law(text), count) == pytest.approx(harmonic, rel=1e-12)


@pytest.mark.parametrize("shape", [0.25, 0.5, 3.0])
@pytest.mark.parametrize("count", [2, 3, 20])
def test_weibull_maxima_equal_the_sum_over_minima(shape: float, count: int) -> None:
    # a minimum of j is Weibull with scale j^(-1/shape)
    wanted = sum(
        (-1) ** (j + 1) * math.comb(count, j) * j ** (-1 / shape) for j in range(1, count + 1)
    ) * math.gamma(1 + 1 / shape)
    assert mean_maximum(law(f"weibull:{shape},1"), count) == pytest.approx(wanted, rel=1e-9)


def test_two_lognormal_values_have_the_known_maximum() -> None:
    # E max(X, Y) = 2 m Phi(sigma / sqrt 2)
    sigma = math.sqrt(math.log1p(0.7**2))
    wanted = 1 + math.erf(sigma / 2)
    assert mean_maximum(law("lognormal:1,0.7"), 2) == pytest.approx(wanted, rel=1e-12)


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=4).filter(any),
    st.integers(1, 4),
)
def test_samples_equal_all_draws(values: list[int], count: int) -> None:
    draws = list(product(values, repeat=count))
    wanted = Fraction(sum(max(draw) for draw in draws), len(draws))
    found = mean_maximum(law("sampled:" + ",".join(map(str, values))), count)
    assert found == pytest.approx(float(wanted), rel=1e-13)


@pytest.mark.parametrize("text", WRITTEN)
def test_maxima_scale_and_grow(text: str) -> None:
    found = [mean_maximum(law(text), count) for count in (1, 2, 4, 100)]
    assert found == sorted(found)
    wide = mean_maximum(law(text).scaled(1e-6), 4)
    assert wide == pytest.approx(1e-6 * found[2], rel=1e-11)


def test_a_narrow_law_is_near_its_mean() -> None:
    found = mean_maximum(law("erlang:1000000,1"), 2)
    assert found == pytest.approx(1 + 1e-3 / math.sqrt(math.pi), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 50])
def test_uniform_maxima_are_those_of_section_3_5(count: int) -> None:
    assert mean_maximum(law("uniform"), count) == pytest.approx(2 * count / (count + 1), rel=1e-15)


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_no_law_exceeds_the_highest_mean(text: str, count: int) -> None:
    one = law(text)
    highest = highest_mean(one.mean, one.variance, count)
    assert one.mean * (1 - 1e-12) <= mean_maximum(one, count) <= highest * (1 + 1e-12)


def test_the_highest_mean_is_reached() -> None:
    """By values whose quantile at u grows as u^(n - 1): Hartley and David 1954."""
    n, grid = 5, (np.arange(100_000) + 0.5) / 100_000
    drawn = Distribution("sampled", tuple((grid ** (n - 1)).tolist()))
    reached = mean_maximum(drawn, n)
    values = np.array(drawn.parameters)
    assert reached == pytest.approx(highest_mean(values.mean(), values.var(), n), rel=1e-4)


@pytest.mark.parametrize("count", [1, 99, 100, 101, 5000])
@pytest.mark.parametrize("after", [0.0, 0.5, 98.7, 1e4])
def test_partial_sums_of_the_harmonic_series(count: int, after: float) -> None:
    assert harmonic(count, after) == pytest.approx(
        math.fsum(1 / (i + after) for i in range(1, count + 1)), rel=4e-15
    )


def test_the_harmonic_sum_of_very_many() -> None:
    assert harmonic(10**15) == pytest.approx(math.log(10**15) + 0.5772156649015329, rel=1e-15)
    assert harmonic(10, 1e17) == pytest.approx(1e-16, rel=1e-12)
