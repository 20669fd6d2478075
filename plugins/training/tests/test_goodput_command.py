"""``parcast goodput``: what it prints, where its numbers come from, and what it refuses."""

from __future__ import annotations

import json
import math

import pytest

from parcast import Registry
from parcast.cli import main

JOB = ("--mtbf", "50h", "--checkpoint", "2min", "--restart", "5min")


def ask(capsys, *words):
    """Return what the command answers as JSON."""
    assert main(["goodput", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_job_by_hand(capsys):
    """M exp(R/M) (exp((T + C)/M) - 1) for each of T's parts."""
    answer = ask(capsys, "--work", "30d", *JOB, "--interval", "2h")
    mine = next(cut for cut in answer["intervals"] if cut["by"] == "yours")
    hours = 50 * math.exp(5 / 60 / 50) * math.expm1((2 + 2 / 60) / 50)
    assert mine["goodput"] == pytest.approx(2 / hours)
    assert mine["finish"]["mean"] == pytest.approx(360 * hours * 3600)
    assert answer["simulated_interval"] == 7200
    simulated = answer["time_to_finish"]
    assert simulated["mean"] == pytest.approx(360 * hours * 3600, rel=5e-4)
    assert answer["failures_within_horizon"]["mean"] == pytest.approx(30 * 24 / 50)


def test_intervals_come_from_the_best_on(capsys):
    cuts = ask(capsys, "--work", "30d", *JOB)["intervals"]
    names = ["exact optimum", "Daly, higher order", "Daly, first order", "Young"]
    assert [cut["by"] for cut in cuts] == names
    assert cuts[0]["finish"]["mean"] == min(cut["finish"]["mean"] for cut in cuts)
    assert cuts[3]["interval"] == pytest.approx(math.sqrt(2 * 120 * 180_000))


def test_nodes_fail_as_often_as_there_are_many(capsys):
    answer = ask(capsys, "--node-mtbf", "1000d", "-p", "500", *JOB[2:])
    assert answer["job"]["mtbf"] == pytest.approx(2 * 86400)
    # processes share the nodes of a machine
    cores = Registry().machine("fat-tree-hdr").nodes.cores
    answer = ask(capsys, "--node-mtbf", "1000d", "-p", str(10 * cores), "--on", "fat-tree-hdr",
                 *JOB[2:])  # fmt: skip
    assert answer["job"]["mtbf"] == pytest.approx(100 * 86400)


def test_work_and_checkpoint_are_predicted(capsys):
    answer = ask(capsys, "btio", "ibm-sp2", "-p", "16", "-s", "spmd.sio", "--steps", "1000",
                 "--mtbf", "50h", "--state", "30 GB", "--restart", "5min")  # fmt: skip
    time = Registry().predict("btio", "ibm-sp2", "spmd.sio", p=16).time
    assert answer["job"]["work"] == pytest.approx(1000 * time)
    assert answer["job"]["checkpoint"] == pytest.approx(30e9 / 3 / 10e6)  # three disks of 10 MB/s
    assert "by its storage, emulator.tc" in answer["notes"][1]
    answer = ask(capsys, "--on", "nvme-100g", "-p", "8", "--mtbf", "50h", "--state", "980 GB",
                 "--restart", "5min")  # fmt: skip
    saved = Registry().predict("checkpoint", "nvme-100g", "emulator.lc", p=8)
    assert answer["job"]["checkpoint"] == pytest.approx(saved.time)


def test_a_training_job_says_what_it_writes_and_how_often(capsys):
    line = ("gpt-22b", "a100-hdr", "-p", "8", "-s", "training", "--steps", "5000", "--mtbf", "50h",
            "--restart", "5min", "--set", "storage.bandwidth=10 GB/s")  # fmt: skip
    answer = ask(capsys, *line, "--set", "checkpoint_every=200")
    registry = Registry()
    job = registry.workload("gpt-22b").content
    step = registry.predict("gpt-22b", "a100-hdr", "training.step", p=8).time
    assert answer["job"]["work"] == pytest.approx(5000 * step)  # no checkpoint counted twice
    assert answer["job"]["checkpoint"] == pytest.approx(14 * job.weights / 10e9, rel=1e-5)
    assert answer["simulated_interval"] == pytest.approx(200 * step)
    assert "a checkpoint every 200 steps, as the workload has it" in answer["notes"]
    asked = ask(capsys, *line, "--set", "checkpoint_every=200", "--interval", "1h")
    assert asked["simulated_interval"] == 3600
    formula = ask(capsys, *line, "--set", "checkpoint_every=25*p")  # p = 8
    assert formula["simulated_interval"] == pytest.approx(200 * step)
    best = ask(capsys, *line)
    assert "yours" not in [cut["by"] for cut in best["intervals"]]


def test_what_is_set_counts_for_work_and_checkpoints(capsys):
    line = ("btio", "ibm-sp2", "-p", "16", "-s", "spmd.sio", "--mtbf", "50h", "--state", "30 GB",
            "--restart", "5min")  # fmt: skip
    settings = {"n": "102", "storage.bandwidth": "20 MB/s"}
    answer = ask(capsys, *line, "--set", "n=102", "--set", "storage.bandwidth=20 MB/s")
    time = Registry().predict("btio", "ibm-sp2", "spmd.sio", p=16, settings=settings).time
    assert answer["job"]["work"] == pytest.approx(time)
    assert answer["job"]["checkpoint"] == pytest.approx(30e9 / 3 / 20e6)


def test_a_lower_bound_is_called_so(capsys):
    line = ("ring-matmul", "ibm-sp2", "-p", "4", "-s", "pamela.bound", *JOB)
    assert "lower bound" in ask(capsys, *line)["notes"][0]


def test_spares_and_stragglers_are_in_words(capsys):
    line = ["goodput", "--work", "30d", *JOB, "--spares", "1", "--repair", "exp:2d",
            "--slow-share", "5%", "--slowdown", "1.3"]  # fmt: skip
    assert main(line) == 0
    out = " ".join(capsys.readouterr().out.split())
    load = 48 / 50
    for number, servers in ((0, 1), (1, 2), (2, 3), (3, 4)):
        weights = [load**k / math.factorial(k) for k in range(servers + 1)]
        assert f"{100 * weights[-1] / sum(weights):.2f} % with {number}" in out
    assert "waiting stragglers time to finish" in out
    assert "a straggler stays for 1 h in the mean (assumed; --slow-episode)" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--work", "30d"), "state one of --mtbf, of the whole job, and --node-mtbf, of one node"),
        (("--mtbf", "50h"), "state one of --checkpoint, the time to write one, and --state"),
        ((*JOB[:4],), "state --restart"),
        ((*JOB, "--mtbf", "-1h"), "--mtbf -1h must be above 0"),
        ((*JOB, "--mtbf", "50 GB"), "--mtbf: "),
        ((*JOB, "--checkpoint", "0s"), "has no optimal interval"),
        ((*JOB, "--spares", "2"), "--spares N and --repair TIME go together"),
        ((*JOB, "--spares", "2", "--repair", "0s"), "--repair 0s must be above 0"),
        ((*JOB, "--slow-share", "5%"), "--slow-share and --slowdown go together"),
        ((*JOB, "--slow-share", "5", "--slowdown", "2"), "slow_share 5 must be from 0 to 1"),
        ((*JOB[2:], "--node-mtbf", "5d"), "state -p, the processes whose nodes fail"),
        ((*JOB[:2], *JOB[4:], "--state", "1TB"), "--state 1TB: name a machine with disks"),
        (("btio", *JOB), "btio: name the machine that it runs on"),
        (("btio", "ibm-sp2", *JOB), "state -p, the processes that the workload runs on"),
        (("btio", "ibm-sp2", "--work", "3d", "-p", "4", *JOB), "leave out one of both"),
        ((*JOB, "--steps", "5"), "--steps is how often a workload runs"),
        ((*JOB, "--set", "n=3"), "--set n=3: name the machine"),
        (("btio", "ibm-sp2", "-p", "4", "--set", "m=3", *JOB), "'m'"),
        ((*JOB, "-p", "4"), "-p 4 changes nothing without --node-mtbf, --state or a WORKLOAD"),
        ((*JOB, "--on", "ibm-sp2"), "--on ibm-sp2 changes nothing"),
        ((*JOB, "-s", "spmd"), "--solver spmd changes nothing without a WORKLOAD"),
        ((*JOB, "--slow-episode", "3h"), "--slow-episode 3h changes nothing"),
        ((*JOB, "--interval", "0h"), "--interval 0h must be above 0"),
    ],
)
def test_what_is_refused(capsys, words, reason):
    code = main(["goodput", *words])
    err = capsys.readouterr().err
    assert code == 2
    assert reason in err
    assert err.count("\n") <= 3


