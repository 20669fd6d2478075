"""Runs that the tracer recorded: the records of each rank, up to the last whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_traces.tracer.records import CALLS, CODES, HEADER, MAGIC, RECORD, VERSION

HEADER_TYPE, RECORD_TYPE = np.dtype(list(HEADER)), np.dtype(list(RECORD))

#: Clocks of one host agree; those of two, only by chance this well.
_SAME_CLOCK = 1_000_000


@attrs.frozen(eq=False)
class RankRecords:
    """What one rank called: an array with a row for each record, in the order of their ends."""

    rank: int
    size: int
    ended: bool  #: the program came to its end
    full: bool  #: the disk did not hold more
    offset: int  #: ns from the monotonic clock to the time of day
    rows: Any = attrs.field(repr=False)

    @property
    def start(self) -> int:
        """The start of the first call, in ns of the clock; 0 if there is none."""
        return int(self.rows["start"][0]) if len(self.rows) else 0

    def calls(self) -> Any:
        """Return which rows are calls; those of the requests that one was given come after it.

        Raises
        ------
        FileError
            If a request stands behind no call.
        """
        calls = np.flatnonzero(self.rows["call"] != CODES["request"])
        counts = np.diff(np.append(calls, len(self.rows))) - 1
        begins = not len(self.rows) or (len(calls) and calls[0] == 0)
        if not begins or (counts != self.rows["count"][calls]).any():
            raise FileError(
                f"the trace of rank {self.rank} is damaged: a request does not stand behind its "
                "call"
            )
        return calls


@attrs.frozen(eq=False)
class Run:
    """A traced run."""

    ranks: Sequence[RankRecords]
    communicators: Mapping[int, Sequence[int]]  #: members by id; 0 is all ranks

    @property
    def comparable(self) -> bool:
        """Whether all ranks read the same clock."""
        offsets = [records.offset for records in self.ranks]  # of any size where they are damaged
        return max(offsets) - min(offsets) < _SAME_CLOCK

    @property
    def whole(self) -> bool:
        """Whether every rank was recorded to its end."""
        return all(records.ended and not records.full for records in self.ranks)

    @property
    def begin(self) -> int:
        """The earliest start, in ns of the clock."""
        return min((records.start for records in self.ranks if len(records.rows)), default=0)

    @property
    def origins(self) -> list[int]:
        """When each rank's times begin: together, or, where clocks differ, each by itself."""
        if self.comparable:
            return [self.begin] * len(self.ranks)
        return [records.start for records in self.ranks]

    @property
    def seconds(self) -> float:
        """From the earliest start to the latest end."""
        ends = [int(records.rows["end"].max()) for records in self.ranks if len(records.rows)]
        return (max(ends) - self.begin) / 1e9 if ends else 0.0

    @property
    def asked_in_vain(self) -> bool:
        """Whether a wait or a test was given requests that it did not complete."""
        request = CODES["request"]
        return any(
            bool(((records.rows["call"] == request) & (records.rows["done"] == 0)).any())
            for records in self.ranks
        )

    def counts(self) -> dict[str, tuple[int, float]]:
        """Return of each call how often it was made and the seconds of all ranks in it."""
        rows = np.concatenate([records.rows for records in self.ranks])
        rows = rows[rows["call"] != CODES["request"]]
        counts: dict[str, tuple[int, float]] = {}
        for code in np.unique(rows["call"]).tolist():
            mine = rows[rows["call"] == code]
            spent = float((mine["end"] - mine["start"]).sum()) / 1e9
            counts[CALLS[code - 1]] = (len(mine), spent)
        return counts


