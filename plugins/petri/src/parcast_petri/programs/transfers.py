"""How messages travel: each way of sharing the network as places and transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from parcast.errors import UnsupportedError
from parcast_petri.nets.net import Tokens
from parcast_petri.programs.net_builder import Sketch, timed
from parcast_petri.programs.networks import Wires
from parcast_petri.programs.rates import Rates
from parcast_petri.solvers.options import Options

#: Words under which the bandwidth is divided anew whenever the messages change.
DRAINED = ("ps_all", "ps_transfer", "max_min")


@attrs.frozen
class Letter:
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


@attrs.define(eq=False)
class Transfers:
    """Draws the transfer of each message on a machine's networks."""

    sketch: Sketch
    options: Options
    rates: Sequence[Rates]  #: by network

    def __attrs_post_init__(self) -> None:
        sharing = self.options.sharing
        for rates in self.rates:
            if reason := _refusal(rates.wires, self.options):
                raise UnsupportedError(f"petri.sharing = {sharing!r} {reason}")

    def draw(self, letter: Letter) -> int:
        """Draw a message's way from ready to arrived; return the moment of its arrival."""
        sharing = self.options.sharing
        if letter.network is None or sharing == "none":
            return self._alone(letter)
        rates = self.rates[letter.network]
        if rates.wires.contention == "none":
            return self._alone(letter)
        if sharing == "fcfs":
            on_bus = rates.wires.contention == "bus"
            return (self._bus if on_bus else self._endpoint)(letter, rates.wires)
        return (self._drained if sharing in DRAINED else self._fixed)(letter, rates)

    def _alone(self, letter: Letter) -> int:
        seconds = letter.startup + letter.transfer
        return self._served("carry", letter, letter.ready, letter.arrived, None, **timed(seconds))

    def _step(
        self,
        word: str,
        letter: Letter,
        pre: Mapping[str, int],
        post: Mapping[str, int],
        **rest: Any,
    ) -> int:
        return self.sketch.transition(f"{word} {letter.name}", pre, post, **rest)

    def _served(
        self,
        word: str,
        letter: Letter,
        pre: Mapping[str, int],
        post: Mapping[str, int],
        queued: str | None,
        **rest: Any,
    ) -> int:
        """Draw what takes time: at once, or by the one server of the statement.

        ``queued`` names a place that counts those who wait for it.
        """
        if self.options.servers == "single" and "delay" in rest:
            server = self.sketch.place(f"server {word} {letter.statement}", 1)
            served = {f"served {word} {letter.name}": 1}
            if queued is not None:
                asking = {f"asking {word} {letter.name}": 1, queued: 1}
                self._step(f"ask {word}", letter, pre, asking)
                pre = asking
            self._step(f"turn {word}", letter, {**pre, server: 1}, served, queue=server)
            pre, post = served, {**post, server: 1}
        return self._step(word, letter, pre, post, **rest)

    def _fixed(self, letter: Letter, rates: Rates) -> int:
        """Draw the paper's way: the bandwidth is divided once, by the messages at the start."""
        (link,) = rates.links(letter.src, letter.dst)
        count, load = rates.count(link), rates.load(letter.src, letter.dst)
        text = f"{letter.startup!r} + {letter.transfer!r}*({count})"
        if self.options.startup == "inside":
            text = f"{letter.startup + letter.transfer!r}*({count})"
        queued = rates.queued(letter.src, letter.dst) if rates.waiting else None
        return self._served(
            "carry", letter, letter.ready, letter.arrived, queued,
            delay=Tokens.read(text), load=load,
        )  # fmt: skip

    def _drained(self, letter: Letter, rates: Rates) -> int:
        """Draw a startup, and then bytes that drain at the speed that the others leave."""
        load = rates.load(letter.src, letter.dst)
        queued = rates.queued(letter.src, letter.dst) if rates.waiting else None
        inside = self.options.startup == "inside"
        begun, drained = letter.ready, {f"draining {letter.name}": 1}
        startup = 0.0 if inside else letter.startup
        if startup or len(letter.ready) > 1:
            counts = self.options.sharing == "ps_all" and startup
            counted = {"load": load} if counts else {}
            self._served(
                "start", letter, begun, drained, queued if counts else None,
                **timed(startup), **counted,
            )  # fmt: skip
            begun = drained
        return self._served(
            "drain", letter, begun, letter.arrived, queued,
            delay=letter.transfer + (letter.startup if inside else 0.0),
            load=load, speed=rates.speed(letter.src, letter.dst),
        )  # fmt: skip

    def _bus(self, letter: Letter, wires: Wires) -> int:
        bus, name = self.sketch.place(wires.name("bus"), 1), letter.name
        held, tail = {f"on bus {name}": 1}, {f"off bus {name}": 1}
        self._step("take bus", letter, {**letter.ready, bus: 1}, held, queue=bus)
        released = {bus: 1, **(tail if letter.startup else letter.arrived)}
        moment = self._step("carry", letter, held, released, **timed(letter.transfer))
        if not letter.startup:
            return moment
        return self._step("arrive", letter, tail, letter.arrived, delay=letter.startup)

    def _endpoint(self, letter: Letter, wires: Wires) -> int:
        ways = ("port", "port") if wires.duplex == "half" else ("port out", "port in")
        out = self.sketch.place(f"{wires.name(ways[0])} {letter.src}", 1)
        into = self.sketch.place(f"{wires.name(ways[1])} {letter.dst}", 1)
        name, transfer = letter.name, timed(letter.transfer)
        held, head, asked, taken = (
            {f"{word} {name}": 1} for word in ("leaving", "head", "asking", "entering")
        )
        self._step("take port out", letter, {**letter.ready, out: 1}, {**held, **head}, queue=out)
        self._step("leave", letter, held, {out: 1}, **transfer)
        if letter.startup:
            self._step("travel", letter, head, asked, delay=letter.startup)
        else:
            asked = head
        self._step("take port in", letter, {**asked, into: 1}, taken, queue=into)
        return self._step("enter", letter, taken, {into: 1, **letter.arrived}, **transfer)


def _refusal(wires: Wires, options: Options) -> str | None:
    """Return why a network cannot be shared in this way, or None."""
    sharing = options.sharing
    if wires.contention == "endpoint" and sharing in ("fixed_batch", "fixed_sequential"):
        return (
            "is that of one medium for all, and contention is 'endpoint'; set petri.sharing to "
            "ps_transfer, ps_all, max_min or fcfs"
        )
    if sharing == "fcfs" and wires.backbone is not None:
        return "serves ports, no backbone; set petri.sharing to ps_transfer, ps_all or max_min"
    if sharing == "fcfs" and wires.contention != "none" and options.servers == "single":
        return "serves messages in order already; set petri.servers to infinite"
    if sharing == "fcfs" and wires.contention != "none" and options.startup == "inside":
        return "has its startups after the bus or the ports; set petri.startup to outside"
    return None
