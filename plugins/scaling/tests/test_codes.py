"""Synthetic codes of known mechanism: bands hold, and firmly stated bottlenecks are right."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.testing import cases
from parcast_scaling.curves import curves
from parcast_scaling.forecast import bands
from parcast_scaling.isoefficiency import isoefficiency
from parcast_scaling.times import Run, observe

FILE = Path(__file__).parents[3] / "experiments" / "scaling" / "codes.py"
COUNT = cases(5)


@pytest.fixture(scope="module")
def codes():
    if not FILE.exists():
        pytest.skip("the experiments are not here")
    return runpy.run_path(str(FILE))


def test_bands_hold_and_firm_bottlenecks_are_right(codes):
    sizes, wanted = 2.0 ** np.arange(11), np.array([2048.0, 4096.0])
    inside, firm, right = [], 0, 0
    for number in range(COUNT):
        code, rng = codes["code"](number, 1024, 0.5, 0.85)
        drawn, _ = curves(observe(code.runs(sizes, 5, rng)), wanted, np.ones(2))
        truth = code(wanted)
        predicted = bands(drawn, 0.5)
        inside += [
            band.low90 <= seconds <= band.high90
            for band, seconds in zip(predicted, truth, strict=True)
        ]
        firm += predicted[-1].binds_chance >= 0.7
        right += predicted[-1].binds_chance >= 0.7 and predicted[-1].binds == code.kind
    assert np.mean(inside) >= 0.8
    assert firm >= COUNT // 4
    assert right >= 0.9 * firm


def test_proposals_reach_a_band_for_less_than_doubling(codes):
    code, _ = codes["code"](3, 256, 0.2, 0.7)
    costs = [
        codes["cost_of"](code, np.random.default_rng(7), proposed=proposed)
        for proposed in (True, False)
    ]
    assert 0 < costs[0] < costs[1]


def test_work_that_keeps_an_efficiency_grows_as_theory_says():
    """Of t = n/p + 0.01 log2(p) the efficiency is kept by n of p log2(p)."""

    def time(p, n):
        return n / p + 0.02 * np.log2(p)

    runs = [
        Run(float(p), float(time(p, n)), float(n))
        for p in (2, 4, 8, 16, 32, 64)
        for n in (1, p / 2, 4 * p)
    ]
    for size in isoefficiency(runs, [64, 128], 0.5, seed=1).needed:
        first = 1 / 2 / time(2, 1)
        tried = np.geomspace(1e-3, 100, 100000) * size.p
        n = tried[np.argmax(tried / size.p / time(size.p, tried) >= 0.5 * first)]
        assert size.n == pytest.approx(n, rel=0.15)
        assert size.low90 <= size.n <= size.high90


def test_the_judge_reads_series_and_finds_where_they_bend(monkeypatch):
    if not FILE.exists():
        pytest.skip("the experiments are not here")
    monkeypatch.setattr(sys, "path", [str(FILE.parent), *sys.path])
    judge = runpy.run_path(str(FILE.with_name("judge.py")))
    size, series = judge["Size"], judge["Series"]
    sizes = tuple(size(p, 1.0, (100 / p + 0.05 * p,)) for p in 2.0 ** np.arange(9))
    one = series("applications", "a", "a", sizes)
    assert judge["bend"](one) == pytest.approx(np.sqrt(100 / 0.15), rel=0.1)
    asked = list(judge["questions"](one))
    assert {question.factor for question in asked} == {2.0, 4.0}
    assert len(asked) == 7 + 6
    answer = judge["by_power"](asked[-1])
    assert answer.low < answer.seconds < answer.high


def test_true_knees_and_efficiencies_are_those_of_the_codes(codes, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FILE.parent), *sys.path])
    chances = runpy.run_path(str(FILE.with_name("chances.py")))
    serial = codes["Code"]("serial part", 3.0, 0.5, 256)  # 128/p + 1/2: the knee is where they meet
    assert chances["true_knee"](serial, 1024) == pytest.approx(256, rel=0.02)
    assert chances["true_knee"](serial, 200) is None
    assert chances["true_efficiency"](serial, np.array([256.0])) == pytest.approx(128.5 / 256)
    cases = [(0.1, False)] * 9 + [(0.1, True), (1.0, True)]
    assert "| 5 to 20 % | 10 | 10 % | 10 % |" in chances["table"]("under", cases)
