"""HPL and HPCG: floating-point operations a second of a whole machine."""

from __future__ import annotations

import re

from parcast_machines_from.records import Lines, Reading, Series, Value, number

_HEAD = re.compile(r"^\s*T/V\s+N\s+NB\s+P\s+Q\s+Time\s+Gflops")
_ROW = re.compile(r"^\s*(W[RC]\w+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d.eE+-]+)\s+([\d.eE+-]+)")
_HPCG = re.compile(r"HPCG result is VALID with a GFLOP/s rating of[=:]\s*([\d.eE+]+)")
_INVALID = re.compile(r"HPCG result is INVALID")
_PROCESSES = re.compile(r"Distributed Processes=(\d+)")

#: A run of HPL that is shorter tells no rate.
LEAST_SECONDS = 1.0


def read(lines: Lines) -> Reading:
    """Return each run of HPL and HPCG; nothing where there is none.

    Raises
    ------
    FileError
        Naming the line, if a residual or a result is wrong.
    """
    series: list[Series] = []
    notes: list[str] = []
    headed = False
    processes = None
    for line, text in enumerate(lines.lines, 1):
        if "HPC Challenge" in text:  # its summary has what HPL says
            return Reading()
        headed = headed or bool(_HEAD.match(text))
        if match := _PROCESSES.search(text):
            processes = int(match[1])
        if headed and (match := _ROW.match(text)) and not lines.is_cut(line):
            rate = number(lines, line, match[7], "Gflops", least=1e-9) * 1e9
            ranks = int(match[4]) * int(match[5])
            seconds = number(lines, line, match[6], "Time")
            if seconds < LEAST_SECONDS:
                short = f"HPL of {seconds:.2g} s is too short for a rate"
                notes.append(f"{lines.path}:{line}: {short}; left out")
                continue
            values = (Value(0.0, rate, line),)
            series.append(Series("hpl", "FLOP/s", values, lines.path, "HPL", processes=ranks))
        if series and headed and re.search(r"\.\.\.\.* FAILED\s*$", text):
            raise lines.wrong(line, "HPL's residual is wrong, so its rate says nothing")
        if match := _HPCG.search(text):
            values = (Value(0.0, number(lines, line, match[1], "GFLOP/s") * 1e9, line),)
            series.append(Series("hpcg", "FLOP/s", values, lines.path, "HPCG", processes=processes))
        if _INVALID.search(text):
            notes.append(f"{lines.path}:{line}: HPCG calls its result invalid; left out")
    return Reading(tuple(series), notes=tuple(notes))
