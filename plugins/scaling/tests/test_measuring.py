"""``--measure``: what is worth it is measured by a command, added to the table, and used."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import attrs
import pytest

from parcast.cli import app as command
from parcast_scaling.reading import read_times
from parcast_scaling.worth import worth_measuring

TABLE = "# a solver\np,run,time\n2,1,50.5 s\n4,1,25.5\n8,1,13.1\n16,1,6.9"  # no last newline

#: Takes 100/p + 0.5 seconds of n, and says so last.
CODE = "import sys\np = float(sys.argv[1])\nprint('it runs')\nprint(100 / p + 0.5, 's')\n"


@pytest.fixture
def run(registry, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    Path("code.py").write_text(CODE)

    def call(*arguments):
        return command.main(["scaling", "t.csv", "--to", "128", *arguments]), *capsys.readouterr()

    return call


CALL = f"{sys.executable} code.py {{p}}"


def test_runs_are_measured_where_they_are_worth_most_and_added(run):
    before = read_times("t.csv").runs
    asked = ("--worth-measuring", "2", "--measure", CALL, "--measure-to", "4", "--json")
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    runs = read_times("t.csv").runs
    assert runs[: len(before)] == before
    assert Path("t.csv").read_text().startswith(TABLE + "\n")
    assert [run.seconds for run in runs[len(before) :]] == [
        pytest.approx(100 / run.p + 0.5) for run in runs[len(before) :]
    ]
    assert len(runs) == len(before) + 2 == len(answer["runs"])
    assert max(run.p for run in runs[len(before) :]) <= 4
    steps = answer["measured"]
    assert [step["run"]["p"] for step in steps] == [step["proposal"]["p"] for step in steps]
    with_first = runs[: len(before) + 1]  # the second is proposed when the first is measured
    (second,) = worth_measuring(with_first, 128, 1, seed=2026, most=4)
    assert steps[1]["proposal"] == pytest.approx(attrs.asdict(second), rel=1e-6)
    code, out, _ = run("--worth-measuring", "1", "--measure", CALL, "--measure-to", "2")
    assert out.startswith("measured now, and added to t.csv:\n")
    assert "t.csv: 7 runs" in out


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("echo 3 s", "write {p} where p is to stand in it"),
        ("absent-program {p}", "does not run: "),
        ("ls absent-{p}", "exits with "),
        ("echo never {p}", "which is no time; have it print the time of the run last"),
        ("echo 0 {p} 0", "which is no time"),
        ("echo {p}0000000", "is a factor of"),
        ("true {p}", "ends with '', which is no time"),
    ],
)
def test_a_command_that_measures_nothing_is_one_sentence_and_adds_nothing(run, line, sentence):
    code, out, err = run("--worth-measuring", "1", "--measure", line, "--measure-to", "2")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
    assert Path("t.csv").read_text() == TABLE


def test_the_json_of_predict_is_a_time_as_well(run):
    Path("code.py").write_text("import json, sys\nprint(json.dumps({'rows': [{'time': 7.0}]}))\n")
    code, out, _ = run("--worth-measuring", "1", "--measure", CALL, "--measure-to", "2", "--json")
    assert code == 0
    assert json.loads(out)["measured"][0]["run"]["seconds"] == 7.0


def test_a_refused_prediction_is_told_with_its_reason(run):
    row = {"rows": [{"time": None, "message": "3 processes on 2 cores"}]}
    Path("code.py").write_text(f"print({json.dumps(row)!r})\nexit(1)\n")
    code, _, err = run("--worth-measuring", "1", "--measure", CALL, "--measure-to", "2")
    assert code == 2
    assert err.endswith("exits with 1: 3 processes on 2 cores\n")


def test_a_table_with_other_columns_gets_no_rows(run):
    Path("t.csv").write_text("p,time,flops\n2,50,1\n4,26,1\n8,14,1\n")
    code, _, err = run("--worth-measuring", "1", "--measure", CALL, "--measure-to", "4")
    assert code == 2
    assert "adds rows to a table (.csv) of p and time, and t.csv has a column 'flops'" in err
    code, _, err = run("--measure", CALL, "--measure-to", "4")
    assert code == 2
    assert "--measure needs --worth-measuring" in err


def test_no_more_is_measured_where_the_band_is_narrow_enough(run):
    code, out, err = run("--worth-measuring", "2", "--narrow-to", "1000")
    assert (code, err) == (0, "")
    assert "no more is worth measuring: the 90 % band at p=128 without sudden rises is then" in out
    code, _, err = run("--worth-measuring", "1", "--measure-to", "1")
    assert code == 2
    assert "--measure-to 1: the smallest measured p is 2; write it or a larger one" in err
