"""The text that darshan-parser and darshan-dxt-parser print, as counters and accesses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from parcast.errors import FileError, shorten

#: More ranks or lines than these have been in no log.
_MOST_RANKS, _MOST_SEGMENTS = 1 << 24, 50_000_000

_HEAD = re.compile(r"# (darshan log version|exe|jobid|nprocs|run time): *(.*)")
_INCOMPLETE = re.compile(r"#.*WARNING.* ([\w-]+) module contains incomplete data", re.IGNORECASE)
_FILE = re.compile(r"# DXT, file_id: (\d+), file_name: (.*)")
_STRIPE = re.compile(r"# DXT, Lustre stripe_size: (\d+)")

#: Counters that are read, without the module's word, and the rest of a record's facts.
COUNTERS = frozenset(
    ["READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN", "READXS", "WRITEXS", "MMAPS",
     "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS", "INDEP_WRITES", "COLL_WRITES",
     "SPLIT_WRITES", "NB_WRITES", "F_READ_TIME", "F_WRITE_TIME", "F_META_TIME", "STRIPE_SIZE",
     "COMP1_STRIPE_SIZE"]
)  # fmt: skip


@attrs.frozen
class Record:
    """What a module counted of a rank and a file; rank -1 is all of them together."""

    module: str
    rank: int
    file: str  #: its number in the log
    name: str
    counters: Mapping[str, float] = attrs.field(hash=False)

    def total(self, *names: str) -> float:
        """Return the sum of some counters; what was not counted, -1, is none."""
        return sum(max(self.counters.get(name, 0.0), 0.0) for name in names)


@attrs.frozen
class Segments:
    """Accesses of a module with their offsets, in columns."""

    rank: list[int]
    file: list[str]
    write: list[bool]
    offset: list[int]
    length: list[int]
    start: list[float]
    end: list[float]


def no_segments() -> Segments:
    """Return columns without entries."""
    return Segments([], [], [], [], [], [], [])


@attrs.frozen(kw_only=True)
class Log:
    """A log of Darshan, or of another tool that says the same."""

    where: str
    version: str
    program: str
    processes: int
    seconds: float  #: of the run
    records: tuple[Record, ...]
    segments: Mapping[str, Segments] = attrs.field(hash=False)  #: by module
    incomplete: tuple[str, ...]  #: modules whose data are not all there
    stripe: int | None = None  #: bytes, of most files, where the log says it
    tool: str = "Darshan"  #: that wrote it
    remarks: tuple[str, ...] = ()  #: what else is to be said of it


def read_log(lines: Iterable[str], where: str) -> Log:
    """Return the log that lines of darshan-parser, darshan-dxt-parser or of both say.

    Raises
    ------
    FileError
        If a line is none of a log, or nothing says how many processes there were.
    """
    reading = _Reading(where)
    for number, line in enumerate(lines, 1):
        try:
            reading.take(line.rstrip("\r\n"))
        except (ValueError, IndexError, OverflowError):
            raise FileError(
                f"{where}:{number}: {shorten(line.strip())!r} is no line of Darshan's parsers"
            ) from None
    return reading.log()


class _Reading:
    def __init__(self, where: str) -> None:
        self.where, self.file, self.ended = where, "", False
        self.head: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.counters: dict[tuple[str, int, str], dict[str, float]] = {}
        self.segments: dict[str, Segments] = {}
        self.incomplete: list[str] = []
        self.stripes: list[int] = []

    def take(self, line: str) -> None:
        if not line:
            return
        if line[0] == "#":
            self._comment(line)
        elif line[0] == " ":
            self._segment(line.split())
        elif "\t" in line:
            self._counter(line.split("\t"))
        elif not re.match(r"(?:total|agg|unique|shared|read_only|write_only)_?\w*[:.]", line):
            raise ValueError

    def _comment(self, line: str) -> None:
        if match := _HEAD.match(line):
            self.head.setdefault(match[1], match[2])
        elif match := _FILE.match(line):
            self.file = match[1]
            self.names[match[1]] = match[2]
        elif match := _STRIPE.match(line):
            self.stripes.append(int(match[1]))
        elif match := _INCOMPLETE.match(line):
            self.incomplete.append(match[1].upper())

    def _counter(self, cells: list[str]) -> None:
        module, rank, file, counter, value, name = cells[:6]
        short = counter.partition("_")[2]
        if short not in COUNTERS:
            return
        key = (module, _checked_rank(rank), file)
        self.counters.setdefault(key, {})[short] = float(value)
        self.names[file] = name

    def _segment(self, cells: list[str]) -> None:
        module = cells[0].removeprefix("X_")
        rank, kind, offset, length, start, end = (cells[n] for n in (1, 2, 4, 5, 6, 7))
        if kind not in {"read", "write"} or not self.file:
            raise ValueError
        columns = self.segments.setdefault(module, no_segments())
        if len(columns.rank) >= _MOST_SEGMENTS:
            raise FileError(f"{self.where}: it has over {_MOST_SEGMENTS:,} accesses")
        at = int(offset) if offset.lstrip("-").isdigit() else -1
        if int(length) < 0 or not float(start) <= float(end):
            raise ValueError
        row = (_checked_rank(rank), self.file, kind == "write", at, int(length), float(start),
               float(end))  # fmt: skip
        for column, cell in zip(attrs.astuple(columns, recurse=False), row, strict=True):
            column.append(cell)

    def log(self) -> Log:
        records = tuple(
            Record(*key, self.names.get(key[2], ""), counters)
            for key, counters in self.counters.items()
        )
        of_lustre = (record.total("STRIPE_SIZE", "COMP1_STRIPE_SIZE") for record in records)
        stripes = [*self.stripes, *(int(size) for size in of_lustre if size)]
        return Log(
            where=self.where,
            version=self.head.get("darshan log version", ""),
            program=self.head.get("exe", ""),
            processes=self._processes(records),
            seconds=self._seconds(),
            records=records,
            segments=self.segments,
            incomplete=tuple(dict.fromkeys(self.incomplete)),
            stripe=max(set(stripes), key=stripes.count) if stripes else None,
        )

    def _processes(self, records: Iterable[Record]) -> int:
        text = self.head.get("nprocs", "")
        if not text.isdigit() or not 1 <= int(text) <= _MOST_RANKS:
            raise FileError(
                f"{self.where}: nprocs = {text!r} must be a whole number from 1; keep the lines "
                "that begin with '#', which say how many processes the job had"
            )
        ranks = [record.rank for record in records]
        ranks += [rank for columns in self.segments.values() for rank in columns.rank]
        if max(ranks, default=-1) >= int(text):
            raise FileError(f"{self.where}: rank {max(ranks)} of nprocs = {text} processes")
        return int(text)

    def _seconds(self) -> float:
        text = self.head.get("run time", "")
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise FileError(f"{self.where}: run time = {text!r} must be seconds, 0 or more")
        return seconds


def _checked_rank(text: str) -> int:
    rank = int(text)
    if rank < -1:
        raise ValueError
    return rank


def summed(records: Iterable[Record], *names: str) -> Any:
    """Return the sum of counters over records."""
    return sum(record.total(*names) for record in records)
