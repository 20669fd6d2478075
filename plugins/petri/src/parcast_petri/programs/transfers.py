"""How messages travel: each way of sharing the network as places and transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from parcast_petri.nets.net import Tokens
from parcast_petri.options import Options
from parcast_petri.programs.flows import class_load
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.networks import Wires, refuse_sharing
from parcast_petri.programs.rates import Rates

#: Words under which the bandwidth is divided anew whenever the messages change.
DRAINED = ("ps_all", "ps_transfer", "max_min")


@attrs.frozen
class Message:
    """A message: where it comes up, where it goes, and what a network of its own takes."""

    name: str
    statement: str  #: the process and statement that send it
    ready: Mapping[str, int]  #: a token in each of these places lets it leave
    arrived: Mapping[str, int]
    src: int  #: nodes
    dst: int
    startup: float
    transfer: float  #: n/B
    network: int | None  #: None: within a node
    shared: int | None  #: its class, where it shares links in max-min fair rates by routes


@attrs.define(eq=False)
class Transfers:
    """Build the transfer of each message on a machine's networks."""

    builder: NetBuilder
    options: Options
    rates: Sequence[Rates]  #: by network

    def __attrs_post_init__(self) -> None:
        refuse_sharing([rates.wires for rates in self.rates], self.options)

    def build(self, message: Message) -> int:
        """Build a message's way from ready to arrived; return the moment of its arrival."""
        sharing = self.options.sharing
        if message.shared is not None:
            of_class = class_load(message.shared)
            return self._drained(message, of_class, Tokens.fair(of_class))
        if message.network is None or sharing == "none":
            return self._uncontended(message)
        rates = self.rates[message.network]
        if rates.wires.contention in ("none", "fair"):
            return self._uncontended(message)
        if sharing == "fcfs":
            on_bus = rates.wires.contention == "bus"
            return (self._bus if on_bus else self._endpoint)(message, rates.wires)
        if sharing not in DRAINED:
            return self._fixed(message, rates)
        nodes = message.src, message.dst
        queued = rates.queued(*nodes) if rates.waiting else None
        return self._drained(message, rates.load(*nodes), rates.speed(*nodes), queued)

    def _uncontended(self, message: Message) -> int:
        seconds = message.startup + message.transfer
        return self._served(
            "carry", message, message.ready, message.arrived, None, **timed(seconds)
        )

    def _step(
        self,
        word: str,
        message: Message,
        pre: Mapping[str, int],
        post: Mapping[str, int],
        **fields: Any,
    ) -> int:
        return self.builder.transition(f"{word} {message.name}", pre, post, **fields)

    def _served(
        self,
        word: str,
        message: Message,
        pre: Mapping[str, int],
        post: Mapping[str, int],
        queued: str | None,
        **fields: Any,
    ) -> int:
        """Build what takes time: at once, or by the one server of the statement.

        ``queued`` names a place that counts those who wait for it.
        """
        if self.options.servers == "single" and "delay" in fields:
            server = self.builder.place(f"server {word} {message.statement}", 1)
            served = {f"served {word} {message.name}": 1}
            if queued is not None:
                asking = {f"asking {word} {message.name}": 1, queued: 1}
                self._step(f"ask {word}", message, pre, asking)
                pre = asking
            self._step(f"turn {word}", message, {**pre, server: 1}, served, queue=server)
            pre, post = served, {**post, server: 1}
        return self._step(word, message, pre, post, **fields)

    def _fixed(self, message: Message, rates: Rates) -> int:
        """Build the paper's way: the bandwidth is divided once, by the messages at the start."""
        (link,) = rates.links(message.src, message.dst)
        count, load = rates.count(link), rates.load(message.src, message.dst)
        text = f"{message.startup!r} + {message.transfer!r}*({count})"
        if self.options.startup == "inside":
            text = f"{message.startup + message.transfer!r}*({count})"
        queued = rates.queued(message.src, message.dst) if rates.waiting else None
        return self._served(
            "carry", message, message.ready, message.arrived, queued,
            delay=Tokens.read(text), load=load,
        )  # fmt: skip

    def _drained(
        self, message: Message, load: str, speed: Tokens, queued: str | None = None
    ) -> int:
        """Build a startup, and then bytes that drain at the speed that the others leave."""
        inside = self.options.startup == "inside"
        origin, drained = message.ready, {f"draining {message.name}": 1}
        startup = 0.0 if inside else message.startup
        if startup or len(message.ready) > 1:
            counts = self.options.sharing == "ps_all" and startup
            counted = {"load": load} if counts else {}
            self._served(
                "start", message, origin, drained, queued if counts else None,
                **timed(startup), **counted,
            )  # fmt: skip
            origin = drained
        return self._served(
            "drain", message, origin, message.arrived, queued,
            delay=message.transfer + (message.startup if inside else 0.0),
            load=load, speed=speed,
        )  # fmt: skip

    def _bus(self, message: Message, wires: Wires) -> int:
        bus, name = self.builder.place(wires.name("bus"), 1), message.name
        on_bus, tail = {f"on bus {name}": 1}, {f"off bus {name}": 1}
        self._step("take bus", message, {**message.ready, bus: 1}, on_bus, queue=bus)
        released = {bus: 1, **(tail if message.startup else message.arrived)}
        moment = self._step("carry", message, on_bus, released, **timed(message.transfer))
        if not message.startup:
            return moment
        return self._step("arrive", message, tail, message.arrived, delay=message.startup)

    def _endpoint(self, message: Message, wires: Wires) -> int:
        ways = ("port", "port") if wires.duplex == "half" else ("port out", "port in")
        out = self.builder.place(f"{wires.name(ways[0])} {message.src}", 1)
        into = self.builder.place(f"{wires.name(ways[1])} {message.dst}", 1)
        name, transfer = message.name, timed(message.transfer)
        leaving, head, asking, entering = (
            {f"{word} {name}": 1} for word in ("leaving", "head", "asking", "entering")
        )
        self._step(
            "take port out", message, {**message.ready, out: 1}, {**leaving, **head}, queue=out
        )
        self._step("leave", message, leaving, {out: 1}, **transfer)
        if message.startup:
            self._step("travel", message, head, asking, delay=message.startup)
        else:
            asking = head
        self._step("take port in", message, {**asking, into: 1}, entering, queue=into)
        return self._step("enter", message, entering, {into: 1, **message.arrived}, **transfer)
