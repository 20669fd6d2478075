"""Slow ranks, and the history of experiments."""

import json

import numpy as np
import pytest

from parcast.cli import main
from parcast_perturb.excess import excess_of
from parcast_perturb.perturbation import Recorded
from parcast_perturb.slow_ranks import slowness
from parcast_traces.readers.neutral import trace_of


def laps(work, count=4):
    """Return a trace of ranks that compute so long and meet in a barrier, lap after lap."""
    ranks = [[] for _ in work]
    clock = 0
    for _ in range(count):
        clock += max(work) + 5
        for events, mine in zip(ranks, work, strict=True):
            came = clock - 5 - max(work) + mine
            events.append({"kind": "barrier", "t_start": came, "t_end": clock})
    return trace_of({"ranks": ranks}, "laps")


def test_who_is_slow_and_what_if_it_were_not():
    found = slowness(laps([100, 100, 130, 100, 180]), Recorded(), "upper")
    assert found.before == 4 * 185 - 100  # of a rank that first computes 100, from its first call
    assert found.excess.tolist() == [0, 0, 3 * 30, 0, 3 * 80]  # where a clock began says nothing
    assert found.even == 85 + 3 * 105
    assert found.without == {4: 85 + 3 * 135, 2: 85 + 3 * 185}
    assert found.slowdown == pytest.approx(640 / 400)


def test_even_ranks_are_not_slow():
    found = slowness(laps([100] * 3), Recorded(), "upper")
    assert (found.slowdown, found.without) == (1, {})
    assert np.bincount([0] * 4 + [1] * 4, excess_of(laps([100, 120]))).tolist() == [-60, 60]
    assert slowness(trace_of({"ranks": [[], []]}, "none"), Recorded(), "upper").before == 0


def test_medians_are_of_the_same_two_calls():
    def events(gaps):
        clock, made = 0, []
        for kind, gap in zip(("init", "call", "finalize"), (0, *gaps), strict=True):
            made.append({"kind": kind, "t_start": clock + gap, "t_end": clock + gap})
            clock += gap
        return made

    trace = trace_of(
        {"ranks": [events(one) for one in ((7, 30), (9, 10), (8, 20), (8, 11))]}, "four"
    )
    excess = excess_of(trace).reshape(4, 3)
    assert excess.tolist() == [[0, -1, 19], [0, 1, -10], [0, 0, 9], [0, 0, -9]]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    events = [{"kind": "barrier", "t_start": 10, "t_end": 20}]
    (tmp_path / "t.json").write_text(json.dumps({"ranks": [events, events], "unit": "1 us"}))

    def asked(*words, code=0):
        done = main(["perturb", *map(str, words)])
        out, err = capsys.readouterr()
        assert done == code, err
        return out or err

    return asked


def test_experiments_are_kept_in_their_order(run, tmp_path):
    run("run", "t.json", "--latency", "10us", "--keep", "history")
    run("run", "t.json", "--os-noise", "2us", "--rules", "paper", "--keep", "history", "--json")
    found = json.loads(run("experiments", "history", "--json"))
    assert [one["file"] for one in found] == ["0001.json", "0002.json"]
    assert found[0]["asked"] == {"trace": "t.json", "latency": ["10us"]}
    assert found[0]["found"]["clockfree_final"] == [30, 30]
    text = run("experiments", "history")
    assert "2e-05 s +100.00%  t.json --latency=10us" in text
    assert "t.json --os-noise=2us --rules=paper" in text
    assert sorted(one.name for one in (tmp_path / "history").iterdir()) == [
        "0001.json",
        "0002.json",
    ]


def test_what_is_no_history_is_said(run, tmp_path):
    assert "is no folder" in run("experiments", "nowhere", code=2)
    (tmp_path / "empty").mkdir()
    assert run("experiments", "empty") == "no experiments yet\n"
    (tmp_path / "empty" / "1.json").write_text("{}")
    assert "1.json is no experiment" in run("experiments", "empty", code=2)
    assert "nothing can be stored there" in run("run", "t.json", "--keep", "t.json", code=2)


def test_slow_ranks_are_told(run, tmp_path):
    assert "no rank computes longer than the median" in run("slowest", "t.json")
    ranks = [
        [{"kind": "barrier", "t_start": lap * 100 + came, "t_end": lap * 100 + 90}
         for lap in range(3)] for came in (30, 30, 80)
    ]  # fmt: skip
    (tmp_path / "slow.json").write_text(json.dumps({"ranks": ranks, "unit": "1 us"}))
    text = run("slowest", "slow.json")
    assert "slow ranks cost 62.50%" in text
    assert json.loads(run("slowest", "slow.json", "--json"))["without"] == {"2": 160}
