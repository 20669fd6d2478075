"""HPC Challenge: products and triads of all processes at once and of one, and HPL."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from parcast_machines_from.readers.linpack import LEAST_SECONDS
from parcast_machines_from.records import Lines, Quantity, Reading, Series, Value, number

_TITLE = re.compile(r"HPC Challenge Benchmark version (\d[\d.]*)")
_BEGIN, _END = "Begin of Summary section.", "End of Summary section."
_ENTRY = re.compile(r"^\s*(\w+)=(\S+)\s*$")

#: Shorter vectors of the triad, three together in bytes, may stay in caches.
_LEAST_BYTES = 128 * 2.0**20

#: Products of fewer rows have less than the rate of large ones.
_LEAST_ROWS = 500


@attrs.frozen
class Summary:
    """The summary's entries with their lines."""

    lines: Lines
    tool: str
    entries: dict[str, tuple[int, str]]

    def value(self, key: str) -> float:
        """Return an entry's number; 0 where the test did not run, which has -1."""
        if key not in self.entries:
            return 0.0
        line, text = self.entries[key]
        return max(0.0, number(self.lines, line, text, key, least=-1.0))

    def count(self, key: str) -> int:
        """Return an entry's whole number; 0 where there is none."""
        return int(self.value(key))

    def series(
        self, benchmark: str, quantity: Quantity, key: str, unit: float, processes: int
    ) -> Iterator[Series]:
        """Yield what an entry says of so many processes, as far as its test ran."""
        rate = self.value(key) * unit
        if rate > 0 and processes > 0:
            values = (Value(0.0, rate, self.entries[key][0]),)
            yield Series(benchmark, quantity, values, self.lines.path, self.tool, processes)


def read(lines: Lines) -> Reading:
    """Return DGEMM, the triad and HPL of a summary; nothing where the file is of another program.

    Raises
    ------
    FileError
        Naming the line, if a number is none, or if a result is wrong.
    """
    title = next((match for text in lines.lines if (match := _TITLE.search(text))), None)
    begin = next((at for at, text in enumerate(lines.lines, 1) if text.strip() == _BEGIN), None)
    if title is None and begin is None:
        return Reading()
    if begin is None:
        return Reading(notes=(f"{lines.path}: HPC Challenge ended before its summary; left out",))
    tool = f"HPC Challenge {title[1]}" if title else "HPC Challenge"
    summary = Summary(lines, tool, dict(_entries(lines, begin)))
    if (success := summary.entries.get("Success")) and success[1] == "0":
        raise lines.wrong(success[0], "HPC Challenge says that a result is wrong; run it again")
    series = (*_linpack(summary), *_products(summary), *_triads(summary))
    reasons = tuple(_left_out(summary))
    return Reading(series, notes=(f"{lines.path}: left out: {', '.join(reasons)}",) * bool(reasons))


def _entries(lines: Lines, begin: int) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield each entry of the summary with its line; not one that the file's end cuts."""
    for line in range(begin + 1, lines.last + 1):
        text = lines.lines[line - 1]
        if text.strip() == _END or lines.is_cut(line):
            return
        if match := _ENTRY.match(text):
            yield match[1], (line, match[2])


def _linpack(summary: Summary) -> Iterator[Series]:
    processes = summary.count("HPL_nprow") * summary.count("HPL_npcol")
    if summary.value("HPL_time") >= LEAST_SECONDS:
        yield from summary.series("hpl", "FLOP/s", "HPL_Tflops", 1e12, processes)


def _products(summary: Summary) -> Iterator[Series]:
    """Yield the rate of all processes at once, of which the summary has the mean, and of one."""
    processes = summary.count("CommWorldProcs")
    if summary.count("DGEMM_N") >= _LEAST_ROWS and summary.count("STREAM_Threads") < 2:
        unit = 1e9 * processes
        yield from summary.series("gemm", "FLOP/s", "StarDGEMM_Gflops", unit, processes)
        yield from summary.series("gemm-core", "FLOP/s", "SingleDGEMM_Gflops", 1e9, 1)


def _triads(summary: Summary) -> Iterator[Series]:
    processes = summary.count("CommWorldProcs")
    if _vectors(summary) >= _LEAST_BYTES and summary.count("STREAM_Threads") < 2:
        unit = 1e9 * processes
        yield from summary.series("triad-all", "B/s", "StarSTREAM_Triad", unit, processes)
        yield from summary.series("triad-core", "B/s", "SingleSTREAM_Triad", 1e9, 1)


def _vectors(summary: Summary) -> float:
    return 24 * summary.value("STREAM_VectorSize")


def _left_out(summary: Summary) -> Iterator[str]:
    """Yield what of the summary makes no number, and why."""
    threads = summary.count("STREAM_Threads")
    rows, seconds = summary.count("DGEMM_N"), summary.value("HPL_time")
    if threads > 1:
        yield f"DGEMM and STREAM (processes of {threads} threads)"
    elif 0 < rows < _LEAST_ROWS:
        yield f"DGEMM ({rows} rows, and {_LEAST_ROWS} have the full rate)"
    if threads < 2 and 0 < _vectors(summary) < _LEAST_BYTES:
        yield f"STREAM (vectors of {_vectors(summary) / 2**20:.2g} MiB fit caches)"
    if 0 < seconds < LEAST_SECONDS:
        yield f"HPL ({seconds:.2g} s are too short for a rate)"
    if summary.value("MaxPingPongLatency_usec") > 0:
        yield "ping-pongs (within a node and between two alike)"
