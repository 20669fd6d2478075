"""What the shell completes, and what a terminal that wants no color, or is narrow, is shown."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def completed(line):
    """Return what bash is offered for the last word of a line."""
    words = line.split(" ")
    environment = {
        **os.environ, "_PARCAST_COMPLETE": "complete_bash", "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    code = (
        "import sys; from parcast import Registry, Resource, SolverEntry, hookimpl\n"
        "from parcast.cli import app as cli\n"
        "from pathlib import Path; from types import SimpleNamespace\n"
        "m = SimpleNamespace(__name__='parcast_names')\n"
        "m.parcast_workloads = hookimpl(lambda: [Resource(n, Path()) for n in ('ring', 'rows')])\n"
        "m.parcast_machines = hookimpl(lambda: [Resource(n, Path()) for n in ('red', 'sp2')])\n"
        "m.parcast_solvers = hookimpl(lambda: [SolverEntry('a.b', 'phases', 'x:y', 'z')])\n"
        "cli.Registry = lambda: Registry([m])\n"
        "sys.argv = ['parcast']\n"
        "sys.exit(cli.main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("parcast compare r", ["ring", "rows"]),
        ("parcast compare ring,ro", ["ring,rows"]),
        ("parcast compare ring ", ["red", "sp2"]),
        ("parcast compare ring sp2 -s ", ["a", "a.b"]),
        ("parcast predict ring sp2 --solver a.", ["a.b"]),
        ("parcast advise ring re", ["red"]),
        ("parcast show r", ["red", "ring", "rows"]),
        ("parcast list work", ["workloads"]),
        ("parcast stu", ["study"]),
    ],
)
def test_names_are_completed(line, offered):
    assert completed(line) == offered


def test_nothing_is_colored_and_no_cell_is_cut_however_narrow():
    line = [sys.executable, "-m", "parcast", "list", "kinds"]
    environment = {**os.environ, "COLUMNS": "20", "FORCE_COLOR": "1", "NO_COLOR": "1"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert "SPMD cycles of computation and I/O." in " ".join(done.stdout.split())
