"""Profiles of TAU: a file for each rank and thread, a line for each function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, communicates, joined
from parcast_profiles.tree import beside_note

_FILE = re.compile(r"profile\.(\d+)\.(\d+)\.(\d+)")
_HEAD = re.compile(r"(\d+) templated_functions(?:_MULTI_(.+?))?\s*\Z")
_LINE = re.compile(r'"((?:[^"\\]|\\.)*)" (\S+) (\S+) (\S+) (\S+) (\S+) GROUP="([^"]*)"')

#: Times that TAU counts, in microseconds.
_TIMES = ("TIME", "GET_TIME_OF_DAY", "CLOCK_GET_TIME", "LINUX_TIMERS", "P_WALL_CLOCK_TIME",
          "PAPI_TIME", "BGL_TIMERS", "BGP_TIMERS", "BGQ_TIMERS", "CRAY_TIMERS")  # fmt: skip
#: Groups that have the same times again: by who called and from where, by the values of parameters,
#: and by the statements in which samples found a function.
_AGAIN = frozenset({"TAU_CALLPATH", "TAU_CALLSITE", "TAU_PARAM", "TAU_SAMPLE",
                    "TAU_SAMPLE_CONTEXT", "TAU_UNWIND"})  # fmt: skip
_MOST_FILES = 1_000_000


def read(path: Path) -> Profile:
    """Return the profile that a file and those beside it are.

    Raises
    ------
    FileError
        If a file is damaged, or counts something else than time.
    """
    files = _files(path)
    regions: list[Region] = []
    by_rank: dict[int, float] = {}
    beside, threads = 0.0, 0
    for (rank, _), file in sorted(files.items()):
        functions = list(_regions(file))
        seconds = sum(region.seconds for region in functions)
        if rank in by_rank:
            beside, threads = beside + seconds, threads + 1
        else:
            by_rank[rank] = seconds
            regions += functions
    notes = list(beside_note(threads, beside))
    missing = sorted(set(range(max(by_rank) + 1)) - by_rank.keys()) if len(by_rank) < 10**6 else []
    if missing:
        notes.append(f"the files of {len(missing):,} ranks, such as {missing[0]}, are missing")
    return Profile(
        where=str(path.parent if _FILE.fullmatch(path.name) else path),
        tool="TAU",
        processes=len(by_rank),
        regions=joined(regions, str(path)),
        by_rank=tuple(by_rank.values()),
        notes=tuple(notes),
        about={"files": f"{len(files):,}"},
    )


def _files(path: Path) -> dict[tuple[int, tuple[int, int]], Path]:
    """Return the files of all ranks and threads beside one."""
    if not _FILE.fullmatch(path.name):
        return {(0, (0, 0)): path}
    files = {}
    for file in sorted(path.parent.iterdir()):
        if match := _FILE.fullmatch(file.name):
            rank, context, thread = map(int, match.groups())
            files[rank, (context, thread)] = file
            if len(files) > _MOST_FILES:
                raise FileError(f"{path.parent} has over {_MOST_FILES:,} files")
    return files


def _regions(file: Path) -> Iterator[Region]:
    """Yield the functions of a file, by what they took themselves."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        head = _HEAD.match(next(lines, ""))
        if head is None:
            raise FileError(f"{file}: it begins as no profile of TAU does")
        if head[2] and head[2].upper().replace(" ", "_") not in _TIMES:
            counted = shorten(head[2])
            raise FileError(f"{file}: it counts {counted}, and no time ({', '.join(_TIMES)})")
        count = 0
        for number, line in enumerate(lines, 2):
            if line.startswith("#"):
                continue
            if count == int(head[1]):
                break  # user events come after the functions
            yield from _region(line, f"{file}:{number}")
            count += 1
        if count < int(head[1]):
            raise FileError(f"{file}: it ends after {count} of {head[1]} functions")


def _region(line: str, place: str) -> Iterator[Region]:
    match = _LINE.match(line)
    if match is None:
        raise FileError(f"{place}: {shorten(line.strip())!r} is no function of TAU")
    name = match[1].strip()
    groups = {group.strip() for group in match[7].split("|")}
    if groups & _AGAIN:
        return
    try:
        calls, exclusive = float(match[2]), float(match[4])
    except ValueError:
        raise FileError(f"{place}: {shorten(line.strip())!r} has no times") from None
    mpi = "MPI" in groups or communicates(name)
    yield Region(name, exclusive * 1e-6, mpi, calls)
