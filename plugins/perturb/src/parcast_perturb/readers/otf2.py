"""OTF2 archives, as Score-P and others write them, through the `otf2` package.

Each MPI region is one call; what it did is said by the MPI records inside it. Receives are
posted where `MpiIrecvRequest` stands; their source and tag come with `MpiIrecv`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_perturb.trace.calls import CALLS
from parcast_perturb.trace.columns import Trace
from parcast_perturb.trace.recording import RankRecorder, Recording

#: Operations of OTF2 by name that are no call of MPI's own.
_HANDLES = {"create_handle": "comm_dup", "create_handle_and_allocate": "comm_dup"}
_HANDLES |= dict.fromkeys(["destroy_handle", "allocate", "deallocate"], "barrier")
_HANDLES["deallocate_and_destroy_handle"] = "barrier"


def read(path: Path) -> Trace:
    """Return the trace of an archive's anchor file.

    Raises
    ------
    FileError
        If the archive cannot be read, or the package is not installed.
    TraceError
        If no run can have left it.
    UnsupportedError
        If it holds one-sided communication or other records that are not modeled.
    """
    try:
        import otf2
        from _otf2.ErrorCodes import Error as _Error  # of the library, not of the package
    except ImportError:
        raise FileError(
            f"{path}: OTF2 needs a package: pip install 'parcast-perturb[otf2]'"
        ) from None
    _check(path)
    try:
        with otf2.reader.open(str(path)) as archive:
            return _Archive(archive, str(path)).trace()
    except (FileError, UnsupportedError):
        raise
    except (otf2.error.Error, _Error) as error:
        raise FileError(f"{path} cannot be read as OTF2: {shorten(error)}") from None


def _check(path: Path) -> None:
    """Refuse what is no anchor file, before the library writes of it what only it understands."""
    with path.open("rb") as file:
        if file.read(1) != b"\x03" or b"OTF2" not in file.read(64):
            raise FileError(f"{path} cannot be read as OTF2: it is no anchor file (*.otf2)")


def _word(value: Any) -> str:
    """Return the name of one of the package's enumerated values."""
    return str(value).rpartition(".")[2]


@attrs.define(eq=False)
class _Call:
    """A call: what it is, and the records inside it."""

    name: str
    site: str
    start: int
    end: int = 0
    sends: Any = None
    receives: Any = None
    posts: Any = None  #: the receive that it posts, which its completion fills
    request: Any = None
    completes: list[Any] = attrs.field(factory=list)
    probes: Any = None
    collective: Any = None


class _Archive:
    """An archive's ranks, each with its calls in order."""

    def __init__(self, archive: Any, where: str) -> None:
        self.archive, self.where = archive, where
        self.resolution = int(archive.timer_resolution)
        self.locations = self._locations()
        self.calls: dict[int, list[_Call]] = {rank: [] for rank in self.locations.values()}
        self.stacks: dict[Any, list[Any]] = defaultdict(list)
        self.open: dict[tuple[int, int], _Call] = {}
        self.threads: dict[int, set[Any]] = defaultdict(set)

    def _locations(self) -> dict[Any, int]:
        """Return the rank of each thread, ranks in the order of the MPI locations."""
        definitions, ranks = self.archive.definitions, dict[Any, int]()
        for group in definitions.groups:
            if (_word(group.group_type), _word(group.paradigm)) == ("COMM_LOCATIONS", "MPI"):
                for location in group.members:
                    ranks.setdefault(location.group, len(ranks))
        threads = [one for one in definitions.locations if _word(one.type) == "CPU_THREAD"]
        return {one: ranks.setdefault(one.group, len(ranks)) for one in threads}

    def trace(self) -> Trace:
        for location, event in self.archive.events:
            if location in self.locations:
                self._event(location, self.locations[location], event)
        size = len(self.calls)
        recording = Recording(size, self.where)
        self._communicators(recording)
        starts = [calls[0].start for calls in self.calls.values() if calls]
        origin = min(starts, default=0)
        for rank, recorder in enumerate(recording.ranks):
            writer = _Writer(recorder, self.members, origin)
            for call in self.calls[rank]:
                writer.write(call)
        return recording.trace(tick=1.0 / self.resolution, notes=tuple(self._notes()))

    def _communicators(self, recording: Recording) -> None:
        self.members: dict[Any, Sequence[int] | None] = {}
        for comm in self.archive.definitions.comms:
            group = comm.group
            if group is None or (_word(group.group_type), _word(group.paradigm)) != (
                "COMM_GROUP",
                "MPI",
            ):
                self.members[comm] = None
                continue
            members = [self.locations[one] for one in group.members]
            self.members[comm] = members
            recording.communicator(comm, members)

    def _event(self, location: Any, rank: int, event: Any) -> None:
        name, stack = type(event).__name__, self.stacks[location]
        if name == "Enter":
            region = event.region.name
            call = None
            if region.startswith("MPI_") and not any(one for _, one in stack):
                site = f"{region} in {stack[-1][0]}" if stack else region
                call = _Call(region, site, event.time)
            stack.append((region, call))
        elif name == "Leave":
            if stack:
                _, call = stack.pop()
                if call is not None:
                    call.end = event.time
                    self.calls[rank].append(call)
        elif name.startswith("Mpi"):
            self._record(location, rank, name, event)
        elif name.startswith(("Rma", "NonBlockingCollective", "Comm")):
            raise UnsupportedError(
                f"{self.where}: rank {rank} has a record {name}, and neither one-sided "
                "communication nor collectives that do not block are read from OTF2 yet"
            )

    def _record(self, location: Any, rank: int, name: str, event: Any) -> None:
        call = next((one for _, one in self.stacks[location] if one is not None), None)
        if call is None:
            raise FileError(f"{self.where}: rank {rank} has a record {name} outside any MPI call")
        self.threads[rank].add(location)
        if len(self.threads[rank]) > 1:
            raise UnsupportedError(
                f"{self.where}: several threads of rank {rank} call MPI; a rank has one order"
            )
        if name == "MpiSend":
            call.sends = event
        elif name == "MpiIsend":
            call.sends, call.request = event, (rank, event.request_id)
            self.open[rank, event.request_id] = call
        elif name == "MpiIrecvRequest":
            call.request = (rank, event.request_id)
            self.open[rank, event.request_id] = call
        elif name == "MpiRecv":
            call.receives = event
        elif name == "MpiProbe":
            call.probes = event
        elif name in ("MpiIrecv", "MpiIsendComplete", "MpiRequestCancelled"):
            self._complete(call, rank, name, event)
        elif name == "MpiCollectiveEnd":
            call.collective = event
        elif name not in ("MpiCollectiveBegin", "MpiRequestTest"):
            raise UnsupportedError(f"{self.where}: rank {rank} has a record {name}, not modeled")

    def _complete(self, call: _Call, rank: int, name: str, event: Any) -> None:
        opened = self.open.pop((rank, event.request_id), None)
        if opened is None:
            raise FileError(
                f"{self.where}: rank {rank} completes request {event.request_id}, which it never "
                "made; is the archive cut off?"
            )
        if name == "MpiRequestCancelled":
            opened.request = opened.sends = None
            return
        if name == "MpiIrecv":
            opened.posts = event
        call.completes.append(opened)

    def _notes(self) -> Iterator[str]:
        others = len(self.locations) - len(self.calls)
        if others:
            yield f"{others} threads that do not call MPI are part of their ranks' computation"


