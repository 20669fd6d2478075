"""The files of real runs: bytes written to stable storage, and read from it."""

from __future__ import annotations

import os
from pathlib import Path

#: Bytes handed over at once.
_PIECE = 1 << 23


class Files:
    """A rank's own file and the one it shares, opened on first use.

    A write ends when its bytes are on stable storage (`os.fdatasync`). A read drops the file from
    the memory of the operating system first, and passes over the file again where it is short.
    """

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.folder, self.rank, self.size = folder, rank, size
        self._open: dict[str, int] = {}
        self._written: dict[str, int] = {}  # bytes of this rank
        self._piece = memoryview(bytes(_PIECE))

    def write(self, amount: int, file: str) -> None:
        """Write so many bytes, each rank of a shared file to its own region."""
        handle, start = self._handle(file), self._start(file, amount)
        for offset in range(0, amount, _PIECE):
            size = min(_PIECE, amount - offset)
            os.pwrite(handle, self._piece[:size], start + offset)
        os.fdatasync(handle)
        self._written[file] = max(amount, self._written.get(file, 0))

    def read(self, amount: int, file: str) -> None:
        """Read so many bytes of what was prepared or written."""
        if amount:
            handle, written = self._handle(file), self._written[file]
            os.posix_fadvise(handle, self._start(file, written), written, os.POSIX_FADV_DONTNEED)
            self.copy(amount, file)

    def copy(self, amount: int, file: str) -> None:
        """Read so many bytes, those that are in memory from there."""
        handle, written = self._handle(file), self._written[file]
        start, left = self._start(file, written), amount
        while left > 0:
            offset = (amount - left) % written
            size = min(_PIECE, left, written - offset)
            left -= len(os.pread(handle, size, start + offset)) or left

    def prepare(self, amount: int, file: str) -> None:
        """Write what later reads will find."""
        if amount > self._written.get(file, 0):
            self.write(amount, file)

    def _handle(self, file: str) -> int:
        if file not in self._open:
            name = "shared" if file == "shared" else f"own-{self.rank}"
            self._open[file] = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        return self._open[file]

    def _start(self, file: str, amount: int) -> int:
        return self.rank * amount if file == "shared" else 0
