"""Traces of liballprof, the tracer beside LogGOPSim: a call a line, a file for each rank.

Format: ``src/liballprof/mpipclog.c``: ``MPI_Send:start:arguments:end`` in us on the rank's own
clock, a type as ``number,size,extent``, a communicator as ``handle,rank,size``. Handles are a
rank's own, so that communicators are known by the order of the calls that make them. It does not
say whose message a receive from any source got, nor which request a test completed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from parcast.errors import FileError, UnsupportedError
from parcast_traces.readers.allprof_calls import ARGUMENTS, MESSAGES, Call, calls_of
from parcast_traces.readers.communicators import WORLD, Communicators, Name
from parcast_traces.readers.plans import Plan, Plans
from parcast_traces.readers.rank_files import check_size, rank_files
from parcast_traces.readers.wildcards import (
    ANY,
    Envelope,
    Envelopes,
    counted,
    messages_of,
    wildcard_notes,
)
from parcast_traces.trace.calls import ROOTED
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording


def read(path: Path, files: Sequence[Path] = (), *, assume_alike: bool = False) -> Trace:
    """Return the trace of which this is one rank's file.

    Parameters
    ----------
    path
        One rank's file.
    files
        Those of all ranks, if they are known.
    assume_alike
        Whether a rank whose file is a copy of rank 0's did what rank 0 did.

    Raises
    ------
    FileError
        If a file is missing or is none of liballprof's.
    TraceError
        If no run can have left it.
    UnsupportedError
        If something that counts is not said.
    """
    files = rank_files(path, files)
    comms = Communicators(len(files))
    ranks = [_Handles(rank, comms, path, len(files), assume_alike) for rank in range(len(files))]
    starts = [min([call.start for call in handles.learn(file)], default=0.0)
              for handles, file in zip(ranks, files, strict=True)]  # fmt: skip
    comms.settle()
    recording = Recording(len(files), str(path))
    comms.record(recording)
    envelopes = _messages(files, ranks) if any(handles.wild for handles in ranks) else []
    for recorder, file, handles in zip(recording.ranks, files, ranks, strict=True):
        got = iter(envelopes[recorder.rank]) if envelopes else None
        writer = _Writer(recorder, handles, min(starts), got)
        for call in calls_of(file):
            writer.write(call)
    notes = list(wildcard_notes(*counted(envelopes)))
    if copies := sum(handles.copied for handles in ranks):
        notes.append(f"rank 0 stands for the {copies} ranks whose files are copies of its file "
                     "(--assume-alike)")  # fmt: skip
    return recording.trace(tick=1e-6, notes=tuple(notes))


def _messages(files: Sequence[Path], ranks: Sequence[_Handles]) -> list[Envelopes]:
    """Return whose messages the receives got that name no source or no tag."""
    plans = Plans(len(ranks)).ranks
    for plan, file, handles in zip(plans, files, ranks, strict=True):
        planner, last = _Writer(plan, handles, 0.0, None), None
        for call in calls_of(file):
            plan.where, last = call.where, call.start if last is None else last
            planner.worked += call.start - last
            planner.write(call)
            last = call.end
    return messages_of(plans)


class _Handles:
    """A rank's handles of communicators, named by the calls that made them."""

    def __init__(self, rank: int, comms: Communicators, path: Path, size: int, alike: bool) -> None:
        self.rank, self.comms, self.path, self.size = rank, comms, path, size
        self.alike = alike  #: a copy of rank 0's file will do
        self.copied = False
        self.world: str | None = None
        self.unclaimed: list[Name] = []
        self.names: dict[str, Name] = {}
        self.wild = False  #: a receive names no source or no tag

    def learn(self, file: Path) -> Iterator[Call]:
        """Yield the calls of the first way through a file, of which this learns what is made."""
        for call in calls_of(file):
            if "comm" in call.arguments:
                self._see(call)
            asked = ("source", "rtag") if call.name == "sendrecv" else ("peer", "tag")
            if call.name in ("recv", "irecv", "sendrecv"):
                self.wild = self.wild or min(map(call.whole, asked)) < 0
            yield call

    def _see(self, call: Call) -> None:
        handle, position, size = call.comm()
        if self.world is None:
            check_size(self.path, self.size, size)
            self.copied = position == 0 < self.rank
            if position != self.rank and not (self.copied and self.alike):
                way = "; if it is a copy of rank 0's file, add --assume-alike"
                raise FileError(f"{call.where}: this is rank {position}, and the file's name says "
                                f"{self.rank}{way if self.copied else ''}")  # fmt: skip
            self.world, self.names[handle] = handle, WORLD
        if self.copied and (call.name in MESSAGES or call.name in ("comm_split", "comm_dup")):
            raise UnsupportedError(f"{call.where}: the file is a copy of rank 0's, and its "
                                   f"MPI_{call.name.capitalize()} would be of rank 0; only of "
                                   "collectives of all ranks can one stand for others")  # fmt: skip
        if call.name not in ("comm_split", "comm_dup"):
            return
        if handle != self.world:
            raise UnsupportedError(f"{call.where}: a communicator is made of another than "
                                   "MPI_COMM_WORLD, and handles do not say which")  # fmt: skip
        split = call.name == "comm_split"
        color, key = (call.whole("color"), call.whole("key")) if split else (0, self.rank)
        name = self.comms.add(self.rank, WORLD, color, key)
        if name is not None:
            self.unclaimed.append(name)

    def of(self, call: Call) -> Name:
        """Return the communicator of a call; a new handle is the first made that fits."""
        handle, position, size = call.comm()
        if handle not in self.names:
            name = next(
                (
                    candidate
                    for candidate in self.unclaimed
                    if self._fits(candidate, position, size)
                ),
                None,
            )
            if name is None:
                raise UnsupportedError(
                    f"{call.where}: communicator {handle} of {size} ranks was made neither by "
                    "MPI_Comm_split nor by MPI_Comm_dup, so nothing says who is in it"
                )
            self.unclaimed.remove(name)
            self.names[handle] = name
        return self.names[handle]

    def _fits(self, name: Name, position: int, size: int) -> bool:
        members = self.comms.members[name]
        return len(members) == size and members.index(self.rank) == position


