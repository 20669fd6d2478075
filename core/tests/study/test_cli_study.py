"""What ``parcast study`` prints and returns."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.cli import app as command
from parcast.plugins import executors

STUDY = (
    'workload = "w.toml"\nmachine = "m.toml"\nsolver = "counts"\np = "1..4"\n[set]\nn = [1, 2]\n'
)


@pytest.fixture
def study(counting, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: counting)
    (tmp_path / "w.toml").write_text("[parameters]\nn = 1\n[[phase]]\nparallel = 'n'\n")
    (tmp_path / "m.toml").write_text("[processor]\nrate = 1\n")
    monkeypatch.chdir(tmp_path)

    def run(text, *arguments):
        Path("s.toml").write_text(text)
        code = command.main(["study", "s.toml", "--cache", "cache", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_few_rows_are_shown_with_what_was_set(study):
    code, out, err = study(STUDY, "--executor", "threads:1")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("s: 8 points.")
    assert ["p", "d", "n", "solver", "time", "speedup", "efficiency"] in lines
    assert ["4", "1", "2", "counts", "50", "s", "4", "100", "%"] in lines


def test_many_rows_are_counted(study):
    code, out, _ = study(STUDY.replace("1..4", "1..100"), "--executor", "threads:1")
    assert code == 0
    assert ["counts", "198", "2", "1", "s", "200", "s"] in [
        line.split() for line in out.splitlines()
    ]
    assert "counts: 2 refused: no p of 13" in out
    assert "Give -o FILE to write the rows." in out


def test_json_and_files_hold_every_row(study):
    code, out, _ = study(STUDY, "--executor", "threads:2", "--json", "-o", "rows.csv")
    data = json.loads(out)
    assert code == 0
    assert [row["params"]["n"] for row in data["rows"]] == [1] * 4 + [2] * 4
    assert data["provenance"]["study"]["set"] == {"n": [1, 2]}
    assert len(Path("rows.csv").read_text().splitlines()) == 9
    assert not list(Path().glob(".part*"))


def test_failures_and_refusals_give_exit_code_one(study):
    assert study(STUDY.replace("1..4", "13"), "--executor", "threads:1")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--executor", "fibers:2"], "No plugin knows an executor 'fibers:2'"),
        (["--executor", "threads:0"], "executor 'threads:0' needs at least one worker"),
        (["--no-cache"], "--cache and --no-cache exclude each other; give one of them"),
        (["--tolerance", "5%"], "--tolerance compares with measured times"),
        (["-o", "no/rows.csv"], "no/rows.csv cannot be written: there is no folder no"),
        (["-o", "rows.xyz"], "no writer for '.xyz' files"),
    ],
)
def test_mistakes_give_exit_code_two(study, arguments, message):
    code, out, err = study(STUDY, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_measured_times_are_held_to_the_tolerance(study):
    Path("times.csv").write_text("p,n,time\n1,1,100\n2,1,25\n")
    text = STUDY.replace("[set]", 'measured = "times.csv"\n[set]')
    code, out, err = study(text, "--executor", "threads:1", "--tolerance", "10%")
    assert code == 1
    assert "+100.0 %" in out
    assert "counts at p=2, d=1 is +100.0 % off the measured time, more than 10 %" in err


def test_ctrl_c_says_what_is_kept(study, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("parcast.study.run.wait", interrupted)
    code, _, err = study(STUDY, "--executor", "threads:1")
    assert code == 130
    assert "0 of 8 points are finished and cached; the same command continues from there" in err


def test_a_terminal_gets_a_bar_and_a_pipe_gets_none(study, monkeypatch, tmp_path):
    (tmp_path / "s.toml").write_text(STUDY.replace("1..4", "1..60"))
    script = (
        "import importlib; from parcast import Registry; from parcast.cli import app as cli; "
        "cli.Registry = lambda: Registry([importlib.import_module('counting')]); "
        "raise SystemExit(cli.main(['study', 's.toml', '--no-cache', '--executor', 'threads:1']))"
    )
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PARCAST_SECONDS": "0.01"}
    shown = b""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=child, env=env
    ) as process:
        os.close(child)
        with contextlib.suppress(OSError):  # the end of a terminal
            while chunk := os.read(parent, 65536):  # one that is full would wait for ever
                shown += chunk
        printed = process.stdout.read()
    os.close(parent)
    assert process.returncode == 0
    assert b"/120" in shown
    assert b"points/s" in shown
    assert b"points/s" not in printed


def test_executors_are_known_by_name():
    assert executors.local_executor("dask:x") is None
    with executors.local_executor("threads:3") as found:
        assert found._max_workers == 3
    with executors.local_executor("processes") as found:
        assert found._max_workers == len(os.sched_getaffinity(0))
