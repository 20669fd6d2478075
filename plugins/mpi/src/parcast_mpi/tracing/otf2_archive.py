"""Traces as OTF2 archives, which Vampir, Score-P's tools and message graphs read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast import UnsupportedError
from parcast.errors import FileError
from parcast_mpi.tracing.neutral import events
from parcast_mpi.tracing.reading import Trace

#: OTF2's number for a root where a collective has none.
_UNDEFINED = 2**32 - 1

_SENDS = frozenset({"send", "bsend", "ssend", "rsend"})
_ISENDS = frozenset(f"i{name}" for name in _SENDS)
#: What OTF2 calls the operation of each collective.
COLLECTIVES = {
    "barrier": "BARRIER", "bcast": "BCAST", "gather": "GATHER", "gatherv": "GATHERV",
    "scatter": "SCATTER", "scatterv": "SCATTERV", "allgather": "ALLGATHER",
    "allgatherv": "ALLGATHERV", "alltoall": "ALLTOALL", "alltoallv": "ALLTOALLV",
    "alltoallw": "ALLTOALLW", "allreduce": "ALLREDUCE", "reduce": "REDUCE",
    "reduce_scatter": "REDUCE_SCATTER", "reduce_scatter_block": "REDUCE_SCATTER_BLOCK",
    "scan": "SCAN", "exscan": "EXSCAN",
    **dict.fromkeys(("comm_dup", "comm_split", "comm_create"), "CREATE_HANDLE"),
}  # fmt: skip

#: OTF2's number for the message of a probe that does not match it.
_NO_MESSAGE = 2**64 - 1


def write(trace: Trace, folder: Path) -> tuple[str, ...]:
    """Write an archive into a new folder; return what was lost.

    Raises
    ------
    UnsupportedError
        If the library is not installed; the extra is named.
    FileError
        If the folder is there already, or cannot be written.
    """
    try:
        import otf2
    except ImportError:
        raise UnsupportedError("OTF2 needs its library: pip install 'parcast-mpi[otf2]'") from None
    if folder.exists():
        raise FileError(f"{folder} is there already; name a new folder")
    with otf2.writer.open(str(folder), timer_resolution=1_000_000_000) as archive:
        made = _Archive(archive, otf2, trace)
        for one, location, shift in zip(trace.ranks, made.locations, trace.shifts, strict=True):
            writer = _Rank(made, archive.event_writer_from_location(location))
            for event, start, end in events(one):
                writer.write(event, start - shift, end - shift)
    if trace.comparable:
        made.losses["that the clocks of all ranks are one"] = None
    return tuple(made.losses)


class _Archive:
    """The definitions of an archive."""

    def __init__(self, archive: Any, library: Any, trace: Trace) -> None:
        self.library, self.definitions = library, archive.definitions
        self.regions: dict[str, Any] = {}
        self.losses: dict[str, None] = {}
        self.members = trace.communicators
        mpi, kinds = library.Paradigm.MPI, library.GroupType
        root = self.definitions.system_tree_node("run")
        self.locations = [
            self.definitions.location(
                "Master thread",
                group=self.definitions.location_group(f"MPI Rank {rank}", system_tree_parent=root),
            )
            for rank in range(len(trace.ranks))
        ]
        self.definitions.group(
            "ranks", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=self.locations
        )
        self.comms: dict[int, Any] = {}
        for number, members in self.members.items():
            name = "MPI_COMM_WORLD" if number == 0 else f"communicator {number}"
            group = self.definitions.group(
                name, group_type=kinds.COMM_GROUP, paradigm=mpi, members=members
            )
            self.comms[number] = self.definitions.comm(name, group=group)

    def region(self, kind: str) -> Any:
        if kind not in self.regions:
            name = f"MPI_{kind[0].upper()}{kind[1:]}"
            self.regions[kind] = self.definitions.region(name, paradigm=self.library.Paradigm.MPI)
        return self.regions[kind]

    def place(self, rank: int, number: int) -> int:
        """Return a rank's place in a communicator, as OTF2 names peers and roots."""
        return self.members[number].index(rank)


class _Rank:
    """Writes the events of one rank."""

    def __init__(self, archive: _Archive, writer: Any) -> None:
        self.archive, self.writer = archive, writer
        self.open: dict[int, Mapping[str, Any]] = {}  # by request

    def write(self, event: Mapping[str, Any], start: int, end: int) -> None:
        """Write a call: messages leave at its start and arrive at its end."""
        kind, region = event["kind"], self.archive.region(event["kind"])
        self.writer.enter(start, region)
        if "request" in event and kind != "request_free":
            self.open[event["request"]] = event
        if kind in _SENDS or kind == "sendrecv":
            self.writer.mpi_send(start, *self._message(event))
        elif kind in _ISENDS:
            self.writer.mpi_isend(start, *self._message(event), event["request"])
        elif kind == "irecv":
            self.writer.mpi_irecv_request(start, event["request"])
        elif kind in COLLECTIVES:
            self.writer.mpi_collective_begin(start)
            self.writer.mpi_collective_end(end, *self._collective(event))
        elif kind.removeprefix("i") in COLLECTIVES and kind.startswith("i"):
            self.writer.non_blocking_collective_request(start, event["request"])
        elif kind == "probe":
            peer, comm, tag, _ = self._message(event)
            self.writer.mpi_probe(end, peer, comm, tag, _NO_MESSAGE)
        elif kind == "request_free":
            self._given_up(event["request"])
        if kind == "recv":
            self.writer.mpi_recv(end, *self._message(event))
        if kind == "sendrecv":
            got = {"peer": event["src"], "tag": event["rtag"], "bytes": event["rbytes"]}
            self.writer.mpi_recv(end, *self._message({**event, **got}))
        for request in event.get("completed", event.get("requests", [])):
            self._complete(end, request)
        self.writer.leave(end, region)

    def _given_up(self, request: int) -> None:
        """Leave a request without completion, and say so."""
        event = self.open.pop(request, None)
        if event is not None:
            whose = "sends" if event["kind"] in _ISENDS else "receives, and of whom they were,"
            self.archive.losses[f"when {whose} are given up"] = None

    def _message(self, event: Mapping[str, Any]) -> tuple[int, Any, int, int]:
        number = event["comm"]
        peer = self.archive.place(event["peer"], number)
        return peer, self.archive.comms[number], event["tag"], event["bytes"]

    def _collective(self, event: Mapping[str, Any]) -> tuple[Any, Any, int, int, int]:
        number, name = event["comm"], event["kind"]
        word = COLLECTIVES.get(name) or COLLECTIVES[name.removeprefix("i")]
        root = self.archive.place(event["root"], number) if "root" in event else _UNDEFINED
        op = getattr(self.archive.library.CollectiveOp, word)
        return op, self.archive.comms[number], root, event["bytes"], event["bytes"]

    def _complete(self, end: int, request: int) -> None:
        event = self.open.pop(request, None)
        if event is None:
            return
        if event["kind"] == "irecv":
            self.writer.mpi_irecv(end, *self._message(event), request)
        elif event["kind"] in _ISENDS:
            self.writer.mpi_isend_complete(end, request)
        else:
            self.writer.non_blocking_collective_complete(end, *self._collective(event), request)
