from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import ParcastError, SolveError
from parcast.quantities.replications import (
    Estimate,
    _probability,
    generator,
    paired,
    replicate,
    student_t,
)
from parcast.testing import cases

#: Two-sided points of Student's distribution: confidence, degrees of freedom, t.
TABLE = [
    (0.95, 1, 12.706204736),
    (0.95, 2, 4.302652730),
    (0.95, 5, 2.570581836),
    (0.95, 10, 2.228138852),
    (0.95, 30, 2.042272456),
    (0.95, 120, 1.979930405),
    (0.95, 500, 1.964719837),
    (0.95, 1000, 1.962339081),
    (0.90, 10, 1.812461123),
    (0.99, 10, 3.169272673),
    (0.99, 1000, 2.580754698),
]

#: First 64 bits of two streams.
GOLDEN = [13306363130183413465, 2169695620569736702]


@pytest.mark.parametrize(("confidence", "freedom", "t"), TABLE)
def test_a_point_of_student_t_is_the_published_one(confidence, freedom, t):
    assert student_t(confidence, freedom) == pytest.approx(t, abs=1e-9)


@given(st.floats(0.01, 0.999), st.one_of(st.integers(1, 400), st.integers(401, 3000)))
@settings(max_examples=cases(20))
def test_student_t_stays_within_the_point_as_often_as_asked(confidence, freedom):
    angle = math.atan(student_t(confidence, freedom) / math.sqrt(freedom))
    assert _probability(angle, freedom) == pytest.approx(confidence, abs=1e-11)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_a_confidence_that_is_no_probability_is_said(confidence):
    with pytest.raises(ParcastError, match=r"confidence=.* must be between 0 and 1"):
        Estimate.of([1.0, 2.0], confidence)


