"""Slurm's accounting, job by job: sacct's columns, parsable or not, its CSV, and its JSON."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from parcast.errors import FileError, shorten
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
    """Tell whether the first line names the columns of sacct, or a text is its JSON."""
    if text.lstrip()[:1] == "{":
        return re.match(r'\s*\{\s*"(?:jobs|meta)"', text) is not None and '"elapsed"' in text
    line = next(iter(_lines(text)), (0, ""))[1]
    heads = {word.strip().lower() for word in re.split(r"[|,;\t ]+", line)}
    return bool(heads & {"jobid", "jobidraw"}) and bool(heads & {"elapsed", "elapsedraw"})


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def read_accounting(text: str, where: str) -> tuple[tuple[Run, ...], str, tuple[str, ...]]:
    """Return the jobs that completed, what their size counts, and what was left out.

    Raises
    ------
    FileError
        If no column says how large jobs were, or a time is none.
    """
    rows = list(_of_json(text, where) if text.lstrip()[:1] == "{" else _of_columns(text, where))
    if not rows:
        raise FileError(f"{where}: there are no jobs in it")
    heads = rows[0][1].keys()
    size = next(((name, unit) for name, unit in _SIZES if name in heads), None)
    if size is None:
        raise FileError(
            f"{where}: no column says how large jobs were; ask sacct for NNodes: "
            "sacct --parsable2 --format=JobID,State,NNodes,Elapsed"
        )
    runs, left = [], Counter[str]()
    for place, values in rows:
        if "." in (values.get("jobid") or values.get("jobidraw") or ""):
            continue  # a step of a job
        state = values.get("state", "COMPLETED").partition(" ")[0].rstrip("+").upper()
        if state != "COMPLETED":
            left[state.lower()] += 1
            continue
        runs.append(
            Run(_size(values.get(size[0], ""), size[0], place), _elapsed(values, place), 1.0, place)
        )
    if not runs:
        states = shorten(", ".join(left)) or "steps of jobs"
        raise FileError(f"{where}: no job in it is completed, only {states}")
    return tuple(runs), size[1], tuple(_remarks(left))


def _of_columns(text: str, where: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield jobs of lines whose columns are divided by a sign, or stand under dashes."""
    numbers, lines = zip(*_lines(text), strict=True)
    widths = [match.span() for match in re.finditer("-+", lines[1])] if len(lines) > 1 else []
    if widths and not lines[1].strip("- "):
        table = [[line[start:end] for start, end in widths] for line in lines]
        rows = list(zip(numbers[2:], table[2:], strict=True))
        heads = table[0]
    else:
        reader = csv.reader(lines, delimiter=max("|,;\t", key=lines[0].count))
        try:
            heads = next(reader)
            rows = [(numbers[reader.line_num - 1], cells) for cells in reader]
        except csv.Error as error:
            raise FileError(f"{where}:{numbers[reader.line_num - 1]}: {error}") from None
    keys = [name.strip().lower() for name in heads]
    for number, cells in rows:
        yield f"{where}:{number}", dict(zip(keys, map(str.strip, cells), strict=False))


def _of_json(text: str, where: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield jobs of ``sacct --json``, under the names of columns."""
    try:
        for number, job in enumerate(json.loads(text)["jobs"], 1):
            state = job["state"]["current"]
            yield (
                f"{where}: job {number}",
                {
                    "jobid": str(job["job_id"]),
                    "state": state[0] if isinstance(state, list) else state,
                    "nnodes": str(_nodes(job)),
                    "elapsedraw": str(job["time"]["elapsed"]),
                },
            )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise FileError(
            f"{where}: it is not what sacct --json prints: jobs with job_id, state, time.elapsed "
            "and allocation_nodes"
        ) from None


def _nodes(job: Mapping[str, Any]) -> Any:
    """Return the nodes that a job had: 0 where it never ran."""
    if "allocation_nodes" in job:
        return job["allocation_nodes"]
    nodes = [part["count"] for part in job["tres"]["allocated"] if part["type"] == "node"]
    return nodes[0] if nodes else 0


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
