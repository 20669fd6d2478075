"""What a terminal is shown while an answer is on its way, and what a pipe is not."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest

from parcast.cli import progress, show_progress
from parcast.cli.terminal import printing

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


COMPARE = ("compare", "w.toml", "m.toml", "-p", "1,2")


def with_files(folder):
    (folder / "w.toml").write_text('name = "w"\n[[phase]]\nparallel = 1\n')
    (folder / "m.toml").write_text('name = "m"\n[processor]\nrate = 1\n')
    return folder


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


#: What is asked on a terminal, and what that says of it: all at once, since each sleeps.
ASKED = {
    "compare": (COMPARE, "sleeps.one: 1 of 2 points"),
    "predict": (("predict", "w.toml", "m.toml", "-p", "2", "-s", "sleeps"), "sleeps.one"),
    "advise": (("advise", "w.toml", "m.toml", "-p", "2"), "sleeps.one"),
}
SINCE = r"  [1-9]\d* s"


@pytest.fixture(scope="module")
def terminals(tmp_path_factory):
    """What terminals show of each command, of one that is narrow, and of one that is dumb."""
    with ThreadPoolExecutor() as pool:

        def begin(name, *command, **options):
            folder = with_files(tmp_path_factory.mktemp(name))
            return pool.submit(on_a_terminal, folder, *command, **options)

        begun = {
            name: begin(name, *command, until=said + SINCE)
            for name, (command, said) in ASKED.items()
        }
        begun["narrow"] = begin("narrow", *COMPARE, columns=20, until=SINCE, NO_COLOR="1")
        begun["dumb"] = begin("dumb", *COMPARE, TERM="dumb")
        return {name: terminal.result() for name, terminal in begun.items()}


@pytest.mark.parametrize("command", ASKED)
def test_a_terminal_is_told_what_is_asked_and_since_when(terminals, command):
    shown, printed = terminals[command]
    assert re.search(ASKED[command][1] + SINCE, shown)
    assert shown.endswith("\r\x1b[2K")  # and nothing of it stays
    assert "points" not in printed


def test_it_fits_into_a_narrow_terminal_and_has_no_color(terminals):
    shown, _ = terminals["narrow"]
    texts = re.split(r"\r\x1b\[2K", shown)
    assert "\x1b" not in "".join(texts)
    assert max(map(len, texts)) < 20
    assert any(re.search(rf"{SINCE}$", text) for text in texts)


def test_a_terminal_that_cannot_take_back_and_a_pipe_are_shown_nothing(terminals, tmp_path):
    assert terminals["dumb"][0] == ""
    line = [sys.executable, "-c", CODE, *COMPARE]
    done = subprocess.run(
        line, cwd=with_files(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


class Terminal(io.StringIO):
    """What is written on a terminal; codes only go up, and erase."""

    def isatty(self):
        return True

    @property
    def rows(self):
        rows, row = [""], 0
        for line, up, erase, text in re.findall(
            r"(\n)|(\x1b\[1A)|(\r?\x1b\[2K)|([^\n\r\x1b]+)", self.getvalue()
        ):
            row += bool(line) - bool(up)
            rows += [""] * (row + 1 - len(rows))
            rows[row] = "" if erase else rows[row] + text
        return rows


@pytest.fixture
def terminal(monkeypatch):
    clock = iter(range(10, 1000))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(progress, "_REFRESH", 1e6)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_bar_has_what_is_done_its_rate_and_the_time_left(terminal):
    with redirect_stderr(terminal), show_progress("points") as tell:
        for done in range(0, 51, 10):
            tell("a study", done, 120)
        (row,) = terminal.rows
    pattern = (
        r"a study  \[(#+)(-+)\]  50/120  42 %  (\d+\.\d\d) points/s  (\d+) s, 0:00:(\d\d) left"
    )
    full, empty, rate, _, left = re.fullmatch(pattern, row).groups()
    assert round(len(full) / len(full + empty), 1) == 0.4
    assert int(left) == round(70 / float(rate))
    assert terminal.rows == [""]


@pytest.mark.parametrize("columns", [1, 10, 20, 40, 60, 80, 200])
def test_a_bar_fits_and_keeps_the_count(terminal, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    with redirect_stderr(terminal), show_progress("points") as tell:
        for done in (0, 50):
            tell("the name of a study", done, 120)
        (row,) = terminal.rows
    assert len(row) < columns
    assert "50/120" in row or columns < 40


def test_work_within_work_is_a_stack_of_lines(terminal):
    with redirect_stderr(terminal), show_progress() as outer:
        outer("outer")
        for name in ("first", "second"):
            with show_progress() as inner:
                inner(name, 1, 2)
                above, below = terminal.rows
                assert re.fullmatch(r"outer  \d+ s", above)
                assert below.startswith(f"{name}  [")
        outer("outer")
        assert terminal.rows[0].startswith("outer")
        assert terminal.rows[1:] == [""]
    assert terminal.rows == ["", ""]


def test_what_is_printed_meanwhile_stands_above(terminal):
    with redirect_stderr(terminal), printing(), show_progress() as outer, show_progress() as inner:
        outer("outer")
        inner("inner", 1, 2)
        sys.stderr.writelines(["a warning", " in parts", "\n"])
        inner("inner", 2, 2)
        warning, above, below = terminal.rows
        sys.stderr.write("no end")
        inner("inner", 2, 2)
        assert terminal.rows[:2] == [warning, "no end"]
        sys.stderr.write("\n")
    assert warning == "a warning in parts"
    assert above.startswith("outer")
    assert below.startswith("inner")
    assert terminal.rows == ["a warning in parts", "no end", ""]


def test_texts_cannot_steer_the_terminal(terminal):
    with redirect_stderr(terminal), show_progress() as tell:
        tell("\x1b[31mred", 1, 2)
        assert terminal.rows[0].startswith(r"\x1b[31mred")


def test_threads_that_work_side_by_side_show_nothing(terminal):
    def work():
        with show_progress() as tell:
            tell("a thread")

    with redirect_stderr(terminal):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert terminal.getvalue() == ""


def test_short_work_shows_nothing(terminal):
    with redirect_stderr(terminal), show_progress(shown=False) as tell:
        tell("short", 1, 2)
    assert terminal.getvalue() == ""
