"""How readers make traces: an event at a time, checked as it comes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from parcast_traces.trace.calls import CODES, WAIT
from parcast_traces.trace.checks import check
from parcast_traces.trace.columns import FIRST, KIND, NAME, Events, Trace
from parcast_traces.trace.names import Names
from parcast_traces.trace.rank_recorder import TIMES, WHOLE, RankRecorder

_INIT, _FINALIZE, _FREE = CODES["init"], CODES["finalize"], CODES["request_free"]
_PICKY = [CODES[name] for name in ("waitany", "waitsome", "test", "testall", "testany", "testsome",
                                   "iprobe")]  # fmt: skip


class Recording:
    """A trace in the making: a communicator of all ranks, and a `RankRecorder` for each."""

    def __init__(self, size: int, where: str = "", *, checked: bool = True) -> None:
        self.names = Names(size, where, checked=checked)
        self.ranks = [RankRecorder(self.names, rank) for rank in range(size)]

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
        counts = [len(rank.columns["call"]) for rank in self.ranks]
        shifts = np.cumsum([0, *(len(rank.slots) for rank in self.ranks)])
        whole, times = self._joined(WHOLE, np.int32), self._joined(TIMES, np.float64)
        waits = whole[:, KIND] == WAIT
        whole[waits, FIRST] += np.repeat(shifts[:-1], counts)[waits].astype(np.int32)
        regions = tuple(region for _, region in names.sites)
        trace = Trace(
            where=names.where,
            events=Events(
                offsets=np.cumsum([0, *counts], dtype=np.int64),
                slots=np.concatenate([np.empty(0, np.int32), *(r.slots for r in self.ranks)]),
                whole=whole,
                times=times,
            ),
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
            notes=(*notes, *self._notes(whole[:, NAME])),
        )
        if names.checked:
            check(trace)
        return trace

    def _notes(self, calls: Any) -> Iterator[str]:
        """Yield the notes that any trace may need."""
        lost = [rank for rank, own in enumerate(self.ranks) if _is_cut(own.columns["call"])]
        if len(lost) == 1:
            yield (f"rank {lost[0]} begins with MPI_Init and does not come to MPI_Finalize: is a "
                   "file cut off?")  # fmt: skip
        if len(lost) > 1:
            yield (f"{len(lost)} ranks, rank {lost[0]} the first, begin with MPI_Init and do not "
                   "come to MPI_Finalize: is a file cut off?")  # fmt: skip
        if picky := int(np.isin(calls, _PICKY).sum()):
            yield (f"{picky:,} calls that take what comes first (waitany, waitsome, tests, iprobe) "
                   "take what they took when recorded, even if another would be first")  # fmt: skip
        if count := self.names.wild:
            yield (f"{count:,} receives from any source or of any tag keep the messages that they "
                   "got when recorded, even where another would be first")  # fmt: skip

    def _joined(self, names: Sequence[str], kind: Any) -> Any:
        """Return columns of all ranks side by side, one rank after the other."""
        table = np.empty((sum(len(r.columns["call"]) for r in self.ranks), len(names)), kind)
        at = 0
        for rank in self.ranks:
            count = len(rank.columns["call"])
            for column, name in enumerate(names):
                if count:
                    table[at : at + count, column] = np.frombuffer(rank.columns[name], kind)
            at += count
        return table


def _is_cut(calls: Sequence[float]) -> bool:
    """Tell whether a rank begins with MPI_Init and does not end, but for requests freed, so."""
    last = next((call for call in reversed(calls) if call != _FREE), _FINALIZE)
    return bool(calls) and calls[0] == _INIT and last != _FINALIZE


def unread(seconds: float) -> Iterator[str]:
    """Yield the note on time that no event holds."""
    if seconds > 0:
        yield f"{seconds:.6g} s of all ranks together, after their last MPI calls, are left out"
