"""What a terminal is shown while an answer is on its way, and what a pipe is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

CODE = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
from parcast import Prediction, Registry, SolverEntry, hookimpl
from parcast.cli import app as cli

class Sleeps:
    def supports(self, query):
        return None

    def solve(self, query):
        shown = os.environ.get("PARCAST_SHOWN")
        end = time.monotonic() + (60 if shown else 1.3)
        while query.p == 2 and time.monotonic() < end and not (shown and Path(shown).exists()):
            time.sleep(0.01)
        return Prediction(time=1.0 / query.p)

module = SimpleNamespace(__name__="parcast_sleeps")
sys.modules["parcast_sleeps"] = SimpleNamespace(Sleeps=Sleeps)
module.parcast_solvers = hookimpl(
    lambda: [SolverEntry("sleeps.one", "phases", "parcast_sleeps:Sleeps", "A test.")]
)
cli.Registry = lambda: Registry([module])
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "w.toml").write_text('name = "w"\n[[phase]]\nparallel = 1\n')
    (tmp_path / "m.toml").write_text('name = "m"\n[processor]\nrate = 1\n')
    return tmp_path


def on_a_terminal(folder, *command, columns=80, until=None, **environment):
    """Return the standard error of a command, which is a terminal of so many columns.

    The solver goes on when the terminal shows ``until``.
    """
    if until is not None:
        environment["PARCAST_SHOWN"] = str(folder / "shown")
    read, write = os.openpty()
    line = f'stty cols {columns} <&2; exec "$@"'
    code = [sys.executable, "-c", CODE, *command]
    with subprocess.Popen(
        ["bash", "-c", line, "bash", *code], stdout=subprocess.PIPE, stderr=write, cwd=folder,
        env={**os.environ, **environment},
    ) as process:  # fmt: skip
        os.close(write)
        shown = b""
        try:
            while chunk := os.read(read, 65536):
                shown += chunk
                if until is not None and re.search(until, shown.decode(errors="ignore")):
                    (folder / "shown").touch()
        except OSError:  # the end of a terminal
            pass
        printed = process.stdout.read().decode()
    os.close(read)
    assert process.returncode == 0, shown
    return shown.decode(), printed


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["compare", "w.toml", "m.toml", "-p", "1,2"], "sleeps.one: 1 of 2 points"),
        (["predict", "w.toml", "m.toml", "-p", "2", "-s", "sleeps"], "sleeps.one"),
        (["advise", "w.toml", "m.toml", "-p", "2"], "sleeps.one"),
    ],
)
def test_a_terminal_is_told_what_is_asked_and_since_when(files, command, said):
    line = rf"{said}  [1-9]\d* s"
    shown, printed = on_a_terminal(files, *command, until=line)
    assert re.search(line, shown)
    assert shown.endswith("\r\x1b[2K")  # and nothing of it stays
    assert "points" not in printed


def test_it_fits_into_a_narrow_terminal_and_has_no_color(files):
    command = ["compare", "w.toml", "m.toml", "-p", "1,2"]
    shown, _ = on_a_terminal(files, *command, columns=20, until=r"  [1-9]\d* s", NO_COLOR="1")
    texts = re.split(r"\r\x1b\[2K", shown)
    assert "\x1b" not in "".join(texts)
    assert max(map(len, texts)) < 20
    assert any(re.search(r"  [1-9]\d* s$", text) for text in texts)


def test_a_terminal_that_cannot_take_back_and_a_pipe_are_shown_nothing(files):
    command = ["compare", "w.toml", "m.toml", "-p", "2"]
    assert on_a_terminal(files, *command, TERM="dumb")[0] == ""
    line = [sys.executable, "-c", CODE, *command]
    done = subprocess.run(line, cwd=files, capture_output=True, text=True, check=True)
    assert done.stderr == ""
