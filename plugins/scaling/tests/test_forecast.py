"""The curve beyond measured times: what is known is found, and what is not is wide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parcast.errors import FileError
from parcast_scaling import discrepancy, predict
from parcast_scaling.curves import curves
from parcast_scaling.discrepancy import Observed
from parcast_scaling.evidence import infer
from parcast_scaling.faster import faster_than_p
from parcast_scaling.forecast import forecast, knee, knee_positions
from parcast_scaling.mechanisms import CONTENTION, MECHANISMS, WORK, binding
from parcast_scaling.prior import Prior
from parcast_scaling.rises import Rises
from parcast_scaling.times import Run, as_runs, check, doubtful_steps, observe

SIZES = (2, 4, 8, 16, 32, 64)


def runs_of(time, sizes=SIZES, noise=0.0, repeats=1, seed=1):
    rng = np.random.default_rng(seed)
    return [
        Run(float(p), float(time(float(p)) * math.exp(noise * rng.standard_normal())))
        for p in sizes
        for _ in range(repeats)
    ]


def test_divided_work_goes_on():
    answer = forecast(runs_of(lambda p: 100 / p), [128, 256])
    for band in answer.bands:
        assert band.median == pytest.approx(100 / band.p, rel=0.15)
        assert band.low90 < 100 / band.p < band.high90
        assert band.low90 < band.low50 < band.median < band.high50 < band.high90
    assert answer.bands[0].binds == WORK


def test_contention_that_was_measured_is_named_and_bends_the_curve():
    def time(p):
        return 100 / p + 0.05 * p

    answer = forecast(runs_of(time, (1, 2, 4, 8, 16, 32, 64, 128), 0.01, 3), [256, 512])
    assert answer.bands[-1].binds == CONTENTION
    assert answer.bands[-1].low90 / 1.05 < time(512) < answer.bands[-1].high90  # a band of 90 %
    # the rate's slope is 1/2 where 100/p = 3 (0.05 p)
    assert answer.knee.median == pytest.approx(math.sqrt(100 / 0.15), rel=0.25)
    assert answer.knee.binds == CONTENTION


def test_the_knee_of_each_curve_is_where_its_slope_is_a_half_or_beyond():
    """Of 1/p + s the rate's slope is 1/(1 + s p): a half at p = 1/s."""
    p = np.geomspace(1, 256, 17)
    serial = np.array([1 / 8, 1 / 64, 1e-6])
    positions = knee_positions(p, np.log(1 / p[None] + serial[:, None]))
    assert 2 ** positions[:2] == pytest.approx(1 / serial[:2], rel=0.02)
    assert np.isinf(positions[2])
    weak = knee_positions(p, np.log(1 + p[None] / 64), p)  # the same, n growing as p
    assert 2**weak == pytest.approx(64, rel=0.02)


def test_the_median_knee_is_of_the_curves_that_have_one():
    """Where most have none up to there, its place is stated beside that probability."""
    drawn, _ = curves(
        observe(runs_of(lambda p: 100 / p + 0.4)), np.geomspace(2, 1024, 19), np.ones(19)
    )
    near = drawn.at(slice(0, 14))  # as far as 181, where most bend later
    answer, close = knee(drawn), knee(near)
    assert answer.chance > 0.5 > close.chance > 0.05
    earlier = knee_positions(near.p, near.smooth) <= math.log2(close.median)
    assert earlier.mean() == pytest.approx(close.chance / 2, abs=1e-3)
    assert close.median < near.p[-1] < answer.median
    assert close.high90 is None


def test_a_flat_weak_series_with_its_work_is_no_knee():
    points = [(p, 10.0, p) for p in SIZES]
    (band,) = predict(points, [(128, 128)])
    assert band.median == pytest.approx(10, rel=0.05)
    assert band.efficiency == pytest.approx(1, rel=0.1)


