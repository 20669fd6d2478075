"""What a process does by itself: computations, and accesses to disks."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from parcast.model import Costs
from parcast_petri.options import Options
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.computing import Computations, Work
from parcast_petri.programs.net_builder import timed
from parcast_petri.programs.process import Process


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
            saturation=self._saturation(),
            processes=sharing,
        )
        process.at, process.moment = self.computations.build(work, process.at)
        process.records.busy(rank, "compute", since, process.moment)

    def _traffic(self, charges: Charges, id_: int, sharing: int) -> float:
        """Return the seconds of memory traffic that others may share, or 0."""
        bandwidth = self.costs.memory_bandwidth
        if self.options.memory == "fixed" or sharing == 1:
            return 0.0
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
