"""Runs that are worth measuring, measured by a command and added to their table, one by one."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, ParcastError, UnitError, shorten
from parcast.files import read_text
from parcast.quantities import to_base
from parcast_scaling.columns import TABLES, TIMES
from parcast_scaling.mechanisms import Floats
from parcast_scaling.reading import IGNORED, Times
from parcast_scaling.scope import STATED
from parcast_scaling.times import Run, check
from parcast_scaling.worth import Proposal


@attrs.frozen
class Measured:
    """A run that was proposed and measured."""

    proposal: Proposal
    run: Run


def measure(
    times: Times,
    command: str,
    count: int,
    propose: Callable[[Sequence[Run]], tuple[Proposal, ...]],
    work: Callable[[Floats], Floats],
) -> tuple[Times, tuple[Measured, ...]]:
    """Return the times with so many runs more, each where it is worth most when its turn comes.

    Each is written to the table of times as soon as it is measured.

    Parameters
    ----------
    times
        Read from a table.
    command
        What runs the code at ``{p}``, and with the work ``{n}``; it prints the time last, such as
        ``12.3 s``, or JSON as ``parcast predict --json`` does.
    count
        How many runs.
    propose
        Returns the one run that is worth most.
    work
        At a p.

    Raises
    ------
    FileError
        If the table has columns that a new row does not know.
    ParcastError
        If the command has no ``{p}``, fails, or prints no time.
    """
    if "{p}" not in command:
        raise ParcastError(f"--measure {shorten(command)!r}: write {{p}} where p is to stand in it")
    heads, separator = _heads(times)
    measured: list[Measured] = []
    for _ in range(count):
        proposals = propose(times.runs)
        if not proposals:
            break
        size, n = proposals[0].p, float(work(np.array([proposals[0].p]))[0])
        seconds = _run(command.replace("{p}", f"{size:g}").replace("{n}", f"{n:.12g}"))
        run = Run(size, seconds, n, f"--measure at p={size:g}")
        check([*times.runs, run], times.where)
        _append(times, heads, separator, run)
        times = attrs.evolve(times, runs=(*times.runs, run))
        measured.append(Measured(proposals[0], run))
    return times, tuple(measured)


def _heads(times: Times) -> tuple[list[str], str]:
    """Return the columns of the table, and what stands between them."""
    path = Path(times.where)
    lines = read_text(path).splitlines() if path.suffix.lower() in TABLES else []
    header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    separator = next((mark for mark in ("\t", ";") if mark in header), ",")
    heads = [head.strip() for head in header.split(separator)]
    unknown = [name for name in heads if name not in {times.counts, "n", *TIMES, *IGNORED, *STATED}]
    if unknown:
        reason = f"has a column {shorten(unknown[0])!r}" if header else "is none"
        raise FileError(
            f"--measure adds rows to a table (.csv) of {times.counts} and time, and {times.where} "
            f"{reason}; give such a table"
        )
    return heads, separator


def _append(times: Times, heads: Sequence[str], separator: str, run: Run) -> None:
    stated = attrs.asdict(times.scope)
    cells = {name: str(word) for name, word in stated.items() if word is not None}
    cells |= {times.counts: f"{run.p:g}", "n": f"{run.n:.12g}"}
    cells |= dict.fromkeys(TIMES, f"{run.seconds:.9g}")
    path = Path(times.where)
    text = read_text(path)
    row = separator.join(cells.get(head, "") for head in heads)
    path.write_text(text + "\n" * (not text.endswith("\n")) + row + "\n", encoding="utf-8")


def _run(command: str) -> float:
    """Return the seconds that a command prints last."""
    try:
        process = subprocess.run(  # noqa: S603  (the user's own command)
            shlex.split(command), capture_output=True, text=True, check=False
        )
    except (OSError, ValueError) as error:
        raise ParcastError(f"--measure {shorten(command)!r} does not run: {error}") from None
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["it says nothing"])[-1]
        reason = str(_first_row(process.stdout).get("message") or last_line)
        raise ParcastError(
            f"--measure {shorten(command)!r} exits with {process.returncode}: "
            f"{shorten(reason, 200)}"
        )
    return _seconds(command, process.stdout)


def _seconds(command: str, output: str) -> float:
    last = (output.strip().splitlines() or [""])[-1].strip()
    value = _first_row(output).get("time", last)
    try:
        seconds = to_base(value, "s")
    except (UnitError, ValueError, TypeError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ParcastError(
            f"--measure {shorten(command)!r} ends with {shorten(repr(value))}, which is no time; "
            "have it print the time of the run last, such as 12.3 s"
        )
    return seconds


def _first_row(output: str) -> dict[str, Any]:
    """Return the first row of what ``parcast predict --json`` prints, empty of other output."""
    try:
        row = json.loads(output)["rows"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return row if isinstance(row, dict) else {}