def test_times_in_another_unit_give_the_same_curve():
    runs = runs_of(lambda p: 100 / p + 1)
    slow = [Run(run.p, 60 * run.seconds) for run in runs]
    for band, other in zip(predict(runs, [128]), predict(slow, [128]), strict=True):
        assert other.median == pytest.approx(60 * band.median, rel=1e-6)
        assert other.high90 == pytest.approx(60 * band.high90, rel=1e-6)


def test_the_same_seed_gives_the_same_bands():
    runs = runs_of(lambda p: 100 / p + 1, noise=0.05)
    assert predict(runs, [128]) == predict(runs, [128])
    assert predict(runs, [128]) != predict(runs, [128], seed=1)


def test_no_choice_of_eigenvectors_moves_a_band(monkeypatch):
    """Their signs, and which stand for equal eigenvalues, are one processor's and not another's."""
    runs = runs_of(lambda p: 100 / p + 1, noise=0.05)
    eigh = np.linalg.eigh

    def other(matrices):
        values, vectors = eigh(matrices)
        vectors = vectors * np.random.default_rng(1).choice([-1.0, 1.0], values.shape[-1])
        null = int((values[0] < 1e-12 * values[0, -1]).sum())
        assert null > 5  # sizes that are asked stand on the grid of the knee, too
        vectors[..., :null] = vectors[..., :null][..., ::-1]
        return values, vectors

    sizes = [1, 2, 4, 8, 16, 32, 128]
    usual = forecast(runs, sizes).bands
    monkeypatch.setattr(np.linalg, "eigh", other)
    for band, same in zip(usual, forecast(runs, sizes).bands, strict=True):
        for end in ("low90", "low50", "median", "high50", "high90"):
            assert getattr(same, end) == pytest.approx(getattr(band, end), rel=1e-9)


def test_bands_widen_with_the_distance_and_with_the_noise():
    def widths(noise):
        runs = runs_of(lambda p: 100 / p + 1, noise=noise, repeats=3)
        return [band.high90 / band.low90 for band in predict(runs, [64, 128, 256, 512])]

    calm, busy = widths(0.005), widths(0.4)
    assert calm == sorted(calm)
    assert busy[1] > 1.5 * calm[1]


def test_a_series_that_follows_a_law_longer_has_the_narrower_band():
    def width(sizes):
        (band,) = predict(runs_of(lambda p: 100 / p, sizes, 0.01, 3), [4 * sizes[-1]])
        return band.high90 / band.low90

    assert width((1, *SIZES)) < 0.9 * width(SIZES[-3:])


def test_where_nothing_is_measured_the_prior_comes_back():
    """The steps leave the prior as it is: with times that say nothing it is found again."""
    observed = Observed(
        p=np.array([8.0, 16.0]),
        n=np.ones(2),
        logs=np.zeros(2),
        variance=np.full(2, 1e12),
        noise=0.03,
    )
    prior = Prior()
    posterior = infer(observed, prior, np.random.default_rng(1), 6000)
    particles = posterior.particles
    drawn = prior.draw(60000, np.random.default_rng(2))
    assert particles.has.mean(axis=0) == pytest.approx(drawn.has.mean(axis=0), abs=0.03)
    assert particles.share.mean(axis=0) == pytest.approx(drawn.share.mean(axis=0), abs=0.02)
    assert np.std(particles.divided) == pytest.approx(np.std(drawn.divided), rel=0.3)
    assert np.log(particles.crowded).std() == pytest.approx(prior.crowded_spread, rel=0.1)
    counts = [np.bincount(each.level, minlength=100) / len(each) for each in (particles, drawn)]
    assert counts[0] == pytest.approx(counts[1], abs=0.02)


def test_steps_keep_the_prior():
    prior, rng = Prior(), np.random.default_rng(3)
    particles = prior.draw(6000, rng)
    before = particles.has.mean(axis=0), particles.share.mean(axis=0)
    for _ in range(40):
        proposed, ratio = prior.propose(particles, rng)
        particles = particles.where(np.log(rng.random(6000)) < ratio, proposed)
    assert particles.has.mean(axis=0) == pytest.approx(before[0], abs=0.03)
    assert particles.share.mean(axis=0) == pytest.approx(before[1], abs=0.015)


