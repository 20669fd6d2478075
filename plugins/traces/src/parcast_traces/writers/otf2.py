"""OTF2 archives, for Vampir, Score-P's tools and others: a folder with ``traces.otf2`` in it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.trace.calls import ALL, WAIT
from parcast_traces.trace.columns import NONE, START, Trace
from parcast_traces.trace.decoding import Called, decoded, received

#: OTF2's number for a root where a collective has none.
_UNDEFINED = 2**32 - 1

#: Ticks a second, where the trace's own are no whole number.
_FINE = 1_000_000_000

#: OTF2's number for the message of a probe that does not match it.
_NO_MESSAGE = 2**64 - 1

#: Regions with such names are calls.
_MPI = "MPI_"

_HANDLES = ("comm_split", "comm_dup", "comm_create")


def write(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace as an archive, a new folder; return what was lost.

    Raises
    ------
    FileError
        If the folder is there already, or cannot be written.
    UnsupportedError
        If the package is not installed, or the trace has no times or no unit.
    """
    try:
        import otf2
    except ImportError:
        raise UnsupportedError(
            f"{path}: OTF2 needs a package: pip install 'parcast-traces[otf2]'"
        ) from None
    if not trace.timed or trace.tick is None:
        raise UnsupportedError(f"{trace.where}: the trace has no times, or these have no unit")
    if path.exists():
        raise FileError(f"{path} is there already; name a new folder")
    from parcast_traces.readers.otf2.records import hush

    errors, _ = hush()
    errors.clear()
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            archive = _Archive(trace, otf2)
            archive.write(Path(folder) / "archive")
            if errors:  # of which the package does not tell, such as a full disk
                raise FileError(f"{path} cannot be written: {errors[0]}")
            shutil.move(Path(folder) / "archive", path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    except otf2.error.Error as error:
        raise FileError(f"{path} cannot be written: {shorten(error)}") from None
    return tuple(archive.losses)


class _Archive:
    def __init__(self, trace: Trace, library: Any) -> None:
        self.trace, self.library = trace, library
        self.losses: dict[str, None] = {}
        self.regions: dict[str, Any] = {}
        assert trace.tick is not None
        rate = 1.0 / trace.tick
        times = trace.events.times[:, :2]
        self.origin = float(times[:, START].min()) if trace.count else 0.0
        if self.origin > 0:
            self.losses["the time before the first call"] = None
        exact = round(rate) >= 1 and abs(rate - round(rate)) < 1e-6 * rate
        if exact and bool((times == times.round()).all()):
            self.rate, self.scale = round(rate), 1.0
        else:
            self.rate, self.scale = _FINE, trace.tick * _FINE
            self.losses["times are in whole ns"] = None
        if trace.comparable:
            self.losses["that the clocks of all ranks are one"] = None

    def write(self, folder: Path) -> None:
        """Write definitions, and the records of every rank."""
        with self.library.writer.open(str(folder), timer_resolution=self.rate) as archive:
            self.definitions = archive.definitions
            locations = self._locations()
            self._communicators(locations)
            got = received(self.trace)
            for rank, location in enumerate(locations):
                writer = _Rank(self, archive.event_writer_from_location(location))
                for call in decoded(self.trace, rank, got):
                    writer.write(call)
                writer.around("", writer.last)

    def _locations(self) -> list[Any]:
        root = self.definitions.system_tree_node("run")
        return [
            self.definitions.location(
                "Master thread",
                group=self.definitions.location_group(f"MPI Rank {rank}", system_tree_parent=root),
            )
            for rank in range(self.trace.size)
        ]

    def _communicators(self, locations: list[Any]) -> None:
        kinds, mpi = self.library.GroupType, self.library.Paradigm.MPI
        self.definitions.group("", kinds.COMM_LOCATIONS, paradigm=mpi, members=locations)
        self.comms, self.positions = [], []
        for label, members in zip(self.trace.labels, self.trace.communicators, strict=True):
            listed = members.tolist()
            group = self.definitions.group(
                label, kinds.COMM_GROUP, paradigm=mpi, members=[locations[rank] for rank in listed]
            )
            self.comms.append(self.definitions.comm(label, group))
            self.positions.append({rank: position for position, rank in enumerate(listed)})

    def region(self, name: str) -> Any:
        """Return a region; those of calls are of MPI."""
        if name not in self.regions:
            paradigms = self.library.Paradigm
            paradigm = paradigms.MPI if name.startswith(_MPI) else paradigms.USER
            self.regions[name] = self.definitions.region(name, paradigm=paradigm)
        return self.regions[name]

    def time(self, ticks: float) -> int:
        return round((ticks - self.origin) * self.scale)


class _Rank:
    """Writes the records of one rank: messages leave at a call's start and are there at its end."""

    def __init__(self, archive: _Archive, writer: Any) -> None:
        self.archive, self.writer = archive, writer
        self.open: dict[int, Callable[[int], None]] = {}  #: what writes a request's completion
        self.sends: set[int] = set()
        self.inside, self.last = "", 0  #: the region that the last call was in, and its end

    def write(self, call: Called) -> None:
        if call.name == "request_free":
            self._free(call)
            return
        start, end = self.archive.time(call.start), self.archive.time(call.end)
        self.around(call.region, start)
        name = f"{_MPI}{call.name[0].upper()}{call.name[1:]}"
        tail = f" in {call.region}" if call.region else ""
        if call.site not in (f"{name}{tail}", f"{call.name}{tail}"):
            self.archive.losses["call sites"] = None
        region = self.archive.region(name)
        self.writer.enter(start, region)
        if call.kind == WAIT:
            for request in call.completed:
                self.open.pop(request)(end)
        elif call.kind >= ALL:
            self._together(call, start, end)
        else:
            self._messages(call, start, end)
        self.writer.leave(end, region)
        self.last = end

    def around(self, name: str, start: int) -> None:
        """Leave the region that the last call was in and enter another, unless it is the same."""
        if name.startswith(_MPI):  # which says of a region that it is a call
            self.archive.losses["regions whose names begin with MPI_"] = None
            name = ""
        if name == self.inside:
            return
        if self.inside:
            self.writer.leave(self.last, self.archive.region(self.inside))
        if name:
            self.writer.enter(start, self.archive.region(name))
        self.inside = name

    def _free(self, call: Called) -> None:
        """Leave a request without completion, which alone says of a receive from whom it got."""
        self.open.pop(call.request, None)
        sends = call.request in self.sends
        loss = "when sends are freed" if sends else "when receives are freed, and their sources"
        self.archive.losses[loss] = None

    def _messages(self, call: Called, start: int, end: int) -> None:
        comm, positions = self.archive.comms[call.comm], self.archive.positions[call.comm]
        writer, request = self.writer, call.request
        if call.to != NONE:
            sent = (positions[call.to], comm, call.tag, round(call.size))
            if request == NONE:
                writer.mpi_send(start, *sent)
            else:
                writer.mpi_isend(start, *sent, request)
                self.open[request] = lambda time: writer.mpi_isend_complete(time, request)
                self.sends.add(request)
        if call.source != NONE:
            if call.name == "probe":
                writer.mpi_probe(end, positions[call.source], comm, call.source_tag, _NO_MESSAGE)
                return
            got = (positions[call.source], comm, call.source_tag, round(call.got))
            if call.room not in (call.got, float("inf")):
                self.archive.losses["how much a receive had room for"] = None
            if request == NONE:
                writer.mpi_recv(end, *got)
            else:
                writer.mpi_irecv_request(start, request)
                self.open[request] = lambda time: writer.mpi_irecv(time, *got, request)

    def _together(self, call: Called, start: int, end: int) -> None:
        positions, size = self.archive.positions[call.comm], round(call.size)
        word = "CREATE_HANDLE" if call.name in _HANDLES else call.blocking.upper()
        root = positions[call.root] if call.root != NONE else _UNDEFINED
        details = (getattr(self.archive.library.CollectiveOp, word), self.archive.comms[call.comm],
                root, size, size)  # fmt: skip
        if call.request == NONE:
            self.writer.mpi_collective_begin(start)
            self.writer.mpi_collective_end(end, *details)
            return
        writer, request = self.writer, call.request
        writer.non_blocking_collective_request(start, request)
        self.open[request] = lambda time: writer.non_blocking_collective_complete(
            time, *details, request
        )
