"""How messages travel: each way of sharing the network as places and transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from parcast.costs import Costs
from parcast.errors import UnsupportedError
from parcast.expressions import Call, Name, Num
from parcast_petri.net import Tokens
from parcast_petri.programs.sketch import Sketch, timed

#: How messages share what the machine's contention says they share.
Sharing = Literal["none", "fixed_batch", "fixed_sequential", "ps_all", "ps_transfer", "fcfs"]


@attrs.frozen
class Letter:
    """A message: where it comes up, where it goes, and what a network of its own takes."""

    name: str
    ready: Mapping[str, int]  #: a token in each of these places lets it leave
    arrived: Mapping[str, int]
    src: int  #: nodes
    dst: int
    startup: float
    transfer: float  #: n/B
    local: bool


@attrs.define(eq=False)
class Transfers:
    """Draws the transfer of each message on a machine's network."""

    sketch: Sketch
    contention: str
    sharing: Sharing
    pairs: frozenset[tuple[int, int]]  #: nodes between which messages go
    _ports: dict[tuple[int, int], Tokens] = attrs.field(factory=dict)

    @classmethod
    def of(
        cls, sketch: Sketch, costs: Costs, sharing: Sharing, pairs: frozenset[tuple[int, int]]
    ) -> Transfers:
        """Return the transfers on the network of ``costs``.

        Raises
        ------
        UnsupportedError
            If the sharing has no meaning under the machine's contention.
        """
        if costs.contention == "endpoint" and sharing in ("fixed_batch", "fixed_sequential"):
            raise UnsupportedError(
                f"sharing {sharing!r} is that of one medium for all, and network.contention is "
                "'endpoint'; set petri.sharing to ps_transfer, ps_all or fcfs"
            )
        return cls(sketch, costs.contention, sharing, pairs)

    def draw(self, letter: Letter) -> int:
        """Draw a message's way from ready to arrived; return the moment of its arrival."""
        if letter.local or self.contention == "none" or self.sharing == "none":
            return self._alone(letter)
        if self.sharing == "fcfs":
            return self._bus(letter) if self.contention == "bus" else self._endpoint(letter)
        if self.sharing in ("ps_all", "ps_transfer"):
            return self._shared(letter)
        return self._fixed(letter)

    def _alone(self, letter: Letter) -> int:
        seconds = letter.startup + letter.transfer
        return self._step("carry", letter, letter.ready, letter.arrived, **timed(seconds))

    def _step(
        self,
        word: str,
        letter: Letter,
        pre: Mapping[str, int],
        post: Mapping[str, int],
        **rest: object,
    ) -> int:
        return self.sketch.transition(f"{word} {letter.name}", pre, post, **rest)

    def _fixed(self, letter: Letter) -> int:
        """Draw the paper's way: the bandwidth is divided once, by the messages at the start."""
        text = f"{letter.startup!r} + {letter.transfer!r}*bus"
        divided = Call("*", (Num(letter.transfer), Name("bus")))
        delay = Tokens(text, Call("+", (Num(letter.startup), divided)))
        return self._step("carry", letter, letter.ready, letter.arrived, delay=delay, load="bus")

    def _shared(self, letter: Letter) -> int:
        """Draw a startup, and then bytes that drain at the speed that the others leave."""
        load, speed = self._speed(letter)
        drained = {f"draining {letter.name}": 1}
        counted = {"load": load} if self.sharing == "ps_all" and letter.startup else {}
        begun = letter.ready
        if letter.startup or len(letter.ready) > 1:
            self._step("start", letter, letter.ready, drained, **timed(letter.startup), **counted)
            begun = drained
        delay = letter.transfer
        return self._step(
            "drain", letter, begun, letter.arrived, delay=delay, load=load, speed=speed
        )

    def _speed(self, letter: Letter) -> tuple[str, Tokens]:
        if self.contention == "bus":
            return "bus", self._ports.setdefault((-1, -1), Tokens.read("1/max(1, bus)"))
        pair = (letter.src, letter.dst)
        if pair not in self._ports:
            out = [f"flow_{s}_{d}" for s, d in sorted(self.pairs) if s == letter.src]
            into = [f"flow_{s}_{d}" for s, d in sorted(self.pairs) if d == letter.dst]
            text = f"1/max(1, {' + '.join(out)}, {' + '.join(into)})"
            self._ports[pair] = Tokens.read(text)
        return f"flow_{letter.src}_{letter.dst}", self._ports[pair]

    def _bus(self, letter: Letter) -> int:
        bus, name = self.sketch.place("bus", 1), letter.name
        held, tail = {f"on bus {name}": 1}, {f"off bus {name}": 1}
        self._step("take bus", letter, {**letter.ready, bus: 1}, held, queue=bus)
        released = {bus: 1, **(tail if letter.startup else letter.arrived)}
        moment = self._step("carry", letter, held, released, **timed(letter.transfer))
        if not letter.startup:
            return moment
        return self._step("arrive", letter, tail, letter.arrived, delay=letter.startup)

    def _endpoint(self, letter: Letter) -> int:
        out = self.sketch.place(f"port out {letter.src}", 1)
        into = self.sketch.place(f"port in {letter.dst}", 1)
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
