"""Databases of HPCToolkit: experiment.xml, with a file of metrics for each rank and thread."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.parsers import expat

from parcast.errors import FileError
from parcast_profiles.profile import Profile, Region, communicates, joined
from parcast_profiles.tree import beside_note

_UNITS = {"usec": 1e-6, "sec": 1.0, "msec": 1e-3, "nsec": 1e-9}
_SAMPLED = r"(?:CPUTIME|WALLCLOCK|REALTIME|\w*TIME) \((usec|sec|msec|nsec)\)"
_TIME = re.compile(_SAMPLED + r"(?::Sum)? \(E\)", re.IGNORECASE)
#: As it was sampled, of a rank and a thread: statements alone have it.
_RAW = re.compile(_SAMPLED + r"\.\[(\d+),(\d+)\]", re.IGNORECASE)
_FILE = re.compile(r".*-(\d{6,})-(\d{3,})-[0-9a-f]+-\d+-\d+\.metric-db")

_MOST_DEPTH = 10_000

#: Bytes before the values of a rank's file; the last eight are how many there are.
_HEADER = 32

#: By how much sums of ranks may differ from those in the XML, which has six digits.
_ROUNDING = 1e-3


class _Reading:
    """What stands where in the file: procedures by number, and the statements with time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.procedures: dict[str, str] = {}
        self.metric, self.name, self.factor, self.program = "", "", 1.0, ""
        self.column = -1  #: of that time in the files of ranks
        self.stack: list[str] = []  #: of procedures, "" for what is none
        self.statement = 0
        self.regions: dict[int, tuple[str, bool]] = {}  #: of statements, by number
        self.seconds: dict[int, float] = {}  #: of statements, over all ranks and threads
        self.sampled: dict[str, tuple[str, int, float]] = {}  #: rank, thread and unit, by metric
        self.of_threads: dict[tuple[str, int], dict[int, float]] = {}  #: of statements

    def start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "M":
            if self.statement:
                self._take(about["n"], float(about["v"]))
            return
        if tag == "Procedure":
            self.procedures[about["i"]] = about["n"]
        elif tag == "Metric" and not self.metric and (match := _TIME.fullmatch(about["n"])):
            self.metric, self.factor = about["i"], _UNITS[match[1].lower()]
            self.name = about["n"]
        elif tag == "Metric" and (match := _RAW.fullmatch(about["n"])):
            factor = _UNITS[match[1].lower()]
            self.sampled[about["i"]] = match[2], int(match[3]), factor
            self.of_threads[match[2], int(match[3])] = {}
            self.sampled_name = about["n"].rpartition(".")[0]
        elif tag == "MetricDB" and self.name.replace(":Sum", "") == about["n"]:
            self.column = int(about["db-id"])
        elif tag == "Header":
            self.program = about.get("n", "")
        if len(self.stack) > _MOST_DEPTH:
            raise FileError(f"{self.path}: it is nested over {_MOST_DEPTH:,} deep")
        inside = tag in {"PF", "Pr", "P"}
        self.stack.append(self.procedures.get(about.get("n", ""), "?") if inside else "")
        # procedures and loops have the sums of their statements again
        self.statement = int(about["i"]) if tag == "S" else 0
        if self.statement:
            self.regions[self.statement] = self._region()

    def _take(self, metric: str, value: float) -> None:
        if metric == self.metric:
            self.seconds[self.statement] = value * self.factor
        elif metric in self.sampled:
            rank, thread, factor = self.sampled[metric]
            self.of_threads[rank, thread][self.statement] = value * factor

    def end(self, tag: str) -> None:
        if tag != "M":
            self.stack.pop()
            self.statement = 0

    def _region(self) -> tuple[str, bool]:
        """Return what the statement is in: the call that communicates, or the procedure."""
        outer = next((name for name in self.stack if name and communicates(name)), None)
        if outer:
            return outer.removeprefix("P") if outer.startswith("PMPI_") else outer, True
        return next((name for name in reversed(self.stack) if name), "outside procedures"), False


