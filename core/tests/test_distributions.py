"""Distributions: the written forms, their moments, and samples that have them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from parcast.errors import ParcastError
from parcast.quantities.distributions import LAWS, SHAPES, Distribution

WRITTEN = {
    "25us": ("const", 25e-6, 0.0),
    "const:25us": ("const", 25e-6, 0.0),
    "exp:25us": ("exp", 25e-6, 6.25e-10),
    "uniform:1ms,3ms": ("uniform", 2e-3, 4e-6 / 12),
    "erlang:4,20ms": ("erlang", 20e-3, 1e-4),
    "gamma:0.5,20ms": ("gamma", 20e-3, 8e-4),
    "lognormal:10ms,5ms": ("lognormal", 10e-3, 25e-6),
    "weibull:1,20ms": ("weibull", 20e-3, 4e-4),
    "weibull:2,20ms": ("weibull", 0.0177245385, 8.58407346e-5),
    "sampled:1ms,2ms,2ms,7ms": ("sampled", 3e-3, 5.5e-6),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_written_distribution_has_its_mean_and_variance(text: str) -> None:
    law, mean, variance = WRITTEN[text]
    found = Distribution.read(text, "s")
    assert found.law == law
    assert found.mean == pytest.approx(mean, rel=1e-8)
    assert found.variance == pytest.approx(variance, rel=1e-8)
    assert pickle.loads(pickle.dumps(found)) == found


def test_every_law_is_tested() -> None:
    assert {law for law, _, _ in WRITTEN.values()} == set(LAWS)


@pytest.mark.parametrize("text", WRITTEN)
def test_samples_have_the_moments_that_are_stated(text: str) -> None:
    found = Distribution.read(text, "s")
    drawn = found.sample(np.random.default_rng(7), 200_000)
    assert drawn.shape == (200_000,)
    assert drawn.mean() == pytest.approx(found.mean, rel=0.02)
    assert drawn.var() == pytest.approx(found.variance, rel=0.06, abs=1e-18)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expo:25us", "'expo:25us': there is no distribution 'expo'. Did you mean 'exp'?"),
        ("exp:25us,3us", "'exp:25us,3us' needs the form exp:mean"),
        (
            "exp:5 +- 1 s",
            "'exp:5 +- 1 s': these numbers carry no uncertainty; give one value each",
        ),
        (
            "5s to 6s",
            "'5s to 6s': these numbers carry no uncertainty; give one value each",
        ),
        ("exp:25MB", "'exp:25MB': '25MB' is in B, not in s"),
        ("exp:-1s", "'exp:-1s': mean must be 0 or more"),
        ("erlang:2.5,1s", "'erlang:2.5,1s': stages must be a whole number"),
        ("erlang:0,1s", "'erlang:0,1s': stages must be above 0"),
        ("uniform:3s,1s", "'uniform:3s,1s': the first bound is above the second"),
        ("exp:nan", "'exp:nan': 'nan' is not a number with a unit"),
        ("lognormal:0s,1s", "'lognormal:0s,1s': mean must be above 0"),
    ],
)
def test_a_wrong_distribution_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ParcastError) as caught:
        Distribution.read(text, "s")
    assert str(caught.value) == message


@pytest.mark.parametrize("text", WRITTEN)
def test_a_scaled_distribution_has_scaled_moments(text: str) -> None:
    found = Distribution.read(text, "s")
    scaled = found.scaled(3.0)
    assert scaled.mean == pytest.approx(3 * found.mean, rel=1e-12)
    assert scaled.variance == pytest.approx(9 * found.variance, rel=1e-12)


@pytest.mark.parametrize("word", SHAPES)
def test_a_shape_has_a_mean_of_one_and_no_unit(word: str) -> None:
    assert Distribution.read(word, "1").mean == 1
    with pytest.raises(ParcastError, match="is not a number with a unit"):
        Distribution.read(word, "s")


def test_a_misspelt_shape_is_named_with_its_mend() -> None:
    with pytest.raises(ParcastError, match=r"no distribution 'unifrm'\. Did you mean 'uniform'\?"):
        Distribution.read("unifrm", "1")
