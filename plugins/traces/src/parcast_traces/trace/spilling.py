"""Events beyond the memory that they may take: in files that go with the process.

Ranks record in any order, and a trace has each rank's events in one stretch. So what ranks have
recorded is written as it comes, and put in order once all of it is there.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Sequence
from mmap import ACCESS_COPY, mmap
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any

import numpy as np

from parcast.errors import FileError
from parcast_traces.trace.calls import WAIT
from parcast_traces.trace.columns import FIRST, KIND, Events

#: An event: the columns of `Events.whole`, and those of `Events.times`.
ROW = struct.Struct("=7i4d")
EVENT = np.dtype([("whole", np.int32, 7), ("times", np.float64, 4)])

#: How much is written to one file, which goes once it is put in order.
_MOST_OF_A_FILE = 1 << 30
_PAGE = 4096


class Spill:
    """What ranks recorded, in the order in which it was given."""

    def __init__(self) -> None:
        self.files: list[IO[bytes]] = []
        self.chunks: list[array[int]] = []  #: of each file: rank, events and slots, in turn

    def take(self, rank: int, rows: bytes | bytearray, slots: array[int]) -> None:
        """Write what a rank recorded since the last time.

        Raises
        ------
        FileError
            If there is no room for it.
        """
        if not rows:
            return
        if not self.files or self.files[-1].tell() > _MOST_OF_A_FILE:
            self.files.append(TemporaryFile(prefix="parcast-"))  # noqa: SIM115  (as long as it)
            self.chunks.append(array("q"))
        try:
            self.files[-1].write(rows)
            self.files[-1].write(slots.tobytes())
        except OSError as error:
            raise full(error) from None
        self.chunks[-1].extend((rank, len(rows) // ROW.size, len(slots)))

    def joined(self, counts: Sequence[int], slots: Sequence[int]) -> tuple[Events, mmap]:
        """Return all events with each rank's in one stretch, mapped from a file, and that file.

        Parameters
        ----------
        counts, slots
            How many events and how many slots each rank has.

        Raises
        ------
        FileError
            If there is no room for them.
        """
        offsets, shifts = (np.cumsum([0, *lengths], dtype=np.int64) for lengths in (counts, slots))
        shapes: Sequence[tuple[int, ...]] = (
            (int(offsets[-1]), 7),
            (int(offsets[-1]), 4),
            (int(shifts[-1]),),
        )
        kinds: Sequence[np.dtype[Any]] = [np.dtype(kind) for kind in ("i4", "f8", "i4")]
        tables = list(zip(shapes, kinds, strict=True))
        sizes = [int(np.prod(shape)) * kind.itemsize for shape, kind in tables]
        places = np.cumsum([0, *(-(-size // _PAGE) * _PAGE for size in sizes)]).tolist()
        with TemporaryFile(prefix="parcast-") as file:
            try:
                file.truncate(places[-1])
                self._write(file.fileno(), places, offsets[:-1].copy(), shifts[:-1].copy())
            except OSError as error:
                raise full(error) from None
            # private pages: never written, but compiled code takes writable tables only
            mapped = mmap(file.fileno(), 0, access=ACCESS_COPY)
        whole, times, completed = (
            np.frombuffer(mapped, kind, int(np.prod(shape)), place).reshape(shape)
            if np.prod(shape) else np.empty(shape, kind)
            for (shape, kind), place in zip(tables, places[:-1], strict=True)
        )  # fmt: skip
        return Events(offsets=offsets, whole=whole, times=times, slots=completed), mapped

    def _write(self, target: int, places: Sequence[int], events: Any, slots: Any) -> None:
        """Write every chunk to where its rank's next events, and its next slots, are."""
        first_slots = slots.copy()
        while self.files:
            with self.files.pop(0) as file:
                file.seek(0)
                chunks = np.array(self.chunks.pop(0)).reshape(-1, 3)
                for rank, count, completed in chunks.tolist():
                    rows = np.frombuffer(file.read(count * ROW.size), EVENT)
                    whole = rows["whole"].copy()
                    whole[whole[:, KIND] == WAIT, FIRST] += first_slots[rank]
                    at = (28 * events[rank], 32 * events[rank], 4 * slots[rank])
                    data = (whole.tobytes(), rows["times"].tobytes(), file.read(4 * completed))
                    for place, shift, table in zip(places[:-1], at, data, strict=True):
                        os.pwrite(target, table, int(place + shift))
                    events[rank] += count
                    slots[rank] += completed


def full(error: OSError) -> FileError:
    """Return what is raised where the disk is full."""
    return FileError(f"the events of this trace take more memory than they may, and there is no "
                     f"room for them in {gettempdir()} ({error.strerror}); set TMPDIR to a folder "
                     "on a larger disk")  # fmt: skip
