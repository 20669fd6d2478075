"""How readers make traces: an event at a time, checked as it comes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError
from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ACCESS, CODES, EXSCAN, KINDS, LOCAL, ROOTED, WAIT
from parcast_traces.trace.checks import check
from parcast_traces.trace.columns import FIRST, KIND, NAME, NONE, Channels, Events, Trace

_WHOLE = ("kind", "call", "out", "into", "first", "count", "site")
_TIMES = ("start", "end", "bytes", "room")
#: Columns with their array types, in the order of `Events`.
_COLUMNS = {**dict.fromkeys(_WHOLE, "i"), **dict.fromkeys(_TIMES, "d")}


_INIT, _FINALIZE = CODES["init"], CODES["finalize"]
_PICKY = [CODES[name] for name in ("waitany", "waitsome", "test", "testall", "testany", "testsome",
                                   "iprobe")]  # fmt: skip


class Recording:
    """A trace in the making: a communicator of all ranks, and a `RankRecorder` for each."""

    def __init__(self, size: int, where: str = "", *, checked: bool = True) -> None:
        self.where = where
        self.checked = checked  #: what no run can have left is refused
        self.size = size
        self.members: list[Sequence[int]] = []
        self.labels: list[str] = []
        self.wild = 0  #: receives that named no source or no tag
        self._numbers: dict[Hashable, int] = {}
        self._places: list[dict[int, int]] = []
        self._channels: dict[tuple[int, int, int, int], int] = {}
        self._sites: dict[tuple[str, str], int] = {}
        self.ranks = [RankRecorder(self, rank) for rank in range(size)]
        self.communicator(0, range(size))

    def communicator(self, name: Hashable, members: Sequence[int]) -> None:
        """Add a communicator, or replace the one of this name; members are ranks of the whole."""
        wrong = next((rank for rank in members if not 0 <= rank < self.size), None)
        if wrong is not None:
            raise TraceError(
                "bad_peer",
                f"communicator {name} has rank {wrong} among its members, "
                f"and there are ranks 0 to {self.size - 1}",
                self.where,
            )
        places = {rank: place for place, rank in enumerate(members)}
        if name in self._numbers:
            number = self._numbers[name]
            self.members[number], self._places[number] = members, places
            return
        self._numbers[name] = len(self.members)
        self.members.append(members)
        self.labels.append(str(name))
        self._places.append(places)

    def channel(self, source: int, target: int, tag: int, comm: int) -> int:
        """Return the number of a channel."""
        return self._channels.setdefault((source, target, tag, comm), len(self._channels))

    def site(self, name: str, region: str = "") -> int:
        """Return the number of a call site, and of the region that it is in."""
        return self._sites.setdefault((name, region), len(self._sites))

    def number(self, name: Hashable, rank: int, place: str) -> tuple[int, Mapping[int, int]]:
        """Return a communicator's number and the places of its members, this rank among them."""
        if name not in self._numbers:
            raise TraceError("not_in_comm", f"{place}: there is no communicator {name}", self.where)
        number = self._numbers[name]
        if rank not in self._places[number]:
            raise TraceError(
                "not_in_comm",
                f"{place}: the rank is not in communicator {name}, "
                f"whose members are {_names(self.members[number])}",
                self.where,
            )
        return number, self._places[number]

    def places(self, number: int) -> Mapping[int, int]:
        """Return the places of a communicator's members, by its number."""
        return self._places[number]

    def trace(
        self,
        *,
        tick: float | None = None,
        comparable: bool = False,
        timed: bool = True,
        notes: tuple[str, ...] = (),
    ) -> Trace:
        """Return the trace.

        Raises
        ------
        TraceError
            If no run can have left it.
        """
        if self.checked:
            for rank in self.ranks:
                rank.check_closed()
        counts = [len(rank.columns["call"]) for rank in self.ranks]
        shifts = np.cumsum([0, *(len(rank.slots) for rank in self.ranks)])
        whole, times = self._joined(_WHOLE, np.int32), self._joined(_TIMES, np.float64)
        waits = whole[:, KIND] == WAIT
        whole[waits, FIRST] += np.repeat(shifts[:-1], counts)[waits].astype(np.int32)
        regions = tuple(region for _, region in self._sites)
        trace = Trace(
            where=self.where,
            events=Events(
                offsets=np.cumsum([0, *counts], dtype=np.int64),
                slots=np.concatenate([np.empty(0, np.int32), *(r.slots for r in self.ranks)]),
                whole=whole,
                times=times,
            ),
            channels=self._table(),
            communicators=tuple(np.array(members, np.int32) for members in self.members),
            labels=tuple(self.labels),
            sites=tuple(f"{name} in {region}" if region else name for name, region in self._sites),
            regions=regions if any(regions) else (),
            requests=np.array([rank.slots_used for rank in self.ranks], np.int32),
            tick=tick,
            comparable=comparable,
            timed=timed,
            checked=self.checked,
            notes=(*notes, *self._notes(whole[:, NAME])),
        )
        if self.checked:
            check(trace)
        return trace

    def _notes(self, calls: Any) -> Iterator[str]:
        """Yield what is to be said of any trace that has it."""
        calls_of = (recorder.columns["call"] for recorder in self.ranks)
        ends = [(names[0], names[-1]) if names else () for names in calls_of]
        lost = [
            rank for rank, calls in enumerate(ends) if _INIT in calls[:1] and _FINALIZE not in calls
        ]
        if lost:
            yield (f"{len(lost)} ranks, rank {lost[0]} the first, begin with MPI_Init and do not "
                   "come to MPI_Finalize: is a file cut off?")  # fmt: skip
        if picky := int(np.isin(calls, _PICKY).sum()):
            yield (f"{picky:,} calls that take what came first (waitany, waitsome, tests, iprobe) "
                   "keep what they took, whatever would come first")  # fmt: skip
        if self.wild:
            yield (f"{self.wild:,} receives from any source or of any tag keep the messages that "
                   "they got, whatever would come first")  # fmt: skip

    def _joined(self, names: Sequence[str], kind: Any) -> Any:
        """Return columns of all ranks side by side, one rank after the other."""
        table = np.empty((sum(len(r.columns["call"]) for r in self.ranks), len(names)), kind)
        at = 0
        for rank in self.ranks:
            count = len(rank.columns["call"])
            for column, name in enumerate(names):
                if count:
                    table[at : at + count, column] = np.frombuffer(rank.columns[name], kind)
            at += count
        return table

    def _table(self) -> Channels:
        try:
            table = np.array(list(self._channels) or np.empty((0, 4)), np.int64).T
        except OverflowError:
            sentence = f"{self.where}: a message has a tag or a communicator beyond 64 bits"
            raise FileError(sentence) from None
        source, target, tag, comm = table
        narrow = (column.astype(np.int32) for column in (source, target, comm))
        return Channels(**dict(zip(("source", "target", "communicator"), narrow, strict=True)),
                        tag=tag)  # fmt: skip


