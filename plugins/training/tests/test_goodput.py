"""Goodput in closed form: Daly's figures, references of many digits, fractions and simulation."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParcastError, UnsupportedError
from parcast.quantities import Distribution
from parcast.testing import cases
from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.failures import (
    failures_to_finish,
    failures_within,
    quantile_of,
    waiting_share,
)
from parcast_training.goodput.intervals import best_plan, daly, daly_first, exact, young
from parcast_training.goodput.renewal import goodput, shares, time_to_finish
from parcast_training.goodput.simulation import simulate_finish, simulate_span

from .plain_goodput import plain_finish

#: How many random jobs are simulated; nightly takes many more.
JOBS = cases(15)
#: Standard errors that a mean of so many random jobs stays within, but once in a million jobs.
SURE = 4.9

MINUTE, HOUR = 60.0, 3600.0

jobs = st.builds(
    lambda mtbf, checkpoint, restart: FailingJob(
        mtbf=mtbf, checkpoint=mtbf * checkpoint, restart=mtbf * restart
    ),
    st.floats(1e-2, 1e7),
    st.floats(1e-8, 3.0),
    st.floats(0.0, 2.0),
)


@pytest.mark.parametrize(
    ("mtbf", "minutes", "digits"),
    [(24 * HOUR, 117, 0), (6 * HOUR, 57, 0), (15 * MINUTE, 9.1, 1)],
)
def test_dalys_published_optima(mtbf, minutes, digits):
    """The captions of his figures 3 to 5: R = 10 min, C = 5 min, T = 500 h."""
    job = FailingJob(mtbf=mtbf, checkpoint=5 * MINUTE, restart=10 * MINUTE)
    assert round(daly(job) / MINUTE, digits) == minutes
    # and where they were simulated to be least, our own mean time to finish is least, to 1 %
    near = time_to_finish(job, Plan.of(500 * HOUR, daly(job))).mean
    best = time_to_finish(job, best_plan(job, 500 * HOUR)).mean
    assert best <= near <= 1.01 * best


def test_dalys_equations():
    """First order, higher order, and its end, where a dump takes twice M."""
    job = FailingJob(mtbf=1000.0, checkpoint=10.0, restart=30.0)
    assert young(job) == pytest.approx(math.sqrt(2 * 10 * 1000))
    assert daly_first(job) == pytest.approx(math.sqrt(2 * 10 * 1030) - 10)
    ratio = 10 / 2000
    series = 1 + ratio**0.5 / 3 + ratio / 9
    assert daly(job) == pytest.approx(math.sqrt(2 * 10 * 1000) * series - 10)
    assert daly(FailingJob(mtbf=5.0, checkpoint=10.0)) == 5.0
    assert daly_first(FailingJob(mtbf=1.0, checkpoint=10.0)) == 0.0


@given(jobs)
def test_the_exact_interval_is_the_root_to_all_digits(job):
    """By bisection of exp(-C/M - u) = 1 - u ... in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        target = Decimal(job.checkpoint) / Decimal(job.mtbf)
        low, high = Decimal(0), Decimal(1)
        for _ in range(120):
            middle = (low + high) / 2
            below = -(1 - middle).ln() - middle < target
            low, high = (middle, high) if below else (low, middle)
        assert exact(job) == pytest.approx(float(low * Decimal(job.mtbf)), rel=1e-12)


@given(jobs, st.floats(1e-3, 0.5))
def test_no_interval_is_better_than_the_exact_one(job, change):
    best = goodput(job, exact(job))
    for interval in (exact(job) * (1 + change), exact(job) * (1 - change), young(job)):
        assert goodput(job, interval) <= best * (1 + 1e-12)


@given(jobs, st.integers(1, 30))
def test_no_number_of_equal_parts_is_better_than_the_best(job, count):
    work = exact(job) * 7.3
    best = time_to_finish(job, best_plan(job, work)).mean
    assert time_to_finish(job, Plan(interval=work / count, count=count)).mean >= best * (1 - 1e-12)


def reference(job: FailingJob, length: float) -> tuple[Decimal, Decimal]:
    """Return mean and variance of passing a stretch, as a geometric sum of cut failure times."""
    unit = Decimal(job.mtbf)
    first, later = (Decimal(x) / unit for x in (length, length + job.restart))

    def cut(x: Decimal) -> tuple[Decimal, Decimal]:
        """Return mean and second moment of a failure's time, given that it is before x."""
        failing = 1 - (-x).exp()
        mean = (1 - (-x).exp() * (1 + x)) / failing
        return mean, (2 - (-x).exp() * (2 + 2 * x + x * x)) / failing

    p0, p1 = (-first).exp(), (-later).exp()
    (a, a2), (b, b2) = cut(first), cut(later)
    repeats, spread = (1 - p1) / p1, (1 - p1) / p1**2  # failures of later attempts
    mean_failed = a + repeats * b + later
    variance_failed = (a2 - a * a) + repeats * (b2 - b * b) + spread * b * b
    mean = p0 * first + (1 - p0) * mean_failed
    second = p0 * first**2 + (1 - p0) * (variance_failed + mean_failed**2)
    return mean * unit, (second - mean**2) * unit**2


