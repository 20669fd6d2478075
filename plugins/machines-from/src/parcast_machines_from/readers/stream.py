"""STREAM and BabelStream: bandwidth of a node's memory."""

from __future__ import annotations

import re

from parcast_machines_from.records import Lines, Reading, Series, Value, number

_HEAD = re.compile(
    r"^\s*Function\s+(Best Rate MB/s|Rate \(MB/s\)|MBytes/sec|MB/s|GBytes/sec)\s", re.IGNORECASE
)
_THREADS = re.compile(r"Number of Threads (requested|counted)\s*=\s*(\d+)", re.IGNORECASE)
_BABEL = re.compile(r"(?i)^\s*(BabelStream|GPU-STREAM)")
_VERSION = re.compile(r"(?:STREAM version \$Revision:|Version:)\s*([\d.]+)")
_WHERE = re.compile(r"(?i)^\s*(?:Implementation:\s*(\S+)|Using \S+ device)")

#: STREAM of 2009 and later says its threads where it has any, and its ranks.
_THREADED = re.compile(r"STREAM version \$Revision: 5")

#: Implementations of BabelStream that run on the host, but for regions that are sent elsewhere.
_HOST = {"openmp", "tbb", "std", "std-data", "std-indices", "std-ranges", "serial"}


def read(lines: Lines) -> Reading:
    """Return the rate of the triad; nothing where the file has no such table.

    STREAM without a word of threads or MPI was built without them: one process ran.

    Raises
    ------
    FileError
        Naming the line, if a number is none, or if results did not validate.
    """
    series: list[Series] = []
    head: re.Match[str] | None = None
    whole = "\n".join(lines.lines)
    is_threaded = _THREADS.search(whole) or "MPI" in whole or not _THREADED.search(whole)
    threads = None if is_threaded else 1
    tool, device = "STREAM", False
    version = ""
    for line, text in enumerate(lines.lines, 1):
        if match := _THREADS.search(text):
            threads = int(match[2])
        if match := _BABEL.match(text):
            tool = match[1]
        if match := _VERSION.search(text):
            version = match[1]
        if match := _WHERE.match(text):
            tool = "BabelStream" if tool == "STREAM" else tool
            device = device or (match[1] or "").lower() not in _HOST
        head = _HEAD.match(text) or head
        cells = text.split()
        if head and cells and cells[0].rstrip(":").lower() == "triad" and len(cells) >= 3:
            scale = 1e9 if head[1].lower().startswith("g") else 1e6
            rate = number(lines, line, cells[1], "the triad's rate", least=1e-9) * scale
            series.append(
                Series(
                    "triad",
                    "B/s",
                    (Value(0.0, rate, line),),
                    lines.path,
                    f"{tool} {version}".strip(),
                    processes=threads,
                    nodes=1,
                    memory="device" if device else "host",
                )
            )
        if "Failed Validation" in text or "Validation failed" in text:
            raise lines.wrong(line, "STREAM says that its results are wrong; run it again")
    return Reading(tuple(series))
