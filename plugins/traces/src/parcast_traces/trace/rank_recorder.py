"""The events of one rank, recorded one at a time and checked as they come."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable

import attrs

from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ACCESS, CODES, EXSCAN, KINDS, LOCAL, ROOTED
from parcast_traces.trace.columns import NONE
from parcast_traces.trace.names import Names

#: Columns of whole numbers and of floats, in the order of `Events`.
WHOLE = ("kind", "call", "out", "into", "first", "count", "site")
TIMES = ("start", "end", "bytes", "room")
_TYPES = {**dict.fromkeys(WHOLE, "i"), **dict.fromkeys(TIMES, "d")}


@attrs.define(eq=False)
class RankRecorder:
    """The events of one rank, in order. Peers and roots are ranks of the whole run."""

    names: Names
    rank: int
    columns: dict[str, array[float]] = attrs.field(
        factory=lambda: {name: array(kind) for name, kind in _TYPES.items()}
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
        """Record that a request is freed, never to be waited for."""
        self._add("request_free", start, end, None, count=self._close_request(request) + 1)

    def collective(
        self, call: str, start: float, end: float, size: float = 0, comm: Hashable = 0,
        root: int | None = None, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a collective; ``root`` is a rank of the whole run."""
        number, positions = self.names.number(comm, self.rank, self.place)
        first = NONE
        if call in ROOTED:
            if root is None or root not in positions:
                raise self._error("bad_peer", f"{call} has root {root}, which is not in "
                                  f"communicator {comm}")  # fmt: skip
            first = positions[root]
        slot = self._open_request(request) if KINDS[CODES[call]] > EXSCAN else 0
        self._add(call, start, end, site, out=number, into=positions[self.rank], bytes=size,
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
            raise self.names.leak(self.rank, list(self._open))

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
        columns["site"].append(self.names.site(name, self.region))

    def _error(self, name: str, sentence: str) -> TraceError:
        return TraceError(name, f"{self.place}: {sentence}", self.names.where)

    def _channel(self, source: int, target: int, tag: int, comm: Hashable) -> int:
        number = self._comm_of(target if source == self.rank else source, comm)
        return self.names.channel(source, target, tag, number)

    def _comm_of(self, peer: int, comm: Hashable) -> int:
        """Return a communicator's number, if a peer is in it."""
        number, positions = self.names.number(comm, self.rank, self.place)
        if not 0 <= peer < self.names.size:
            raise self._error("bad_peer", f"the peer is rank {peer}, and there are ranks 0 to "
                              f"{self.names.size - 1}")  # fmt: skip
        if peer not in positions:
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
