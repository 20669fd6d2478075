"""The ports between nodes and the network, where messages meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parcast_emulator.processes.clock import RUN, SERVE, Clock, Key
from parcast_emulator.processes.lines import FairLine, Line


class Ports:
    """A port out and a port in of each node, which may be one.

    A message holds the port out; its head arrives ``latency`` later and holds the port in for
    as long. It has arrived at the end of that, and not before its tail has left and crossed.
    """

    def __init__(self, clock: Clock, nodes: int, *, half: bool, fair: bool) -> None:
        self.clock = clock
        self.fair = fair
        kind = FairLine if fair else Line
        self.out: list[Line] = [kind(clock) for _ in range(nodes)]
        self.into = self.out if half else [kind(clock) for _ in range(nodes)]

    def send(
        self,
        nodes: tuple[int, int],
        keys: tuple[Key, Key],
        seconds: float,
        latency: float,
        begun: Callable[[float, float], Any],
        sent: Callable[[], Any],
        arrived: Callable[[], Any],
    ) -> None:
        """Send a message that takes ``seconds`` of a port alone.

        Parameters
        ----------
        nodes, keys
            Of the sender and of the receiver; keys order requests of one time.
        seconds, latency
            Of the message.
        begun
            Told when the message begins to leave, and when it begins to be received.
        sent, arrived
            Called when the port out is done with it, and when it is there.
        """
        message = _Crossing(self, nodes, keys, seconds, latency, begun, sent, arrived)
        self.clock.at(self.clock.now, SERVE, keys[0], message.leave)


class _Crossing:
    """A message between two ports."""

    __slots__ = (
        "arrived", "begun", "keys", "latency", "left", "nodes", "ports", "received", "seconds",
        "sent", "start",
    )  # fmt: skip

    def __init__(
        self, ports: Ports, nodes: tuple[int, int], keys: tuple[Key, Key], seconds: float,
        latency: float, begun: Any, sent: Any, arrived: Any,
    ) -> None:  # fmt: skip
        self.ports, self.nodes, self.keys = ports, nodes, keys
        self.seconds, self.latency = seconds, latency
        self.begun, self.sent, self.arrived = begun, sent, arrived
        self.start = 0.0
        self.left: float | None = None
        self.received = False

    def leave(self) -> None:
        out, clock = self.ports.out[self.nodes[0]], self.ports.clock
        self.start = out.serve(self.keys[0], self.seconds, self.gone)
        clock.at(self.start + self.latency, SERVE, self.keys[1], self.head)

    def gone(self) -> None:
        self.left = self.ports.clock.now
        self.sent()
        self.land()

    def head(self) -> None:
        into = self.ports.into[self.nodes[1]]
        self.begun(self.start, into.serve(self.keys[1], self.seconds, self.taken))

    def taken(self) -> None:
        self.received = True
        if self.ports.fair:
            self.land()
        else:
            self.arrived()

    def land(self) -> None:
        """Arrive at a fair port, where the tail may come later than the port has room for it."""
        if self.ports.fair and self.received and self.left is not None:
            clock = self.ports.clock
            clock.at(max(self.left + self.latency, clock.now), RUN, (), self.arrived)
