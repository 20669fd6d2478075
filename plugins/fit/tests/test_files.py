"""Bad measurements are one sentence each; calibrated files keep the rest and predict the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomlkit

from parcast.cli import app as command
from parcast.errors import ParcastError
from parcast_fit import fit

MACHINE = """name = "m"

[processor]
rate = "1 GFLOP/s"          # by dgemm

[network]
startup = "1 ms"
bandwidth = "10 MB/s"

[sources]
"processor.rate" = "assumed: for a test"
"network.bandwidth" = "measured: for a test"
"""
GOOD = "p,time\n1,12\n2,7\n4,4.1\n8,2.5\n16,1.9\n"


@pytest.fixture
def run(registry, workload, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MACHINE)
    Path("w.toml").write_text(tomlkit.dumps(workload))

    def call(table, *arguments, free="processor.rate"):
        Path("t.csv").write_text(table)
        given = ["fit", "w.toml", "m.toml", "t.csv", "--free", free, "-s", "adds", *arguments]
        return command.main(given), *capsys.readouterr()

    return call


BAD = {
    "p,seconds\n1,2\n": "t.csv: there is no column 'time' or 'speedup', only p, seconds",
    "time\n1\n": "t.csv: there is no column 'p', only time",
    "p,time\n1,fast\n": "t.csv:2: time = 'fast'",
    "p,time\n1,2\n1,2\n": "t.csv:3: p=1 with time=2 stands in t.csv:2 too; remove the copy, or",
    "p,time\n1.5,2\n": "t.csv:2: p = '1.5': it must be a whole number",
    "p,time\n1,-2\n": "t.csv:2: time = -2 must be above 0",
    "p,time,speedup\n1,2,1\n": "there are both times and speedups",
    "p,time,wrk\n1,2,1\n": "column 'wrk' is no parameter of workload 'w'",
    "p,machine,time\n1,other,1\n": "t.csv:2: machine = 'other' is not 'm'",
    "p,time\n": "t.csv: there are no measured times in it",
    "": "t.csv is empty",
}


@pytest.mark.parametrize("table", BAD)
def test_a_bad_table_is_one_sentence_and_exit_code_2(run, table):
    code, out, said = run(table)
    assert (code, out) == (2, "")
    assert said.startswith("parcast: ")
    assert said.count("\n") == 1
    assert BAD[table] in said


@pytest.mark.parametrize(
    ("free", "arguments", "sentence"),
    [
        ("procesor.rate", (), "Did you mean 'processor.rate'?"),
        ("processor.rte", (), "Did you mean 'rate'?"),
        ("storage.disks", (), "--free storage.disks: only numbers that vary continuously"),
        ("storage.layout", (), "--free storage.layout: only numbers that vary continuously"),
        ("nodes.groups", (), "--free nodes.groups: only numbers that vary continuously"),
        ("network.saturation", (), "states no network.saturation to start from"),
        ("storage.startup", (), "storage.startup changes no answer of adds at the measured points"),
        ("work,work", (), "must name each parameter once"),
        ("work,serial,processor.rate,network.startup,network.bandwidth,storage.startup", (),
         "5 measured points for 6 free parameters; measure at more p and d, or free fewer"),
        ("work", ("--bound", "work=5..1"), "the low end must be below the high one"),
        ("work", ("--bound", "serial=1..2"), "--bound serial: it is not free"),
        ("work", ("--bound", "work=1e11.."), "work starts at 1e+10, outside its bounds"),
        ("work", ("--set", "work=1e9*p"), "work is free and cannot vary between"),
        ("work", ("--interval", "guess"), "must be 'profile' or 'bootstrap'"),
        ("work", ("-o", "x.csv"), "is written as .toml. Did you mean 'x.toml'?"),
        ("work", ("-o", "no/x.toml"), "there is no folder no"),
        ("work", ("-s", "ads"), "Did you mean 'adds'?"),
    ],
)  # fmt: skip
def test_a_bad_question_is_one_sentence_and_exit_code_2(run, free, arguments, sentence):
    code, out, said = run(GOOD, *arguments, free=free)
    assert (code, out) == (2, "")
    assert sentence in said
    assert said.count("\n") == 1


def test_a_refusal_exits_with_1(run):
    code, out, said = run(GOOD + "1024,1\n")
    assert (code, out) == (1, "")
    assert said == "parcast: adds at p=1024, d=1: takes at most 512 processes\n"


def test_no_convergence_exits_with_1_and_writes_nothing(run, monkeypatch):
    monkeypatch.setattr(
        "parcast_fit.search.search.__kwdefaults__", {"tolerance": 1e-15, "max_steps": 1}
    )
    code, _, said = run(GOOD, "-o", "c.toml", free="work,network.startup")
    assert code == 1
    assert "did not converge" in said
    assert not Path("c.toml").exists()


def test_the_calibrated_machine_keeps_the_rest_and_predicts_the_same(run, registry):
    code, _, said = run(GOOD, "-o", "c.toml", "--set", "network.bandwidth=20 MB/s")
    assert (code, said) == (0, "parcast: wrote c.toml\n")
    text = Path("c.toml").read_text()
    assert "# by dgemm" in text
    data = tomllib.loads(text)
    assert data["network"]["startup"] == "1 ms"
    assert data["processor"]["rate"].endswith(" GFLOP/s")
    assert " +- " in data["processor"]["rate"]
    assert data["sources"]["processor.rate"].startswith("fitted: 5 times in t.csv with adds; 95 %")
    assert data["sources"]["network.bandwidth"].startswith("assumed: set while")
    found = fit(registry, "w.toml", "m.toml", "t.csv", free="processor.rate", solver="adds",
                settings={"network.bandwidth": "20 MB/s"})  # fmt: skip
    rows = registry.compare("w.toml", "c.toml", p=[1, 2, 4, 8, 16], solvers="adds").rows
    assert [one.time for one in rows] == pytest.approx([one.predicted for one in found.points])


def test_both_a_machine_and_a_workload_are_two_files(run, registry):
    code, _, said = run(GOOD, "-o", "c.toml", "--set", "network.bandwidth=1e7*p",
                        free="work,network.startup")  # fmt: skip
    assert said.splitlines() == [
        "parcast: wrote c-machine.toml",
        "parcast: wrote c-workload.toml",
        "parcast: to predict the same, give --set network.bandwidth=1e7*p as well",
    ]
    assert code == 0
    registry.machine("c-machine.toml")
    assert registry.workload("c-workload.toml").sources["parameters.work"].startswith("fitted:")


def test_the_report_names_what_is_not_determined(run):
    code, out, _ = run(GOOD, free="work,serial,processor.rate")
    assert code == 0
    assert out.count("not determined  ") >= 3
    assert "raising work, serial and processor.rate by the same factor changes nothing" in out
    assert "rank 2 of 3" in out


def test_speedups_say_how_the_scale_is_fixed(run):
    table = "p,speedup\n1,1\n2,1.9\n4,3.4\n8,5.8\n16,9\n"
    code, out, _ = run(table, free="work,serial,network.startup,network.bandwidth")
    assert code == 0
    assert "scale: speedups tell no seconds" in out
    assert "rank 3 of 4" in out
    code, out, _ = run(table, free="work,network.startup")  # the serial work is known in seconds
    assert code == 0
    assert "scale:" not in out


def test_python_takes_tables_and_refuses_nonsense(registry, workload, machine):
    with pytest.raises(ParcastError, match="no file, DataFrame"):
        fit(registry, workload, machine, 5, free="work", solver="adds")
