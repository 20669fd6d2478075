"""Traces of ``parcast mpi trace``: the records of a run (see `tracer.records`) as columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from parcast_traces.errors import TraceError
from parcast_traces.trace.bulk import Bulk, record
from parcast_traces.trace.calls import (
    ALL,
    CODES,
    EXSCAN,
    IESEND,
    IRECV,
    ISEND,
    KINDS,
    NAMES,
    PROBE,
    RECV,
    SEND,
    SENDRECV,
    WAIT,
)  # fmt: skip
from parcast_traces.trace.columns import NONE, Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording
from parcast_traces.tracer import records
from parcast_traces.tracer.runs import RankRecords, Run, read_run

_SAME = {"mprobe": "probe", "improbe": "iprobe"}
#: Places in `NAMES` by the tracer's codes; 0 is no call, and a request stands behind its own.
_CODE = np.array([0, *(CODES.get(_SAME.get(name, name), 0) for name in records.CALLS)])


def read(path: Path) -> Trace:
    """Return the trace in a folder, or in that of one rank's file.

    Raises
    ------
    FileError
        If a rank's file is missing, or is none of this format.
    TraceError
        If no run can have left it.
    """
    return trace_of(read_run(path if path.is_dir() else path.parent), str(path))


def trace_of(run: Run, where: str, *, checked: bool = True) -> Trace:
    """Return a run as a trace; ``where`` names it in errors.

    Parameters
    ----------
    run
        The records.
    where
        The folder, as errors name it.
    checked
        Whether messages that lack their other side, and requests that are left open, are refused.

    Raises
    ------
    TraceError
        If no run can have left it.
    """
    recording = Recording(len(run.ranks), where, checked=checked)
    for number, members in run.communicators.items():
        recording.communicator(number, members)
    for rank, recorder, origin in zip(run.ranks, recording.ranks, run.origins, strict=True):
        _Calls(recorder, rank).record(origin)
    notes = () if run.whole else (
        "a rank was not recorded to its end, so its last calls are missing",
    )  # fmt: skip
    return recording.trace(tick=1e-9, comparable=run.comparable, notes=notes)


class _Calls:
    """The calls of one rank, side by side, as `Bulk` wants them."""

    def __init__(self, recorder: RankRecorder, rank: RankRecords) -> None:
        self.recorder = recorder
        calls = rank.calls()
        self.rows, requests = rank.rows[calls], np.delete(rank.rows, calls)
        self.call = _CODE[self.rows["call"]]
        self.kind = np.array(KINDS)[self.call]
        self.request = self.rows["request"].astype(np.int64)
        by = np.repeat(np.arange(len(self.rows)), self.rows["count"])
        waited = (requests["done"] == 1) & (self.kind[by] == WAIT)
        self.completed, self.by = requests["request"].astype(np.int64)[waited], by[waited]
        ended = rank.rows[rank.rows["done"] > 0][::-1]  # the last that tells of a request first
        numbers, first = np.unique(ended["request"], return_index=True)
        self.ended = ended[first]
        self.void = numbers[self.ended["done"] == 2].astype(np.int64)  # cancelled

    def record(self, origin: int) -> None:
        """Record them in their rank."""
        self._posted()
        rows, kind, exchange = self.rows, self.kind, self.kind == SENDRECV
        makes = ((kind >= ISEND) & (kind <= IESEND)) | (kind == IRECV)
        receives = (kind == RECV) | (kind == IRECV) | (kind == PROBE)
        message = ((kind >= SEND) & (kind <= IESEND)) | receives
        nobody = message & (
            (rows["peer"] == records.NONE) | (makes & np.isin(self.request, self.void))
        )
        self.void = np.concatenate([self.void, self.request[nobody & makes]])
        together = kind >= ALL
        out = (message & ~receives & ~nobody) | (exchange & (rows["peer"] != records.NONE))
        into = (receives & ~nobody) | (exchange & (rows["source"] != records.NONE))
        call = self.call.copy()
        call[(message | exchange) & ~out & ~into] = CODES["call"]
        call[exchange & out & ~into], call[exchange & into & ~out] = CODES["send"], CODES["recv"]
        freed = call == CODES["request_free"]
        call[freed & np.isin(self.request, self.void)] = CODES["call"]
        completed, by = self._completions(np.flatnonzero(call == CODES["request_free"]))
        side = np.where(exchange, rows["source"], rows["peer"])
        size = np.where(exchange, rows["received"], rows["bytes"])
        asks = (makes & ~nobody) | (kind > EXSCAN)
        record(self.recorder, Bulk(
            call=call, start=(rows["start"] - origin).astype(float),
            end=(rows["end"] - origin).astype(float),
            to=np.where(together, rows["peer"], self._peers(rows["peer"], out)), tag=rows["tag"],
            size=np.where(out | together, rows["bytes"], 0.0),
            source=self._peers(side, into),
            source_tag=np.where(exchange, rows["source_tag"], rows["tag"]),
            room=np.where(into, size, np.inf), comm=self._communicators(out | into | together),
            request=np.where(asks, self.request, NONE), site=self._sites(),
            completed=completed, by=by,
        ))  # fmt: skip

    def _posted(self) -> None:
        """Give receives what is known at their completion."""
        posted = np.flatnonzero((self.kind == IRECV) & np.isin(self.request, self.ended["request"]))
        ended = self.ended[np.searchsorted(self.ended["request"], self.request[posted])]
        self.rows = self.rows.copy()
        for name in ("peer", "tag", "bytes"):
            self.rows[name][posted] = ended[name]

    def _completions(self, freed: Any) -> tuple[Any, Any]:
        """Return what completes or is freed and by which call; not what is of no message."""
        real = ~np.isin(self.completed, self.void)
        return (
            np.concatenate([self.completed[real], self.request[freed]]),
            np.concatenate([self.by[real], freed]),
        )

    def _communicators(self, used: Any) -> Any:
        """Return the recording's numbers of communicators, 0 where a call has none."""
        names = self.rows["comm"]
        numbers = np.zeros(len(names), np.int64)
        which, first = np.unique(names[used], return_index=True)
        for name, event in zip(which.tolist(), np.flatnonzero(used)[first].tolist(), strict=True):
            label = f"rank {self.recorder.rank}, event {event}"
            number, _ = self.recorder.names.number(name, self.recorder.rank, label)
            numbers[used & (names == name)] = number
        return numbers

    def _sites(self) -> Any:
        """Return the recording's numbers of sites: what a call was, whatever became of it."""
        numbers = np.zeros(len(NAMES), np.int64)
        codes, first = np.unique(self.call, return_index=True)
        for code in codes[np.argsort(first)].tolist():
            numbers[code] = self.recorder.names.site(NAMES[code])
        return numbers[self.call]

    def _peers(self, peers: Any, meant: Any) -> Any:
        """Return the peers of calls that have one, `NONE` of others."""
        wrong = np.flatnonzero(meant & (peers < 0))
        if len(wrong):
            raise TraceError(
                "bad_peer",
                f"rank {self.recorder.rank}, event {wrong[0]}: the peer is rank {peers[wrong[0]]}",
                self.recorder.names.where,
            )
        return np.where(meant, peers, NONE).astype(np.int64)
