"""Writes the records of one rank as the C tracer does: a window that is a file, and the trace."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from parcast_traces.tracer.records import (
    CODES,
    HEADER,
    MAGIC,
    NONE,
    RECORD,
    VERSION,
    offset,
    packer,
)  # fmt: skip

WINDOW = 1 << 18

_RECORD, _HEADER = packer(RECORD), packer(HEADER)
_CALL = offset(RECORD, "call")

now = time.monotonic_ns


class Recorder:
    """The trace of this rank; it ends early where the disk is full, and the program goes on."""

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.folder, self.rank, self.size = folder, rank, size
        self._lock = threading.RLock()
        self._used, self._requests = 0, 0
        self._tail = folder / f"rank-{rank}.tail"
        self._file = os.open(folder / f"rank-{rank}.trace", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        window = os.open(self._tail, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.posix_fallocate(window, 0, WINDOW)
        self._window = mmap.mmap(window, WINDOW)
        os.close(window)
        started = (time.time_ns(), now())
        os.write(
            self._file, _HEADER.pack(MAGIC, VERSION, _RECORD.size, rank, size, 0, 0, *started, 0, 0)
        )

    def record(
        self, name: str, start: int, *, end: int = 0, amount: int = 0, received: int = 0,
        peer: int = NONE, tag: int = 0, source: int = NONE, source_tag: int = 0,
        request: int = 0, comm: int = 0, done: int = 0, count: int = 0,
    ) -> None:  # fmt: skip
        """Write one record, whose call comes last so that it is whole then."""
        row = _RECORD.pack(
            start, end or now(), amount, received, peer, tag, source, source_tag,
            request, comm, CODES[name], done, count,
        )  # fmt: skip
        with self._lock:
            if self._file < 0 or (self._used + _RECORD.size > WINDOW and not self._spill()):
                return
            at = self._used
            self._window[at : at + _CALL] = row[:_CALL]
            self._window[at + _CALL + 2 : at + _RECORD.size] = row[_CALL + 2 :]
            self._window[at + _CALL : at + _CALL + 2] = row[_CALL : _CALL + 2]
            self._used += _RECORD.size

    def completion(self, name: str, start: int, rows: Sequence[dict[str, int]]) -> None:
        """Write a call that completes requests, and a record of each one that it was given."""
        with self._lock:
            end = now()
            self.record(name, start, end=end, count=len(rows))
            for row in rows:
                self.record("request", start, end=end, **row)

    def new_request(self) -> int:
        """Return the number of a request."""
        with self._lock:
            self._requests += 1
            return self._requests

    def list_members(self, number: int, members: Iterable[int]) -> None:
        """Name the members of a communicator whose first member this rank is."""
        with (self.folder / f"rank-{self.rank}.comms").open("a") as names:
            print(number, *members, file=names)

    def close(self) -> None:
        """Mark the trace as ended."""
        with self._lock:
            if self._file >= 0 and self._spill():
                self._note("ended")
                os.close(self._file)
                self._tail.unlink()
                self._file = -1

    def _note(self, field: str) -> None:
        os.pwrite(self._file, struct.pack("<i", 1), offset(HEADER, field))

    def _spill(self) -> bool:
        left = self._window[: self._used]
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            message = f"parcast: the trace of rank {self.rank} ends here: {error.strerror}"
            sys.stderr.write(f"{message}\n")
            self._note("full")
            os.close(self._file)
            self._file = -1
            return False
        self._window[: self._used] = bytes(self._used)
        self._used = 0
        return True
