"""Slurm's accounting: ``sacct --parsable2`` or its CSV, job by job."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping

from parcast.errors import FileError
from parcast_scaling.times import Run

#: What says how large a job was, by preference, and what that counts.
_SIZES = (
    ("nnodes", "nodes"),
    ("allocnodes", "nodes"),
    ("ntasks", "tasks"),
    ("ncpus", "CPUs"),
    ("alloccpus", "CPUs"),
)

#: ``[DD-]HH:MM:SS`` or ``MM:SS``, with fractions.
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def is_accounting(text: str) -> bool:
    """Tell whether the first line names the columns of sacct."""
    lines = _lines(text)
    heads = {word.strip().lower() for word in re.split(r"[|,;\t]", lines[0][1])} if lines else set()
    return "jobid" in heads and bool(heads & {"elapsed", "elapsedraw"})


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are neither empty nor comments, with their numbers."""
    lines = enumerate(text.splitlines(), 1)
    return [(n, line) for n, line in lines if line.strip() and not line.startswith("#")]


def read_accounting(text: str, where: str) -> tuple[tuple[Run, ...], str, tuple[str, ...]]:
    """Return the jobs that completed, what their size counts, and what was left out.

    Raises
    ------
    FileError
        If no column says how large jobs were, or a time is none.
    """
    numbers, lines = zip(*_lines(text), strict=True)
    rows = list(csv.DictReader(lines, delimiter=max("|,;\t", key=lines[0].count)))
    heads = {name.strip().lower(): name for name in rows[0] if name} if rows else {}
    size = next(((name, unit) for name, unit in _SIZES if name in heads), None)
    if size is None:
        raise FileError(
            f"{where}: no column says how large jobs were; ask sacct for NNodes: "
            "sacct --parsable2 --format=JobID,State,NNodes,Elapsed"
        )
    runs, left = [], Counter[str]()
    for number, row in zip(numbers[1:], rows, strict=True):
        values = {name: (row.get(head) or "").strip() for name, head in heads.items()}
        place = f"{where}:{number}"
        if "." in values["jobid"]:
            continue  # a step of a job
        state = values.get("state", "COMPLETED").partition(" ")[0].upper()
        if state != "COMPLETED":
            left[state.lower()] += 1
            continue
        runs.append(
            Run(_size(values[size[0]], size[0], place), _elapsed(values, place), 1.0, place)
        )
    return tuple(runs), size[1], tuple(_remarks(left))


def _remarks(left: Counter[str]) -> list[str]:
    remarks = [
        f"left out: {count} {'job' if count == 1 else 'jobs'} with state {state}"
        for state, count in left.items()
    ]
    if left["timeout"]:
        remarks.append(
            "jobs that ran into their limit would have taken longer: true quantiles are higher"
        )
    return remarks


def _size(text: str, name: str, place: str) -> float:
    if not text.isdigit() or int(text) < 1:
        raise FileError(f"{place}: {name} = {text!r} must be a whole number, 1 or more")
    return float(text)


def _elapsed(values: Mapping[str, str], place: str) -> float:
    raw = values.get("elapsedraw") or ""
    text = raw or values.get("elapsed", "")
    match = _ELAPSED.fullmatch(text)
    if raw.isdigit():
        seconds = float(raw)
    elif match:
        days, hours, minutes, rest = (float(word or 0) for word in match.groups())
        seconds = 86400 * days + 3600 * hours + 60 * minutes + rest
    else:
        raise FileError(f"{place}: elapsed = {text!r} is no time such as 01:30:00 or 2-00:00:00")
    if seconds <= 0:
        raise FileError(f"{place}: elapsed = {text!r} must be above 0; leave out jobs that failed")
    return seconds
