"""What Nsight Systems exports as SQLite: kernels, copies, calls of MPI, and what is between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, joined

#: Tables of what takes time, with what names a row, and whether it communicates.
_TABLES = (
    ("CUPTI_ACTIVITY_KIND_KERNEL", ("shortName", "demangledName"), "kernel", False),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", (), "copies of memory", False),
    ("CUPTI_ACTIVITY_KIND_MEMSET", (), "fills of memory", False),
    ("MPI_P2P_EVENTS", ("textId",), "MPI", True),
    ("MPI_COLLECTIVES_EVENTS", ("textId",), "MPI", True),
    ("MPI_START_WAIT_EVENTS", ("textId",), "MPI", True),
    ("MPI_OTHER_EVENTS", ("textId",), "MPI", True),
)
#: Tables that tell when the run was, too.
_SPAN = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API")
_BESIDE = (
    "a profile of GPUs: kernels take as long as recorded, and what the host does beside them takes "
    "no time of its own"
)
_MOST_ROWS = 50_000_000
_NANO = 1e-9


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
    recording = [entry for entry in _TABLES if entry[0] in tables]
    if not recording:
        raise FileError(
            f"{path}: no kernels, copies or calls of MPI are in it; trace them (nsys profile "
            "--trace=cuda,nvtx,mpi) and export with --type sqlite"
        )
    regions: list[Region] = []
    busy: list[tuple[int, int]] = []
    about: dict[str, str] = {}
    for table, names, word, mpi in recording:
        rows = list(_rows(connection, table, names, word, path))
        regions += [Region(name, seconds, mpi, calls) for name, seconds, calls in rows]
        busy += connection.execute(f'SELECT start, "end" FROM {table}')  # noqa: S608
        about[word] = f"{sum(calls for *_, calls in rows):,.0f}, {sum(s for _, s, _ in rows):.9g} s"
    begin, end = _span(connection, tables, [entry[0] for entry in recording])
    covered, together = _union(busy), sum(high - low for low, high in busy)
    processes = _processes(connection, tables)
    outside = (end - begin - covered) * _NANO
    if outside > 0:
        regions.append(Region("host alone", outside))
    notes = [_BESIDE]
    if together > covered:
        notes.append(f"{(together - covered) * _NANO:.6g} s are of several streams or ranks at "
                     "once: the sum of all is that much longer than the run")  # fmt: skip
    return Profile(
        where=str(path),
        tool="Nsight Systems",
        processes=processes,
        regions=joined(regions, str(path)),
        notes=tuple(notes),
        about={"span": f"{(end - begin) * _NANO:.9g} s", **about},
    )


def _rows(
    connection: sqlite3.Connection, table: str, names: tuple[str, ...], word: str, path: Path
) -> Iterator[tuple[str, float, float]]:
    """Yield the names of a table with their seconds and counts."""
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    ((count, wrong),) = connection.execute(
        f'SELECT count(*), sum("end" < start OR start IS NULL OR "end" IS NULL) FROM {table}'  # noqa: S608
    )
    if count > _MOST_ROWS or wrong:
        raise FileError(f"{path}: table {table} has " + (
            f"{wrong:,} rows that end before they begin" if wrong else f"{count:,} rows"
        ))  # fmt: skip
    name = next((column for column in names if column in columns), None)
    if name is None:
        query = f'SELECT NULL, sum("end" - start), count(*) FROM {table}'  # noqa: S608
    else:
        joined_names = f"{table} LEFT JOIN StringIds ON id = {name} GROUP BY {name}"
        query = f'SELECT value, sum("end" - start), count(*) FROM {joined_names}'  # noqa: S608
    for text, total, number in connection.execute(query):
        if number:
            yield text or word, total * _NANO, number


def _span(
    connection: sqlite3.Connection, tables: set[str], recording: list[str]
) -> tuple[int, int]:
    """Return when what was recorded began and ended."""
    ends = []
    for table in [*recording, *(name for name in _SPAN if name in tables)]:
        ((low, high),) = connection.execute(
            f'SELECT min(start), max("end") FROM {table}'  # noqa: S608
        )
        if low is not None and high is not None:
            ends.append((low, high))
    return min(low for low, _ in ends), max(high for _, high in ends)


def _union(intervals: list[tuple[int, int]]) -> int:
    """Return how long at least one of some intervals lasts."""
    covered, reached = 0, None
    for low, high in sorted(intervals):
        start = low if reached is None else max(low, reached)
        covered += max(high - start, 0)
        reached = high if reached is None else max(high, reached)
    return covered


def _processes(connection: sqlite3.Connection, tables: set[str]) -> int:
    """Return how many processes are in it, by whose calls these are."""
    processes: set[int] = set()
    for table in tables & {name for name, *_ in _TABLES} | tables & set(_SPAN):
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for column in ("globalPid", "globalTid"):
            if column in columns:
                processes |= {
                    number >> 24
                    for (number,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608
                    if number is not None
                }
    return max(len(processes), 1)
