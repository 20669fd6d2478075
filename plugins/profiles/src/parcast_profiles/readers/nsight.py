"""What Nsight Systems exports as SQLite: kernels, copies, calls of MPI, and what is between."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, joined


@attrs.frozen
class _Table:
    """A table of what takes time."""

    title: str
    word: str  #: what its rows are, if nothing names them
    named_by: tuple[str, ...] = ()
    communicates: bool = False


_TABLES = (
    _Table("CUPTI_ACTIVITY_KIND_KERNEL", "kernel", ("shortName", "demangledName")),
    _Table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graphs of kernels"),
    _Table("CUPTI_ACTIVITY_KIND_MEMCPY", "copies of memory"),
    _Table("CUPTI_ACTIVITY_KIND_MEMSET", "fills of memory"),
    _Table("MPI_P2P_EVENTS", "MPI", ("textId",), communicates=True),
    _Table("MPI_COLLECTIVES_EVENTS", "MPI", ("textId",), communicates=True),
    _Table("MPI_START_WAIT_EVENTS", "MPI", ("textId",), communicates=True),
    _Table("MPI_OTHER_EVENTS", "MPI", ("textId",), communicates=True),
)
#: Tables that tell when the run was, too.
_SPAN = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API")
#: Tables of what has times, and is no work of the run by itself.
_NOT_READ = {
    "NVTX_EVENTS": "marks of NVTX",
    "OSRT_API": "calls of the system",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "calls of CUDA by the host",
    "SCHED_EVENTS": "switches of threads",
}
#: Whose calls a row is of; the upper bits name a process.
_OWNERS = ("globalPid", "globalTid")
_PROCESS_BITS = 24
#: Kernels by which ranks communicate: NCCL's, and RCCL's.
_COMMUNICATES = re.compile("[nr]ccl", re.IGNORECASE)
_BESIDE = (
    "a profile of GPUs: kernels take as long as recorded, and what the host does beside them takes "
    "no time of its own"
)
_MOST_ROWS = 50_000_000
_NANO = 1e-9


@attrs.frozen(eq=False)
class _Recorded:
    """The rows of a table: when each began and ended, of which process, and its name's number."""

    word: str
    names: tuple[str, ...]
    communicates: bool
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    process: NDArray[np.int64]  #: -1 where none is recorded
    name: NDArray[np.int64]


def read(path: Path) -> Profile:
    """Return the profile in an export of Nsight Systems.

    Raises
    ------
    FileError
        If it is no such export, or damaged.
    """
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    try:
        return _profile(connection, path)
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        reason = shorten(" ".join(str(error).split()), 160)
        raise FileError(f"{path}: no export of Nsight Systems: {reason}") from None
    finally:
        connection.close()


def _profile(connection: sqlite3.Connection, path: Path) -> Profile:
    tables = {name for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}  # fmt: skip
    recorded = [_recorded(connection, table, path) for table in _TABLES if table.title in tables]
    if not any(len(rows.start) for rows in recorded):
        raise FileError(
            f"{path}: no kernels, copies or calls of MPI are in it{_others(connection, tables)}; "
            "trace them (nsys profile --trace=cuda,nvtx,mpi) and export with --type sqlite"
        )
    begin, end = _span(connection, tables, recorded)
    processes, idle = _processes(connection, tables)
    exclusive = _exclusive_times(recorded, processes[0])
    regions = list(_regions(recorded, exclusive))
    outside = len(processes) * (end - begin) - sum(int(times.sum()) for times in exclusive)
    if outside > 0:
        regions.append(Region("host alone", outside * _NANO))
    together = sum(int((rows.end - rows.start).sum()) for rows in recorded)
    beside = (together - sum(int(times.sum()) for times in exclusive)) * _NANO
    notes = [_BESIDE]
    if beside:
        notes.append(f"{beside:.6g} s of kernels, copies and calls run beside others of their "
                     "process that began before, and take no time of their own")  # fmt: skip
    if idle:
        notes.append(f"{idle:,} further processes, of which no kernels, copies or calls of MPI are "
                     "in it, are left out")  # fmt: skip
    return Profile(
        where=str(path),
        tool="Nsight Systems",
        processes=len(processes),
        regions=joined(regions, str(path)),
        notes=tuple(notes),
        about={"span": f"{(end - begin) * _NANO:.9g} s", **dict(_facts(recorded))},
    )


def _others(connection: sqlite3.Connection, tables: set[str]) -> str:
    """Return what an export has that is not read, as part of a sentence."""
    counts = {
        word: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        for table, word in _NOT_READ.items()
        if table in tables
    }
    listed = [f"{count:,} {word}" for word, count in counts.items() if count]
    return f", only {', '.join(listed)}" if listed else ""


