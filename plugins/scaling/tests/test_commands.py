"""``parcast scaling`` of times and ``parcast walltime``, as they are typed."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from parcast.cli import app as command
from parcast.errors import FileError
from parcast_scaling.isoefficiency import isoefficiency
from parcast_scaling.times import Run
from parcast_scaling.walltime import walltime
from parcast_scaling.worth import _progress, _sizes, worth_measuring

TIMES = "p,time\n" + "".join(
    f"{p},{seconds}\n"
    for p, several in {4: (100, 103), 8: (52, 51), 16: (28.5, 28), 32: (17, 16.6)}.items()
    for seconds in several
)


@pytest.fixture
def run(registry, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TIMES)

    def call(*arguments):
        return command.main(list(arguments)), *capsys.readouterr()

    return call


def test_a_table_of_times_becomes_a_curve(run):
    code, out, err = run("scaling", "t.csv", "--to", "128")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("t.csv: 8 runs at p = 4, 8, 16, 32; one run varies by 2.2 %")
    assert [line.split()[0] for line in lines[3:9]] == ["4", "8", "16", "32", "64", "128"]
    assert "knee: p = " in out


def test_the_json_has_what_is_printed(run):
    code, out, _ = run("scaling", "t.csv", "-p", "64,128", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [band["p"] for band in answer["bands"]] == [64, 128]
    assert answer["schema"] == 1
    first, second = answer["bands"]
    assert first["low90"] < first["median"] < first["high90"]
    assert second["high90"] / second["low90"] > first["high90"] / first["low90"]
    assert len(answer["runs"]) == 8


def test_a_size_that_is_held_out_is_predicted_without_it(run):
    with_all = json.loads(run("scaling", "t.csv", "-p", "32", "--json")[1])
    code, out, _ = run("scaling", "t.csv", "-p", "32", "--hold-out", "32", "--json")
    without = json.loads(out)
    assert code == 0
    assert {run["p"] for run in without["left_out"]} == {32}
    widths = [
        np.log(answer["bands"][0]["high90"] / answer["bands"][0]["low90"])
        for answer in (with_all, without)
    ]
    assert widths[1] > 1.5 * widths[0]
    assert (
        "p=32 left out: 17 s, inside the 90 % band"
        in run("scaling", "t.csv", "--to", "64", "--hold-out", "32")[1]
    )


def test_flat_times_are_past_their_knee_unless_the_work_grows(run):
    Path("flat.csv").write_text("p,time\n1,10\n2,10.1\n4,10.0\n8,10.2\n")
    assert "if the work grows as p, say so by --weak" in run("scaling", "flat.csv", "--to", "16")[1]
    weak = run("scaling", "flat.csv", "--to", "16", "--weak")[1]
    assert "knee: beyond 16" in weak
    assert "--weak" not in weak


def _page(text):
    """Return how many pictures a page has, and what it says where a reader points."""
    return text.count("<svg"), re.findall("<title>([^<]*)", text)


def test_the_plot_is_one_page_with_hover_that_needs_no_network(run):
    code, _, err = run("scaling", "t.csv", "--to", "128", "--hold-out", "8", "-o", "t.html")
    assert (code, err) == (0, "")
    text = Path("t.html").read_text()
    pictures, notes = _page(text)
    assert pictures == 1
    assert sum(note.startswith("measured at p=") for note in notes) == 6
    assert sum(note.startswith("left out at p=8") for note in notes) == 2
    assert sum("binds (" in note for note in notes) == 6
    assert sum(note.startswith("knee at ") for note in notes) == 2  # the line, and its range
    assert not re.search(r"(src|href)=.http", text)


def test_p_and_work_are_a_surface_with_lines_of_equal_efficiency(run):
    """Of t = n/p + 0.05 log2(p) an efficiency is that of n/p over t."""

    def time(p, n):
        return n / p + 0.05 * math.log2(p)

    sizes = [(p, n) for p in (2, 4, 8, 16, 32) for n in (1, 4)]
    Path("n.csv").write_text("p,n,time\n" + "".join(f"{p},{n},{time(p, n)}\n" for p, n in sizes))
    code, _, err = run("scaling", "n.csv", "--to", "64", "-o", "n.html")
    assert (code, err) == (0, "")
    pictures, notes = _page(Path("n.html").read_text())
    assert pictures == 2
    assert sum("n=4" in note for note in notes) == 5
    runs = [Run(p, time(p, n), n) for p, n in sizes]
    surface = isoefficiency(runs, [64], 0.5, seed=1).surface
    p, n = np.meshgrid(surface.p, surface.n)
    true = n / p + 0.05 * np.log2(p)
    assert surface.seconds == pytest.approx(true, rel=0.2)
    assert surface.efficiency == pytest.approx(n / p / true * 2 * time(2, 1), abs=0.15)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["t.csv", "--to", "16"], "--to 16: times are measured to p=32; write a larger p"),
        (["t.csv", "--to", "64", "-p", "64"], "-p 64 and --to 64: give one of them"),
        (["t.csv", "--hold-out", "5"], "--hold-out 5: there is no run of it in t.csv"),
        (["t.csv", "--hold-out", "4,8,16,32"], "no runs of t.csv are left; hold out fewer"),
        (["t.csv", "-p", "0"], "-p '0': write whole numbers"),
        (["t.csv", "-o", "t.png"], ".html"),
        (["t.csv", "--hold-out", "4,8"], "times at 2 values of p (16, 32) tell no curve"),
        (["t.csv", "--on", "m.toml"], "m.toml does not exist"),
        (["empty.toml"], "empty.toml is empty; give a table with columns p and time (.csv)"),
        (["empty.toml", "--to", "64"], "empty.toml is empty; give a table with columns p"),
        (["a.csv", "--to", "64"], "--to is about times, and a.csv has none"),
        (["a.csv", "--weak"], "--weak is about times, and a.csv has none"),
    ],
)
def test_bad_questions_are_one_sentence(run, arguments, sentence):
    Path("a.csv").write_text("p,bytes\n4,1\n8,2\n16,4\n")
    Path("empty.toml").touch()
    code, out, err = run("scaling", *arguments)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_no_time_is_less_than_the_machine_needs(run):
    """A code that is all computation, at 1 GFLOP/s: beyond what is measured it stays so."""
    rows = "".join(f"{p},{8e9 / p / 1e9},{8e9 / p}\n" for p in (1, 2, 4, 8))
    Path("w.csv").write_text("p,time,flops\n" + rows)
    Path("m.toml").write_text(
        'name = "m"\n[processor]\nrate = "1 GFLOP/s"\n[network]\nstartup = "1 us"\n'
        'bandwidth = "1 GB/s"\n[storage]\ndisks = 1\n'
    )
    free = json.loads(run("scaling", "w.csv", "-p", "64", "--json")[1])["bands"][0]
    code, out, _ = run("scaling", "w.csv", "-p", "64", "--on", "m.toml", "--json")
    bound = json.loads(out)["bands"][0]
    assert code == 0
    assert free["low90"] < 8 / 64
    assert bound["low90"] >= 8 / 64 * (1 - 1e-9)
    Path("w.csv").write_text("p,time,flops\n" + rows.replace("\n", "\n").replace("8.0,", "4.0,"))
    code, _, err = run("scaling", "w.csv", "-p", "64", "--on", "m.toml")
    assert code == 2
    assert "w.csv:2: 4 s at p=1 is less than the 8 s of its amounts on m.toml" in err


def test_the_limit_is_a_quantile_of_the_runs():
    """Of a lognormal spread of 20 % about 1000/p the quantile is known."""
    rng = np.random.default_rng(5)
    runs = [Run(p, 1000 / p * np.exp(0.2 * rng.standard_normal())) for p in (2, 4, 8, 16)
            for _ in range(60)]  # fmt: skip
    answer = walltime(runs, 8.0, 0.95)
    assert answer.limit.seconds == pytest.approx(125 * np.exp(1.645 * 0.2), rel=0.1)
    assert answer.limit.killed == pytest.approx(0.05, abs=0.01)
    longer = next(limit for limit in answer.others if limit.quantile == 0.99)
    assert longer.unused > answer.limit.unused
    assert longer.lost < answer.limit.lost


def test_runs_of_one_size_suffice_where_there_are_many():
    seconds = np.linspace(10, 20, 41)
    answer = walltime([Run(8, float(x)) for x in seconds], 8.0, 0.9)
    assert answer.limit.seconds == pytest.approx(10 + 0.25 * (0.9 * 42 - 1))


def test_few_runs_tell_no_high_quantile():
    runs = [Run(8, 10.0 + x) for x in range(20)]
    assert walltime(runs, 8.0, 0.95).limit.seconds == pytest.approx(28.95)
    with pytest.raises(FileError, match=r"20 runs at one size tell at most --quantile 0\.952"):
        walltime(runs, 8.0, 0.99)


@pytest.mark.parametrize("sizes", [(8,), (2, 4, 8, 16)])
def test_killed_runs_leave_the_quantile_where_it_is(sizes):
    rng = np.random.default_rng(8)
    times = [(p, 1000 / p * np.exp(0.2 * rng.standard_normal())) for p in sizes for _ in range(400)]
    limits = [1000 / p * np.exp(0.4 * rng.standard_normal() + 0.3) for p, _ in times]
    pairs = list(zip(times, limits, strict=True))
    runs = [Run(p, seconds) for (p, seconds), limit in pairs if seconds <= limit]
    killed = [Run(p, limit) for (p, seconds), limit in pairs if seconds > limit]
    assert len(killed) > 0.2 * len(times)
    expected = 125 * np.exp(1.2816 * 0.2)
    answer = walltime(runs, 8.0, 0.9, killed=killed)
    assert answer.limit.seconds == pytest.approx(expected, rel=0.06)
    assert walltime(runs, 8.0, 0.9).limit.seconds < 0.97 * answer.limit.seconds
    assert answer.remarks == (
        f"{len(killed)} runs were killed at their limit: they count as longer than that",
    )


def test_the_limit_is_printed_as_slurm_takes_it(run):
    Path("s.txt").write_text(
        "JobID|NNodes|Elapsed|State\n1|4|01:40:00|COMPLETED\n2|8|00:52:00|COMPLETED\n"
        "3|16|00:28:30|COMPLETED\n4|32|00:17:00|COMPLETED\n5|32|00:10:00|TIMEOUT\n6|8|1|FAILED\n"
    )
    code, out, err = run("walltime", "--history", "s.txt", "-p", "16", "--quantile", "0.9")
    assert (code, err) == (0, "")
    assert out.startswith("s.txt: 4 runs, 1 of them at nodes=16\n\nask for 00:3")
    assert "left out: 1 job with state failed" in out
    assert "1 run was killed at its limit: it counts as longer than that" in out
    code, _, err = run("walltime", "--history", "s.txt", "-p", "16", "--quantile", "95")
    assert (code, err.count("\n")) == (2, 1)
    assert "--quantile 95: write a probability between 0 and 1" in err


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("1|4|01:40:00|COMPLETED\n", "1 run at nodes=4, and 1 value of nodes, tell no limit"),
        ("1|4|01:40:00|FAILED\n2|4|00:01|TIMEOUT\n", "job in it is completed, only failed, time"),
        ("1.batch|4|01:40:00|COMPLETED\n", "no job in it is completed, only steps of jobs"),
        ("", "s.txt: there are no jobs in it"),
    ],
)  # fmt: skip
def test_too_few_jobs_tell_no_limit(rows, sentence, run):
    Path("s.txt").write_text(f"JobID|NNodes|Elapsed|State\n{rows}")
    code, _, err = run("walltime", "--history", "s.txt", "-p", "4")
    assert (code, err.count("\n")) == (2, 1)
    assert sentence in err


def test_a_limit_beyond_what_killed_runs_tell_is_refused(run):
    Path("s.txt").write_text(
        "JobID|NNodes|Elapsed|State\n1|4|01:40:00|COMPLETED\n2|8|00:52:00|COMPLETED\n"
        "3|16|00:28:30|COMPLETED\n4|32|00:17:00|COMPLETED\n5|32|00:20:00|TIMEOUT\n"
    )
    code, _, err = run("walltime", "--history", "s.txt", "-p", "32")
    assert (code, err.count("\n")) == (2, 1)
    assert "1 of 5 runs ran into its limit, so that the others tell at most --quantile 0.8" in err
    assert run("walltime", "--history", "s.txt", "-p", "32", "--quantile", "0.8")[0] == 0
    code, out, _ = run("scaling", "s.txt", "--to", "64")
    assert code == 0
    assert "left out: 1 job that ran into its limit, at nodes = 32" in out


def test_tasks_count_where_steps_of_jobs_state_them(run):
    Path("s.txt").write_text(
        "JobID|NNodes|NTasks|Elapsed|State\n1|1||01:40:00|COMPLETED\n1.batch|1|1|01:40:00|COMPLETED\n"
        "1.0|1|16|01:39:00|COMPLETED\n2|2||00:52:00|COMPLETED\n2.0|2|32|00:51:00|COMPLETED\n"
        "3|4||00:28:00|COMPLETED\n3.0|4|64|00:27:00|COMPLETED\n3.1|4|4|00:01:00|COMPLETED\n"
    )
    code, out, _ = run("walltime", "--history", "s.txt", "-p", "64", "--quantile", "0.9")
    assert code == 0
    assert out.startswith("s.txt: 3 runs, 1 of them at tasks=64\n")
    assert "p counts tasks; for nodes write s.txt#p=nnodes" in out
    code, out, _ = run("walltime", "--history", "s.txt#p=NNodes", "-p", "4", "--quantile", "0.9")
    assert code == 0
    assert out.startswith("s.txt: 3 runs, 1 of them at nodes=4\n")
    for part, sentence in {
        "p=ncpus": "'ncpus' is none of its columns of sizes: ntasks, nnodes",
        "nodes": "write s.txt#p=ntasks for the column that says how large jobs were",
    }.items():
        code, _, err = run("walltime", "--history", f"s.txt#{part}", "-p", "64")
        assert (code, err.count("\n")) == (2, 1)
        assert sentence in err


def test_runs_of_several_problems_tell_no_limit(run):
    Path("n.csv").write_text("p,n,time\n4,1,10\n8,2,10\n16,4,11\n")
    code, _, err = run("walltime", "--history", "n.csv", "-p", "4")
    assert (code, err.count("\n")) == (2, 1)
    assert "its runs differ in their work n, and a limit is for one" in err


def test_what_is_worth_measuring_narrows_the_band():
    runs = [Run(p, 100 / p + 1) for p in (4, 8, 16)]
    first, second = worth_measuring(runs, 64, 2, seed=1)
    assert first.after < first.before
    assert first.p <= 32
    assert second.before == pytest.approx(first.after, rel=0.35)
    assert first.cost == pytest.approx(first.p * first.seconds / 3600)


def test_sizes_between_and_beyond_what_is_measured_are_proposed_up_to_the_limit():
    def sizes(limit, *p):
        return _sizes([Run(size, 1.0) for size in p], limit).tolist()

    assert sizes(256, 2, 16, 128) == [2, 4, 8, 16, 32, 64, 128, 256]
    assert sizes(300, 27, 64, 125) == [27, 64, 125, 250]
    assert sizes(100, 1, 12, 48) == [1, 3, 6, 12, 24, 48, 96]
    assert sizes(2, 2, 4, 8) == [2]
    assert sizes(1, 2, 4, 8) == []


def test_a_miss_costs_another_run_and_a_wider_band_is_no_progress():
    progress = _progress(math.log(8), np.log([16, 8, 2.01, 2, 1.5]), math.log(2))
    assert progress == pytest.approx([0, 0, 0.5, 1, 1], abs=0.01)


def test_copies_of_runs_and_columns_that_may_be_times_are_pointed_out(run):
    rows = "4,10\n8,6\n16,3.5\n"
    Path("copies.csv").write_text("p,time\n" + rows + rows)
    Path("repeats.csv").write_text("p,time\n" + rows + "4,10\n8,6.1\n16,3.5\n")
    assert "every time stands 2 times or more" in run("scaling", "copies.csv", "-p", "32")[1]
    assert "every time stands" not in run("scaling", "repeats.csv", "-p", "32")[1]
    Path("dauer.csv").write_text("p,dauer\n" + rows)
    assert "dauer is no amount of a phase: name it time if it is" in run("scaling", "dauer.csv")[1]