class _Writer:
    """The calls of one rank, recorded."""

    def __init__(self, recorder: RankRecorder, members: Mapping[Any, Any], origin: int) -> None:
        self.recorder, self.members, self.origin = recorder, members, origin

    def write(self, call: _Call) -> None:
        start, end = call.start - self.origin, call.end - self.origin
        if call.collective is not None:
            self._collective(call, start, end)
        elif call.completes:
            name = call.name.removeprefix("MPI_").lower()
            name = name if name.startswith(("wait", "test")) else "waitall"
            self.recorder.wait(name, start, end, [id(one) for one in call.completes], call.site)
        elif call.sends is not None and call.receives is not None:
            self._exchange(call, start, end)
        elif call.sends is not None:
            self._send(call, start, end)
        elif call.receives is not None or call.probes is not None:
            event = call.receives or call.probes
            comm, peer = self._peer(event, event.sender)
            self.recorder.receive(
                "recv" if call.receives else "probe", start, end, peer, event.msg_tag, comm,
                event.msg_length, site=call.site,
            )  # fmt: skip
        elif call.request is not None:
            self._post(call, start, end)
        else:
            self.recorder.local("call", start, end, call.site)

    def _peer(self, event: Any, peer: int) -> tuple[Any, int]:
        """Return the communicator and a peer's rank of the whole; that of one rank is its own."""
        members = self.members[event.communicator]
        if members is None:
            return 0, self.recorder.rank
        if not 0 <= peer < len(members):
            raise FileError(
                f"{self.recorder.recording.where}: {self.recorder.place}: the peer is {peer}, and "
                f"the communicator has {len(members)} members"
            )
        return event.communicator, members[peer]

    def _send(self, call: _Call, start: int, end: int) -> None:
        event, name = call.sends, call.name.removeprefix("MPI_").lower()
        comm, peer = self._peer(event, event.receiver)
        nonblocking = call.request is not None
        known = name in CALLS and "send" in name and name.startswith("i") == nonblocking
        if not known or name == "sendrecv":
            name = "isend" if nonblocking else "send"
        self.recorder.send(
            name, start, end, peer, event.msg_length, event.msg_tag, comm, id(call), call.site
        )

    def _exchange(self, call: _Call, start: int, end: int) -> None:
        sent, got = call.sends, call.receives
        comm, to = self._peer(sent, sent.receiver)
        _, source = self._peer(got, got.sender)
        self.recorder.exchange(
            start, end, to, sent.msg_length, sent.msg_tag, source, got.msg_tag, comm,
            got.msg_length, call.site,
        )  # fmt: skip

    def _post(self, call: _Call, start: int, end: int) -> None:
        event = call.posts
        if event is None:
            raise UnsupportedError(
                f"{self.recorder.recording.where}: {self.recorder.place}: a receive is posted that "
                "never completes, so nothing says from whom"
            )
        comm, peer = self._peer(event, event.sender)
        self.recorder.receive(
            "irecv", start, end, peer, event.msg_tag, comm, event.msg_length, id(call), call.site
        )

    def _collective(self, call: _Call, start: int, end: int) -> None:
        event = call.collective
        name = _word(event.collective_op).lower()
        name = _HANDLES.get(name, name)
        if name not in CALLS:
            raise UnsupportedError(
                f"{self.recorder.recording.where}: {self.recorder.place}: {name} is not modeled"
            )
        members = self.members[event.communicator]
        if members is None:  # of this rank alone
            self.recorder.local("call", start, end, call.site)
            return
        root = None
        if isinstance(event.root, int) and 0 <= event.root < len(members):
            root = members[event.root]
        size = max(event.size_sent, event.size_received)
        self.recorder.collective(name, start, end, size, event.communicator, root, site=call.site)
