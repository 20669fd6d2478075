"""What outputs of benchmarks say: values by size, and facts of a machine, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import attrs

from parcast.errors import FileError
from parcast.files import read_text

#: What a value is: a time in seconds, a rate in bytes or operations a second, a number a second.
Quantity = Literal["s", "B/s", "FLOP/s", "1/s"]

#: Where a message's two processes are to each other; empty where the output does not say it.
Within = str

#: Where two processes are that are the first of many: on one node, unless they were placed apart.
FIRST = "first-of-many"

#: Between two nodes, half of the processes on each, unless an output says otherwise.
BETWEEN_TWO = frozenset({"latency", "bandwidth", "bidirectional", "pairs"})


@attrs.frozen
class Value:
    """What was measured at one size, in base units."""

    size: float  #: bytes of a message or an access, or operations; 0 where there is none
    value: float
    line: int
    low: float | None = None  #: the least of its repeats
    high: float | None = None  #: the largest of them
    repeats: int = 1  #: runs, not the repetitions that a benchmark averages
    rounds: tuple[float, ...] = ()  #: its repeats, each in a round over all benchmarks of a file
    moved: float = 0.0  #: bytes that a matrix product of so many operations has to move


@attrs.frozen
class Series:
    """One benchmark's values by size, as one output has them."""

    benchmark: str  #: ``latency``, ``bandwidth``, ``allreduce``, ``triad``, ...
    quantity: Quantity
    values: tuple[Value, ...]
    path: str
    tool: str  #: what wrote it, with its version: ``OSU 5.8``
    processes: int | None = None
    nodes: int | None = None
    pairs: int | None = None
    window: int | None = None  #: messages on their way at once
    memory: Literal["host", "device"] = "host"
    within: Within = ""  #: the level that all its processes share: ``node``, ``socket``
    system: str = ""  #: which of several systems of a table
    precision: str = ""  #: of operations on an accelerator

    @property
    def file(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name

    @property
    def where(self) -> str:
        """File and first line, as a source states them."""
        return f"{self.file}:{self.values[0].line}"


@attrs.frozen
class Fact:
    """A number of the machine itself, as an output states it."""

    key: str  #: ``nodes.cores``
    value: int | float | str
    path: str
    line: int
    origin: str = "measured"  #: measured, or published where a file of settings states it
    note: str = ""

    @property
    def where(self) -> str:
        """File and line, as a source states them."""
        return f"{Path(self.path).name}:{self.line}"


@attrs.frozen
class Reading:
    """All that a file says, and what of it was not read."""

    series: tuple[Series, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Reading) -> Reading:
        return Reading(
            self.series + other.series, self.facts + other.facts, self.notes + other.notes
        )

    def __bool__(self) -> bool:
        return bool(self.series or self.facts)


@attrs.frozen
class Lines:
    """The lines of a file, numbered from 1."""

    path: str
    lines: tuple[str, ...]
    ends: bool = True  #: the last line is whole

    def wrong(self, line: int, reason: str) -> FileError:
        """Return the refusal of a line."""
        return FileError(f"{self.path}:{line}: {reason}")

    @property
    def last(self) -> int:
        """The number of the last line."""
        return len(self.lines)

    def is_cut(self, line: int) -> bool:
        """Tell whether a line is the last one and has no end."""
        return line == self.last and not self.ends


def read_lines(path: Path) -> Lines:
    """Return the lines of a text file.

    Raises
    ------
    FileError
        If it is no text, or has none.
    """
    text = read_text(path)
    return Lines(str(path), tuple(text.splitlines()), text.endswith(("\n", "\r")))


_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


def number(lines: Lines, line: int, text: str, name: str, *, least: float = 0.0) -> float:
    """Return a finite number of an output, not below ``least``.

    Raises
    ------
    FileError
        Naming file and line, if it is none.
    """
    try:
        value = float(text)
    except ValueError:
        comma = _DECIMAL_COMMA.fullmatch(text.strip())
        fix = f"; write {text.strip().replace(',', '.')}, with a decimal point" if comma else ""
        raise lines.wrong(line, f"{name} is {text!r}, and must be a number{fix}") from None
    if not least <= value < float("inf"):
        raise lines.wrong(line, f"{name} is {text}, and must be a finite number from {least:g} on")
    return value


def sections(lines: Lines, title: re.Pattern[str]) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Yield the line of each title, the line of the next one or one after the last, and it."""
    titles = [
        (line, match) for line, text in enumerate(lines.lines, 1) if (match := title.match(text))
    ]
    stops = [line for line, _ in titles] + [lines.last + 1]
    for (line, match), stop in zip(titles, stops[1:], strict=True):
        yield line, stop, match


def shortened(names: Sequence[str], most: int = 3) -> str:
    """Return names as a text, those beyond the first few by their number."""
    others = f" and {len(names) - most} others" if len(names) > most else ""
    return ", ".join(names[:most]) + others


def only_of(series: Sequence[Series], benchmark: str) -> tuple[Series, ...]:
    """Return the series of one benchmark between buffers of the host."""
    return tuple(item for item in series if item.benchmark == benchmark and item.memory == "host")
