"""Records of ranks that come in any order, and are wanted a rank at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast_traces.trace.packed_table import Store

#: Bytes of records that are held in memory; more of them go to a file, packed.
MOST_HELD = 64 << 20
_MOST_OF_A_BLOCK = 1 << 14


class ByRank:
    """Records of one kind; each rank's are given back in the order in which they came."""

    def __init__(self, size: int, record: np.dtype[Any]) -> None:
        self.record = record
        self.store = Store()
        self.held = [bytearray() for _ in range(size)]
        self.blocks = [array("q") for _ in range(size)]
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
        kinds = [self.record[name] for name in self.record.names or ()]
        for block in self.blocks[rank]:
            column = self.store.columns(block, kinds)
            records = np.empty(self.store.counts[block], self.record)
            for number, name in enumerate(self.record.names or ()):
                records[name] = column(number)
            yield records
        yield np.frombuffer(bytes(self.held[rank]), self.record)

    def _write(self) -> None:
        for held, blocks in zip(self.held, self.blocks, strict=True):
            records = np.frombuffer(bytes(held), self.record)
            for low in range(0, len(records), _MOST_OF_A_BLOCK):
                part = records[low : low + _MOST_OF_A_BLOCK]
                blocks.append(len(self.store.counts))
                self.store.add([part[name] for name in self.record.names or ()])
            held.clear()
        self.bytes = 0