@attrs.define(eq=False)
class RankRecorder:
    """The events of one rank, in order. Peers and roots are ranks of the whole run."""

    recording: Recording
    rank: int
    columns: dict[str, array[float]] = attrs.field(
        factory=lambda: {name: array(kind) for name, kind in _COLUMNS.items()}
    )
    slots: array[int] = attrs.field(factory=lambda: array("i"))
    slots_used: int = 0
    region: str = ""  #: that the next events are in
    line: str = ""  #: of the code, that they are at
    _open: dict[Hashable, int] = attrs.field(factory=dict)
    _free: list[int] = attrs.field(factory=list)

    @property
    def place(self) -> str:
        """The next event, as errors name it."""
        return f"rank {self.rank}, event {len(self.columns['call'])}"

    def local(self, call: str, start: float, end: float, site: str | None = None) -> None:
        """Record a call that waits for nobody."""
        self._add(call, start, end, site)

    def compute(self, start: float, end: float) -> None:
        """Record a rank that makes no call: all that it did is computation."""
        self.local("init", start, start)
        self.local("finalize", end, end)

    def sleep(self, at: float, seconds: float) -> None:
        """Record a sleep in a trace of work: it takes as long on any machine."""
        self._add("sleep", at, at, None, bytes=seconds)

    def send(
        self, call: str, start: float, end: float, to: int, size: float, tag: int = 0,
        comm: Hashable = 0, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a send; a nonblocking one opens ``request``."""
        channel = self._channel(self.rank, to, tag, comm)
        slot = self._open_request(request) if call.startswith("i") else 0
        self._add(call, start, end, site, out=channel, bytes=size, count=slot)

    def receive(
        self, call: str, start: float, end: float, source: int, tag: int = 0, comm: Hashable = 0,
        room: float = math.inf, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a receive or a probe of the message that came, of ``room`` bytes at most."""
        channel = self._channel(source, self.rank, tag, comm)
        slot = self._open_request(request) if call in ("irecv", "win_expect") else 0
        self._add(call, start, end, site, into=channel, room=room, count=slot)

    def exchange(
        self, start: float, end: float, to: int, size: float, tag: int, source: int,
        source_tag: int, comm: Hashable = 0, room: float = math.inf, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a ``sendrecv``."""
        out = self._channel(self.rank, to, tag, comm)
        into = self._channel(source, self.rank, source_tag, comm)
        self._add("sendrecv", start, end, site, out=out, into=into, bytes=size, room=room)

    def wait(
        self, call: str, start: float, end: float, requests: Iterable[Hashable],
        site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a wait or a test, by the requests that it completed."""
        at = len(self.slots)
        for request in requests:
            self.slots.append(self._close_request(request))
        self._add(call, start, end, site, first=at, count=len(self.slots) - at)

    def free(self, start: float, end: float, request: Hashable) -> None:
        """Record that a request is given up, never to be waited for."""
        self._add("request_free", start, end, None, count=self._close_request(request) + 1)

    def collective(
        self, call: str, start: float, end: float, size: float = 0, comm: Hashable = 0,
        root: int | None = None, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a collective; ``root`` is a rank of the whole run."""
        number, places = self.recording.number(comm, self.rank, self.place)
        first = NONE
        if call in ROOTED:
            if root is None or root not in places:
                raise self._error("bad_peer", f"{call} has root {root}, which is not in "
                                  f"communicator {comm}")  # fmt: skip
            first = places[root]
        slot = self._open_request(request) if KINDS[CODES[call]] > EXSCAN else 0
        self._add(call, start, end, site, out=number, into=places[self.rank], bytes=size,
                  first=first, count=slot)  # fmt: skip

    def access(
        self, call: str, start: float, end: float, target: int, size: float, comm: Hashable,
        request: Hashable, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a one-sided call; with a ``request`` something waits for it, which this opens."""
        self._comm_of(target, comm)
        kind = LOCAL if request is None else ACCESS
        slot = 0 if request is None else self._open_request(request)
        self._add(call, start, end, site, kind=kind, bytes=size, first=target, count=slot)

    def check_closed(self) -> None:
        """Refuse requests that are still open."""
        if self._open:
            raise TraceError(
                "request_leak",
                f"rank {self.rank} ends with request {next(iter(self._open))} open"
                + (f" and {len(self._open) - 1} more" if len(self._open) > 1 else "")
                + "; wait for it, or free it",
                self.recording.where,
            )

    def _add(self, call: str, start: float, end: float, site: str | None, **fields: float) -> None:
        columns = self.columns
        if not (math.isfinite(start) and math.isfinite(end)):
            raise self._error("bad_time", f"{call} has no finite times ({start} to {end})")
        columns["kind"].append(int(fields.get("kind", KINDS[CODES[call]])))
        columns["call"].append(CODES[call])
        columns["start"].append(start)
        columns["end"].append(end)
        columns["out"].append(fields.get("out", NONE))
        columns["into"].append(fields.get("into", NONE))
        columns["bytes"].append(fields.get("bytes", 0))
        columns["room"].append(fields.get("room", math.inf))
        columns["first"].append(fields.get("first", 0))
        columns["count"].append(fields.get("count", 0))
        name = call if site is None else site
        name = f"{name} at {self.line}" if self.line else name
        columns["site"].append(self.recording.site(name, self.region))

    def _error(self, name: str, sentence: str) -> TraceError:
        return TraceError(name, f"{self.place}: {sentence}", self.recording.where)

    def _channel(self, source: int, target: int, tag: int, comm: Hashable) -> int:
        number = self._comm_of(target if source == self.rank else source, comm)
        return self.recording.channel(source, target, tag, number)

    def _comm_of(self, peer: int, comm: Hashable) -> int:
        """Return a communicator's number, if a peer is in it."""
        number, places = self.recording.number(comm, self.rank, self.place)
        if not 0 <= peer < self.recording.size:
            raise self._error("bad_peer", f"the peer is rank {peer}, and there are ranks 0 to "
                              f"{self.recording.size - 1}")  # fmt: skip
        if peer not in places:
            raise self._error("not_in_comm", f"the peer, rank {peer}, is not in communicator "
                              f"{comm}")  # fmt: skip
        return number

    def _open_request(self, request: Hashable) -> int:
        if request in self._open:
            raise self._error("request_reused", f"request {request} is still open")
        if self._free:
            slot = self._free.pop()
        else:
            slot, self.slots_used = self.slots_used, self.slots_used + 1
        self._open[request] = slot
        return slot

    def _close_request(self, request: Hashable) -> int:
        if request not in self._open:
            raise self._error("unknown_request", f"there is no open request {request}")
        slot = self._open.pop(request)
        self._free.append(slot)
        return slot


def unread(seconds: float) -> Iterator[str]:
    """Yield what is to be said of time that no event holds."""
    if seconds > 0:
        yield f"{seconds:.6g} s of all ranks together, after their last MPI calls, are left out"


def _names(members: Sequence[int]) -> str:
    names = ", ".join(map(str, members[:8]))
    return f"{names}, …" if len(members) > 8 else names
