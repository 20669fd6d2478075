"""Traces of SST's DUMPI, binary or as `dumpi2ascii` prints them: a file for each rank.

Format: sst-dumpi, ``dumpi/bin/dumpi2ascii-callbacks.c``: a line where a call begins, one for each
argument, one where it returns. Requests are small numbers that are used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parcast.errors import UnsupportedError
from parcast_traces.readers.communicators import Communicators, Name
from parcast_traces.readers.dumpi.binary import MAGIC, File
from parcast_traces.readers.dumpi.calls import Call, calls_of
from parcast_traces.readers.dumpi.handles import MAKES, Handles, Types
from parcast_traces.readers.rank_files import check_size, rank_files
from parcast_traces.trace.calls import ALL, CALLS, ISENDS, ROOTED, SENDS
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording

#: DUMPI's own numbers.
_WORLD, _ANY, _PROC_NULL = 2, -1, -2

_COUNTS = ("sendcount", "count", "recvcount")
_TYPES = ("sendtype", "datatype", "recvtype")
#: What each rank sends to every other, in bytes; a trace has their mean.
_EACH = {"alltoallv": ("sendcounts", "sendtype"), "reduce_scatter": ("recvcounts", "datatype")}


def read(path: Path, files: Sequence[Path] = ()) -> Trace:
    """Return the trace of which this is one rank's file.

    Raises
    ------
    FileError
        If a file is missing or is no output of dumpi2ascii.
    TraceError
        If no run can have left it.
    UnsupportedError
        If something is not said, such as whose message a receive got.
    """
    files = rank_files(path, files)
    comms, requests_of = Communicators(len(files)), [_Requests() for _ in files]
    starts: list[int] = []
    for rank, file in enumerate(files):
        handles = Handles(rank, comms, len(files))
        for position, call in enumerate(_calls(file)):
            if not position:
                starts.append(call.start)
            handles.follow(call)
            requests_of[rank].follow(call)
            if call.name == "comm_size" and call.whole("comm") == _WORLD:
                check_size(path, len(files), call.whole("size"))
    comms.settle()
    recording = Recording(len(files), str(path))
    comms.record(recording)
    origin = min(starts, default=0)
    for recorder, file, requests in zip(recording.ranks, files, requests_of, strict=True):
        handles = Handles(recorder.rank, comms, len(files), again=True)
        writer = _Writer(recorder, handles, requests, origin)
        for call in _calls(file):
            writer.write(call)
    return recording.trace(tick=1e-9)


def _calls(file: Path) -> Iterator[Call]:
    """Yield the calls of a rank, text or binary."""
    with file.open("rb") as opened:
        binary = opened.read(len(MAGIC)) == MAGIC
    return File(file).calls() if binary else calls_of(file)


class _Requests:
    """From whom a rank's receives from any source or of any tag got their messages.

    Receives are numbered in the order of their posts.
    """

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.count = 0
        self.sources: dict[int, tuple[int, int]] = {}

    def follow(self, call: Call) -> None:
        if call.name == "irecv":
            self.open.pop(call.whole("request"), None)
            if _ANY in (call.whole("source"), call.whole("tag")):
                self.open[call.whole("request")] = self.count
            self.count += 1
        elif self.open and call.name.startswith(("wait", "test")):
            requests, statuses = call.requests(), call.statuses()
            for order, position in enumerate(call.completed()):
                number = self.open.pop(requests[position], None)
                at = position if len(statuses) == len(requests) else order
                if number is not None and at < len(statuses):
                    self.sources[number] = statuses[at][2:]
        elif call.name == "request_free":
            self.open.pop(call.whole("request"), None)


class _Writer:
    """Records the calls of one rank."""

    def __init__(
        self, recorder: RankRecorder, handles: Handles, requests: _Requests, origin: int
    ) -> None:
        self.recorder, self.handles, self.requests = recorder, handles, requests
        self.origin, self.posted, self.types = origin, 0, Types()
        self.open: set[int] = set()

    def write(self, call: Call) -> None:
        self.handles.follow(call)
        self.types.follow(call)
        name, times = call.name, (call.start - self.origin, call.end - self.origin)
        if name.startswith(("wait", "test")) and name in CALLS:
            requests = call.requests()
            completed = [
                requests[position]
                for position in call.completed()
                if requests[position] in self.open
            ]
            self.open.difference_update(completed)
            self.recorder.wait(name, *times, completed)
        elif name == "request_free" and call.whole("request") in self.open:
            self.open.remove(call.whole("request"))
            self.recorder.free(*times, call.whole("request"))
        elif name in (*SENDS, *ISENDS):
            self._send(call, times)
        elif name in ("recv", "irecv", "probe"):
            self._receive(call, times)
        elif name == "sendrecv":
            self._exchange(call, times)
        elif CALLS.get(name, 0) >= ALL and name not in MAKES:
            self._collective(call, times)
        elif name in MAKES:
            comm = self.handles.names.get(call.whole(MAKES[name]))
            name = name if name in CALLS else "comm_create"
            if comm is not None:
                self.recorder.collective(name, *times, 0, comm)
        elif name.startswith(("win_", "put", "get_acc", "accumulate", "start", "recv_init")):
            raise UnsupportedError(f"{call.where}: MPI_{name.capitalize()} is not read from DUMPI")
        else:
            if name == "comm_rank":
                self.handles.check_rank(call)
            self.recorder.local(name if name in ("init", "finalize") else "call", *times,
                                site=name)  # fmt: skip

    def _peer(self, call: Call, comm: Name, position: int) -> int:
        return self.handles.comms.peer(comm, position, call.where)

    def _size(self, call: Call, count: str, kind: str) -> int:
        return call.whole(count) * self.types.width(call, kind)

    def _alone(self, call: Call, times: tuple[int, int]) -> None:
        """Record a call of this rank alone."""
        if "request" in call.fields:
            raise UnsupportedError(f"{call.where}: a request of no peer is not read from DUMPI")
        self.recorder.local("call", *times, site=call.name)

    def _open_request(self, call: Call) -> int:
        request = call.whole("request")
        self.open.add(request)
        return request

    def _send(self, call: Call, times: tuple[int, int]) -> None:
        comm, position = self.handles.of(call), call.whole("dest")
        if comm is None or position == _PROC_NULL:
            return self._alone(call, times)
        request = self._open_request(call) if call.name.startswith("i") else None
        return self.recorder.send(call.name, *times, self._peer(call, comm, position),
                                  self._size(call, "count", "datatype"), call.whole("tag"),
                                  comm, request)  # fmt: skip

    def _receive(self, call: Call, times: tuple[int, int]) -> None:
        comm, position, tag = self.handles.of(call), call.whole("source"), call.whole("tag")
        if comm is None or position == _PROC_NULL:
            return self._alone(call, times)
        request = None
        if call.name == "irecv":
            request = self._open_request(call)
            envelope = self.requests.sources.get(self.posted)
            self.posted += 1
        else:
            envelope = next((status[2:] for status in call.statuses()), None)
        if _ANY in (position, tag):
            self.recorder.names.wild += 1
            if envelope is None:
                raise UnsupportedError(
                    f"{call.where}: a receive from any source or of any tag has no status that "
                    "says whose message it got"
                )
            position, tag = envelope
        room = float("inf")
        if call.name != "probe":
            room = self._size(call, "count", "datatype")
        return self.recorder.receive(call.name, *times, self._peer(call, comm, position), tag, comm,
                                     room, request)  # fmt: skip

    def _exchange(self, call: Call, times: tuple[int, int]) -> None:
        comm = self.handles.of(call)
        to, source, tag = (call.whole(name) for name in ("dest", "source", "recvtag"))
        envelope = next((status[2:] for status in call.statuses()), None)
        self.recorder.names.wild += _ANY in (source, tag)
        if _ANY in (source, tag) and envelope is not None:
            source, tag = envelope
        if comm is None or (to == source == _PROC_NULL):
            return self._alone(call, times)
        size = self._size(call, "sendcount", "sendtype")
        room = self._size(call, "recvcount", "recvtype")
        if to == _PROC_NULL:
            return self.recorder.receive("recv", *times, self._peer(call, comm, source), tag, comm,
                                         room)  # fmt: skip
        to, sent = self._peer(call, comm, to), call.whole("sendtag")
        if source == _PROC_NULL:
            return self.recorder.send("send", *times, to, size, sent, comm)
        return self.recorder.exchange(*times, to, size, sent, self._peer(call, comm, source), tag,
                                      comm, room)  # fmt: skip

    def _collective(self, call: Call, times: tuple[int, int]) -> None:
        comm, size = self.handles.of(call), 0
        if comm is None:
            return self._alone(call, times)
        count = next((name for name in _COUNTS if name in call.fields), None)
        kind = next((name for name in _TYPES if name in call.fields), None)
        if call.name in _EACH:
            counts, each = _EACH[call.name]
            amounts = call.several(counts)
            size = sum(amounts) * self.types.width(call, each) // max(1, len(amounts))
        elif count is not None and kind is not None:
            size = self._size(call, count, kind)
        root = self._peer(call, comm, call.whole("root")) if call.name in ROOTED else None
        request: Any = self._open_request(call) if "request" in call.fields else None
        return self.recorder.collective(call.name, *times, size, comm, root, request)
