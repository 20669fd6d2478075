"""What a process does by itself: computations, and accesses to disks.

A computation is alone on its core, or beside background jobs and others' memory traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from parcast.model import Costs
from parcast_petri.machine.load import Load
from parcast_petri.nets.net import Tokens
from parcast_petri.options import Options
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.nodes import Nodes, computing_load, process_speed
from parcast_petri.programs.process import Process
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
    moved: float  #: of the same, whether or not it is shared anew
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
        at_node = self.nodes.loads.get(work.node)
        load = at_node if work.cpu else None
        drawing = at_node if at_node and at_node.memory and work.moved else None
        if drawing is not None:
            work, moving = self._beside(work, drawing)
        else:
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
        if load is not None or drawing is not None:
            memory = work.seconds if moving is None else 0.0
            self.built.append(Computing(moment, work.node, work.cpu, memory))
        return after, joined

    def _beside(self, work: Work, load: Load) -> tuple[Work, dict[str, Any] | None]:
        """Return work whose memory traffic jobs slow down, and that traffic where it is by itself.

        The jobs of a net draw while they are there; else those that there are in the mean.
        """
        own = f"{MOVING}{work.node}" if work.traffic else repr(float(work.processes))
        if self.nodes.explicit:
            moving = f"{own} + {load.memory!r}*min({load.cores}, jobs_{work.node})"
            speed = Tokens.read(f"1/max({work.saturation!r}, {moving})")
            counted = own if work.traffic else f"drawing_{work.node}"
            delays = {"delay": work.moved, "load": counted, "speed": speed}
            return attrs.evolve(work, seconds=work.cpu), delays
        factor = load.memory_factor(work.processes, work.saturation)
        if work.traffic:
            slower = factor / max(work.saturation, work.processes)
            return work, self._moving(attrs.evolve(work, traffic=work.traffic * slower), load)
        return attrs.evolve(work, seconds=max(work.seconds, work.moved * factor)), None

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


@attrs.define(eq=False)
class LocalOperations:
    """Build the operations that meet no other process but at disks."""

    costs: Costs
    options: Options
    computations: Computations
    node: Sequence[int]  #: by rank
    sharing: Sequence[int]  #: by rank, processes on its node
    cores: int  #: of each node

    def work(self, process: Process, charges: Charges, id_: int, word: str, name: str) -> None:
        """Build a computation."""
        since, rank = process.moment, process.rank
        cpu, node, sharing = charges.cpu[id_], self.node[rank], self.sharing[rank]
        if node in self.computations.nodes.loads:
            cpu *= min(1.0, self.cores / sharing)
        work = Work(
            word=word,
            name=name,
            node=node,
            cpu=cpu,
            seconds=charges.seconds[id_],
            traffic=self._traffic(charges, id_, sharing),
            moved=self._moved(charges, id_),
            saturation=self._saturation(),
            processes=sharing,
        )
        process.at, process.moment = self.computations.build(work, process.at)
        process.records.busy(rank, "compute", since, process.moment)

    def _traffic(self, charges: Charges, id_: int, sharing: int) -> float:
        """Return the seconds of memory traffic that others may share, or 0."""
        alone = self.options.memory == "fixed" or sharing == 1
        return 0.0 if alone else self._moved(charges, id_)

    def _moved(self, charges: Charges, id_: int) -> float:
        """Return the seconds of memory traffic at the bandwidth of the node."""
        bandwidth = self.costs.memory_bandwidth
        if bandwidth is None or charges.memory is None:
            return 0.0
        return float(charges.memory[id_] / bandwidth)

    def _saturation(self) -> float:
        """Return how many cores saturate their node's memory bandwidth, at least one."""
        of_node, of_core = self.costs.memory_bandwidth, self.costs.core_bandwidth
        return 1.0 if of_node is None or of_core is None else max(1.0, of_node / of_core)

    def access(self, process: Process, charges: Charges, id_: int, word: str, name: str) -> None:
        """Build an access to a file: a piece to each of its disks."""
        since, table, builder = process.moment, charges.table, process.builder
        block = table.unrolled.blocks[int(table.order[id_])]
        file = str(block.arguments["file"])
        disks = [builder.place(f"disk {n}", 1) for n in self.costs.disks_of(process.rank, file)]
        seconds = float(self.costs.piece(float(table.amount[id_]), file))
        process.step("ask", name, post=[f"piece {name} {disk}" for disk in disks])
        for disk in disks:
            piece, holding = f"piece {name} {disk}", f"held {name} {disk}"
            builder.transition(f"take {name} {disk}", {piece: 1, disk: 1}, {holding: 1}, queue=disk)
            builder.transition(
                f"serve {name} {disk}", {holding: 1}, {disk: 1, f"done {name} {disk}": 1},
                **timed(seconds),
            )  # fmt: skip
        process.step(word, name, [f"done {name} {disk}" for disk in disks])
        process.records.busy(process.rank, "io", since, process.moment)
