"""Who is slow in random programs with collectives, and what that costs, whatever the clocks say."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from parcast.cli import main
from parcast.testing import cases
from parcast_perturb.excess import delayed, excess_of
from parcast_perturb.one_clock import on_one_clock, recorded_costs
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.slow_ranks import slowness
from parcast_traces.readers import read_trace
from parcast_traces.readers.columnar import write
from parcast_traces.trace.recording import Recording
from parcast_traces.writers import write_trace

from .straggling import LATENCY, Straggling, straggling

PROGRAMS = cases(50)
ALIKE = max(16, PROGRAMS // 3)  #: of which a mean or a median is judged

#: A slowdown exceeds the noise where it is so many standard deviations of a rank's computation.
EXCEEDS = 4


def answer(run: Straggling):
    clock = on_one_clock(run.trace)
    assert clock is not None
    return slowness(clock.trace, recorded_costs(clock.trace, Recorded()), "clocked")


@pytest.mark.parametrize("clocks", [True, False], ids=["one clock", "own clocks"])
def test_the_slow_rank_is_named_and_its_cost_is_what_it_cost(clocks):
    named, errors = [], []
    for seed in range(PROGRAMS):
        run = straggling(seed, clocks=clocks)
        if run.delay < EXCEEDS * run.noise:
            continue
        cost = answer(run)
        slowest = next(iter(cost.without), None)
        named.append(slowest == run.slow)
        lost = run.time - run.even
        # what the noise of all ranks and the cost of calls may make of it
        allowed = 4 * run.noise + 0.1 * lost + 50 * LATENCY
        errors.append(cost.before - cost.without.get(run.slow, cost.before) - lost)
        errors[-1] /= allowed
    assert len(named) > 0.85 * PROGRAMS
    assert np.mean(named) >= 0.99
    assert np.mean(np.abs(errors) <= 1) >= 0.95
    assert abs(np.median(errors)) <= 0.25


def test_ends_of_collectives_would_not_tell():
    """All leave together: by when ranks come to an end of a call nobody is slow."""
    run = straggling(3, clocks=True)
    ends = run.trace.ends
    assert np.ptp(ends) < 2 * LATENCY


def test_clocks_are_put_on_one():
    for seed in range(20):
        run, truth = straggling(seed, clocks=False), straggling(seed, clocks=True)
        clock = on_one_clock(run.trace)
        assert clock is not None
        assert clock.meetings > 0
        off = clock.trace.events.times[:, :2] - truth.trace.events.times[:, :2]
        assert np.ptp(off) < 1e-4 * run.time + 1e-9  # rank 0's own drift is nobody's to know
        assert np.ptp(off[:, 0] - off[:, 1]) < 1e-4 * run.time
        assert np.ptp(run.trace.events.times[:, 0] - truth.trace.events.times[:, 0]) > 0.1


def test_messages_put_clocks_on_one():
    named, spreads = [], []
    for seed in range(ALIKE):
        run = straggling(seed, clocks=False, collectives=False)
        truth = straggling(seed, clocks=True, collectives=False)
        clock = on_one_clock(run.trace)
        assert clock is not None
        assert clock.messages > 0
        off = clock.trace.events.times[:, :2] - truth.trace.events.times[:, :2]
        assert np.ptp(off) <= 2 * clock.spread + 1e-9
        spreads.append(clock.spread / run.time)
        if run.delay >= EXCEEDS * run.noise:
            named.append(next(iter(answer(run).without), None) == run.slow)
    assert np.mean(named) >= 0.99
    assert np.median(spreads) < 0.002


def test_a_slow_worker_is_named_and_not_the_master_or_who_takes_more_tasks():
    """Tasks are dealt as workers come: the slow one takes fewer, and computes as long in all."""
    for slow in (1, 2, 3):
        recording = Recording(4, "farm")
        clock = [0.0] * 4
        for number in range(60):
            worker = min((1, 2, 3), key=lambda rank: clock[rank])
            clock[worker] += (0.17 if worker == slow else 0.1) + 0.001 * (number % 7)
            recording.ranks[worker].send("send", clock[worker], clock[worker], 0, 8.0)
            came = max(clock[0], clock[worker])
            recording.ranks[0].receive("recv", clock[0], came, worker)
            clock[0] = came
        trace = recording.trace(tick=1.0, comparable=True)
        excess = excess_of(trace)
        ranks = np.repeat(np.arange(4), np.diff(trace.events.offsets))
        totals = np.bincount(ranks, excess)
        assert totals.argmax() == slow
        assert totals[0] == 0
        counts = np.diff(trace.events.offsets)[1:]
        assert counts.argmin() == slow - 1


def test_a_trace_without_collectives_of_all_keeps_its_clocks(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranks = [
        [{"kind": "send", "peer": 1, "t_start": 10, "t_end": 11, "bytes": 1}],
        [{"kind": "recv", "peer": 0, "t_start": 5, "t_end": 12, "bytes": 1}],
    ]
    (tmp_path / "t.json").write_text(json.dumps({"ranks": ranks, "unit": "1 us"}))
    assert main(["perturb", "slowest", "t.json"]) == 0
    assert "clocks are put" not in capsys.readouterr().out


def test_the_command_names_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = straggling(11, clocks=False)
    write(run.trace, tmp_path / "t.trace")
    assert main(["perturb", "slowest", "t.trace", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert next(iter(found["without"])) == str(run.slow)
    assert found["policy"] == "clocked"
    assert found["beyond_noise"] > 4
    assert main(["perturb", "slowest", "t.trace"]) == 0
    text = capsys.readouterr().out
    assert f"rank {run.slow} is the slowest" in text
    assert "standard deviations of their noise" in text
    assert "clocks are put on rank 0's by" in text


@pytest.mark.parametrize("seed", range(20))
def test_delays_are_told_from_what_a_rank_computes_longer_anyway(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(12, 200))
    late = np.sort(random.choice(count, random.integers(3, count // 2), replace=False))
    for noise in (random.normal(3, 1, count), random.exponential(1, count)):
        assert not delayed(noise).size
        noise[late] += 20
        assert np.sort(delayed(noise)).tolist() == late.tolist()


def test_noise_alone_is_called_noise(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    called, count = 0, cases(20)
    for seed in range(count):
        run = straggling(seed, clocks=False, factor=0.0)
        write(run.trace, tmp_path / "t.trace")
        assert main(["perturb", "slowest", "t.trace"]) == 0
        called += "within their noise" in capsys.readouterr().out
    assert called >= 0.95 * count


@pytest.mark.parametrize("name", ["gloo-by-hand", "gloo-ddp"])
def test_the_delay_of_a_recorded_rank_is_found_and_costs_what_it_cost(name, capsys):
    """Every second step of rank 1 was delayed: what those lost beside their neighbors."""
    folder = Path(__file__).parent / "files" / "straggling"
    with (folder / f"{name}-steps.csv").open() as rows:
        steps = [float(row["seconds"]) for row in csv.DictReader(rows)]
    lost = [steps[n] - (steps[n - 1] + steps[n + 1]) / 2 for n in range(2, len(steps) - 1, 2)]
    cost = np.mean(lost) * len(steps) / 2
    assert main(["perturb", "slowest", str(folder / name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["without"]) == ["1"]
    for without in (found["without"]["1"], found["delays"]["without"]):
        assert (found["before"] - without) * found["tick"] == pytest.approx(cost, rel=0.05)
    assert found["delays"]["count"] == len(steps) / 2


@pytest.mark.parametrize("suffix", [".trace", ".otf2"])
def test_recorded_training_says_the_same_in_other_formats(suffix, tmp_path):
    """Unperturbed it is what was recorded, exactly; the slow rank costs as much."""
    if suffix == ".otf2":
        pytest.importorskip("otf2")
    recorded = read_trace(Path(__file__).parent / "files" / "straggling" / "gloo-ddp")
    write_trace(recorded, tmp_path / f"a{suffix}")
    again = read_trace(tmp_path / f"a{suffix}")
    costs = []
    for trace in (recorded, again):
        for policy in ("upper", "lower"):
            same = propagate(trace, Perturbation(), Recorded(), policy, every_end=True)
            assert not same.ends.any()
        clock = on_one_clock(trace)
        assert clock is not None
        cost = slowness(clock.trace, recorded_costs(clock.trace, Recorded()), "clocked")
        assert list(cost.without) == [1]
        costs.append((cost.before * trace.tick, cost.without[1] * trace.tick))
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)  # OTF2 has whole ns
