"""Reading traces: columns for each rank, up to the last whole record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_mpi.tracing.records import CALLS, CODES, HEADER, MAGIC, RECORD

_VERSION = 1

#: Clocks of one host agree; those of two, only by chance this well.
_SAME_CLOCK = 1_000_000


@attrs.frozen(eq=False)
class RankTrace:
    """What one rank called: an array with a row for each record, in the order of their ends."""

    rank: int
    size: int
    ended: bool  #: the program came to its end
    full: bool  #: the disk did not hold more
    offset: int  #: ns from the monotonic clock to the time of day
    records: np.ndarray[Any, Any] = attrs.field(repr=False)

    def calls(self) -> Iterator[tuple[Any, Any]]:
        """Yield every call and the rows of the requests that it was given."""
        rows, at = self.records, 0
        while at < len(rows):
            count = int(rows["count"][at])
            yield rows[at], rows[at + 1 : at + 1 + count]
            at += 1 + count


@attrs.frozen(eq=False)
class Trace:
    """A traced run."""

    ranks: tuple[RankTrace, ...]
    communicators: Mapping[int, tuple[int, ...]]  #: members by id; 0 is all ranks

    @property
    def comparable(self) -> bool:
        """Whether all ranks read the same clock."""
        offsets = [one.offset for one in self.ranks]
        return max(offsets) - min(offsets) < _SAME_CLOCK

    @property
    def whole(self) -> bool:
        """Whether every rank was recorded to its end."""
        return all(one.ended and not one.full for one in self.ranks)

    @property
    def begin(self) -> int:
        """The earliest start, in ns of the clock."""
        return min((int(one.records["start"][0]) for one in self.ranks if len(one.records)),
                   default=0)  # fmt: skip

    @property
    def shifts(self) -> list[int]:
        """What to take from each rank's times: they then begin at 0 together, or each by itself."""
        if self.comparable:
            return [self.begin] * len(self.ranks)
        return [int(one.records["start"][0]) if len(one.records) else 0 for one in self.ranks]

    @property
    def seconds(self) -> float:
        """From the earliest start to the latest end."""
        ends = [int(one.records["end"].max()) for one in self.ranks if len(one.records)]
        return (max(ends) - self.begin) / 1e9 if ends else 0.0

    def counts(self) -> dict[str, tuple[int, float]]:
        """Return of each call how often it was made and the seconds of all ranks in it."""
        found: dict[str, tuple[int, float]] = {}
        rows = np.concatenate([one.records for one in self.ranks])
        rows = rows[rows["call"] != CODES["request"]]
        for code in np.unique(rows["call"]).tolist():
            mine = rows[rows["call"] == code]
            spent = float((mine["end"] - mine["start"]).sum()) / 1e9
            found[CALLS[code - 1]] = (len(mine), spent)
        return found


def read(folder: Path) -> Trace:
    """Return the trace in a folder.

    Raises
    ------
    FileError
        If there is none, it is not of this format, or a rank's file is missing.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is no folder with a trace")
    ranks = sorted(map(read_rank, folder.glob("rank-*.trace")), key=lambda one: one.rank)
    if not ranks:
        raise FileError(
            f"{folder} has no rank-N.trace; the command called no MPI_Init, is in Fortran, or uses "
            "another MPI library than the mpicc that the tracer was compiled with"
        )
    missing = sorted(set(range(ranks[0].size)) - {one.rank for one in ranks})
    if missing or len({one.size for one in ranks}) > 1:
        lost = f"rank {missing[0]}" if missing else "a rank of another run"
        raise FileError(f"{folder}: the run had {ranks[0].size} ranks, and {lost} has no file here")
    communicators = {0: tuple(range(ranks[0].size))}
    for path in sorted(folder.glob("rank-*.comms")):
        for line in path.read_text().splitlines():
            number, *members = map(int, line.split())
            communicators[number] = tuple(members)
    return Trace(tuple(ranks), communicators)


def read_rank(path: Path) -> RankTrace:
    """Return one rank's trace, without what came after its last whole record."""
    data = np.fromfile(path, np.uint8)
    if len(data) < HEADER.itemsize or bytes(data[:8]) != MAGIC:
        raise FileError(f"{path} is no trace of parcast: it does not begin with {MAGIC.decode()}")
    header = data[: HEADER.itemsize].view(HEADER)[0]
    if (header["version"], header["record"]) != (_VERSION, RECORD.itemsize):
        raise FileError(
            f"{path}: the trace has version {header['version']}; this parcast reads {_VERSION}"
        )
    rows = _rows(data[HEADER.itemsize :])
    if (tail := path.with_suffix(".tail")).exists():
        rows = _joined(rows, _rows(np.fromfile(tail, np.uint8)))
    _check(path, rows)
    return RankTrace(
        int(header["rank"]), int(header["size"]), bool(header["ended"]), bool(header["full"]),
        int(header["day"]) - int(header["clock"]), _whole(rows),
    )  # fmt: skip


def _rows(data: Any) -> Any:
    """Return the whole records that bytes begin with."""
    count = len(data) // RECORD.itemsize
    rows = data[: count * RECORD.itemsize].view(RECORD)
    holes = np.flatnonzero(rows["call"] == 0)
    return rows[: holes[0]] if len(holes) else rows


def _joined(rows: Any, tail: Any) -> Any:
    """Return both, or the rows alone where the tail was written already and not yet cleared."""
    again = len(rows) and len(tail) and tail["end"][0] <= rows["end"][-1]
    return rows if again else np.concatenate([rows, tail])


def _check(path: Path, rows: Any) -> None:
    wrong = np.flatnonzero((rows["call"] > len(CALLS)) | (rows["end"] < rows["start"]))
    if len(wrong):
        keep = HEADER.itemsize + RECORD.itemsize * int(wrong[0])
        raise FileError(
            f"{path}: record {wrong[0]} is damaged; what comes before it can be kept by cutting "
            f"the file to {keep} bytes"
        )


def _whole(rows: Any) -> Any:
    """Return the rows without a last call that lacks some of its requests."""
    parents = np.flatnonzero(rows["count"])
    if len(parents) and parents[-1] + rows["count"][parents[-1]] >= len(rows):
        return rows[: parents[-1]]
    return rows
