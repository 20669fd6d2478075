"""Steps keep the prior, explanations settle, and what a run would tell is what it tells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parcast.testing import cases
from parcast_scaling.curves import curves
from parcast_scaling.discrepancy import Discrepancy
from parcast_scaling.mechanisms import COLLECTIVES, SERIAL
from parcast_scaling.particles import relative_parts, relative_sums
from parcast_scaling.prior import Prior
from parcast_scaling.rises import Rises
from parcast_scaling.times import Run, observe
from parcast_scaling.worth import worth_measuring

RUNS = [Run(p, 100 / p + 1.5) for p in (2.0, 4.0, 8.0, 16.0) for _ in range(2)]


def test_steps_without_measurements_leave_the_prior_as_it_is():
    prior, rng = Prior(), np.random.default_rng(3)
    start = particles = prior.draw(10_000, rng)
    for _ in range(30):
        proposed, ratio = prior.propose(particles, rng)
        assert not np.isnan(ratio).any()
        particles = particles.where(np.log(rng.random(len(ratio))) < ratio, proposed)
    assert particles.has.mean(axis=0) == pytest.approx(prior.chances, abs=0.025)
    for drawn in (start, particles):  # sizes are Gamma's: their mean is the weight
        sizes = np.where(drawn.has, np.exp(drawn.sizes), 0.0).sum(axis=0) / drawn.has.sum(axis=0)
        assert sizes == pytest.approx(prior.weights, rel=0.08)


def test_sums_are_those_of_the_parts():
    observed, prior = observe(RUNS), Prior()
    particles = prior.draw(200, np.random.default_rng(1))
    parts = relative_parts(particles, prior.terms, observed.p, observed.n, observed.reference)
    course = Discrepancy(observed=observed, prior=prior).course
    assert relative_sums(particles, *course) == pytest.approx(parts.sum(axis=-1), rel=1e-12)


def test_other_seeds_name_kinds_that_times_hardly_tell_apart_as_often():
    def apart(seed):
        runs = [Run(p, 200 / p + 1) for p in 2.0 ** np.arange(11)]
        drawn, _ = curves(observe(runs), np.array([4096.0]), np.ones(1), seed=seed)
        counts = np.bincount(drawn.parts[:, 0].argmax(axis=-1), drawn.naming, len(drawn.kinds))
        kinds = [drawn.kinds.index(kind) for kind in (SERIAL, COLLECTIVES)]
        return float(np.diff(counts[kinds])[0] / counts.sum())

    assert np.std([apart(seed) for seed in range(cases(5))]) < 0.1


def test_a_measured_size_is_known_but_for_the_noise_of_its_runs():
    runs = [Run(p, 100 / p * (1.15 if p == 8 else 1.0)) for p in (2.0, 4.0, 8.0, 16.0, 32.0)] * 20
    drawn, _ = curves(observe(runs), np.array([8.0]), np.ones(1))
    assert np.median(drawn.logs) == pytest.approx(math.log(115 / 8), abs=0.01)
    assert drawn.logs.std() < 0.01


def test_what_a_run_is_expected_to_tell_is_about_what_it_tells():
    (proposal,) = worth_measuring(RUNS, 128, 1, seed=1)
    assert proposal.before > 1.5 * proposal.after
    several = [*RUNS, Run(proposal.p, proposal.seconds)]
    calm = Prior(rises=Rises(scale=1e-9))
    drawn, _ = curves(observe(several), np.array([128.0]), np.ones(1), prior=calm)
    low, high = np.quantile(drawn.seen, [0.05, 0.95])
    assert 0.5 < (high - low) / math.log(proposal.after) < 1.5


def test_no_run_is_proposed_where_the_band_is_narrow_enough():
    (proposal,) = worth_measuring(RUNS, 128, 1, seed=1)
    assert worth_measuring(RUNS, 128, 3, seed=1, enough=1.01 * proposal.before) == ()
    wide = worth_measuring(RUNS, 128, 3, seed=1, enough=0.8 * proposal.before)
    assert 1 <= len(wide) < 3
