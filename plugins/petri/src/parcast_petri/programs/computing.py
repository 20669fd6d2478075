"""Computations as parts of nets: alone, or beside background jobs and others' memory traffic."""

from __future__ import annotations

from typing import Any

import attrs

from parcast_petri.machine.load import Load
from parcast_petri.nets.net import Tokens
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.nodes import Nodes, computing_load, process_speed
from parcast_petri.programs.round_robin import build_turns, core_place

#: How the names of loads begin that count a node's processes whose bytes move.
MOVING = "moving_"


@attrs.frozen
class Computing:
    """A computation: its moment and node, its seconds of a whole core, and of memory traffic."""

    moment: int
    node: int
    cpu: float
    memory: float


@attrs.frozen(kw_only=True)
class Work:
    """What a process computes in one operation, in seconds."""

    word: str
    name: str
    node: int
    cpu: float  #: of a whole core
    seconds: float  #: with memory divided once by the processes of the node
    traffic: float  #: of memory traffic at the node's bandwidth; 0: it is not shared anew
    saturation: float  #: how many processes saturate the node's memory bandwidth
    processes: int  #: of the program on the node


@attrs.define(eq=False)
class Computations:
    """Build the computations of a program."""

    builder: NetBuilder
    nodes: Nodes
    built: list[Computing] = attrs.field(factory=list)

    def build(self, work: Work, before: str) -> tuple[str, int]:
        """Build a computation; return the place after it, and its moment."""
        after = f"{work.word} done {work.name}"
        load = self.nodes.loads.get(work.node) if work.cpu else None
        moving = self._moving(work, load)
        if moving is None:
            moment = joined = self._work(work, load, before, after)
        else:
            begun, traffic, worked, moved = (
                f"{step} {work.name}" for step in ("work of", "traffic", "worked", "moved")
            )
            self.builder.transition(f"fork {work.name}", {before: 1}, {begun: 1, traffic: 1})
            self.builder.transition(f"move {work.name}", {traffic: 1}, {moved: 1}, **moving)
            moment = self._work(work, load, begun, worked)
            joined = self.builder.transition(f"join {work.name}", {worked: 1, moved: 1}, {after: 1})
        if load is not None:
            memory = work.seconds if moving is None else 0.0
            self.built.append(Computing(moment, work.node, work.cpu, memory))
        return after, joined

    def _moving(self, work: Work, load: Load | None) -> dict[str, Any] | None:
        """Return how the memory traffic is built beside the work, or None where it is not."""
        if work.traffic:
            moving = f"{MOVING}{work.node}"
            speed = Tokens.read(f"1/max({work.saturation!r}, {moving})")
            return {"delay": work.traffic, "load": moving, "speed": speed}
        if load is not None and self.nodes.explicit and work.seconds > work.cpu:
            return timed(work.seconds)
        return None

    def _work(self, work: Work, load: Load | None, before: str, after: str) -> int:
        name = f"{work.word} {work.name}"
        pre, post = {before: 1}, {after: 1}
        if load is None:
            seconds = work.cpu if work.traffic else work.seconds
            return self.builder.transition(name, pre, post, **timed(seconds))
        if not self.nodes.explicit:
            seconds = work.cpu * load.factor(work.processes)
            least = 0.0 if work.traffic else work.seconds
            return self.builder.transition(name, pre, post, delay=max(seconds, least))
        if load.turns is not None:
            cores = core_place(self.builder, work.node, load)
            return build_turns(self.builder, name, pre, post, cores, load.turns, work.cpu)
        return self.builder.transition(
            name,
            pre,
            post,
            delay=work.cpu,
            load=computing_load(work.node),
            speed=process_speed(work.node, load),
        )
