"""A table in a file, packed: read a stretch at a time, as a part of an array is."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any
from weakref import finalize

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, UnsupportedError
from parcast_traces.trace.packing import pack, unpack

#: The share of free memory that one array may take, if it is larger than this.
_MOST_OF_MEMORY, _SMALL = 0.25, 64 << 20

#: Gives a column of a block by its number.
Column = Callable[[int], NDArray[Any]]


class Store:
    """Blocks of packed columns, one after the other in a file that goes with the process."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None
        self.size = 0  #: of the file
        self.places = array("q")  #: where blocks begin, and where the last one ends
        self.counts = array("q")  #: of rows

    def add(self, columns: Sequence[NDArray[Any]]) -> None:
        """Write a block.

        Raises
        ------
        FileError
            If there is no room for it.
        """
        data = pack(columns)
        try:
            if self.file is None:
                self.file = TemporaryFile(prefix="parcast-", buffering=0)  # noqa: SIM115
                finalize(self, self.file.close)
            written = 0
            while written < len(data):
                written += os.pwrite(self.file.fileno(), data[written:], self.size + written)
        except OSError as error:
            raise full(error) from None
        self.places.append(self.size)
        self.counts.append(len(columns[0]))
        self.size += len(data)

    def columns(self, block: int, kinds: Sequence[np.dtype[Any]]) -> Column:
        """Return what gives the columns of a block."""
        assert self.file is not None
        begin = self.places[block]
        end = self.places[block + 1] if block + 1 < len(self.places) else self.size
        data = os.pread(self.file.fileno(), end - begin, begin)
        return unpack(data, self.counts[block], kinds)


@attrs.frozen(eq=False, kw_only=True)
class PackedTable:
    """A table of blocks; what is read of it is an array, as of an array.

    Rows may be a number, a slice or an array, columns a number, a slice or a list.
    """

    blocks: NDArray[np.int64]  #: their numbers, in the order of their rows
    begins: NDArray[np.int64]  #: the first row of each, and the number of rows
    columns_of: Callable[[int], Column] = attrs.field(repr=False)  #: by a block's number
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """What it would take in memory."""
        return self.size * self.dtype.itemsize

    def __getitem__(self, index: Any) -> Any:
        rows, columns = index if isinstance(index, tuple) else (index, slice(None))
        width = self.shape[1] if len(self.shape) > 1 else 1
        chosen = np.arange(width)[columns]
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            part = self._stretch(low, high, np.atleast_1d(chosen))[::step]
        elif isinstance(rows, int | np.integer):
            row = int(rows) % len(self)
            part = self._stretch(row, row + 1, np.atleast_1d(chosen))[0]
        else:
            part = self._rows(np.asarray(rows), np.atleast_1d(chosen))
        return part[..., 0] if np.ndim(chosen) == 0 or len(self.shape) == 1 else part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        table: NDArray[Any] = self[:]
        return table if dtype is None else table.astype(dtype)

    def copy(self) -> NDArray[Any]:
        """Return all of it, in memory."""
        return self.__array__()

    def block_end(self, row: int) -> int:
        """Return where the block ends that has the row before this one."""
        return int(self.begins[np.searchsorted(self.begins, row)])

    def _stretch(self, low: int, high: int, columns: NDArray[np.int64]) -> NDArray[Any]:
        filled = self._room(max(high - low, 0), len(columns))
        if high <= low:
            return filled
        first = int(np.searchsorted(self.begins, low, side="right")) - 1
        last = int(np.searchsorted(self.begins, high))
        for block in range(first, last):
            begin, end = self.begins[block], self.begins[block + 1]
            inside = slice(max(low - begin, 0), min(high, end) - begin)
            into = slice(max(begin - low, 0), min(end, high) - low)
            column = self.columns_of(int(self.blocks[block]))
            for at, number in enumerate(columns.tolist()):
                filled[into, at] = column(number)[inside]
        return filled

    def _rows(self, rows: NDArray[Any], columns: NDArray[np.int64]) -> NDArray[Any]:
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64) % len(self)
        filled = self._room(len(rows), len(columns))
        if not len(rows):
            return filled
        blocks = np.searchsorted(self.begins, rows, side="right") - 1
        order = np.argsort(blocks, kind="stable")
        which, firsts = np.unique(blocks[order], return_index=True)
        for block, at in zip(which.tolist(), np.split(order, firsts[1:]), strict=True):
            column = self.columns_of(int(self.blocks[block]))
            for into, number in enumerate(columns.tolist()):
                filled[at, into] = column(number)[rows[at] - self.begins[block]]
        return filled

    def _room(self, rows: int, columns: int) -> NDArray[Any]:
        """Return an array to fill.

        Raises
        ------
        UnsupportedError
            If it would not fit in memory.
        """
        needed = rows * columns * self.dtype.itemsize
        if needed > _SMALL and needed > _MOST_OF_MEMORY * (free := free_memory()):
            raise UnsupportedError(
                f"this trace has {len(self):,} events, which were read into a file; to answer, "
                f"{needed / 1e9:.1f} GB of them would be in memory at once, and "
                f"{free / 1e9:.1f} GB are free; ask 'parcast show' or 'parcast perturb run', "
                "which look at a part at a time, or cut the trace"
            )
        return np.empty((rows, columns), self.dtype)


def free_memory() -> int:
    """Return how many bytes of memory no program needs, or all that there are."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(text.partition("MemAvailable:")[2].split()[0])
    except (OSError, IndexError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def full(error: OSError) -> FileError:
    """Return what is raised where the disk is full."""
    return FileError(f"the events of this trace take more memory than they may, and there is no "
                     f"room for them in {gettempdir()} ({error.strerror}); set TMPDIR to a folder "
                     "on a larger disk")  # fmt: skip