def read(path: Path) -> Profile:
    """Return the profile in a database of HPCToolkit.

    Raises
    ------
    FileError
        If the XML is damaged, or no time was sampled.
    """
    reading, parser = _Reading(path), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    parser.EntityDeclHandler = _refuse_entities
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        raise FileError(f"{path}:{error.lineno}: not valid XML: {error}") from None
    except (KeyError, ValueError, IndexError) as error:
        line = parser.CurrentLineNumber
        raise FileError(f"{path}:{line}: no experiment of HPCToolkit: {error}") from None
    if not reading.metric and not reading.sampled:
        raise FileError(f"{path}: it has no exclusive time, such as CPUTIME (usec):Sum (E)")
    taken = _of_first_threads if reading.metric else _of_columns
    seconds, by_rank, notes = taken(path, reading)
    regions = [Region(name, seconds.get(number, 0.0), mpi)
               for number, (name, mpi) in reading.regions.items()]  # fmt: skip
    return Profile(
        where=str(path),
        tool="HPCToolkit",
        processes=max(len(by_rank), 1),
        regions=joined(regions, str(path)),
        by_rank=tuple(by_rank),
        notes=("seconds are sampled: regions of less than some samples are rough", *notes),
        about={"program": reading.program, "sampled": reading.name or reading.sampled_name},
    )


def _refuse_entities(*_: object) -> None:
    raise ValueError("it declares entities")


def _of_first_threads(
    path: Path, reading: _Reading
) -> tuple[dict[int, float], list[float], list[str]]:
    """Return the seconds of statements in ranks' first threads, and of each rank."""
    files = sorted(
        (match[1], match[2], file)
        for file in path.parent.iterdir()
        if (match := _FILE.fullmatch(file.name))
    )
    if not files or reading.column < 0:
        note = "the metrics of ranks (*.metric-db) are not beside it: taken as one process"
        return reading.seconds, [], [note]
    first: dict[str, list[float]] = {}
    beside, threads = 0.0, 0
    for rank, _, file in files:
        values = _values(file, reading.column)
        of_thread = [
            values[number - 1] * reading.factor if number <= len(values) else 0.0
            for number in reading.regions
        ]
        if rank in first:
            beside, threads = beside + sum(of_thread), threads + 1
        else:
            first[rank] = of_thread
    together, stated = sum(map(sum, first.values())) + beside, sum(reading.seconds.values())
    if abs(together - stated) > _ROUNDING * stated:
        raise FileError(f"{path}: the metrics of ranks sum to {together:.6g} s, and its own to "
                        f"{stated:.6g} s; files of several runs are beside each other")  # fmt: skip
    sums = map(sum, zip(*first.values(), strict=True))
    notes = list(beside_note(threads, beside))
    return dict(zip(reading.regions, sums, strict=True)), [*map(sum, first.values())], notes


def _of_columns(_: Path, reading: _Reading) -> tuple[dict[int, float], list[float], list[str]]:
    """Return what `_of_first_threads` does, of a file that has a metric for each thread."""
    together, by_rank = dict[int, float](), dict[str, float]()
    beside, threads = 0.0, 0
    for (rank, _thread), seconds in sorted(reading.of_threads.items()):
        if rank in by_rank:
            beside, threads = beside + sum(seconds.values()), threads + 1
            continue
        by_rank[rank] = sum(seconds.values())
        for statement, value in seconds.items():
            together[statement] = together.get(statement, 0.0) + value
    return together, list(by_rank.values()), list(beside_note(threads, beside))


def _values(file: Path, column: int) -> list[float]:
    """Return a metric of each node, in the order of their numbers."""
    data = file.read_bytes()
    if not data.startswith(b"HPCPROF-metricdb") or len(data) < _HEADER:
        raise FileError(f"{file}: it begins as no metrics of HPCToolkit do")
    nodes, metrics = struct.unpack_from(">II", data, _HEADER - 8)
    if len(data) != _HEADER + 8 * nodes * metrics or column >= metrics:
        raise FileError(f"{file}: {nodes:,} nodes of {metrics:,} metrics are not {len(data):,} "
                        "bytes: it is cut, or damaged")  # fmt: skip
    values = struct.unpack_from(f">{nodes * metrics}d", data, _HEADER)
    return list(values[column::metrics])
