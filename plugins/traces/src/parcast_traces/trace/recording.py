"""How readers make traces: an event at a time, checked as it comes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import attrs
import numpy as np

from parcast.quantities import format_seconds
from parcast_traces.trace.calls import CODES, WAIT
from parcast_traces.trace.checks import check
from parcast_traces.trace.columns import FIRST, KIND, NAME, Events, Trace
from parcast_traces.trace.limits import current_limit
from parcast_traces.trace.names import Names
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.spilling import EVENT, Spill

#: Bytes of events that are held in memory; more of them go to files.
MOST_HELD = 256 << 20

_INIT, _FINALIZE = CODES["init"], CODES["finalize"]
_PICKY = [CODES[name] for name in ("waitany", "waitsome", "test", "testall", "testany", "testsome",
                                   "iprobe")]  # fmt: skip


class Recording:
    """A trace in the making: a communicator of all ranks, and a `RankRecorder` for each."""

    def __init__(self, size: int, where: str = "", *, checked: bool = True) -> None:
        self.names = Names(size, where, checked=checked)
        self._most = MOST_HELD // EVENT.itemsize
        self._step = max(1, min(self._most // max(size, 1) // 4, 4096))
        self._counted = [0] * size  #: events that are known to be held, or spilled
        self._held, self._spill = 0, Spill(size)
        self._limit, self._total = current_limit(), 0  #: events of those that are counted
        self.ranks = [
            RankRecorder(self.names, rank, self._grew, self._step) for rank in range(size)
        ]

    def communicator(self, name: Hashable, members: Sequence[int]) -> None:
        """Add a communicator, or replace the one of this name; members are ranks of the whole."""
        self.names.communicator(name, members)

    def trace(
        self,
        *,
        tick: float | None = None,
        comparable: bool = False,
        timed: bool = True,
        notes: tuple[str, ...] = (),
    ) -> Trace:
        """Return the trace.

        Raises
        ------
        TraceError
            If no run can have left it.
        """
        names = self.names
        for rank in self.ranks if names.checked else ():
            rank.check_closed()
        regions = tuple(region for _, region in names.sites)
        trace = Trace(
            where=names.where,
            events=self._events(),
            channels=names.channels(),
            communicators=tuple(np.array(members, np.int32) for members in names.members),
            labels=tuple(names.labels),
            sites=tuple(f"{name} in {region}" if region else name for name, region in names.sites),
            regions=regions if any(regions) else (),
            requests=np.array([rank.slots_used for rank in self.ranks], np.int32),
            tick=tick,
            comparable=comparable,
            timed=timed,
            checked=names.checked,
        )
        trace = attrs.evolve(trace, notes=(*notes, *self._notes(trace)))
        if names.checked:
            check(trace)
        return trace

    def _grew(self, recorder: RankRecorder) -> None:
        """Write all events to files, once they take as much memory as they may."""
        recorder.asks_at = recorder.count + self._step
        grown = recorder.count - self._counted[recorder.rank]
        self._held, self._total = self._held + grown, self._total + grown
        self._counted[recorder.rank] = recorder.count
        if self._limit is not None:
            self._limit.check(self.names.where, self._total)
        if self._held > self._most:
            self._write()
            counted = [rank.count for rank in self.ranks]
            self._total += sum(counted) - sum(self._counted)
            self._held, self._counted = 0, counted

    def _write(self) -> None:
        for rank in self.ranks:
            self._spill.take(rank.rank, rank.rows, rank.slots)
            rank.rows.clear()
            del rank.slots[:]

    def _events(self) -> Events:
        """Return the events of all ranks, which are in memory or in a file."""
        counts = [rank.count for rank in self.ranks]
        completed = [rank.completed for rank in self.ranks]
        if len(self._spill.events.counts):
            self._write()
            return self._spill.joined(counts, completed)
        offsets, shifts = (
            np.cumsum([0, *lengths], dtype=np.int64) for lengths in (counts, completed)
        )
        whole = np.empty((offsets[-1], 7), np.int32)
        times = np.empty((offsets[-1], 4), np.float64)
        for rank, low, high in zip(self.ranks, offsets[:-1], offsets[1:], strict=True):
            events = np.frombuffer(rank.rows, EVENT)
            whole[low:high], times[low:high] = events["whole"], events["times"]
            del events  # or the rows would be held, twice as many as there are
            rank.rows = bytearray()
        waits = whole[:, KIND] == WAIT
        whole[waits, FIRST] += np.repeat(shifts[:-1], counts)[waits].astype(np.int32)
        slots = np.concatenate([np.empty(0, np.int32), *(rank.slots for rank in self.ranks)])
        return Events(offsets=offsets, whole=whole, times=times, slots=slots)

    def _notes(self, trace: Trace) -> Iterator[str]:
        """Yield the notes that any trace may need."""
        lost = [
            recorder.rank for recorder in self.ranks
            if recorder.first_call == _INIT and recorder.last_call != _FINALIZE
        ]  # fmt: skip
        if len(lost) == 1:
            yield (f"rank {lost[0]} begins with MPI_Init and does not come to MPI_Finalize: is a "
                   "file cut off?")  # fmt: skip
        if len(lost) > 1:
            yield (f"{len(lost)} ranks, rank {lost[0]} the first, begin with MPI_Init and do not "
                   "come to MPI_Finalize: is a file cut off?")  # fmt: skip
        names = (trace.events.whole[part, NAME] for part in trace.parts())
        if picky := sum(int(np.isin(called, _PICKY).sum()) for called in names):
            yield (f"{picky:,} calls that take what comes first (waitany, waitsome, tests, iprobe) "
                   "take what they took when recorded, even if another would be first")  # fmt: skip
        if count := self.names.wild:
            yield (f"{count:,} receives from any source or of any tag keep the messages that they "
                   "got when recorded, even where another would be first")  # fmt: skip


def unread(seconds: float) -> Iterator[str]:
    """Yield the note on time that no event holds."""
    if seconds > 0:
        yield (
            f"{format_seconds(seconds)} of all ranks together, after their last MPI calls, are "
            "left out"
        )
