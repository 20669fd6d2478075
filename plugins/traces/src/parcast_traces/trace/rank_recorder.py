"""The events of one rank, recorded one at a time and checked as they come."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Iterable
from struct import error as StructError  # noqa: N812  (a class)

import attrs

from parcast.errors import shorten
from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ACCESS, CODES, EXSCAN, KINDS, LOCAL, ROOTED
from parcast_traces.trace.columns import NONE
from parcast_traces.trace.names import Names
from parcast_traces.trace.spilling import ROW

_FINALIZE, _FREE = CODES["finalize"], CODES["request_free"]
_packed, _isfinite = ROW.pack, math.isfinite


@attrs.define(eq=False)
class RankRecorder:
    """The events of one rank, in order. Peers and roots are ranks of the whole run."""

    names: Names
    rank: int
    grew: Callable[[RankRecorder], None]  #: is told when there are ``asks_at`` events
    asks_at: int
    count: int = 0  #: of its events
    rows: bytearray = attrs.field(factory=bytearray)  #: those that are in memory
    completed: int = 0  #: requests, by waits
    slots: array[int] = attrs.field(factory=lambda: array("i"))  #: theirs, as far as in memory
    slots_used: int = 0
    first_call: int = NONE
    last_call: int = _FINALIZE  #: but for requests that are freed
    region: str = ""  #: that the next events are in
    line: str = ""  #: of the code, that they are at
    _open: dict[Hashable, int] = attrs.field(factory=dict)
    _free: list[int] = attrs.field(factory=list)

    @property
    def place(self) -> str:
        """The next event, as errors name it."""
        return f"rank {self.rank}, event {self.count}"

    def local(self, call: str, start: float, end: float, site: str | None = None) -> None:
        """Record a call that waits for nobody."""
        self._add(call, start, end, site)

    def compute(self, start: float, end: float) -> None:
        """Record a rank that makes no call: all that it did is computation."""
        self.local("init", start, start)
        self.local("finalize", end, end)

    def sleep(self, at: float, seconds: float) -> None:
        """Record a sleep in a trace of work: it takes as long on any machine."""
        self._add("sleep", at, at, None, size=seconds)

    def send(
        self, call: str, start: float, end: float, to: int, size: float, tag: int = 0,
        comm: Hashable = 0, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a send; a nonblocking one opens ``request``."""
        channel = self._channel(self.rank, to, tag, comm)
        slot = self._open_request(request) if call.startswith("i") else 0
        self._add(call, start, end, site, out=channel, size=size, slot=slot)

    def receive(
        self, call: str, start: float, end: float, source: int, tag: int = 0, comm: Hashable = 0,
        room: float = math.inf, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a receive or a probe of the message that came, of ``room`` bytes at most."""
        channel = self._channel(source, self.rank, tag, comm)
        slot = self._open_request(request) if call in ("irecv", "win_expect") else 0
        self._add(call, start, end, site, into=channel, room=room, slot=slot)

    def exchange(
        self, start: float, end: float, to: int, size: float, tag: int, source: int,
        source_tag: int, comm: Hashable = 0, room: float = math.inf, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a ``sendrecv``."""
        out = self._channel(self.rank, to, tag, comm)
        into = self._channel(source, self.rank, source_tag, comm)
        self._add("sendrecv", start, end, site, out=out, into=into, size=size, room=room)

    def wait(
        self, call: str, start: float, end: float, requests: Iterable[Hashable],
        site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a wait or a test, by the requests that it completed."""
        at = self.completed
        for request in requests:
            self.slots.append(self._close_request(request))
            self.completed += 1
        self._add(call, start, end, site, first=at, slot=self.completed - at)

    def free(self, start: float, end: float, request: Hashable) -> None:
        """Record that a request is freed, never to be waited for."""
        self._add("request_free", start, end, None, slot=self._close_request(request) + 1)

    def collective(
        self, call: str, start: float, end: float, size: float = 0, comm: Hashable = 0,
        root: int | None = None, request: Hashable = None, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a collective; ``root`` is a rank of the whole run."""
        number, positions = self.names.number(comm, self.rank, self.count)
        first = NONE
        if call in ROOTED:
            if root is None or root not in positions:
                raise self._error("bad_peer", f"{call} has root {root}, which is not in "
                                  f"communicator {comm}")  # fmt: skip
            first = positions[root]
        slot = self._open_request(request) if KINDS[CODES[call]] > EXSCAN else 0
        self._add(call, start, end, site, out=number, into=positions[self.rank], size=size,
                  first=first, slot=slot)  # fmt: skip

    def access(
        self, call: str, start: float, end: float, target: int, size: float, comm: Hashable,
        request: Hashable, site: str | None = None,
    ) -> None:  # fmt: skip
        """Record a one-sided call; with a ``request`` something waits for it, which this opens."""
        self._comm_of(target, comm)
        kind = LOCAL if request is None else ACCESS
        slot = 0 if request is None else self._open_request(request)
        self._add(call, start, end, site, kind=kind, size=size, first=target, slot=slot)

    def check_closed(self) -> None:
        """Refuse requests that are still open."""
        if self._open:
            raise self.names.leak(self.rank, list(self._open))

    def _add(
        self, call: str, start: float, end: float, site: str | None, *, kind: int | None = None,
        out: int = NONE, into: int = NONE, first: int = 0, slot: int = 0, size: float = 0.0,
        room: float = math.inf,
    ) -> None:  # fmt: skip
        if not (_isfinite(start) and _isfinite(end)):
            raise self._error("bad_time", f"{call} has no finite times ({start} to {end})")
        code = CODES[call]
        name = call if site is None else site
        if self.line:
            name = f"{name} at {self.line}"
        number = self.names.site(name, self.region)
        try:
            self.rows += _packed(KINDS[code] if kind is None else kind, code, out, into, first,
                                 slot, number, start, end, size, room)  # fmt: skip
        except (StructError, OverflowError):
            raise self._error("bad_size", f"{call} has {shorten(size)} bytes") from None
        self.added(1, code, code)

    def added(self, events: int, first_call: int, last_call: int) -> None:
        """Count events that were recorded."""
        if not self.count:
            self.first_call = first_call
        if last_call != _FREE:
            self.last_call = last_call
        self.count += events
        if self.count >= self.asks_at:
            self.grew(self)

    def _error(self, name: str, sentence: str) -> TraceError:
        return TraceError(name, f"{self.place}: {sentence}", self.names.where)

    def _channel(self, source: int, target: int, tag: int, comm: Hashable) -> int:
        number = self._comm_of(target if source == self.rank else source, comm)
        return self.names.channel(source, target, tag, number)

    def _comm_of(self, peer: int, comm: Hashable) -> int:
        """Return a communicator's number, if a peer is in it."""
        number, positions = self.names.number(comm, self.rank, self.count)
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
