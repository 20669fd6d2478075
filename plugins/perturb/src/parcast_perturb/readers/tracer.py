"""Traces of ``parcast mpi trace``: a folder with a binary file for each rank.

``rank-N.trace`` is little-endian: a header of 64 bytes, then records of 64 bytes, as the two types
here say. A record is whole if its ``call`` is not 0. Of a rank that came to no end the last records
are in ``rank-N.tail``. A call that completes requests is followed by ``count`` records of the call
``request``. ``rank-N.comms`` names in lines ``ID RANK RANK ...`` the communicators whose first
member this rank is; 0 is all ranks, and peers are ranks of all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_perturb.trace.calls import ALL, CALLS, ROOTED, WAIT
from parcast_perturb.trace.columns import Trace
from parcast_perturb.trace.recording import RankRecorder, Recording

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

    def calls(self) -> Iterator[tuple[Any, Any]]:
        """Yield every call and the rows of the requests that it was given."""
        at = 0
        while at < len(self.rows):
            count = int(self.rows["count"][at])
            yield self.rows[at], self.rows[at + 1 : at + 1 + count]
            at += 1 + count


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
        _Writer(recorder, one, min(firsts) if comparable else first).write()
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


class _Writer:
    """Records the calls of one rank."""

    def __init__(self, recorder: RankRecorder, one: _Rank, origin: int) -> None:
        self.recorder, self.one, self.origin = recorder, one, origin
        rows = one.rows
        self.got = {int(row["request"]): row for row in rows[rows["done"] > 0]}
        self.void = {number for number, row in self.got.items() if row["done"] == 2}

    def write(self) -> None:
        for row, requests in self.one.calls():
            name = _CALLS[int(row["call"]) - 1]
            times = (int(row["start"]) - self.origin, int(row["end"]) - self.origin)
            self._call(_ALIKE.get(name, name), row, requests, times)

    def _call(self, name: str, row: Any, requests: Any, times: tuple[int, int]) -> None:
        if name not in CALLS:
            raise FileError(
                f"the trace of rank {self.one.rank} is damaged: a record of a {name} stands by "
                "itself"
            )
        kind, request = CALLS[name], int(row["request"])
        if name == "request_free":
            if request not in self.void:
                self.recorder.free(*times, request)
        elif kind == WAIT:
            done = requests["request"][requests["done"] == 1].tolist()
            self.recorder.wait(name, *times, [one for one in done if one not in self.void])
        elif kind >= ALL:
            root = int(row["peer"]) if name in ROOTED else None
            self.recorder.collective(name, *times, int(row["bytes"]), int(row["comm"]), root,
                                     request or None)  # fmt: skip
        elif name == "sendrecv":
            self._exchange(row, times)
        elif "send" in name or name in ("recv", "irecv", "probe"):
            self._message(name, row, times)
        else:
            self.recorder.local(name, *times)

    def _message(self, name: str, row: Any, times: tuple[int, int]) -> None:
        request = int(row["request"]) or None
        said = self.got.get(request or 0, row) if name == "irecv" else row
        if request in self.void or said["peer"] == _NONE:
            if request:
                self.void.add(request)
            self.recorder.local("call", *times, name)
            return
        peer, tag, size = int(said["peer"]), int(said["tag"]), int(said["bytes"])
        if "send" in name:
            self.recorder.send(name, *times, peer, size, tag, int(row["comm"]), request)
        else:
            self.recorder.receive(name, *times, peer, tag, int(row["comm"]), size, request)

    def _exchange(self, row: Any, times: tuple[int, int]) -> None:
        comm, to, source = int(row["comm"]), int(row["peer"]), int(row["source"])
        out, into = (int(row["bytes"]), int(row["tag"])), int(row["source_tag"])
        got = int(row["received"])
        if to == source == _NONE:
            self.recorder.local("call", *times, "sendrecv")
        elif to == _NONE:
            self.recorder.receive("recv", *times, source, into, comm, got)
        elif source == _NONE:
            self.recorder.send("send", *times, to, *out, comm)
        else:
            self.recorder.exchange(*times, to, *out, source, into, comm, got)
