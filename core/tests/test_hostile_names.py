"""Names of files and of what is in them steer neither a terminal nor a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parcast import Registry, Results, Row, cli
from parcast.cells import defused, meant
from parcast.cli.terminal import printable, printable_json
from parcast.comparison.measurements import read_measured
from parcast.errors import FileError
from parcast.testing import cases, seeds

PIECES = [
    *"=+-@'\"|,;\t\r\n !a1.e", "\x1b[31m", "\x1b]0;owned\x07", "\x9b2J", "\u202e", "\u2066", "\x7f",
    "\x00", "ä", "漢", "-5", "1e9", "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "\\", "inf", "\udc80",
]  # fmt: skip
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _name(drawn: random.Random) -> str:
    return "".join(drawn.choices(PIECES, k=drawn.randint(1, 6)))


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", seeds(cases(40)))
def test_any_name_is_told_harmlessly_and_written_back(seed, tmp_path):
    drawn = random.Random(seed)
    names = [_name(drawn) for _ in range(5)]
    for name in names:
        assert not CONTROL.search(printable(name))
        text = printable_json(json.dumps({name: name}, ensure_ascii=False))
        assert not CONTROL.search(text)
        assert json.loads(text) == {name: name}
        cell = defused(name)
        assert cell[0] not in "=+-@\t\r" or _number(name)
        assert meant(cell) == name or _number(name)
    clean = [name.replace("\udc80", "") for name in names]
    rows = [
        Row(workload=name, machine=name, solver="s", p=1, d=1, time=drawn.choice([-0.0, 2.5, 1e-9]),
            params={"x": drawn.choice([-5, -2.5, name])}, error=-0.25, details={name: -1})
        for name in clean
    ]  # fmt: skip
    path = tmp_path / "rows.csv"
    Registry([]).write(Results(tuple(rows)), path)
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [meant(one["workload"]) for one in found] == clean
    for one, row in zip(found, rows, strict=True):
        assert float(one["time"]) == row.time
        assert float(one["error"]) == -0.25
        x = row.params["x"]
        assert meant(one["params.x"]) == x if isinstance(x, str) else float(one["params.x"]) == x
        for cell in (*one, *one.values()):
            assert not cell or cell[0] not in "=+-@\t\r" or _number(cell), cell


def test_numbers_and_plain_text_stay_as_they_are():
    for value in (-5, -2.5, None, True, "-5", "+3.5e-7", "-inf", "a=b", "", "'tis", "btio"):
        assert defused(value) == value
    for text in ("=1", "+cmd", "-x", "@a", "\tx", "'=1", "''@"):
        assert defused(text) == f"'{text}"
        assert meant(f"'{text}") == text


def test_measured_times_know_the_names_again(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("workload,p,d,time\n'=w,1,1,3\n")
    times = read_measured(path)
    assert [one.at["workload"] for one in times.items] == ["=w"]


HOSTILE = 'name = "\\u001b[2Jm\\u009b31m\\u202ex"\nsummary = "\\u001b]0;owned\\u0007"\n'


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "w.toml", "m.toml", "-p", "1,2"],
        ["compare", "w.toml", "m.toml", "-p", "1", "--json"],
        ["compare", "w.toml", "m.toml", "-p", "1", "--set", "\x1b[31m=3"],
        ["predict", "w.toml", "m.toml", "-p", "1", "-s", "spmd"],
        ["show", "m.toml"],
        ["show", "w.toml"],
        ["show", "w\x1b[31m.toml"],
        ["advise", "w.toml", "m.toml", "-p", "1"],
    ],
)
def test_no_command_lets_a_name_steer_the_terminal(command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(HOSTILE + "[processor]\nrate = 1\n")
    (tmp_path / "w.toml").write_text(HOSTILE + "[[phase]]\nparallel = 1\n")
    cli.main(command)
    told = capfd.readouterr()
    assert told.out or told.err
    assert not CONTROL.search(told.out + told.err)


def test_the_streams_are_as_they_were_after_a_command(capsys):
    before = sys.stdout, sys.stderr
    cli.main(["list"])
    assert (sys.stdout, sys.stderr) == before
    assert capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["--help"], ["compare"], ["compare", "--help"], ["list"]])
def test_whatever_is_printed_into_a_closed_pipe_ends_without_a_traceback(words, monkeypatch):
    class Closed(io.StringIO):
        def write(self, _text):
            raise BrokenPipeError

        def fileno(self):
            return spare

    spare = os.open(os.devnull, os.O_WRONLY)
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", Closed())
    assert cli.main(words) == 141
    os.close(spare)


@pytest.mark.parametrize("command", ["list", "compare w.toml m.toml -p 1..1500 -o rows.csv"])
def test_a_pipe_that_nobody_reads_ends_the_command_as_it_ends_others(command, tmp_path):
    (tmp_path / "m.toml").write_text("[processor]\nrate = 1\n")
    (tmp_path / "w.toml").write_text("[[phase]]\nparallel = 1\n")
    line = f'"$0" -m parcast {command} | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "141"
    assert done.stderr == ""
    if "rows.csv" in command:
        assert len((tmp_path / "rows.csv").read_text().splitlines()) > 1500


@pytest.mark.parametrize("name", ["dir.csv/", "a/dir.json/", "./"])
def test_what_is_written_as_a_folder_is_no_file(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text("[processor]\nrate = 1\n")
    (tmp_path / "w.toml").write_text("[[phase]]\nparallel = 1\n")
    assert cli.main(["compare", "w.toml", "m.toml", "-p", "1", "-o", name]) == 2
    assert "is a folder; name a file, such as" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["m.toml", "w.toml"]
    with pytest.raises(FileError, match="is a folder"):
        Registry([]).write(Results(()), name)


def test_tables_that_would_be_read_for_a_minute_are_refused(tmp_path):
    path = tmp_path / "big.toml"
    path.write_text("[[phase]]\nparallel = 1\n" * 200_000)
    with pytest.raises(FileError, match=r"has 4 MiB; such files have up to 2; write .* as JSON"):
        Registry([]).workload(path)


def test_more_samples_than_tell_anything_are_refused(make_registry, workload):
    machine = {"processor": {"rate": "2 +- 1 FLOP/s"}}
    with pytest.raises(Exception, match="99,999,999 samples take too long; take at most 100,000"):
        make_registry("works").compare(workload, machine, uncertainty=99_999_999)
