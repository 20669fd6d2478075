"""Traces of ``parcast mpi trace``: a folder with a binary file for each rank.

``rank-N.trace`` is little-endian: a header of 64 bytes, then records of 64 bytes, as the two types
here say. A record is whole if its ``call`` is not 0. Of a rank that came to no end the last records
are in ``rank-N.tail``. A call that completes requests is followed by ``count`` records of the call
``request``. ``rank-N.comms`` names in lines ``ID RANK RANK ...`` the communicators whose first
member this rank is; 0 is all ranks, and peers are ranks of all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
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
from parcast_traces.trace.recording import RankRecorder, Recording

MAGIC = b"PARCAST1"
_HEADER = np.dtype([
    ("magic", "S8"), ("version", "<i4"), ("record", "<i4"), ("rank", "<i4"), ("size", "<i4"),
    ("ended", "<i4"), ("full", "<i4"), ("day", "<i8"), ("clock", "<i8"), ("reserved", "<i8", (2,)),
])  # fmt: skip
_RECORD = np.dtype([
    ("start", "<i8"), ("end", "<i8"), ("bytes", "<i8"), ("received", "<i8"), ("peer", "<i4"),
    ("tag", "<i4"), ("source", "<i4"), ("source_tag", "<i4"), ("request", "<u4"), ("comm", "<u4"),
    ("call", "<u2"), ("done", "<u2"), ("count", "<u4"),
])  # fmt: skip

#: The calls behind the codes, from 1.
_CALLS = (
    "init", "finalize", "call", "request", "request_free", "probe", "iprobe",
    "send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend",
    "recv", "irecv", "mprobe", "improbe", "sendrecv",
    "wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome",
    "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
    "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
    "ibarrier", "ibcast", "ireduce", "iallreduce", "igather", "igatherv", "iscatter", "iscatterv",
    "iallgather", "iallgatherv", "ialltoall", "ialltoallv", "ialltoallw",
    "ireduce_scatter", "ireduce_scatter_block", "iscan", "iexscan",
    "comm_dup", "comm_split", "comm_create",
)  # fmt: skip
_ALIKE = {"mprobe": "probe", "improbe": "iprobe"}
_REQUEST = 1 + _CALLS.index("request")
#: Their places in `NAMES`; 0 is no call, and a request stands behind its own.
_CODE = np.array([0, *(CODES.get(_ALIKE.get(name, name), 0) for name in _CALLS)])

#: A peer where a call has none.
_NONE = -1000

#: Clocks of one host agree; those of two, only by chance this well.
_SAME_CLOCK = 1_000_000


@attrs.frozen(eq=False)
class _Rank:
    rank: int
    size: int
    whole: bool  #: recorded to its end
    offset: int  #: ns from its clock to the time of day
    rows: Any = attrs.field(repr=False)

    @property
    def calls(self) -> Any:
        """Where the calls are; the rows of the requests that one was given come after it."""
        found = np.flatnonzero(self.rows["call"] != _REQUEST)
        follow = np.diff(np.append(found, len(self.rows))) - 1
        wrong = np.flatnonzero(follow != self.rows["count"][found])
        if len(wrong) or (len(self.rows) and not len(found)) or (len(found) and found[0]):
            said = "is damaged: a request does not stand behind its call"
            raise FileError(f"the trace of rank {self.rank} {said}")
        return found


def read(path: Path) -> Trace:
    """Return the trace in a folder, or in that of one rank's file.

    Raises
    ------
    FileError
        If a rank's file is missing, or is none of this format.
    TraceError
        If no run can have left it.
    """
    folder = path if path.is_dir() else path.parent
    ranks = sorted(map(_rank, folder.glob("rank-*.trace")), key=lambda one: one.rank)
    if not ranks:
        raise FileError(f"{folder} has no rank-N.trace")
    missing = sorted(set(range(ranks[0].size)) - {one.rank for one in ranks})
    if missing or len({one.size for one in ranks}) > 1:
        lost = f"rank {missing[0]}" if missing else "a rank of another run"
        raise FileError(f"{folder}: the run had {ranks[0].size} ranks, and {lost} has no file here")
    recording = Recording(len(ranks), str(path))
    for file in sorted(folder.glob("rank-*.comms")):
        for number, members in _members(file).items():
            recording.communicator(number, members)
    comparable = np.ptp([one.offset for one in ranks]) < _SAME_CLOCK
    firsts = [int(one.rows["start"][0]) if len(one.rows) else 0 for one in ranks]
    for one, recorder, first in zip(ranks, recording.ranks, firsts, strict=True):
        _Calls(recorder, one).record(min(firsts) if comparable else first)
    notes = () if all(one.whole for one in ranks) else (
        "a rank was not recorded to its end, so its last calls are missing",
    )  # fmt: skip
    return recording.trace(tick=1e-9, comparable=bool(comparable), notes=notes)


def _members(file: Path) -> Mapping[int, list[int]]:
    found = {}
    for line, text in enumerate(file.read_text("ascii", errors="replace").splitlines(), 1):
        try:
            number, *members = map(int, text.split())
        except ValueError:
            raise FileError(f"{file}:{line}: a communicator is a number and its ranks") from None
        found[number] = members
    return found


def _rank(path: Path) -> _Rank:
    """Return one rank's records, without what came after the last whole one."""
    data = np.fromfile(path, np.uint8)
    if len(data) < _HEADER.itemsize or bytes(data[:8]) != MAGIC:
        raise FileError(f"{path} is no trace of parcast: it does not begin with {MAGIC.decode()}")
    header = data[: _HEADER.itemsize].view(_HEADER)[0]
    if (header["version"], header["record"]) != (1, _RECORD.itemsize):
        raise FileError(f"{path}: the trace has version {header['version']}; 1 is read")
    rows = _rows(data[_HEADER.itemsize :])
    if (tail := path.with_suffix(".tail")).exists():
        more = _rows(np.fromfile(tail, np.uint8))
        if not (len(rows) and len(more) and more["end"][0] <= rows["end"][-1]):
            rows = np.concatenate([rows, more])
    ended = bool(header["ended"]) and not header["full"]
    if ended and len(data) % _RECORD.itemsize:
        raise FileError(f"{path}: rank {header['rank']}: it is cut off inside record {len(rows)}")
    wrong = np.flatnonzero((rows["call"] > len(_CALLS)) | (rows["end"] < rows["start"]))
    if len(wrong):
        raise FileError(f"{path}: record {wrong[0]} is damaged")
    parents = np.flatnonzero(rows["count"])
    if len(parents) and parents[-1] + rows["count"][parents[-1]] >= len(rows):
        rows = rows[: parents[-1]]
    return _Rank(
        int(header["rank"]), int(header["size"]), ended,
        int(header["day"]) - int(header["clock"]), rows,
    )  # fmt: skip


