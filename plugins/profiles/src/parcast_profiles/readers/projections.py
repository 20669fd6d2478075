"""Logs of Charm++'s Projections: entry methods, idle time and the rest of each processor."""

from __future__ import annotations

import gzip
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, joined
from parcast_profiles.readers.text_lines import text_lines

#: Records, by their numbers, and where in them a time stands; 6 and 7 are where logs begin and end.
_BEGIN, _END, _BEGIN_IDLE, _END_IDLE = 2, 3, 14, 15
_TIME_AT = {_BEGIN: 3, _END: 3, _BEGIN_IDLE: 1, _END_IDLE: 1, 6: 1, 7: 1}

_ENTRY = re.compile(r'ENTRY CHARE (\d+) "([^"]*)"')
_PROCESSORS = re.compile(r"PROCESSORS (\d+)")
_MICRO = 1e-6
#: A packed log may become so many times its size, or these bytes if they are more.
_MOST_TIMES, _LEAST_ROOM = 250, 64 << 20
#: Methods of a log, and those that have begun, which take some 150 bytes each.
_MOST_HELD = 4_000_000


def read(path: Path) -> Profile:
    """Return the profile in the logs beside a .sts file.

    Raises
    ------
    FileError
        If a log is damaged, or none is there.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    names = {int(match[1]): match[2] for match in _ENTRY.finditer(text)}
    match = _PROCESSORS.search(text)
    if match is None:
        raise FileError(f"{path}: it does not say how many PROCESSORS there were")
    stem = path.name.removesuffix(".sts")
    pattern = re.compile(re.escape(stem) + r"\.(\d+)\.log(\.gz)?")
    files = sorted(
        (int(numbered[1]), file)
        for file in path.parent.iterdir()
        if (numbered := pattern.fullmatch(file.name))
    )
    if not files:
        raise FileError(f"{path}: its logs, such as {stem}.0.log.gz, are not beside it")
    regions: list[Region] = []
    by_rank, span = [], 0.0
    for _, file in files:
        seconds, whole = _log(file)
        by_rank.append(sum(seconds.values()))
        span = max(span, whole)
        for method, total in seconds.items():
            name = "idle" if method < 0 else names.get(method, f"method {method}")
            regions.append(Region(name, total, method < 0))
        outside = whole - sum(seconds.values())
        regions.append(Region("outside methods", max(outside, 0.0)))
    missing = int(match[1]) - len(files)
    notes = ["idle time, in which messages are waited for, counts as communication"]
    if missing > 0:
        notes.append(f"the logs of {missing:,} of {match[1]} processors are missing")
    return Profile(
        where=str(path),
        tool="Projections (Charm++)",
        processes=len(files),
        regions=joined(regions, str(path)),
        by_rank=tuple(by_rank),
        notes=tuple(notes),
        about={"span": f"{span:.9g} s"},
    )


def _log(file: Path) -> tuple[dict[int, float], float]:
    """Return the seconds of each method, idle ones as -1, and of the whole log."""
    packed = file.name.endswith(".gz")
    try:
        with gzip.open(file, "rt") if packed else file.open() as opened:
            return _summed(text_lines(opened, file), file)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise FileError(f"{file} cannot be read: {shorten(str(error))}") from None


def _summed(lines: Iterable[str], file: Path) -> tuple[dict[int, float], float]:
    seconds: dict[int, float] = defaultdict(float)
    stack: list[tuple[int, int]] = []
    begin = end = None
    packed = file.stat().st_size if file.name.endswith(".gz") else None
    room = math.inf if packed is None else max(_MOST_TIMES * packed, _LEAST_ROOM)
    size = 0
    for number, line in enumerate(lines, 1):
        size += len(line)
        if size > room:
            raise FileError(
                f"{file} becomes more than {_MOST_TIMES} times as large unpacked, which no log is "
                "known to; if it is one, unpack it"
            )
        cells = line.split()
        if not cells or cells[0] == "PROJECTIONS-RECORD":
            continue
        try:
            kind = int(cells[0])
            if kind not in _TIME_AT:
                continue
            at = int(cells[_TIME_AT[kind]])
            begin, end = (at if begin is None else begin), at
            if kind in {_BEGIN, _BEGIN_IDLE}:
                stack.append((int(cells[2]) if kind == _BEGIN else -1, at))
                if len(stack) + len(seconds) > _MOST_HELD:
                    raise FileError(
                        f"{file}:{number}: over {_MOST_HELD:,} methods, or begins without their "
                        "ends, are kept at once; is it damaged?"
                    )
            elif kind in {_END, _END_IDLE} and stack:
                method, since = stack.pop()
                seconds[method] += (at - since) * _MICRO
                if stack:  # of the one around it that time is not
                    seconds[stack[-1][0]] -= (at - since) * _MICRO
        except (ValueError, IndexError, OverflowError):
            text = shorten(line.strip())
            raise FileError(f"{file}:{number}: {text!r} is no record of Projections") from None
    if any(total < 0 for total in seconds.values()):
        raise FileError(f"{file}: a method ends before it begins")
    if begin is None or end is None:
        raise FileError(f"{file}: no record of it has a time")
    return seconds, (end - begin) * _MICRO
