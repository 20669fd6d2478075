"""NCCL and RCCL tests (``all_reduce_perf``, ...)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from parcast_machines_from.records import Lines, Reading, Series, Value, number, sections

_TITLE = re.compile(r"^\s*#\s*nThread\s+\d+\s+nGpus\s+\d+\s+minBytes", re.IGNORECASE)
_RANK = re.compile(r"^\s*#\s*Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S+) device")
_NAME = re.compile(r"Collective test starting:\s*(\w+)_perf|\b(\w+)_perf\b")
_HEAD = re.compile(r"^\s*#\s*size\s+count\b", re.IGNORECASE)

_CLOSE = 0.02

_BENCHMARKS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "alltoall": "alltoall",
    "broadcast": "bcast",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "sendrecv": "sendrecv",
}


def read(lines: Lines) -> Reading:
    """Return the out-of-place times of each test of an output; nothing where there is none.

    Raises
    ------
    FileError
        Naming the line, if a number is none, or a result was wrong.
    """
    reading = Reading()
    for start, stop, _ in sections(lines, _TITLE):
        reading += _section(lines, start, stop)
    return reading


def _section(lines: Lines, start: int, stop: int) -> Reading:
    body = list(enumerate(lines.lines[start - 1 : stop - 1], start))
    hosts = {match[1]: match[2] for _, text in body if (match := _RANK.match(text))}
    heads = next((text.lstrip("# ").split() for _, text in body if _HEAD.match(text)), None)
    name = _name(lines, start, stop) or _by_rates(body, heads or [], len(hosts))
    where = f"{lines.path}:{start}"
    if name is None:
        return Reading(notes=(f"{where}: no line names the NCCL test; left out",))
    if name not in _BENCHMARKS:
        return Reading(notes=(f"{where}: NCCL's {name} is not read; left out",))
    if heads is None or "time" not in heads:
        return Reading(notes=(f"{where}: NCCL's table has no head; left out",))
    values: list[Value] = []
    notes: list[str] = []
    for line, text in body:
        cells = text.split()
        if not cells or not cells[0].isdecimal() or len(cells) < len(heads) - 1:
            continue
        if lines.is_cut(line):
            notes.append(f"{lines.path}:{line}: the file ends within this row; left out")
            continue
        if values and float(cells[0]) <= values[-1].size:
            break
        time = number(lines, line, cells[heads.index("time")], "time") * 1e-6
        if time > 0 and float(cells[0]) > 0:
            values.append(Value(float(cells[0]), time, line))
    if not values:
        return Reading(notes=(*notes, f"{where}: NCCL's {name} has no rows; left out"))
    series = Series(
        _BENCHMARKS[name],
        "s",
        tuple(values),
        lines.path,
        "NCCL tests",
        processes=len(hosts) or None,
        nodes=len(set(hosts.values())) or None,
        memory="device",
    )
    return Reading((series,), notes=tuple(notes))


def _by_rates(body: Sequence[tuple[int, str]], heads: Sequence[str], ranks: int) -> str | None:
    """Return the test whose bus bandwidth is so many times the other one, if only one has that.

    With n ranks it is 2 (n - 1) / n for a sum that all get, and (n - 1) / n for one that is
    scattered; sums name their operation.
    """
    if ranks <= 2 or not {"algbw", "busbw"} <= set(heads):
        return None
    ratios = []
    for _, text in body:
        cells = text.split()
        if cells and cells[0].isdecimal() and len(cells) >= len(heads) - 1:
            slow, fast = (cells[heads.index(name)] for name in ("algbw", "busbw"))
            if re.fullmatch(r"\d+\.\d+", slow) and float(slow) > 1:
                ratios.append(float(fast) / float(slow))
    if not ratios:
        return None
    ratio = float(np.median(ratios)) * ranks / (ranks - 1)
    if abs(ratio - 2) < _CLOSE:
        return "all_reduce"
    sums = any(re.match(r"\s*\d+\s+\d+\s+\w+\s+(sum|prod|max|min|avg)\b", text) for _, text in body)
    return "reduce_scatter" if sums and abs(ratio - 1) < _CLOSE else None


def _name(lines: Lines, start: int, stop: int) -> str | None:
    """Return the test that a line of the output names, or the last command above it."""
    for text in lines.lines[start - 1 : stop - 1]:
        if match := _NAME.search(text):
            return match[1] or match[2]
    for text in reversed(lines.lines[: start - 1]):
        if match := _NAME.search(text):
            return match[1] or match[2]
    return None