class _Writer:
    """Records the calls of one rank; ``got`` are messages from any source or of any tag.

    For a plan times are what the rank has worked.
    """

    def __init__(
        self, recorder: RankRecorder | Plan, handles: _Handles, origin: float,
        got: Iterator[Envelope] | None,
    ) -> None:  # fmt: skip
        self.recorder, self.handles, self.origin, self.got = recorder, handles, origin, got
        self.worked = 0.0
        self.open: set[int] = set()  #: where in memory the requests are

    def write(self, call: Call) -> None:
        name, times = call.name, (call.start - self.origin, call.end - self.origin)
        if isinstance(self.recorder, Plan):
            times = (self.worked, self.worked)
        if name in ("comm_rank", "comm_size") or name not in ARGUMENTS:
            self.recorder.local(name if name in ("init", "finalize") else "call", *times,
                                site=name)  # fmt: skip
        elif name in ("wait", "waitall"):
            self.recorder.wait(name, *times, self._completed(call))
        elif name in MESSAGES:
            self._message(call, times)
        else:
            comm = self.handles.of(call)
            if comm != WORLD and isinstance(self.recorder, Plan):
                return  # a plan knows meetings of all ranks alone
            size = call.bytes() if "count" in call.arguments else 0
            root = self._peer(call, comm, call.whole("root")) if name in ROOTED else None
            self.recorder.collective(name, *times, size, comm, root)

    def _completed(self, call: Call) -> list[int]:
        """Return the requests of a wait: handles have 8 bytes, or 4, one behind the other."""
        count = call.whole("count") if call.name == "waitall" else 1
        first, requests = call.whole("request"), list[int]()
        for step in (8, 4):
            positions = range(first, first + step * count, step)
            near = (
                positions if count <= len(self.open) else sorted(self.open)
            )  # a count may be wild
            mine = [address for address in near if address in positions and address in self.open]
            requests = mine if len(mine) > len(requests) else requests
        self.open.difference_update(requests)
        return requests

    def _peer(self, call: Call, comm: Name, position: int) -> int:
        return self.handles.comms.peer(comm, position, call.where)

    def _envelope(self, position: int, tag: int, comm: Name, where: object) -> Envelope:
        """Return the rank and the tag of a message; None: nobody sent it, or it goes to nobody."""
        if position >= 0 and tag >= 0:
            return self.handles.comms.peer(comm, position, where), tag
        if self.got is not None:
            return next(self.got)
        source = self.handles.comms.peer(comm, position, where) if position >= 0 else ANY
        return source, tag if tag >= 0 else ANY

    def _message(self, call: Call, times: tuple[float, float]) -> None:
        name, comm, position, tag = call.name, self.handles.of(call), call.whole("peer"), 0
        tag, request = call.whole("tag"), None
        target, source = None, None
        if name not in ("recv", "irecv") and position >= 0:
            target = self._peer(call, comm, position)
        if name in ("recv", "irecv"):
            source = self._envelope(position, tag, comm, call.where)
        elif name == "sendrecv":
            asked = call.whole("source"), call.whole("rtag")
            source = self._envelope(*asked, comm, call.where)
        if target is None and source is None:  # MPI_PROC_NULL
            self.recorder.local("call", *times, site=name)
            return
        if "request" in call.arguments:
            request = call.whole("request")
            self.open.add(request)
        size = call.bytes()
        if target is not None and source is not None:
            self.recorder.exchange(*times, target, size, tag, *source, comm,
                                   call.bytes("rcount", "rtype"))  # fmt: skip
        elif source is not None:
            size = call.bytes("rcount", "rtype") if name == "sendrecv" else size
            self.recorder.receive("recv" if name == "sendrecv" else name, *times, *source, comm,
                                  size, request=request)  # fmt: skip
        elif target is not None:
            self.recorder.send("send" if name == "sendrecv" else name, *times, target, size, tag,
                               comm, request=request)  # fmt: skip
