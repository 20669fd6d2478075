"""Messages of programs: which receive takes which, and when they leave (``docs/program.md``)."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs

from parcast.model import SIGNAL, Costs
from parcast.program.reference import end_of_instant
from parcast_emulator.processes.clock import DECIDE, RUN, SERVE, Clock
from parcast_emulator.processes.lines import Line
from parcast_emulator.processes.ports import Ports

if TYPE_CHECKING:
    from parcast_emulator.processes.links import SharedLinks


@attrs.define(eq=False)
class Message:
    """A message, from the time when it is ready to go."""

    source: int
    target: int
    tag: int
    size: float
    position: int  #: of its send, among the operations of the source
    eager: bool  #: its sender does not wait for it
    early: bool  #: it leaves before its receive is posted
    number: int = 0  #: of all, as they were handed over
    ready: float = 0.0  #: when it could go
    left: float = 0.0  #: when its transfer began
    arrival: float | None = None  #: set when it is there
    asker: tuple[int, int] | None = (
        None  #: process and position that ask for its way, if not its send
    )


#: When a message was there, its source, place and number, and itself.
_Offer = tuple[float, int, int, int, Message]


@attrs.define(eq=False)
class Receive:
    """A receive that has been posted."""

    message: Message | None = None
    posted: float = 0.0

    @property
    def arrival(self) -> float | None:
        """When its message was there, or None while it is not."""
        return None if self.message is None else self.message.arrival

    @property
    def left(self) -> float:
        """When its message began its transfer."""
        return 0.0 if self.message is None else self.message.left


class Post:
    """Pairs messages and receives, and passes messages through the network."""

    def __init__(
        self, clock: Clock, costs: Costs, ports: Ports, wake: Callable[[int], Any]
    ) -> None:
        self.clock, self.costs, self.ports, self.wake = clock, costs, ports, wake
        self.node = costs.placement.node.tolist()
        self.uniform = costs.uniform
        self._crossings: dict[tuple[int, int, float], tuple[float, float]] = {}
        self.bus = Line(clock)
        self.links = _links(clock, costs)
        self._sent: dict[Any, deque[Message]] = defaultdict(deque)
        self._posted: dict[Any, deque[Receive]] = defaultdict(deque)
        #: for each receiver and tag that takes any message: those that are there
        self._offers: dict[tuple[int, int], list[_Offer]] = {}
        self._count = count()
        self._wanting: dict[tuple[int, int], tuple[int, Receive]] = {}

    def take_any(self, rank: int, tag: int) -> None:
        """Say that a process receives messages of a tag from anybody."""
        self._offers[rank, tag] = []

    def send(self, message: Message) -> None:
        """Hand over a message that is ready now."""
        message.ready, message.number = self.clock.now, next(self._count)
        if message.early:
            self._leave(message)
        if (message.target, message.tag) in self._offers:
            if not message.early:
                self._offer(message)
            return
        channel = (message.source, message.target, message.tag)
        if self._posted[channel]:
            self._pair(message, self._posted[channel].popleft())
        else:
            self._sent[channel].append(message)

    def fetch(self, message: Message) -> None:
        """Let a message go that no receive of a process takes."""
        self._leave(message)

    def receive(self, source: int, target: int, tag: int) -> Receive:
        """Post a receive."""
        receive, channel = Receive(posted=self.clock.now), (source, target, tag)
        if self._sent[channel]:
            self._pair(self._sent[channel].popleft(), receive)
        else:
            self._posted[channel].append(receive)
        return receive

    def receive_any(self, target: int, tag: int, position: int) -> Receive:
        """Post a receive of what is there first."""
        receive = Receive(posted=self.clock.now)
        self._wanting[target, tag] = (position, receive)
        self._ask(target, tag)
        return receive

    def _pair(self, message: Message, receive: Receive) -> None:
        receive.message = message
        if not message.early:  # the later of both is not always the last to be looked at
            now, self.clock.now = self.clock.now, max(message.ready, receive.posted)
            self._leave(message)
            self.clock.now = now

    def _offer(self, message: Message) -> None:
        """Let a receive of any message take this one from now on."""
        mailbox = (message.target, message.tag)
        offer = (self.clock.now, message.source, message.position, message.number, message)
        heapq.heappush(self._offers[mailbox], offer)
        self._ask(*mailbox)

    def _ask(self, rank: int, tag: int) -> None:
        """Have a receive of any message decided, if there is one and something to take."""
        if self._offers[rank, tag] and (rank, tag) in self._wanting:
            position, receive = self._wanting.pop((rank, tag))
            decide = partial(self._decide, rank, tag, receive)
            self.clock.at(self.clock.now, DECIDE, (rank, position), decide)

    def _decide(self, rank: int, tag: int, receive: Receive) -> None:
        self._pair(_first(self._offers[rank, tag]), receive)
        self.wake(rank)

    # the network

    def _leave(self, message: Message) -> None:
        message.left = self.clock.now
        costs, clock = self.costs, self.clock
        key = message.asker or (message.source, message.position)
        source, target = self.node[message.source], self.node[message.target]
        latency, seconds = self._crossing(message)
        arrive = partial(self._arrive, message)
        if self.links is not None:
            self._share(self.links, message, key, latency, seconds)
        elif source == target or costs.contention == "none" or message.size == SIGNAL:
            clock.at(clock.now + latency + seconds, RUN, key, arrive)
        elif costs.contention == "bus":
            clock.at(clock.now, SERVE, key, lambda: self._carry(key, latency, seconds, arrive))
        else:
            self.ports.send(
                (source, target), (key, key), seconds, latency, _ignore, _ignore, arrive
            )

    def _share(
        self, links: SharedLinks, message: Message, key: Any, latency: float, seconds: float
    ) -> None:
        """Let a message flow over the links that it shares, if there are any."""
        source, target, clock = message.source, message.target, self.clock
        route, arrive = links.route(source, target), partial(self._arrive, message)
        if seconds and len(route[0]):
            size = float(self.costs.on_wire(source, target, message.size))
            links.send((route, size, seconds), latency, (*key, message.number), arrive)
        else:
            clock.at(clock.now + latency + seconds, RUN, key, arrive)

    def _crossing(self, message: Message) -> tuple[float, float]:
        """Return the latency of a message, and the seconds of its bytes on the links alone."""
        costs, source, target, size = self.costs, message.source, message.target, message.size
        if not self.uniform:
            key = source, target, size
            if key not in self._crossings:
                latency, seconds = costs.latency(*key), costs.transfer(*key)
                self._crossings[key] = float(latency), float(seconds)
            return self._crossings[key]
        if self.node[source] == self.node[target]:
            return costs.local_startup, size * costs.local_per_byte
        return costs.startup, size * costs.per_byte

    def _carry(
        self, key: tuple[int, int], latency: float, seconds: float, arrive: Callable[[], Any]
    ) -> None:
        self.bus.hold(seconds)
        self.clock.at(self.bus.free + latency, RUN, key, arrive)

    def _arrive(self, message: Message) -> None:
        message.arrival = self.clock.now
        if message.early and (message.target, message.tag) in self._offers:
            self._offer(message)
        self.wake(message.target)
        if not message.eager:
            self.wake(message.source)


def _links(clock: Clock, costs: Costs) -> SharedLinks | None:
    if costs.contention != "fair":
        return None
    from parcast_emulator.processes.links import SharedLinks

    return SharedLinks(clock, costs)


def _first(offers: list[_Offer]) -> Message:
    """Take out the message that was there first; of one instant, that of the lowest source."""
    until = end_of_instant(offers[0][0])
    available = []
    while offers and offers[0][0] <= until:
        available.append(heapq.heappop(offers))
    first = min(available, key=lambda offer: offer[1:4])
    for offer in available:
        if offer is not first:
            heapq.heappush(offers, offer)
    return first[4]


def _ignore(*_times: float) -> None:
    """Hear of what nobody waits for."""