def _rows(data: Any) -> Any:
    count = len(data) // _RECORD.itemsize
    rows = data[: count * _RECORD.itemsize].view(_RECORD)
    holes = np.flatnonzero(rows["call"] == 0)
    return rows[: holes[0]] if len(holes) else rows


class _Calls:
    """The calls of one rank, side by side, as `Bulk` wants them."""

    def __init__(self, recorder: RankRecorder, one: _Rank) -> None:
        self.recorder = recorder
        self.rows, below = one.rows[one.calls], np.delete(one.rows, one.calls)
        self.call = _CODE[self.rows["call"]]
        self.kind = np.array(KINDS)[self.call]
        self.request = self.rows["request"].astype(np.int64)
        self.completed = below["request"].astype(np.int64)
        self.by = np.repeat(np.arange(len(self.rows)), self.rows["count"])
        waited = (below["done"] == 1) & (self.kind[self.by] == WAIT)
        self.completed, self.by = self.completed[waited], self.by[waited]
        ended = one.rows[one.rows["done"] > 0][::-1]  # the last that tells of a request first
        which, first = np.unique(ended["request"], return_index=True)
        self.ended = ended[first]
        self.void = which[self.ended["done"] == 2].astype(np.int64)  # cancelled

    def record(self, origin: int) -> None:
        """Record them in their rank."""
        self._posted()
        rows, kind, exchange = self.rows, self.kind, self.kind == SENDRECV
        makes = ((kind >= ISEND) & (kind <= IESEND)) | (kind == IRECV)
        receives = (kind == RECV) | (kind == IRECV) | (kind == PROBE)
        message = ((kind >= SEND) & (kind <= IESEND)) | receives
        nobody = message & ((rows["peer"] == _NONE) | (makes & np.isin(self.request, self.void)))
        self.void = np.concatenate([self.void, self.request[nobody & makes]])
        together = kind >= ALL
        out = (message & ~receives & ~nobody) | (exchange & (rows["peer"] != _NONE))
        into = (receives & ~nobody) | (exchange & (rows["source"] != _NONE))
        call = self.call.copy()
        call[(message | exchange) & ~out & ~into] = CODES["call"]
        call[exchange & out & ~into], call[exchange & into & ~out] = CODES["send"], CODES["recv"]
        side = np.where(exchange, rows["source"], rows["peer"])
        size = np.where(exchange, rows["received"], rows["bytes"])
        asks = (makes & ~nobody) | (kind > EXSCAN)
        kept, completed, by = self._completions()
        many = Bulk(
            call=call, start=(rows["start"] - origin).astype(float),
            end=(rows["end"] - origin).astype(float),
            to=np.where(together, rows["peer"], self._known(rows["peer"], out)), tag=rows["tag"],
            size=np.where(out | together, rows["bytes"], 0.0),
            source=self._known(side, into),
            source_tag=np.where(exchange, rows["source_tag"], rows["tag"]),
            room=np.where(into, size, np.inf), comm=self._communicators(out | into | together),
            request=np.where(asks, self.request, NONE), site=self._sites(),
            completed=completed, by=by,
        )  # fmt: skip
        record(self.recorder, many if kept.all() else _those(many, kept))

    def _posted(self) -> None:
        """Give receives what is known at their completion."""
        posted = np.flatnonzero((self.kind == IRECV) & np.isin(self.request, self.ended["request"]))
        found = self.ended[np.searchsorted(self.ended["request"], self.request[posted])]
        self.rows = self.rows.copy()
        for name in ("peer", "tag", "bytes"):
            self.rows[name][posted] = found[name]

    def _completions(self) -> tuple[Any, Any, Any]:
        """Return which calls are kept, what completes and by which of them.

        Of requests that are of no message nothing is told.
        """
        freed = self.call == CODES["request_free"]
        void = np.isin(self.completed, self.void)
        kept = ~(freed & np.isin(self.request, self.void))
        freed = np.flatnonzero(freed & kept)
        by = np.concatenate([self.by[~void], freed])
        completed = np.concatenate([self.completed[~void], self.request[freed]])
        return kept, completed, (np.cumsum(kept) - 1)[by]

    def _communicators(self, used: Any) -> Any:
        """Return the recording's numbers of communicators, 0 where a call has none."""
        names = self.rows["comm"]
        found = np.zeros(len(names), np.int64)
        which, first = np.unique(names[used], return_index=True)
        for name, event in zip(which.tolist(), np.flatnonzero(used)[first].tolist(), strict=True):
            place = f"rank {self.recorder.rank}, event {event}"
            number, _ = self.recorder.recording.number(name, self.recorder.rank, place)
            found[used & (names == name)] = number
        return found

    def _sites(self) -> Any:
        """Return the recording's numbers of sites: what a call was, whatever became of it."""
        numbers = np.zeros(len(NAMES), np.int64)
        which, first = np.unique(self.call, return_index=True)
        for code in which[np.argsort(first)].tolist():
            numbers[code] = self.recorder.recording.site(NAMES[code])
        return numbers[self.call]

    def _known(self, peers: Any, meant: Any) -> Any:
        """Return the peers of calls that have one, `NONE` of others."""
        wrong = np.flatnonzero(meant & (peers < 0))
        if len(wrong):
            raise TraceError(
                "bad_peer",
                f"rank {self.recorder.rank}, event {wrong[0]}: the peer is rank {peers[wrong[0]]}",
                self.recorder.recording.where,
            )
        return np.where(meant, peers, NONE).astype(np.int64)


def _those(many: Bulk, kept: Any) -> Bulk:
    """Return some of the calls; what completes stays."""
    names = [one.name for one in attrs.fields(Bulk) if one.name not in ("completed", "by")]
    return attrs.evolve(many, **{name: getattr(many, name)[kept] for name in names})
