"""Records of ranks that come in any order, and are wanted a rank at a time."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from parcast_traces.trace.spilling import full

#: Bytes of records that are held in memory; more of them go to a file, which goes with the process.
MOST_HELD = 64 << 20


class ByRank:
    """Records of one kind; each rank's are given back in the order in which they came."""

    def __init__(self, size: int, record: np.dtype[Any]) -> None:
        self.record = record
        self.file: IO[bytes] | None = None
        self.held = [bytearray() for _ in range(size)]
        self.places: list[list[tuple[int, int]]] = [[] for _ in range(size)]  #: in the file
        self.bytes = 0  #: held

    def add(self, rank: int, packed: bytes) -> None:
        """Take a record of a rank.

        Raises
        ------
        FileError
            If there is no room for it.
        """
        self.held[rank] += packed
        self.bytes += len(packed)
        if self.bytes > MOST_HELD:
            self._write()

    def of(self, rank: int) -> NDArray[Any]:
        """Return the records of a rank."""
        return np.concatenate(list(self.parts(rank)))

    def parts(self, rank: int) -> Iterator[NDArray[Any]]:
        """Yield the records of a rank in stretches, so that those of all ranks may be open."""
        for place, length in self.places[rank]:
            assert self.file is not None
            self.file.seek(place)
            yield np.frombuffer(self.file.read(length), self.record)
        yield np.frombuffer(bytes(self.held[rank]), self.record)

    def _write(self) -> None:
        if self.file is None:
            self.file = TemporaryFile(prefix="parcast-")  # noqa: SIM115  (as long as this)
            finalize(self, self.file.close)
        try:
            for held, places in zip(self.held, self.places, strict=True):
                if held:
                    places.append((self.file.seek(0, 2), len(held)))
                    self.file.write(held)
                    held.clear()
            self.file.flush()
        except OSError as error:
            raise full(error) from None
        self.bytes = 0
