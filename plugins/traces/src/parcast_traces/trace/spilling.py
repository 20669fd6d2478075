"""Events beyond the memory that they may take: packed in a file that goes with the process.

Ranks record in any order, and a trace has each rank's events in one stretch. So what ranks have
recorded is packed as it comes, in blocks of one rank, and a table finds the blocks of its rows.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError
from parcast_traces.trace.calls import KINDS, WAIT
from parcast_traces.trace.columns import COUNT, END, FIRST, KIND, NAME, START, Events, Ints
from parcast_traces.trace.packed_table import Column, PackedTable, Store

#: An event: the columns of `Events.whole`, and those of `Events.times`.
ROW = struct.Struct("=7i4d")
EVENT = np.dtype([("whole", np.int32, 7), ("times", np.float64, 4)])

#: Events of a block; fewer where many ranks have a block each in memory while a run is followed.
_MOST_OF_A_BLOCK, _LEAST_OF_A_BLOCK, _EVENTS_AT_ONCE = 1 << 14, 1 << 6, 1 << 20

_WHOLE, _TIMES = 7, 4  #: columns
#: Of a block's columns after those: the number of requests that the rank's waits completed before
#: it, and whether it has durations in place of ends.
_BEFORE, _DURATIONS = _WHOLE + _TIMES, _WHOLE + _TIMES + 1
_TYPES = tuple(np.dtype(kind) for kind in ["i4"] * _WHOLE + ["f8"] * _TIMES + ["i8"] * 2)
_SLOT = (np.dtype("i4"),)
_KIND_OF = np.array(KINDS, np.int32)  #: of a call, but for some that are one-sided


class Spill:
    """What ranks recorded, in the order in which it was given."""

    def __init__(self, size: int) -> None:
        self.most = min(max(_EVENTS_AT_ONCE // max(size, 1), _LEAST_OF_A_BLOCK), _MOST_OF_A_BLOCK)
        self.events, self.slots = Store(), Store()
        self.ranks, self.slot_ranks = array("q"), array("q")  #: of the blocks

    def take(self, rank: int, rows: bytes | bytearray, slots: array[int]) -> None:
        """Pack what a rank recorded since the last time.

        Raises
        ------
        FileError
            If there is no room for it.
        """
        events = np.frombuffer(bytes(rows), EVENT)
        for low in range(0, len(events), self.most):
            self.events.add(_columns_of(events[low : low + self.most]))
            self.ranks.append(rank)
        completed = np.array(slots, np.int32)
        for low in range(0, len(completed), self.most):
            self.slots.add([completed[low : low + self.most]])
            self.slot_ranks.append(rank)

    def joined(self, counts: Sequence[int], slots: Sequence[int]) -> Events:
        """Return all events with each rank's in one stretch, which are read as they are asked for.

        Parameters
        ----------
        counts, slots
            How many events and how many slots each rank has.

        Raises
        ------
        FileError
            If waits complete too many requests.
        """
        offsets, shifts = (np.cumsum([0, *lengths], dtype=np.int64) for lengths in (counts, slots))
        if shifts[-1] > np.iinfo(np.int32).max:
            raise FileError(f"the waits of this trace complete {shifts[-1]:,} requests, more than "
                            "are followed; cut it")  # fmt: skip
        blocks, begins = _in_order(self.ranks, self.events.counts)
        waits, places = _in_order(self.slot_ranks, self.slots.counts)
        total, ranks = int(offsets[-1]), self.ranks

        def columns_of(block: int) -> Column:
            return _event_columns(self.events.columns(block, _TYPES), int(shifts[ranks[block]]))

        def times_of(block: int) -> Column:
            column = columns_of(block)
            return lambda number: column(_WHOLE + number)

        return Events(
            offsets=offsets,
            whole=PackedTable(blocks=blocks, begins=begins, columns_of=columns_of,
                              shape=(total, _WHOLE), dtype=np.dtype(np.int32)),
            times=PackedTable(blocks=blocks, begins=begins, columns_of=times_of,
                              shape=(total, _TIMES), dtype=np.dtype(np.float64)),
            slots=PackedTable(blocks=waits, begins=places,
                              columns_of=lambda block: self.slots.columns(block, _SLOT),
                              shape=(int(shifts[-1]),), dtype=np.dtype(np.int32)),
        )  # fmt: skip


def _in_order(ranks: array[int], counts: array[int]) -> tuple[Ints, Ints]:
    """Return blocks rank by rank, and the rows at which they begin."""
    order = np.argsort(np.array(ranks, np.int64), kind="stable")
    return order, np.cumsum([0, *np.array(counts, np.int64)[order]], dtype=np.int64)


def _columns_of(events: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the columns of a block; of what others of them say only the difference from that."""
    whole, times = events["whole"], events["times"]
    columns = [*whole.T, *times.T]
    columns[KIND] = whole[:, KIND] - _KIND_OF[whole[:, NAME]]
    waits, before = whole[:, KIND] == WAIT, 0
    if waits.any():
        before = int(whole[waits, FIRST][0])
        columns[FIRST] = whole[:, FIRST].copy()
        columns[FIRST][waits] -= _completed(whole[waits, COUNT], before)
    durations = times[:, END] - times[:, START]
    ends = times[:, START] + durations
    has_durations = np.array_equal(durations, np.floor(durations)) and np.array_equal(
        ends.view(np.int64), np.ascontiguousarray(times[:, END]).view(np.int64)
    )
    if has_durations:
        columns[_WHOLE + END] = durations
    count = len(events)
    return [*columns, np.full(count, before), np.full(count, int(has_durations))]


def _completed(counts: NDArray[Any], before: int) -> NDArray[np.int32]:
    """Return how many requests were completed before each wait of a rank."""
    earlier: NDArray[np.int64] = before + np.cumsum(counts, dtype=np.int64) - counts
    return earlier.astype(np.int32)


def _event_columns(column: Column, shift: int) -> Column:
    """Return what gives the columns of events in place of the packed ones.

    ``shift`` is how many requests the waits of earlier ranks completed.
    """

    def kind() -> NDArray[Any]:
        return column(KIND) + _KIND_OF[column(NAME)]

    def first() -> NDArray[Any]:
        values, waits = column(FIRST), kind() == WAIT
        before = int(column(_BEFORE)[0]) + shift
        values[waits] += _completed(column(COUNT)[waits], before)
        return values

    def end() -> NDArray[Any]:
        values = column(_WHOLE + END)
        return column(_WHOLE + START) + values if column(_DURATIONS)[0] else values

    derived = {KIND: kind, FIRST: first, _WHOLE + END: end}
    return lambda number: derived[number]() if number in derived else column(number)