def test_drift_is_conditioned_on_what_was_measured():
    """At a measured size the draws are near what was measured, whatever the sum of terms says."""
    runs = [Run(p, seconds) for p, seconds in ((4, 100), (8, 52), (16, 40), (32, 17), (64, 9.5))]
    for band in predict(runs, [4, 16, 64]):
        seconds = next(run.seconds for run in runs if run.p == band.p)
        assert band.low90 < seconds < band.high90


def test_every_term_binds_as_one_kind():
    terms = sorted(index for several in binding(MECHANISMS).values() for index in several)
    assert terms == list(range(len(MECHANISMS)))
    assert binding(MECHANISMS)[WORK] == (0,)


def test_a_disturbed_run_does_not_move_its_size():
    for count in (3, 4, 5, 9):
        calm = [10 + 0.01 * index for index in range(count)]
        runs = [Run(4, seconds) for seconds in (*calm[:-1], 50 * calm[-1])]
        assert 10 <= math.exp(observe(runs).logs[0]) <= calm[-1]
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((2000, 5))
    centers = [observe([Run(4, math.exp(x)) for x in row]).logs[0] for row in noise]
    assert np.std(centers) < 0.95 * np.std(np.median(noise, axis=1))  # surer than the median


def test_repeats_are_known_better_than_single_runs():
    single = observe([Run(4, 10), Run(8, 5)])
    several = observe([Run(4, x) for x in (10, 10.1, 9.9, 10.05)] + [Run(8, 5)])
    assert several.variance[0] < several.variance[1]
    assert several.noise < single.noise


def test_minutes_among_seconds_are_doubted_and_usual_steps_are_not():
    doubted = [(4, 600), (8, 300), (16, 2.5), (32, 75)]  # 150 s are written as 2.5
    sentences = doubtful_steps(as_runs(doubted))
    assert sentences[0] == (
        "points[2]: 2.5 s at p=16 beside 300 s at p=8 (points[1]): if one of them is in minutes, "
        "write it so, such as 5 min"
    )
    assert len(sentences) == 2
    assert doubtful_steps(as_runs([(4, 600), (8, 300), (64, 35), (128, 100)])) == ()
    assert sentences[0] in forecast(as_runs(doubted), [64]).remarks


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([(4, 10), (8, 5)], "times at 2 values of p (4, 8) tell no curve; 3 are needed"),
        ([(4, 10), (4, 11), (4, 9)], "times at 1 value of p (4) tell no curve"),
        ([(4, 10), (8, 5), (16, 2600)], "is a factor of 520; if one of them is in another unit"),
        ([(4, 10), (4, 10000), (8, 5), (16, 2.6)], "10000 s at p=4 beside 10 s at p=4"),
        ([(4, 10), (8, 0), (16, 2)], "points[1]: time = 0 must be above 0"),
        ([(4, 10), (8, math.inf), (16, 2)], "points[1]: time = inf must be above 0"),
        ([(4, 10), (0, 1), (16, 2)], "points[1]: p = 0 must be above 0"),
        ([(4, 10), (8, 1e300), (16, 2)], "points[1]: 1e+300 s at p=8 is no measured time; write"),
        ([(4, 10), (8, 5), (1e30, 2)], "at p=1e+30 is no measured time; write one of 1e-15 to"),
        ([(p, 1) for p in range(1, 502)], "times at 501 sizes; 500 at most are read, so keep"),
        ([(4, 10), (8,), (16, 2)], "points[1] has 1 values; write (p, seconds)"),
    ],
)
def test_times_that_tell_no_curve_are_one_sentence(points, sentence):
    with pytest.raises(FileError) as caught:
        check(as_runs(points), "times.csv")
    assert sentence in str(caught.value)


