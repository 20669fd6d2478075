"""IOR, fio's JSON, and mdtest: bandwidth and operations of files."""

from __future__ import annotations

import json
import re
from typing import Any

from parcast_machines_from.records import Lines, Reading, Series, Value, number

_IOR = re.compile(r"^\s*IOR-(\d[\w.+-]*)\s*:")
_BEST = re.compile(r"^\s*Max (Write|Read):\s+([\d.]+) MiB/sec")
_ALL = re.compile(r"^\s*(write|read)((?:\s+\S+){20,})\s*$")  # a row of the summary of all tests
_TASKS = re.compile(r"^\s*tasks\s*:\s*(\d+)")
_NODES = re.compile(r"^\s*nodes\s*:\s*(\d+)")
_MDTEST = re.compile(r"^\s*mdtest-([\w.+-]+) was launched with (\d+) total task\(s\) on (\d+) node")
_SUMMARY = re.compile(r"^\s*SUMMARY rate\b.*\(of (\d+) iterations?\)")
_OPERATION = re.compile(r"^\s*((?:File|Directory|Tree) \w+)(?:\s*:)?\s+([\d.].*)$")
_SHARED = re.compile(r"^\s*access\s*:\s*single-shared-file")


def read(lines: Lines) -> Reading:
    """Return the largest rates of IOR, or the rates of fio's jobs and of mdtest's operations.

    Nothing where there is none.

    Raises
    ------
    FileError
        Naming the line, if a number is none.
    """
    if any('"fio version"' in text for text in lines.lines[:40]):
        return _fio(lines)
    return _ior(lines) + _mdtest(lines)


def _ior(lines: Lines) -> Reading:
    """Return the largest rates of each run, from its own lines or its summary of all tests."""
    series: list[Series] = []
    version, operations = "", set[str]()
    tasks = nodes = None
    shared = ""
    for line, text in enumerate(lines.lines, 1):
        if match := _IOR.match(text):
            version, operations = match[1], set()
            tasks, nodes, shared = None, None, ""
        if not version:
            continue
        if match := _TASKS.match(text):
            tasks = int(match[1])
        if match := _NODES.match(text):
            nodes = int(match[1])
        if _SHARED.match(text):
            shared = "-shared"
        match = _BEST.match(text) or _ALL.match(text)
        if match is None or lines.is_cut(line) or match[1].lower() in operations:
            continue
        rate = number(lines, line, match[2].split()[0], "the rate") * 2**20
        if rate > 0:
            operations.add(match[1].lower())
            values = (Value(0.0, rate, line),)
            name, tool = match[1].lower() + shared, f"IOR {version}"
            series.append(Series(name, "B/s", values, lines.path, tool, tasks, nodes))
    return Reading(tuple(series))


def _fio(lines: Lines) -> Reading:
    start = next(line for line, text in enumerate(lines.lines, 1) if text.lstrip().startswith("{"))
    text = "\n".join(lines.lines[start - 1 :])
    try:
        data: Any = json.JSONDecoder().raw_decode(text)[0]
    except json.JSONDecodeError as error:
        raise lines.wrong(start + error.lineno - 1, f"fio's JSON ends early: {error.msg}") from None
    version = str(data.get("fio version", "fio")).replace("fio-", "fio ")
    series: list[Series] = []
    for job in data.get("jobs", []):
        name = f'"jobname" : "{job.get("jobname")}"'.replace(" ", "")
        line = next(
            (at for at, text in enumerate(lines.lines, 1) if name in text.replace(" ", "")), start
        )
        for kind in ("read", "write"):
            part = job.get(kind, {})
            rate = float(part.get("bw_bytes") or 1024 * float(part.get("bw") or 0))
            if rate > 0:
                values = (Value(0.0, rate, line),)
                tasks = int(job.get("job options", {}).get("numjobs", 1))
                series.append(Series(kind, "B/s", values, lines.path, version, tasks, 1))
    return Reading(tuple(series))


def _mdtest(lines: Lines) -> Reading:
    """Return the mean rate of each operation, and its least and largest iteration."""
    launch, iterations = None, 1
    series: list[Series] = []
    notes: list[str] = []
    for line, text in enumerate(lines.lines, 1):
        launch = _MDTEST.match(text) or launch
        if match := _SUMMARY.match(text):
            iterations = int(match[1])
        if launch is None or not (match := _OPERATION.match(text)):
            continue
        cells = match[2].split()
        if lines.is_cut(line) or len(cells) < 3:
            notes.append(f"{lines.path}:{line}: the file ends within this row; left out")
            continue
        high, low, mean = (number(lines, line, cell, "the rate") for cell in cells[:3])
        if mean > 0:
            values = (Value(0.0, mean, line, low, high, iterations),)
            name = match[1].lower().replace(" ", "-")
            tool = f"mdtest {launch[1]}"
            tasks, nodes = int(launch[2]), int(launch[3])
            series.append(Series(name, "1/s", values, lines.path, tool, tasks, nodes))
    return Reading(tuple(series), notes=tuple(notes))
