"""A long trace in a file: only what the kernel needs next of it is in memory.

The system maps half a megabyte or more of a file at a touch, and ranks touch it in as many
places as there are ranks. So their next events are copied into empty tables as long as the
file's, of which a page takes memory only once it is written to.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from parcast_perturb.propagation.state import (
    CALL,
    CURSOR,
    OPENER,
    REQUEST_KIND,
    REQUESTS,
    TARGET,
    State,
    Table,
)
from parcast_traces.trace.calls import WAIT
from parcast_traces.trace.columns import COUNT, FIRST, KIND, Floats, Ints, Trace
from parcast_traces.trace.packed_table import PackedTable

#: Traces of more events are not held in memory; of these, about so many are.
MOST_EVENTS = 1 << 20
_EVENTS = 1 << 18


class Window:
    """The tables of a trace in a file, around where its ranks are."""

    def __init__(self, trace: Trace, quantum: int, calls: Floats) -> None:
        self.trace, events = trace, trace.events
        self._whole, self._times = _SparseTable(events.whole), _SparseTable(events.times)
        self._slots = _SparseTable(events.slots)
        self.table = Table(
            self._whole.table, self._times.table, self._slots.table, events.offsets, calls
        )  # fmt: skip
        self._quantum = quantum
        self.rounds = max(1, _EVENTS // (quantum * max(trace.size, 1)))
        self._loaded = events.offsets[:-1].copy()
        self._kept = events.offsets[:-1].copy()
        self._waits = np.full((trace.size, 3), -1)  # slots: the rank's first, kept from, loaded to

    def move(self, state: State) -> None:
        """Copy what ranks reach in the next rounds, and let go of what they have left."""
        begin, end = self.trace.events.offsets[:-1], self.trace.events.offsets[1:]
        keep = _needed(begin + state.rank[:, CURSOR] - 1, state)
        reach = int(state.counters[TARGET]) + self.rounds * self._quantum
        until = np.minimum(begin + reach, end)
        for rank, (low, high) in enumerate(zip(keep.tolist(), until.tolist(), strict=True)):
            further = high > self._loaded[rank]
            to = _whole_blocks(self.trace.events.whole, high) if further else high
            self._move(rank, max(low, int(begin[rank])), to)
            self.trace.release()

    def _move(self, rank: int, low: int, high: int) -> None:
        first, kept_from, loaded = (
            int(bounds[rank]) for bounds in (self.trace.events.offsets, self._kept, self._loaded)
        )
        for room in (self._whole, self._times):
            room.copy(loaded, high)
            room.drop(first, kept_from, low)
        self._kept[rank], self._loaded[rank] = low, max(high, loaded)
        rows = self._whole.table[low : self._loaded[rank]]
        waits = rows[(rows[:, KIND] == WAIT) & (rows[:, COUNT] > 0)]
        if len(waits):
            self._move_slots(rank, int(waits[0, FIRST]), int(waits[-1, FIRST] + waits[-1, COUNT]))

    def _move_slots(self, rank: int, low: int, high: int) -> None:
        if self._waits[rank, 0] < 0:
            self._waits[rank] = low
        first, kept_from, loaded = self._waits[rank].tolist()
        self._slots.copy(max(loaded, low), high)
        self._slots.drop(first, kept_from, low)
        self._waits[rank, 1:] = low, max(high, loaded)


def _needed(before: Ints, state: State) -> Ints:
    """Return the first event of each rank that is still asked for.

    That is the one before where the rank is, or one whose collective is still to be waited for.
    """
    rows = before.copy()
    open_calls = np.flatnonzero(state.request[:, REQUEST_KIND] == CALL)
    ranks = np.searchsorted(state.rank[:, REQUESTS], open_calls, side="right") - 1
    np.minimum.at(rows, ranks, state.request[open_calls, OPENER])
    return rows


def _whole_blocks(table: Any, high: int) -> int:
    """Return up to where rows are read along with those before ``high``."""
    return table.block_end(high) if isinstance(table, PackedTable) else high


class _SparseTable:
    """A table that is as long as one in a file, and empty."""

    def __init__(self, source: Any) -> None:
        self.source = source
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        self._map = mmap.mmap(-1, max(source.nbytes, 1), flags=flags)
        self.table = np.frombuffer(self._map, source.dtype, source.size).reshape(source.shape)
        self._row = source.nbytes // max(len(source), 1)

    def copy(self, low: int, high: int) -> None:
        """Fill rows from the file."""
        self.table[low:high] = self.source[low:high]

    def drop(self, first: int, kept_from: int, low: int) -> None:
        """Give back the memory of a rank's rows before ``low``; ``first`` is the rank's first."""
        page = mmap.PAGESIZE
        begin = max(
            -(-first * self._row // page), kept_from * self._row // page
        )  # the rank's alone
        end = low * self._row // page
        if end > begin:
            self._map.madvise(mmap.MADV_DONTNEED, begin * page, (end - begin) * page)