@given(jobs, st.floats(1e-6, 4.0))
def test_mean_and_variance_to_all_digits(job, interval):
    plan = Plan(interval=interval * job.mtbf, count=1)
    answer = time_to_finish(job, plan)
    with localcontext() as context:
        context.prec = 80
        mean, variance = reference(job, plan.interval + job.checkpoint)
    assert answer.mean == pytest.approx(float(mean), rel=1e-12)
    assert answer.variance == pytest.approx(float(variance), rel=1e-9)


@given(jobs, st.floats(1e-4, 3.0))
def test_shares_are_all_of_the_time_and_of_the_mean(job, interval):
    parts = shares(job, interval * job.mtbf)
    values = [parts.useful, parts.stragglers, parts.checkpoints, parts.lost, parts.restarts,
              parts.waiting]  # fmt: skip
    assert math.fsum(values) == pytest.approx(1.0, abs=1e-12)
    plan = Plan(interval=interval * job.mtbf, count=9)
    assert parts.useful == pytest.approx(plan.computing / time_to_finish(job, plan).mean)


@settings(max_examples=cases(20))
@given(st.floats(0.01, 1.5), st.floats(0.0, 0.5), st.floats(0.0, 1.0), st.integers(1, 6))
def test_failures_until_the_end_are_counted_as_by_fractions(interval, checkpoint, restart, count):
    job = FailingJob(mtbf=1.0, checkpoint=checkpoint, restart=restart)
    plan = Plan(interval=interval, count=count, last=interval / 2)
    most = 25
    total = [Fraction(1)] + [Fraction(0)] * (most - 1)
    for length in [interval] * count + [interval / 2]:
        passing = Fraction(math.exp(-(length + checkpoint)))
        later = Fraction(math.exp(-(length + checkpoint + restart)))
        chain = [passing] + [
            (1 - passing) * (1 - later) ** number * later for number in range(most - 1)
        ]
        total = [
            sum((total[i] * chain[number - i] for i in range(number + 1)), Fraction(0))
            for number in range(most)
        ]
    counted = failures_to_finish(job, plan)
    assert counted[:most] == pytest.approx([float(share) for share in total], abs=1e-13)
    assert counted.sum() == pytest.approx(1.0, abs=1e-12)
    # a failure every M of the running time, whatever the job does (Wald)
    mean = counted @ np.arange(len(counted))
    assert mean == pytest.approx(time_to_finish(job, plan).mean, rel=1e-9)


@given(st.floats(0.0, 1e5))
def test_failures_within_a_time_are_poissons(mean):
    counted = failures_within(FailingJob(mtbf=1.0, checkpoint=0.1), mean)
    numbers = np.arange(len(counted))
    assert counted.sum() == pytest.approx(1.0, abs=1e-9)
    assert counted @ numbers == pytest.approx(mean, rel=1e-9, abs=1e-300)
    assert counted @ (numbers - mean) ** 2 == pytest.approx(mean, rel=1e-6, abs=1e-300)
    median = quantile_of(counted, 0.5)
    assert mean - math.log(2) - 1e-6 <= median < mean + 1 / 3 + 1e-6  # Choi 1994


@given(st.integers(0, 30), st.fractions(Fraction(1, 50), 40))
def test_waiting_for_spares_is_the_stationary_share_of_a_birth_and_death_chain(spares, load):
    weights = [load**number / math.factorial(number) for number in range(spares + 2)]
    job = FailingJob(
        mtbf=1.0,
        checkpoint=0.1,
        spares=spares,
        repair=Distribution.read(f"exp:{float(load)}s", "s"),
    )
    assert waiting_share(job) == pytest.approx(float(weights[-1] / sum(weights)), rel=1e-12)


def random_job(draw: random.Random, *, spares: bool) -> FailingJob:
    mtbf = 10 ** draw.uniform(0, 6)
    repair = draw.choice(["const:{}s", "exp:{}s", "uniform:0s,{}s"])
    return FailingJob(
        mtbf=mtbf,
        checkpoint=mtbf * 10 ** draw.uniform(-3, -0.3),
        restart=mtbf * draw.choice([0.0, 10 ** draw.uniform(-3, 0)]),
        spares=draw.randrange(4) if spares else None,
        repair=Distribution.read(repair.format(mtbf * draw.uniform(0.1, 4)), "s")
        if spares
        else None,
    )


