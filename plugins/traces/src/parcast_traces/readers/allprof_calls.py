"""The calls in a file of liballprof: what each line says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.text import Place, lines, number, whole
from parcast_traces.trace.calls import ISENDS, SENDS

_SEND = ("buf", "count", "type", "peer", "tag", "comm", "request")
_LOCAL_SUM = ("sbuf", "rbuf", "count", "type", "op", "comm")
_MANY = ("sbuf", "count", "type", "rbuf", "rcount", "rtype", "comm")
_ONE = ("sbuf", "count", "type", "rbuf", "rcount", "rtype", "root", "comm")
_RECV = ("buf", "count", "type", "peer", "tag", "comm", "status")

#: The arguments of the calls that are read.
ARGUMENTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(SENDS, _SEND[:-1]),
    **dict.fromkeys((*ISENDS, "irecv"), _SEND),
    **dict.fromkeys(("recv",), _RECV),
    "sendrecv": ("sbuf", "count", "type", "peer", "tag", "rbuf", "rcount", "rtype", "source",
                 "rtag", "comm", "status"),
    "wait": ("request", "status"),
    "waitall": ("count", "request", "status"),
    "barrier": ("comm",),
    "bcast": ("buf", "count", "type", "root", "comm"),
    "reduce": ("sbuf", "rbuf", "count", "type", "op", "root", "comm"),
    **dict.fromkeys(("allreduce", "scan", "exscan"), _LOCAL_SUM),
    **dict.fromkeys(("gather", "scatter"), _ONE),
    **dict.fromkeys(("allgather", "alltoall"), _MANY),
    "comm_split": ("comm", "color", "key", "made"),
    "comm_dup": ("comm", "made"),
    "comm_rank": ("comm", "rank"),
    "comm_size": ("comm", "size"),
}  # fmt: skip
MESSAGES = frozenset(name for name, arguments in ARGUMENTS.items() if "tag" in arguments)
_UNKNOWN = ("test", "waitany", "waitsome", "start", "probe", "mprobe", "win_", "put", "get:",
            "accumulate", "comm_create", "gatherv", "scatterv", "allgatherv", "alltoallv",
            "alltoallw", "reduce_scatter", "send_init", "recv_init")  # fmt: skip


@attrs.frozen
class Call:
    """A call of MPI: when it began and ended, in us, and its arguments by name."""

    name: str
    start: float
    end: float
    arguments: Mapping[str, str]
    where: Place

    def whole(self, name: str) -> int:
        """Return an argument that is a whole number."""
        return whole(self.arguments[name], f"{self.where}: {name}", least=-(1 << 62))

    def bytes(self, count: str = "count", kind: str = "type") -> int:
        """Return how many bytes so many elements of a type have."""
        parts = self.arguments[kind].split(",")
        if len(parts) != 3:
            raise FileError(f"{self.where}: a type is number,size,extent, not "
                            f"{shorten(self.arguments[kind])!r}")  # fmt: skip
        return self.whole(count) * whole(parts[1], f"{self.where}: the size of a type")

    def comm(self) -> tuple[str, int, int]:
        """Return the handle of the communicator, this rank's position in it, and its size."""
        parts = self.arguments["comm"].split(",")
        if len(parts) != 3:
            raise FileError(f"{self.where}: a communicator is handle,rank,size, not "
                            f"{shorten(self.arguments['comm'])!r}")  # fmt: skip
        return parts[0], *(whole(word, f"{self.where}: communicator") for word in parts[1:])  # type: ignore[return-value]


def calls_of(path: Path) -> Iterator[Call]:
    """Yield the calls of a rank in order."""
    last = 0.0
    for line, text in lines(path):
        if not text or text.startswith("#"):
            continue
        where, parts = Place(str(path), line), text.split(":")
        if not parts[0].startswith("MPI_") or len(parts) < 3:
            raise FileError(f"{where}: {shorten(text)!r} is no call of liballprof")
        name, arguments = parts[0].lower().removeprefix("mpi_"), parts[2:-1]
        if name.startswith(_UNKNOWN):
            raise UnsupportedError(f"{where}: liballprof does not say all of {parts[0]}, such as "
                                   "what it completed, so it is not read")  # fmt: skip
        names = ARGUMENTS.get(name)
        if names is not None and len(arguments) < len(names):
            raise FileError(
                f"{where}: {parts[0]} has {len(arguments)} of {len(names)} arguments; is the file "
                "cut off?"
            )
        ends = [None if word == "-" else number(word, where) for word in (parts[1], parts[-1])]
        times = [time for time in ends if time is not None] or [last]
        yield Call(
            name, times[0], times[-1], dict(zip(names or (), arguments, strict=False)), where
        )
        last = times[-1]