def _facts(recorded: Iterable[_Recorded]) -> Iterable[tuple[str, str]]:
    """Yield how many rows there are of a kind, and how long they took."""
    counts, seconds = dict[str, int](), dict[str, int]()
    for rows in recorded:
        counts[rows.word] = counts.get(rows.word, 0) + len(rows.start)
        duration = int((rows.end - rows.start).sum())
        seconds[rows.word] = seconds.get(rows.word, 0) + duration
    return ((word, f"{counts[word]:,}, {seconds[word] * _NANO:.9g} s") for word in counts)


def _recorded(connection: sqlite3.Connection, of: _Table, path: Path) -> _Recorded:
    """Return the rows of a table."""
    table = of.title
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    ((count, wrong),) = connection.execute(
        f'SELECT count(*), sum("end" < start OR start IS NULL OR "end" IS NULL) FROM {table}'  # noqa: S608
    )
    if count > _MOST_ROWS or wrong:
        raise FileError(f"{path}: table {table} has " + (
            f"{wrong:,} rows that end before they begin" if wrong else f"{count:,} rows"
        ))  # fmt: skip
    owner = next((column for column in _OWNERS if column in columns), "-1")
    name = next((column for column in of.named_by if column in columns), "-1")
    texts = {} if name == "-1" else dict(
        connection.execute(f"SELECT id, value FROM StringIds WHERE id IN "  # noqa: S608
                           f"(SELECT DISTINCT {name} FROM {table})")
    )  # fmt: skip
    fields = [(field, np.int64) for field in ("start", "end", "process", "name")]
    query = f'SELECT start, "end", ifnull({owner}, -1), ifnull({name}, -1) FROM {table}'  # noqa: S608
    rows = np.fromiter(connection.execute(query), np.dtype(fields), count)
    which, number = np.unique(rows["name"], return_inverse=True)
    return _Recorded(
        word=of.word,
        names=tuple(texts.get(text) or of.word for text in which.tolist()),
        communicates=of.communicates,
        start=rows["start"],
        end=rows["end"],
        process=rows["process"] >> _PROCESS_BITS,
        name=number.reshape(-1),
    )


def _exclusive_times(recorded: list[_Recorded], first: int) -> list[NDArray[np.int64]]:
    """Return how long each row ran beside none of its process that had begun before."""
    starts, ends, processes = (
        np.concatenate([getattr(rows, field) for rows in recorded])
        for field in ("start", "end", "process")
    )
    processes[processes < 0] = first
    exclusive = np.empty(len(starts), np.int64)
    for process in np.unique(processes).tolist():
        mine = np.flatnonzero(processes == process)
        mine = mine[np.argsort(starts[mine], kind="stable")]
        reached = np.maximum.accumulate(ends[mine])
        begins = starts[mine]
        begins[1:] = np.maximum(begins[1:], reached[:-1])
        exclusive[mine] = np.maximum(ends[mine] - begins, 0)
    return np.split(exclusive, np.cumsum([len(rows.start) for rows in recorded])[:-1])


def _regions(recorded: list[_Recorded], exclusive: list[NDArray[np.int64]]) -> Iterator[Region]:
    """Yield what each name took by itself."""
    for rows, times in zip(recorded, exclusive, strict=True):
        counts = np.bincount(rows.name, minlength=len(rows.names)).tolist()
        seconds = (np.bincount(rows.name, times, len(rows.names)) * _NANO).tolist()
        for name, lasts, calls in zip(rows.names, seconds, counts, strict=True):
            communicates = rows.communicates or _COMMUNICATES.match(name) is not None
            yield Region(name, lasts, communicates, calls)


def _span(
    connection: sqlite3.Connection, tables: set[str], recorded: list[_Recorded]
) -> tuple[int, int]:
    """Return when what was recorded began and ended."""
    ends: list[tuple[Any, Any]] = [
        (int(rows.start.min()), int(rows.end.max())) for rows in recorded if len(rows.start)
    ]
    for table in tables.intersection(_SPAN):
        ends += connection.execute(f'SELECT min(start), max("end") FROM {table}')  # noqa: S608
    stretches = [(low, high) for low, high in ends if low is not None and high is not None]
    return min(low for low, _ in stretches), max(high for _, high in stretches)


def _processes(connection: sqlite3.Connection, tables: set[str]) -> tuple[list[int], int]:
    """Return the processes whose work is in it, and how many others called CUDA or the system."""
    working = _owners(connection, tables & {entry.title for entry in _TABLES})
    calling = _owners(connection, tables.intersection(_SPAN))
    processes = working or calling
    return sorted(processes) or [0], len(calling - processes)


def _owners(connection: sqlite3.Connection, tables: Iterable[str]) -> set[int]:
    """Return the processes of which tables have rows."""
    owners: set[int] = set()
    for table in tables:
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for column in columns.intersection(_OWNERS):
            owners |= {
                number >> _PROCESS_BITS
                for (number,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608
                if number is not None
            }
    return owners
