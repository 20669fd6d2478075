"""Tables of events as Pipit has them: when ranks enter and leave functions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, Region, communicates, joined
from parcast_profiles.readers.text_lines import text_lines
from parcast_profiles.tree import beside_note

#: The columns of time, with their units.
_TIMES = {"timestamp (s)": 1.0, "timestamp (ms)": 1e-3, "timestamp (us)": 1e-6,
          "timestamp (ns)": 1e-9}  # fmt: skip
_NEEDED = ("event type", "name", "process")
_EVENTS = {"enter": 1, "leave": -1, "instant": 0}
#: Threads, their regions and the calls that they are in, which take some 250 bytes each.
_MOST_HELD = 4_000_000


def read(path: Path) -> Profile:
    """Return the profile that the events in a table make.

    Raises
    ------
    FileError
        If a column is missing, or functions are left that were not entered last.
    """
    tables: dict[tuple[str, str], _Calls] = {}
    unit, held = 1.0, 0
    for place, process, thread, event, name, at, factor in _events(path):
        unit = factor
        calls = tables.get((process, thread))
        if calls is None:
            calls, held = tables.setdefault((process, thread), _Calls()), held + 1
        if event:
            held += calls.take(event, name, at, place)
        if held > _MOST_HELD:
            raise FileError(
                f"{place}: over {_MOST_HELD:,} processes, regions of each and calls that are not "
                "left yet are kept at once; give a part of the run"
            )
    regions: list[Region] = []
    by_rank: dict[str, float] = {}
    beside, threads, open_calls = 0.0, 0, 0
    for (process, _), calls in sorted(tables.items()):
        seconds = sum(calls.seconds.values()) * unit
        open_calls += len(calls.stack)
        if process in by_rank:
            beside, threads = beside + seconds, threads + 1
            continue
        by_rank[process] = seconds
        regions += [
            Region(name, ticks * unit, within) for (name, within), ticks in calls.seconds.items()
        ]
    notes = list(beside_note(threads, beside))
    if open_calls:
        notes.append(f"{open_calls:,} calls are never left: their time is not in it")
    return Profile(
        where=str(path),
        tool="table of Pipit",
        processes=max(len(by_rank), 1),
        regions=joined(regions, str(path)),
        by_rank=tuple(by_rank.values()),
        notes=tuple(notes),
    )


class _Calls:
    """The calls that one thread is in, and what each region took itself."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, tuple[str, bool]]] = []  #: names, and the regions they are
        self.last = 0.0
        self.seconds: dict[tuple[str, bool], float] = {}  #: also whether it communicates

    def take(self, event: int, name: str, at: float, place: str) -> int:
        """Take an event; return how many calls and regions are kept beside those before.

        Time since the last one is of the innermost call, or of the call of MPI that it is in.
        """
        kept = 0
        if self.stack:
            if at < self.last:
                raise FileError(f"{place}: {name!r} is before the event above it of its process")
            region = self.stack[-1][1]
            kept += region not in self.seconds
            self.seconds[region] = self.seconds.get(region, 0.0) + at - self.last
        self.last = at
        if event > 0:
            outer = self.stack[-1][1] if self.stack else (name, False)
            self.stack.append((name, outer if outer[1] else (name, communicates(name))))
            return kept + 1
        if not self.stack or self.stack.pop()[0] != name:
            raise FileError(f"{place}: {name!r} is left, and was not entered last")
        return kept - 1


def _events(path: Path) -> Iterator[tuple[str, str, str, int, str, float, float]]:
    """Yield place, process, thread, event, name and time of each row, and the unit of times."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        table = csv.reader(text_lines(file, path), skipinitialspace=True)
        try:
            heads = [head.strip().lower() for head in next(table, [])]
            time = next((head for head in heads if head in _TIMES), None)
            missing = [head for head in _NEEDED if head not in heads]
            if time is None or missing:
                lacking = missing[0] if missing else "timestamp (s)"
                listed = shorten(", ".join(heads))
                raise FileError(f"{path}:1: there is no column {lacking!r}, only {listed}")
            columns = [heads.index(head) for head in (*_NEEDED, time)]
            thread = heads.index("thread") if "thread" in heads else None
            for cells in table:
                if not cells:
                    continue
                place = f"{path}:{table.line_num}"
                try:
                    event, name, process, at = (cells[column].strip() for column in columns)
                    kind, ticks = _EVENTS[event.lower()], float(at)
                    number = cells[thread].strip() if thread is not None else "0"
                except (IndexError, KeyError, ValueError):
                    text = shorten(", ".join(cells))
                    raise FileError(
                        f"{place}: {text!r} is no event: Enter, Leave or Instant, with its time, "
                        "name and process"
                    ) from None
                yield place, process, number, kind, name, ticks, _TIMES[time]
        except csv.Error as error:
            raise FileError(f"{path}:{table.line_num}: {error}") from None
