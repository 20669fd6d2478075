"""Traces of SST's DUMPI, as `dumpi2ascii` prints them: a file for each rank.

Format: sst-dumpi, ``dumpi/bin/dumpi2ascii-callbacks.c``: a line where a call begins, one for each
argument, one where it returns. Requests are small numbers that are used again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parcast.errors import UnsupportedError, shorten
from parcast_traces.readers.communicators import WORLD, Communicators, Name
from parcast_traces.readers.dumpi.calls import Call, calls_of
from parcast_traces.readers.rank_files import check_size, rank_files
from parcast_traces.trace.calls import ALL, CALLS, ISENDS, ROOTED, SENDS
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording

#: DUMPI's own numbers.
_WORLD, _SELF, _ANY, _PROC_NULL = 2, 3, -1, -2

#: Bytes of the types that MPI names.
_SIZES = {
    "CHAR": 1, "SIGNED_CHAR": 1, "UNSIGNED_CHAR": 1, "BYTE": 1, "PACKED": 1, "WCHAR": 4,
    "SHORT": 2, "UNSIGNED_SHORT": 2, "INT": 4, "UNSIGNED": 4, "FLOAT": 4, "LONG": 8,
    "UNSIGNED_LONG": 8, "DOUBLE": 8, "LONG_DOUBLE": 16, "LONG_LONG_INT": 8, "LONG_LONG": 8,
    "UNSIGNED_LONG_LONG": 8, "FLOAT_INT": 8, "DOUBLE_INT": 12, "LONG_INT": 12, "SHORT_INT": 6,
    "2INT": 8, "LONG_DOUBLE_INT": 20,
}  # fmt: skip

_COUNTS = ("sendcount", "count", "recvcount")
_TYPES = ("sendtype", "datatype", "recvtype")
_MAKES = {"comm_split": "oldcomm", "comm_dup": "oldcomm"}


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
        handles = _Handles(rank, comms)
        for position, call in enumerate(calls_of(file)):
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
        writer = _Writer(recorder, _Handles(recorder.rank, comms, again=True), requests, origin)
        for call in calls_of(file):
            writer.write(call)
    return recording.trace(tick=1e-9)


class _Handles:
    """A rank's numbers of communicators."""

    def __init__(self, rank: int, comms: Communicators, *, again: bool = False) -> None:
        self.rank, self.comms, self.again = rank, comms, again
        self.names: dict[int, Name | None] = {_WORLD: WORLD}
        self.splits: dict[Name, int] = {}

    def follow(self, call: Call) -> None:
        """Learn of communicators that a call makes."""
        if call.name not in _MAKES:
            return
        parent = self.names.get(call.whole(_MAKES[call.name]))
        if parent is None:
            return
        color, key = 0, self.rank
        if call.name == "comm_split":
            color, key = call.whole("color"), call.whole("key")
        if self.again:
            number = self.splits[parent] = self.splits.get(parent, -1) + 1
            name = f"{parent}.{number}.{color}" if color >= 0 else None
        else:
            name = self.comms.add(self.rank, parent, color, key)
        self.names[call.whole("newcomm")] = name

    def of(self, call: Call) -> Name | None:
        """Return the communicator of a call; None is that of this rank alone."""
        number = call.whole("comm")
        if number == _SELF:
            return None
        name = self.names.get(number)
        if name is None:
            raise UnsupportedError(
                f"{call.where}: communicator {number} was made neither by MPI_Comm_split nor by "
                "MPI_Comm_dup, so nothing says who is in it"
            )
        return name


class _Requests:
    """From whom the receives of a rank got their messages, by the order of their posts."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.count = 0
        self.sources: dict[int, tuple[int, int]] = {}

    def follow(self, call: Call) -> None:
        if call.name == "irecv":
            self.open[call.whole("request")] = self.count
            self.count += 1
        elif call.name.startswith(("wait", "test")):
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
        self, recorder: RankRecorder, handles: _Handles, requests: _Requests, origin: int
    ) -> None:
        self.recorder, self.handles, self.requests = recorder, handles, requests
        self.origin, self.posted = origin, 0
        self.open: set[int] = set()

    def write(self, call: Call) -> None:
        self.handles.follow(call)
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
        elif CALLS.get(name, 0) >= ALL and name not in _MAKES:
            self._collective(call, times)
        elif name in _MAKES:
            comm = self.handles.names.get(call.whole(_MAKES[name]))
            if comm is not None:
                self.recorder.collective(name, *times, 0, comm)
        elif name.startswith(("win_", "put", "get_acc", "accumulate", "start", "recv_init")):
            raise UnsupportedError(f"{call.where}: MPI_{name.capitalize()} is not read from DUMPI")
        else:
            self.recorder.local(name if name in ("init", "finalize") else "call", *times,
                                site=name)  # fmt: skip

    def _peer(self, call: Call, comm: Name, position: int) -> int:
        return self.handles.comms.peer(comm, position, call.where)

    def _size(self, call: Call, count: str, kind: str) -> int:
        text = call.text(kind)
        match = re.search(r"\(MPI_(\w+)\)", text)
        if not match or match[1] not in _SIZES:
            raise UnsupportedError(f"{call.where}: the size of type {shorten(text)} is not known")
        return call.whole(count) * _SIZES[match[1]]

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
        if count is not None and kind is not None:
            size = self._size(call, count, kind)
        root = self._peer(call, comm, call.whole("root")) if call.name in ROOTED else None
        request: Any = self._open_request(call) if "request" in call.fields else None
        return self.recorder.collective(call.name, *times, size, comm, root, request)