def read_run(folder: Path) -> Run:
    """Return the run in a folder.

    Raises
    ------
    FileError
        If there is none, it is not of this format, or a rank's file is missing.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is no folder with a trace")
    files = folder.glob("rank-*.trace")
    ranks = sorted(map(read_rank, files), key=lambda records: records.rank)
    if not ranks:
        raise FileError(
            f"{folder} has no rank-N.trace; the command called no MPI_Init, is in Fortran, or uses "
            "another MPI library than the mpicc that the tracer was compiled with"
        )
    present = {records.rank for records in ranks}
    missing = next((rank for rank in range(ranks[0].size) if rank not in present), None)
    if missing is not None or len({records.size for records in ranks}) > 1:
        lost = "a rank of another run" if missing is None else f"rank {missing}"
        raise FileError(f"{folder}: the run had {ranks[0].size} ranks, and {lost} has no file here")
    communicators: dict[int, Sequence[int]] = {0: range(len(ranks))}
    for path in sorted(folder.glob("rank-*.comms")):
        communicators.update(_communicators(path))
    return Run(ranks, communicators)


def _communicators(path: Path) -> Mapping[int, Sequence[int]]:
    communicators = {}
    for line, text in enumerate(path.read_text("ascii", errors="replace").splitlines(), 1):
        try:
            number, *members = map(int, text.split())
        except ValueError:
            raise FileError(f"{path}:{line}: a communicator is a number and its ranks") from None
        communicators[number] = members
    return communicators


def read_rank(path: Path) -> RankRecords:
    """Return one rank's records, without what came after the last whole one.

    Raises
    ------
    FileError
        If the file is none of this format, damaged, or cut off though its rank came to its end.
    """
    data = np.fromfile(path, np.uint8)
    if len(data) < HEADER_TYPE.itemsize or bytes(data[:8]) != MAGIC:
        raise FileError(f"{path} is no trace of parcast: it does not begin with {MAGIC.decode()}")
    header = data[: HEADER_TYPE.itemsize].view(HEADER_TYPE)[0]
    if (header["version"], header["record"]) != (VERSION, RECORD_TYPE.itemsize):
        raise FileError(
            f"{path}: the trace has version {header['version']}; this parcast reads {VERSION}"
        )
    rows = _rows(data[HEADER_TYPE.itemsize :])
    if (tail := path.with_suffix(".tail")).exists():
        rows = _joined(rows, _rows(np.fromfile(tail, np.uint8)))
    ended, full = bool(header["ended"]), bool(header["full"])
    if ended and not full and len(data) % RECORD_TYPE.itemsize:
        raise FileError(
            f"{path}: rank {header['rank']}: it is cut off inside record {len(rows)}; {_kept(rows)}"
        )
    wrong = np.flatnonzero((rows["call"] > len(CALLS)) | (rows["end"] < rows["start"]))
    if len(wrong):
        raise FileError(f"{path}: record {wrong[0]} is damaged; {_kept(rows[: wrong[0]])}")
    return RankRecords(
        int(header["rank"]), int(header["size"]), ended, full,
        int(header["day"]) - int(header["clock"]), _complete(rows),
    )  # fmt: skip


def _kept(rows: Any) -> str:
    size = HEADER_TYPE.itemsize + RECORD_TYPE.itemsize * len(rows)
    return f"what comes before it can be kept by cutting the file to {size} bytes"


def _rows(data: Any) -> Any:
    """Return the whole records that bytes begin with."""
    count = len(data) // RECORD_TYPE.itemsize
    rows = data[: count * RECORD_TYPE.itemsize].view(RECORD_TYPE)
    holes = np.flatnonzero(rows["call"] == 0)
    return rows[: holes[0]] if len(holes) else rows


def _joined(rows: Any, tail: Any) -> Any:
    """Return both, or the rows alone where the tail was written already and not yet cleared."""
    written = len(rows) and len(tail) and tail["end"][0] <= rows["end"][-1]
    return rows if written else np.concatenate([rows, tail])


def _complete(rows: Any) -> Any:
    """Return the rows without a last call that lacks some of its requests."""
    parents = np.flatnonzero(rows["count"])
    if len(parents) and parents[-1] + rows["count"][parents[-1]] >= len(rows):
        return rows[: parents[-1]]
    return rows
