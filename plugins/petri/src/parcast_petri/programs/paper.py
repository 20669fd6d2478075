"""The nets of the paper itself: segments, sends and loops with counting places.

C. Anglano, Predicting parallel applications performance on non-dedicated cluster platforms,
ICS 1998. Programs in parcast's own language become nets by `lowering`; this module builds
processes as the paper draws them, with loops kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from parcast.program.reference import SAME_INSTANT
from parcast.quantities import Call, Expr, Name, Num
from parcast_petri.nets.net import Net, Number, Tokens
from parcast_petri.programs.net_builder import NetBuilder

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
        How messages share the one medium (see `parcast_petri.options.Options`).
    servers
        Of each transition that sends: 1, or None for as many as there are messages.
    """
    builder = NetBuilder()
    builders = [
        _ProcessBuilder(builder, number, sharing, servers) for number in range(len(processes))
    ]
    for process_builder, process in zip(builders, processes, strict=True):
        process_builder.build(process)
    for process_builder in builders:  # among what is due at one time, computations come first
        process_builder.build_sends()
    last_transitions = [process_builder.last for process_builder in builders]
    return builder.net("segments", SAME_INSTANT), last_transitions


@attrs.define(eq=False)
class _ProcessBuilder:
    """Builds the net of one process."""

    builder: NetBuilder
    number: int
    sharing: PaperSharing
    servers: int | None
    last: int = -1
    sends: list[tuple[str, Send]] = attrs.field(factory=list)

    def build(self, process: Process) -> None:
        """Build all but the sends."""
        starts = [self.control(step, item) for step, item in enumerate(process)]
        ends = [*starts[1:], {f"end {self.number}": 1}]
        for place, tokens in starts[0].items():
            self.builder.place(place, tokens)
        for step, (item, before, after) in enumerate(zip(process, starts, ends, strict=True)):
            if isinstance(item, Loop):
                self.loop(f"{self.number}.{step}", item, before, after)
            else:
                self.segment(f"{self.number}.{step}", item, before, after)

    def control(self, step: int, item: Segment | Loop) -> dict[str, int]:
        """Return the tokens that begin an item: one, or as many as a loop has iterations."""
        return {f"start {self.number}.{step}": item.count if isinstance(item, Loop) else 1}

    def loop(self, name: str, loop: Loop, start: dict[str, int], end: dict[str, int]) -> None:
        """Build a loop: its tokens are iterations, and a mutex lets one go on at a time."""
        (iterations,), mutex, finished = start, f"mutex {name}", f"count {name}"
        self.builder.place(mutex, 1)
        last = len(loop.segments) - 1
        for position, segment in enumerate(loop.segments):
            before = {iterations: 1, mutex: 1} if position == 0 else {f"in {name}.{position}": 1}
            after = (
                {mutex: 1, finished: 1} if position == last else {f"in {name}.{position + 1}": 1}
            )
            self.segment(f"{name}.{position}", segment, before, after)
        self.last = self.builder.transition(f"exit {name}", {finished: loop.count, mutex: 1}, end)

    def segment(
        self, name: str, segment: Segment, before: dict[str, int], after: dict[str, int]
    ) -> None:
        waits = {segment.receives: segment.count} if segment.receives else {}
        sent = {f"snd {name}.{k}": 1 for k in range(len(segment.sends))}
        self.sends += zip(sent, segment.sends, strict=True)
        outputs = {**after, **sent}
        if segment.times is not None:
            outputs = {f"choice {name}": 1}
        self.last = self.builder.transition(
            f"T {name}", {**before, **waits}, outputs, delay=segment.work
        )
        if segment.times is not None:
            left = self.builder.place(f"sends left {name}", segment.times)
            self.builder.transition(f"send {name}", {**outputs, left: 1}, {**after, **sent})
            self.last = self.builder.transition(f"pass {name}", outputs, after, inhibitor={left: 1})

    def build_sends(self) -> None:
        """Build the transitions of all sends."""
        for place, send in self.sends:
            self._send(place, send)

    def _send(self, place: str, send: Send) -> None:
        """Build the transition of a send, or the two of one whose bytes are drained."""
        arguments: dict[str, Any] = {"servers": self.servers}
        if self.sharing in ("ps_all", "ps_transfer"):
            started = {f"{place} started": 1}
            load = {"load": "bus"} if self.sharing == "ps_all" else {}
            self.builder.transition(
                f"startup {place}", {place: 1}, started, delay=send.startup, **load, **arguments
            )
            arguments |= {"load": "bus", "speed": Tokens.read("1/max(1, bus)")}
            self.builder.transition(
                f"T {place}", started, {send.buffer: 1}, delay=send.transfer, **arguments
            )
            return
        delay: Number | Tokens = send.startup + send.transfer
        if self.sharing != "none":
            delay, arguments["load"] = _divided(send), "bus"
        self.builder.transition(
            f"T {place}", {place: 1}, {send.buffer: 1}, delay=delay, **arguments
        )


def _divided(send: Send) -> Tokens:
    """Return the delay of equation 6: the bandwidth is divided by the messages."""
    shared: Expr = Call("*", (Num(send.transfer), Name("bus")))  # type: ignore[arg-type]
    whole = Call("+", (Num(send.startup), shared))  # type: ignore[arg-type]
    return Tokens(f"{send.startup} + {send.transfer}*bus", whole)