def test_tails_are_lighter_from_four_times_on_and_the_middle_stays():
    """At twice what is measured nothing changes: there tails hold as they are."""
    sizes, runs = np.array([8.0, 16.0, 32.0, 64.0]), runs_of(lambda p: 100 / p + 2, (2, 4, 8))
    calm = Rises(scale=1e-9)
    plain, lighter = (
        curves(observe(runs), sizes, np.ones(4), prior=prior, particles=600)[0].smooth
        for prior in (Prior(tails=1.0, rises=calm), Prior(rises=calm))
    )
    np.testing.assert_allclose(lighter[:, :2], plain[:, :2], rtol=1e-12)
    for level in (0.05, 0.95):
        for place in (2, 3):
            before, after = (draws[:, place] for draws in (plain, lighter))
            quartile = np.quantile(before, 0.25 if level < 0.5 else 0.75)
            assert np.median(after) == pytest.approx(np.median(before))
            assert np.quantile(after, 0.25) == pytest.approx(np.quantile(before, 0.25), abs=1e-3)
            assert np.quantile(after, level) - quartile == pytest.approx(
                Prior().tails * (np.quantile(before, level) - quartile), rel=0.01
            )


def test_no_kind_of_mechanism_is_preferred_where_what_binds_is_named():
    prior = Prior()
    has = prior.draw(40_000, np.random.default_rng(4)).has
    weights = prior.impartial(has)
    odds = []
    for kind, places in binding(prior.terms).items():
        share = weights[has[:, list(places)].any(axis=1)].sum() / weights.sum()
        if kind != WORK:
            odds.append(share / (1 - share))
    assert min(odds) > 0.12
    assert max(odds) < 0.19


def test_divided_work_is_not_what_takes_most_besides_itself():
    for seed in range(4):
        runs = runs_of(lambda p: 100 / p, (2, 4, 8), 0.01, seed=seed)
        answer = forecast(runs, [16, 32], seed=seed)
        assert answer.knee.binds != WORK
        assert answer.knee.binds_chance < 0.5


def test_more_work_at_more_processes_is_no_unit_mixed_up():
    grown = [Run(2, 0.2, 1), Run(4, 2.3, 64), Run(8, 12.7, 1024)]
    assert doubtful_steps(grown) == ()
    (sentence,) = doubtful_steps([Run(2, 0.2, 1), Run(4, 2.3, 1), Run(8, 1.4, 1)])
    assert "if one of them is in minutes" in sentence


def test_many_sizes_are_weighed_as_few_are(monkeypatch):
    runs = runs_of(lambda p: 100 / p + 1, range(2, 12), 0.02)
    few = forecast(runs, [24]).bands
    monkeypatch.setattr(discrepancy, "_FEW", 1)
    many = forecast(runs, [24]).bands
    assert many[0].median == pytest.approx(few[0].median, rel=0.03)
    assert many[0].high90 / many[0].low90 == pytest.approx(few[0].high90 / few[0].low90, rel=0.15)


def test_repeats_on_a_shared_network_may_differ_a_hundredfold():
    wild = [Run(p, t) for p in (32, 64, 128) for t in (1e-3, 1.2e-3, 0.15)]
    band = forecast(wild, [256]).bands[0]
    assert band.high90 > 10 * band.low90


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([(1, 400), (2, 190), (4, 74)], True),  # as TeaLeaf
        ([(1, 400), (2, 200), (4, 100)], False),
        ([(1, 400), (2, 201), (4, 99)], False),  # within what layouts move
        ([(1, 400), (2, 220), (2, 180), (4, 90), (4, 97)], False),  # within the noise
    ],
)
def test_a_code_that_becomes_faster_than_p_is_told(times, told):
    runs = as_runs(times)
    sentences = faster_than_p(runs, observe(runs).noise)
    assert bool(sentences) == told
    if told:
        assert "from p=2 to 4 the rate grew 2.57-fold, more than p" in sentences[0]


def test_work_that_grows_as_p_is_no_gain():
    assert faster_than_p([Run(4, 10, 4), Run(8, 10, 8), Run(16, 10, 16)], 0.01) == ()
    assert faster_than_p([Run(4, 10, 4), Run(8, 10, 8), Run(16, 9, 16)], 0.01) != ()