def test_a_plain_number_is_of_seconds(capsys):
    line = ("--work", "3d", "--checkpoint", "2min", "--restart", "5min", "--mtbf")
    assert ask(capsys, *line, "180000") == ask(capsys, *line, "50h")


def test_a_job_that_never_ends_is_refused(capsys):
    assert main(["goodput", "--mtbf", "1s", "--checkpoint", "1h", "--restart", "1h"]) == 2
    assert "no interval is ever done" in capsys.readouterr().err
    line = ("--mtbf", "1h", "--checkpoint", "1min", "--restart", "1min", "--interval", "400d")
    assert main(["goodput", *line]) == 2
    assert "shorten the interval" in capsys.readouterr().err


def test_a_machine_without_disks_writes_no_state(capsys):
    line = ("--on", "loggp-cluster", "-p", "8", "--state", "1TB", *JOB[:2], *JOB[4:])
    assert main(["goodput", *line]) == 2
    assert "loggp-cluster says nothing of how fast it writes a state" in capsys.readouterr().err


def test_a_workload_that_no_solver_predicts_ends_with_2_and_the_reason(capsys):
    line = ("gpt-22b", "a100-hdr", "-p", "8", "--set", "tp=7", *JOB[4:])
    assert main(["goodput", *line, "--mtbf", "50h", "--checkpoint", "2min"]) == 2
    assert "heads = 64 is not divisible by tp = 7; nearest: " in capsys.readouterr().err


def test_a_training_job_without_steps_is_one_step_and_says_so(capsys):
    line = ["goodput", "gpt-22b", "a100-hdr", "-p", "8", "--mtbf", "50h", "--checkpoint", "1s"]
    assert main([*line, "--restart", "5min"]) == 0
    assert "that is one step; --steps says how many there are" in capsys.readouterr().out
    assert main([*line, "--restart", "5min", "--steps", "1000"]) == 0
    assert "that is one step" not in capsys.readouterr().out


def test_a_job_of_too_many_failures_to_draw_is_told_what_is_exact(capsys):
    asked = ["goodput", "--work", "30d", "--mtbf", "5min", "--checkpoint", "10min"]
    assert main([*asked, "--restart", "0s", "--interval", "5min"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    useful = 1 / (math.exp(3) - 1)
    assert f"in the long run {100 * useful:.2f} % of the time is useful" in told
    assert "done in 572.6 d: exact" in told
