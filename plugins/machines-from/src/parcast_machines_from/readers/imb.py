"""Intel MPI Benchmarks, part MPI-1."""

from __future__ import annotations

import re

from parcast_machines_from.readers.launch import Launch, before
from parcast_machines_from.records import (
    BETWEEN_TWO,
    FIRST,
    Lines,
    Reading,
    Series,
    Value,
    number,
    sections,
)

_TITLE = re.compile(r"^\s*# Benchmarking:?\s+(\S+)\s*$")
_SUITE = re.compile(r"Intel ?\(R\) MPI Benchmarks? (?:Suite )?(?:V)?([\d.]+)?")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(\d+)")

_WAITING = re.compile(r"#\s*\(\s*\d+ additional process(?:es)? waiting")

_BENCHMARKS = {
    "pingpong": "latency",
    "sendrecv": "sendrecv",
    "exchange": "exchange",
    "allreduce": "allreduce",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "allgather": "allgather",
    "gather": "gather",
    "scatter": "scatter",
    "alltoall": "alltoall",
    "bcast": "bcast",
    "barrier": "barrier",
    "uniband": "pairs",
}
_PAIR = 2


def read(lines: Lines) -> Reading:
    """Return what each benchmark of an output measured; nothing where there is none.

    Raises
    ------
    FileError
        Naming the line, if a number is none.
    """
    reading = Reading()
    suite = next((m for text in lines.lines if (m := _SUITE.search(text))), None)
    tool = f"IMB {suite[1]}" if suite and suite[1] else "IMB"
    for line, stop, title in sections(lines, _TITLE):
        reading += _section(lines, line, stop, title[1], tool)
    return reading


def _section(lines: Lines, start: int, stop: int, name: str, tool: str) -> Reading:
    benchmark = _BENCHMARKS.get(name.lower())
    where = f"{lines.path}:{start}"
    if benchmark is None:
        return Reading(notes=(f"{where}: IMB's {name} is not read; left out",))
    values: list[Value] = []
    notes: list[str] = []
    processes = None
    columns: list[str] = []
    for line in range(start + 1, stop):
        text = lines.lines[line - 1]
        if match := _PROCESSES.search(text):
            processes = int(match[1])
        if "#repetitions" in text:
            columns = text.split()
            continue
        cells = text.split()
        if not columns:
            continue
        if not cells or not re.fullmatch(r"\d+", cells[0]):
            if values and (not cells or text.lstrip().startswith("#")):
                break
            continue
        if len(cells) != len(columns) and "out-of-mem" in text:
            notes.append(f"{lines.path}:{line}: IMB ran out of memory for a row")
            continue
        if len(cells) != len(columns):
            notes.append(
                f"{lines.path}:{line}: a row of {len(cells)} cells below {len(columns)} heads; "
                "left out"
            )
            continue
        if lines.is_cut(line):
            notes.append(f"{lines.path}:{line}: the file ends within this row; left out")
            continue
        value = _value(lines, line, dict(zip(columns, cells, strict=True)), benchmark)
        if value is not None:
            values.append(value)
    if not values:
        return Reading(notes=(*notes, f"{where}: IMB's {name} has no rows; left out"))
    launch = before(lines, start)
    waiting = any(_WAITING.search(text) for text in lines.lines[start - 1 : stop - 1])
    series = Series(
        benchmark,
        "B/s" if benchmark == "pairs" else "s",
        tuple(values),
        lines.path,
        tool,
        processes=processes or launch.processes,
        nodes=launch.nodes if processes in {None, launch.processes} else None,
        pairs=(processes or 2) // 2 if benchmark == "pairs" else None,
        window=64 if benchmark == "pairs" else None,
        within=_within(benchmark, launch, processes, waiting=waiting),
    )
    return Reading((series,), notes=tuple(notes))


def _within(benchmark: str, launch: Launch, processes: int | None, *, waiting: bool) -> str:
    """Return where the processes of a pair are to each other, as far as an output says it."""
    if benchmark not in BETWEEN_TWO:
        return ""
    if launch.nodes == 1:
        return "node"
    many = waiting or ((processes or 2) > _PAIR and launch.nodes is None)
    return FIRST if many else ""


def _value(lines: Lines, line: int, row: dict[str, str], benchmark: str) -> Value | None:
    size = number(lines, line, row.get("#bytes", "0"), "#bytes")
    column = (
        "Mbytes/sec"
        if benchmark == "pairs"
        else "t_avg[usec]"
        if "t_avg[usec]" in row
        else "t[usec]"
    )
    if column not in row:
        raise lines.wrong(line, f"IMB's table has no column {column}")
    value = number(lines, line, row[column], column)
    if value == 0:
        return None
    return Value(size, value * (1e6 if benchmark == "pairs" else 1e-6), line)
