"""The nets of the paper itself: segments, sends and loops with counting places.

C. Anglano, Predicting parallel applications performance on non-dedicated cluster platforms,
ICS 1998. Programs in parcast's own language become nets in `parcast_petri.programs`; this module
draws processes as the paper does, with loops kept, and plays the paper's experiment, the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from parcast.program.reference import SAME_INSTANT
from parcast.quantities import Call, Expr, Name, Num
from parcast_petri.nets.arrays import Form, arrays
from parcast_petri.nets.net import Net, Number, Tokens
from parcast_petri.nets.token_game import Play, Run
from parcast_petri.programs.net_builder import Sketch

PaperSharing = Literal["none", "fixed_batch", "fixed_sequential", "ps_all", "ps_transfer"]


@attrs.frozen
class Send:
    """A message that leaves at the end of a segment: for which buffer, and how long it takes."""

    buffer: str
    startup: Number
    transfer: Number  #: alone on the medium


@attrs.frozen(kw_only=True)
class Segment:
    """Code between two communication statements: waits for messages, computes, sends."""

    work: Number
    receives: str | None = None  #: the buffer it waits for
    count: int = 1  #: messages that it waits for
    sends: tuple[Send, ...] = ()
    times: int | None = None  #: in a loop: it sends in so many of the first iterations; None: all


@attrs.frozen
class Loop:
    """Segments that are repeated so many times."""

    count: int
    segments: tuple[Segment, ...]


Process = Sequence[Segment | Loop]


def paper_net(
    processes: Sequence[Process], sharing: PaperSharing, servers: int | None = None
) -> tuple[Net, list[int]]:
    """Return the merged net of processes, and the transition that ends each.

    Parameters
    ----------
    processes
        What each process does.
    sharing
        How messages share the one medium (see `parcast_petri.solvers.options.Options`).
    servers
        Of each transition that sends: 1, or None for as many as there are messages.
    """
    sketch = Sketch()
    drawn = [_Drawn(sketch, number, sharing, servers) for number in range(len(processes))]
    for one, process in zip(drawn, processes, strict=True):
        one.draw(process)
    for one in drawn:  # among what is due at one time, computations come first
        one.draw_sends()
    return sketch.net("segments", SAME_INSTANT), [one.last for one in drawn]


@attrs.define(eq=False)
class _Drawn:
    """One process as far as it is drawn."""

    sketch: Sketch
    number: int
    sharing: PaperSharing
    servers: int | None
    last: int = -1
    sends: list[tuple[str, Send]] = attrs.field(factory=list)

    def draw(self, process: Process) -> None:
        """Draw all but the sends."""
        starts = [self.control(step, item) for step, item in enumerate(process)]
        ends = [*starts[1:], {f"end {self.number}": 1}]
        for place, tokens in starts[0].items():
            self.sketch.place(place, tokens)
        for step, (item, before, after) in enumerate(zip(process, starts, ends, strict=True)):
            if isinstance(item, Loop):
                self.loop(f"{self.number}.{step}", item, before, after)
            else:
                self.segment(f"{self.number}.{step}", item, before, after)

    def control(self, step: int, item: Segment | Loop) -> dict[str, int]:
        """Return the tokens that begin an item: one, or as many as a loop has iterations."""
        return {f"start {self.number}.{step}": item.count if isinstance(item, Loop) else 1}

    def loop(self, name: str, loop: Loop, start: dict[str, int], end: dict[str, int]) -> None:
        """Draw a loop: its tokens are iterations, and a mutex lets one go on at a time."""
        (iterations,), mutex, done = start, f"mutex {name}", f"count {name}"
        self.sketch.place(mutex, 1)
        last = len(loop.segments) - 1
        for position, one in enumerate(loop.segments):
            before = {iterations: 1, mutex: 1} if position == 0 else {f"in {name}.{position}": 1}
            after = {mutex: 1, done: 1} if position == last else {f"in {name}.{position + 1}": 1}
            self.segment(f"{name}.{position}", one, before, after)
        self.last = self.sketch.transition(f"exit {name}", {done: loop.count, mutex: 1}, end)

    def segment(
        self, name: str, segment: Segment, before: dict[str, int], after: dict[str, int]
    ) -> None:
        waits = {segment.receives: segment.count} if segment.receives else {}
        sent = {f"snd {name}.{k}": 1 for k in range(len(segment.sends))}
        self.sends += zip(sent, segment.sends, strict=True)
        done = {**after, **sent}
        if segment.times is not None:
            done = {f"choice {name}": 1}
        self.last = self.sketch.transition(
            f"T {name}", {**before, **waits}, done, delay=segment.work
        )
        if segment.times is not None:
            left = self.sketch.place(f"sends left {name}", segment.times)
            self.sketch.transition(f"send {name}", {**done, left: 1}, {**after, **sent})
            self.last = self.sketch.transition(f"pass {name}", done, after, inhibitor={left: 1})

    def draw_sends(self) -> None:
        """Draw the transitions of all sends."""
        for place, send in self.sends:
            self._send(place, send)

    def _send(self, place: str, send: Send) -> None:
        """Draw the transition of a send, or the two of one whose bytes are drained."""
        rest: dict[str, Any] = {"servers": self.servers}
        if self.sharing in ("ps_all", "ps_transfer"):
            started = {f"{place} started": 1}
            load = {"load": "bus"} if self.sharing == "ps_all" else {}
            self.sketch.transition(
                f"startup {place}", {place: 1}, started, delay=send.startup, **load, **rest
            )
            rest |= {"load": "bus", "speed": Tokens.read("1/max(1, bus)")}
            self.sketch.transition(
                f"T {place}", started, {send.buffer: 1}, delay=send.transfer, **rest
            )
            return
        delay: Number | Tokens = send.startup + send.transfer
        if self.sharing != "none":
            delay, rest["load"] = _divided(send), "bus"
        self.sketch.transition(f"T {place}", {place: 1}, {send.buffer: 1}, delay=delay, **rest)


def _divided(send: Send) -> Tokens:
    """Return the delay of equation 6: the bandwidth is divided by the messages."""
    shared: Expr = Call("*", (Num(send.transfer), Name("bus")))  # type: ignore[arg-type]
    whole = Call("+", (Num(send.startup), shared))  # type: ignore[arg-type]
    return Tokens(f"{send.startup} + {send.transfer}*bus", whole)


@attrs.frozen
class Ring:
    """The paper's experiment: blocks of a matrix go round a ring of processes.

    ``works[i]`` are the seconds of process i in its four segments, slowdown included: prepare and
    send, multiply the local part; then, in a loop, receive and forward, multiply.
    """

    works: Sequence[tuple[Number, Number, Number, Number]]
    startup: Number
    transfer: Number
    forward_always: bool = False  #: also in the last turn, a message that nobody receives

    def processes(self) -> list[Process]:
        """Return what each process does."""
        size = len(self.works)
        found: list[Process] = []
        for rank, (first, local, relay, multiply) in enumerate(self.works):
            send = Send(f"buf {(rank + 1) % size}", self.startup, self.transfer)
            times = None if self.forward_always else size - 2
            buffer = f"buf {rank}"
            body = (
                Segment(work=relay, receives=buffer, sends=(send,), times=times),
                Segment(work=multiply),
            )
            before = [Segment(work=first, sends=(send,)), Segment(work=local)]
            found.append([*before, Loop(size - 1, body)])
        return found

    def run(
        self, sharing: PaperSharing, servers: int | None = None, form: Form = "exact"
    ) -> tuple[list[Any], Run]:
        """Return when each process ends, and the run of the net to its final marking."""
        net, ends = paper_net(self.processes(), sharing, servers)
        evaluation: Any = "sequential" if sharing == "fixed_sequential" else "batch"
        run = Play(arrays(net, form, evaluation=evaluation)).finish()
        return [run.last[one] for one in ends], run

    def ends(
        self, sharing: PaperSharing, servers: int | None = None, form: Form = "exact"
    ) -> tuple[list[Any], Any]:
        """Return when each process ends, and when the last message has arrived."""
        ends, run = self.run(sharing, servers, form)
        return ends, run.time