@pytest.mark.parametrize("seed", range(JOBS))
def test_simulated_times_have_the_exact_mean_and_variance(seed):
    draw = random.Random(f"finish {seed}")
    job = random_job(draw, spares=False)
    interval = exact(job) * 10 ** draw.uniform(-0.5, 0.5)
    plan = Plan.of(interval * draw.uniform(0.3, 12), interval)
    runs = 20_000
    times, failures = simulate_finish(job, plan, runs, np.random.default_rng(seed))
    answer = time_to_finish(job, plan)
    assert abs(times.mean() - answer.mean) <= SURE * times.std() / math.sqrt(runs) + 1e-9
    square = (times - answer.mean) ** 2
    assert abs(square.mean() - answer.variance) <= SURE * square.std() / math.sqrt(runs) + 1e-9
    expected = failures_to_finish(job, plan) * runs
    counts = np.bincount(failures, minlength=len(expected))[: len(expected)]
    usual = expected >= 25
    deviation = np.abs(counts[usual] - expected[usual]) / np.sqrt(expected[usual])
    assert deviation.max() <= SURE + 0.6  # of up to some hundred numbers, Poisson's tails


def test_a_wrong_formula_is_noticed():
    """Without the exp(R/M) of failures in restarts the same comparison fails."""
    job = FailingJob(mtbf=100.0, checkpoint=5.0, restart=20.0)
    plan = Plan(interval=30.0, count=4)
    times, _ = simulate_finish(job, plan, 20_000, np.random.default_rng(1))
    wrong = time_to_finish(job, plan).mean / math.exp(job.restart / job.mtbf)
    assert abs(times.mean() - wrong) > SURE * times.std() / math.sqrt(20_000)


@pytest.mark.parametrize("seed", range(min(JOBS, 200)))
def test_the_fast_simulation_has_the_law_of_the_plain_one(seed):
    draw = random.Random(f"plain {seed}")
    job = random_job(draw, spares=seed % 3 > 0)
    plan = Plan.of(exact(job) * draw.uniform(1, 6), exact(job))
    parts = [plan.interval] * plan.count + [plan.last] * bool(plan.last)
    generator = np.random.default_rng(seed)
    fast, _ = simulate_finish(job, plan, 4000, generator)
    law = job.repair
    plain = np.array([
        plain_finish(
            draw, mtbf=job.mtbf, checkpoint=job.checkpoint, restart=job.restart, parts=parts,
            spares=job.spares, repair=lambda: 0.0 if law is None else law.sample(generator, 1)[0],
        )[0]
        for _ in range(1000)
    ])  # fmt: skip
    error = math.sqrt(fast.var() / 4000 + plain.var() / 1000)
    assert abs(fast.mean() - plain.mean()) <= SURE * error + 1e-9 * fast.mean()
    # Kolmogorov and Smirnov, once in a million
    everything = np.sort(np.concatenate([fast, plain]))
    steps = [np.searchsorted(np.sort(x), everything, side="right") / len(x) for x in (fast, plain)]
    assert np.abs(steps[0] - steps[1]).max() <= 2.7 * math.sqrt(1 / 4000 + 1 / 1000)


@pytest.mark.parametrize("seed", range(JOBS))
def test_long_runs_have_the_goodput_of_the_formula(seed):
    """With spares of any law of repairs and with stragglers, who come and go by themselves."""
    draw = random.Random(f"span {seed}")
    job = random_job(draw, spares=seed % 2 > 0)
    job = FailingJob(
        mtbf=job.mtbf, checkpoint=job.checkpoint, restart=job.restart, spares=job.spares,
        repair=job.repair, slow_share=draw.choice([0.0, 0.3, 1.0, draw.random()]),
        slowdown=1 + draw.expovariate(1), slow_episode=job.mtbf * 10 ** draw.uniform(-1.5, 0.5),
    )  # fmt: skip
    interval = exact(job) * 10 ** draw.uniform(-0.3, 0.3)
    span, runs = 400 * (job.mtbf + interval), 300
    spans = simulate_span(job, interval, span, runs, np.random.default_rng(seed))
    parts = shares(job, interval)
    # a run begins with a whole pool and ends in the middle of an interval
    repair = 0.0 if job.repair is None else (job.spares + 1) * job.repair.mean
    edge = 2 * (interval + job.checkpoint + job.restart + repair) / span
    for values, share in ((spans.useful, parts.useful), (spans.waiting, parts.waiting)):
        error = SURE * values.std() / math.sqrt(runs)
        assert abs(values.mean() - share) <= error + edge * share
    if job.spares is None:
        mean = span / job.mtbf
        assert abs(spans.failures.mean() - mean) <= SURE * math.sqrt(mean / runs)


def test_what_no_job_can_be():
    with pytest.raises(ParcastError, match="mtbf 0 must be above 0"):
        FailingJob(mtbf=0.0, checkpoint=1.0)
    with pytest.raises(ParcastError, match="slow_share 2 must be from 0 to 1"):
        FailingJob(mtbf=1.0, checkpoint=1.0, slow_share=2.0)
    with pytest.raises(ParcastError, match="state both, or none"):
        FailingJob(mtbf=1.0, checkpoint=1.0, spares=2)
    with pytest.raises(UnsupportedError, match="never done"):
        goodput(FailingJob(mtbf=1.0, checkpoint=500.0), 1.0)
    with pytest.raises(UnsupportedError, match="too many for their distribution"):
        failures_within(FailingJob(mtbf=1e-3, checkpoint=1.0), 1e6)