def test_an_estimate_is_the_textbooks():
    found = Estimate.of([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776445105 * math.sqrt(2.5 / 5)
    assert found.mean == 3
    assert found.std == pytest.approx(math.sqrt(2.5))
    assert found.ci == pytest.approx((3 - half, 3 + half))
    assert (found.count, found.confidence, found.converged) == (5, 0.95, True)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_gives_no_interval(values):
    with pytest.raises(ParcastError, match="give no interval; take 2 or more"):
        Estimate.of(values)


@pytest.mark.parametrize(
    ("law", "count", "least", "most"),
    [("normal", 5, 0.935, 0.965), ("exponential", 50, 0.91, 0.96)],
)
def test_an_interval_holds_the_mean_as_often_as_it_says(law, count, least, most):
    rng, shape = np.random.default_rng(1), (3000, count)
    samples = rng.normal(1, 3, shape) if law == "normal" else rng.exponential(1, shape)
    intervals = [Estimate.of(sample).ci for sample in samples]
    held = np.mean([low <= 1 <= high for low, high in intervals])
    assert least < held < most


def test_stopping_early_keeps_most_of_the_confidence():
    found = [replicate(exponential(seed), tolerance=0.2).estimate.ci for seed in range(300)]
    assert np.mean([low <= 1 <= high for low, high in found]) > 0.85


def exponential(seed, mean=1.0):
    return lambda numbers: [generator(seed, number).exponential(mean) for number in numbers]


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 0.05])
def test_replications_stop_soon_after_the_interval_is_narrow(tolerance):
    found = replicate(exponential(7), tolerance=tolerance)
    low, high = found.estimate.ci
    assert found.estimate.converged
    assert (high - low) / 2 <= tolerance * found.estimate.mean
    assert found.estimate.count == len(found.values)
    assert found.estimate == Estimate.of(found.values)
    earlier = found.values[: len(found.values) * 3 // 5]
    assert replicate(exponential(7), tolerance=tolerance, most=len(earlier)).estimate == (
        attrs.evolve(Estimate.of(earlier), converged=False)
    )


def test_replications_stop_at_the_most_and_say_that_they_did_not_converge():
    found = replicate(exponential(7), tolerance=1e-6, most=37)
    assert found.estimate.count == 37
    assert not found.estimate.converged


@pytest.mark.parametrize("value", [0.1, 0.0, 1e300])
def test_without_variance_the_least_is_enough_even_for_no_tolerance(value):
    found = replicate(lambda numbers: [value] * len(numbers), tolerance=0)
    assert found.estimate == Estimate(value, 0.0, (value, value), 10)


def test_the_values_do_not_depend_on_the_batches():
    batches = []

    def sample(numbers):
        batches.append(numbers)
        return exponential(3)(numbers)

    whole = replicate(sample, tolerance=0, least=100, most=100).values
    parts = replicate(sample, tolerance=0, least=2, most=100).values
    assert whole.tolist() == parts.tolist()
    assert [number for batch in batches[1:] for number in batch] == list(range(100))
    assert len(batches) > 5


def test_common_random_numbers_narrow_a_difference():
    def design(seed, factor):
        def sample(numbers):
            return [factor * generator(seed, n, "work").gamma(4) for n in numbers]

        return replicate(sample, tolerance=0, most=400).values

    common = paired(design(1, 1.1), design(1, 1.0))
    apart = paired(design(1, 1.1), design(2, 1.0))
    assert common.ci[0] < 0.4 < common.ci[1]
    assert common.std < apart.std / 5


def test_a_pair_compares_the_replications_that_both_have():
    found = paired([3.0, 5.0, 9.0], [1.0, 2.0], confidence=0.9)
    assert (found.mean, found.count, found.confidence) == (2.5, 2, 0.9)


def test_quantiles_are_of_the_values():
    found = replicate(list, tolerance=0, least=101, most=101)
    assert found.quantiles(0.05, 0.5) == {0.05: 5.0, 0.5: 50.0}


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda _: 1.0, r"10 replications gave values of shape \(\)"),
        (lambda _: [1.0, 2.0], r"10 replications gave values of shape \(2,\)"),
        (lambda _: None, r"10 replications gave values of shape \(\)"),
        (lambda _: ["a"] * 10, "replications must give numbers, not list"),
        (lambda numbers: [[1.0], *numbers], "replications must give numbers, not list"),
        (lambda n: [math.inf if k == 3 else 1.0 for k in n], "replication 3 gave inf; it must be"),
        (lambda n: [math.nan if k == 12 else k for k in n], "replication 12 gave nan; it must be"),
    ],
)
def test_a_sample_that_is_not_one_finite_number_each_is_named(sample, message):
    with pytest.raises(SolveError, match=message):
        replicate(sample)


@pytest.mark.parametrize(
    "plan", [{"least": 1}, {"least": 20, "most": 10}, {"tolerance": -1}, {"tolerance": math.nan}]
)
def test_a_plan_that_cannot_be_kept_is_named(plan):
    with pytest.raises(ParcastError, match=f"{next(iter(plan))}={next(iter(plan.values()))}"):
        replicate(exponential(1), **plan)


def test_random_numbers_are_the_same_in_every_run_and_process():
    assert generator(1, 2).bit_generator.random_raw() == GOLDEN[0]
    assert generator(1, 2, "noise", 3).bit_generator.random_raw() == GOLDEN[1]
    assert generator(np.int64(1), np.int64(2)).bit_generator.random_raw() == GOLDEN[0]


def test_random_numbers_differ_wherever_an_argument_does():
    keys = [
        *((1, 2), (2, 1), (1, 2, 0), (1, 2, 0, 0), (1, 2, "0"), (1, 2, "a"), (1, 2, "a", "b")),
        *(
            (1, 2, "ab"),
            (1, 2 + 2**32),
            (1 + 2**32, 2),
            (1, 2, 1),
            (-1, 2),
            (2**200, 2),
            (1, 2, ""),
        ),
    ]
    assert len({generator(*key).bit_generator.random_raw() for key in keys}) == len(keys)
