"""Arrays with a value for each channel of a run: in memory, and beyond a size in files.

Such a file lies in the folder for temporary files and goes with the array. It is mapped, so that
parts of it are in memory while they are used.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from mmap import MADV_DONTNEED, mmap
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from parcast_traces.trace.packed_table import full

#: Bytes of an array that are held in memory.
MOST_HELD = 32 << 20

#: Values that are filled or compared at once.
PART = 1 << 20


class Roomy:
    """An array whose values all begin as one number.

    Raises
    ------
    FileError
        If there is no room for it.
    """

    def __init__(self, length: int, kind: Any, value: float = 0) -> None:
        self.values: NDArray[Any]
        self._mapped: mmap | None = None
        size = length * np.dtype(kind).itemsize
        if size <= MOST_HELD:
            self.values = np.full(length, value, kind)
            return
        with _file() as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk is known before it is used
            except OSError as error:
                raise full(error) from None
            self._mapped = mmap(file.fileno(), size)
        self.values = np.frombuffer(self._mapped, kind)
        if value:
            for low in range(0, length, PART):
                self.values[low : low + PART] = value
                self.release()

    def release(self) -> None:
        """Let go of the parts of a file that are in memory."""
        if self._mapped is not None:
            self._mapped.madvise(MADV_DONTNEED)

    def grown(self, length: int) -> Roomy:
        """Return these values in a longer array, which ends in zeros."""
        longer = Roomy(length, self.values.dtype)
        for low in range(0, len(self.values), PART):
            part = self.values[low : low + PART]
            longer.values[low : low + len(part)] = part
            self.release()
            longer.release()
        return longer


def roomy_columns(length: int, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return columns of zeros by their names, of some types of `array`.

    Raises
    ------
    FileError
        If there is no room for them.
    """
    return {name: Roomy(length, kind).values for name, kind in kinds.items()}


class GrowingColumns:
    """Columns of numbers by their names, of some types of `array`, to which rows are added."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._names = tuple(kinds)
        self._kind = np.dtype([(name, f"<{code}") for name, code in kinds.items()])
        self._pack = struct.Struct("<" + "".join(kinds.values())).pack
        self._rows = bytearray()  #: one after the other, which a call adds
        self._files: tuple[IO[bytes], ...] = ()
        self._written = 0  #: rows
        widest = max(np.dtype(code).itemsize for code in kinds.values())
        self._most = MOST_HELD // widest * self._kind.itemsize

    def __len__(self) -> int:
        return self._written + len(self._rows) // self._kind.itemsize

    def append(self, row: tuple[int, ...]) -> None:
        """Add a row.

        Raises
        ------
        OverflowError
            If a number is beyond its column's type.
        FileError
            If there is no room for it.
        """
        try:
            self._rows += self._pack(*row)
        except struct.error:
            raise OverflowError(f"{row} is beyond its columns") from None
        if len(self._rows) >= self._most:
            self._write()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns, which rows are no longer added to."""
        if not self._files:
            return dict(self._columns())
        self._write()
        return {
            name: np.frombuffer(mmap(file.fileno(), 0), self._kind[name])
            for name, file in zip(self._names, self._files, strict=True)
        }

    def _columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the columns of the rows that are held."""
        rows = np.frombuffer(self._rows, self._kind)
        for name in self._names:
            yield name, np.ascontiguousarray(rows[name])

    def _write(self) -> None:
        try:
            if not self._files:
                self._files = tuple(_file() for _ in self._names)
                for file in self._files:
                    finalize(self, file.close)
            for file, (_, column) in zip(self._files, self._columns(), strict=True):
                data = column.data.cast("B")
                while len(data):
                    data = data[file.write(data) :]
        except OSError as error:
            raise full(error) from None
        self._written = len(self)
        self._rows = bytearray()


def _file() -> IO[bytes]:
    return TemporaryFile(prefix="parcast-", buffering=0)
