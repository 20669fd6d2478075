"""Slurm's accounting, job by job: sacct's columns, parsable or not, its CSV, and its JSON."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast.errors import FileError, shorten
from parcast_scaling.times import Run

#: What says how large a job was, by preference, and what that counts.
_SIZES = {
    "ntasks": "tasks",
    "nnodes": "nodes",
    "allocnodes": "nodes",
    "ncpus": "CPUs",
    "alloccpus": "CPUs",
}

#: Some columns of sacct; a table with several of them is its, even without times.
_COLUMNS = frozenset({
    "account", "alloccpus", "allocnodes", "alloctres", "cputimeraw", "exitcode", "jobid",
    "jobidraw", "jobname", "ncpus", "nnodes", "ntasks", "partition", "qos", "reqcpus", "reqmem",
    "state", "submit", "timelimit", "timelimitraw",
})  # fmt: skip
_FEW = 4
_ASK = "sacct --parsable2 --format=JobID,State,NNodes,NTasks,Elapsed"

#: ``[DD-]HH:MM:SS`` or ``MM:SS``, with fractions.
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def is_accounting(text: str) -> bool:
    """Tell whether the first line names the columns of sacct, or a text is its JSON."""
    if text.lstrip()[:1] == "{":
        return re.match(r'\s*\{\s*"(?:jobs|meta)"', text) is not None and '"elapsed"' in text
    line = next(iter(_lines(text)), (0, ""))[1]
    heads = {word.strip().lower() for word in re.split(r"[|,;\t ]+", line)}
    stated = heads & {"elapsed", "elapsedraw"} or ("state" in heads and "time" not in heads)
    return bool(heads & {"jobid", "jobidraw"} and stated) or len(heads & _COLUMNS) >= _FEW


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


@attrs.frozen(kw_only=True)
class Accounting:
    """Jobs of one code, as Slurm accounts for them."""

    completed: tuple[Run, ...]
    killed: tuple[Run, ...]  #: that ran into their limit, with the time until then
    counts: str  #: what sizes are a number of
    remarks: tuple[str, ...]


def read_accounting(text: str, where: str, size: str | None = None) -> Accounting:
    """Return the jobs that completed or ran into their limit, and what was left out.

    Parameters
    ----------
    size
        The column that says how large jobs were. If not given, tasks, where all jobs state them
        (Slurm has them in the steps of jobs), else nodes, else CPUs.

    Raises
    ------
    FileError
        If no column says how large jobs were, or a time is none.
    """
    rows = list(_of_json(text, where) if text.lstrip()[:1] == "{" else _of_columns(text, where))
    if not rows:
        raise FileError(f"{where}: there are no jobs in it")
    if not any({"elapsed", "elapsedraw"} & values.keys() for _, values in rows):
        raise FileError(f"{where}: this table of sacct does not say how long jobs took; ask for "
                        f"Elapsed: {_ASK}")  # fmt: skip
    jobs = _with_tasks(rows)
    ended = [job for job in jobs if _state(job[1]) in {"COMPLETED", "TIMEOUT"}]
    if not any(_state(values) == "COMPLETED" for _, values in ended):
        states = shorten(", ".join(dict.fromkeys(_state(values).lower() for _, values in jobs)))
        raise FileError(f"{where}: no job in it is completed, only {states or 'steps of jobs'}")
    size, remarks = _size_column(ended, where, size)
    runs: dict[str, list[Run]] = {"COMPLETED": [], "TIMEOUT": []}
    for place, values in ended:
        p = _size(values.get(size, ""), size, place)
        runs[_state(values)].append(Run(p, _elapsed(values, place), 1.0, place))
    left = Counter(_state(values).lower() for _, values in jobs if _state(values) not in runs)
    return Accounting(
        completed=tuple(runs["COMPLETED"]),
        killed=tuple(runs["TIMEOUT"]),
        counts=_SIZES[size],
        remarks=(*remarks, *_left_out(left)),
    )


def _state(values: Mapping[str, str]) -> str:
    """Return the state of a job, without who cancelled it."""
    return values.get("state", "COMPLETED").partition(" ")[0].rstrip("+").upper()


def _with_tasks(rows: Sequence[tuple[str, Mapping[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Return the jobs without their steps, each with the tasks of its largest step."""
    jobs: dict[str, tuple[str, dict[str, str]]] = {}
    tasks: dict[str, int] = {}
    for place, values in rows:
        name = values.get("jobid") or values.get("jobidraw") or place
        job, _, step = name.partition(".")
        if not step:
            # an identifier may come again: the job was put back into the queue
            jobs[f"{job} {place}"] = (place, dict(values))
        elif values.get("ntasks", "").isdigit():
            tasks[job] = max(tasks.get(job, 0), int(values["ntasks"]))
    for name, (_, values) in jobs.items():
        count = tasks.get(name.partition(" ")[0])
        if count is not None and not values.get("ntasks"):
            values["ntasks"] = str(count)
    return list(jobs.values())


def _size_column(
    jobs: Sequence[tuple[str, Mapping[str, str]]], where: str, size: str | None
) -> tuple[str, list[str]]:
    """Return the column that says how large jobs were, and which others there are."""
    present = [name for name in _SIZES if any(name in values for _, values in jobs)]
    stated = [name for name in present if all(values.get(name) for _, values in jobs)]
    if size is not None:
        if size.lower() not in present:
            raise FileError(
                f"{where}: {size!r} is none of its columns of sizes: "
                f"{', '.join(present) or 'it has none'}"
            )
        return size.lower(), []
    if not present:
        raise FileError(
            f"{where}: no column says how large jobs were; ask for NNodes or NTasks: {_ASK}"
        )
    column = next(iter(stated or present))
    others = {_SIZES[name]: name for name in stated if _SIZES[name] != _SIZES[column]}
    remarks = [
        f"p counts {_SIZES[column]}; for {other} write {where}#p={name}"
        for other, name in others.items()
    ]
    return column, remarks


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
                    **_tasks(job),
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


def _tasks(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the tasks of the largest step of a job; nothing where no step states them."""
    counts = [step["tasks"]["count"] for step in job.get("steps", []) if "tasks" in step]
    return {"ntasks": str(max(counts))} if counts else {}


def _left_out(left: Counter[str]) -> list[str]:
    return [
        f"left out: {count} {'job' if count == 1 else 'jobs'} with state {state}"
        for state, count in left.items()
    ]


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
