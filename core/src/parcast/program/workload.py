"""The content of a ``program`` workload: a tree, or a recorded run."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np

from parcast.errors import InvalidPointError
from parcast.model.query import Query
from parcast.program.jobs import alone, together
from parcast.program.matching.prepare import matched_program
from parcast.program.source.attributes import Attributes, attributes_of
from parcast.program.source.operations import COLLECTIVES
from parcast.program.source.tree import Tree
from parcast.program.unroll.blocks import Unrolled
from parcast.program.unroll.unrolling import unroll

#: What of an operation is work, whoever does it.
_AMOUNTS = {
    "compute": ("flops", "bytes"),
    "elapse": ("seconds",),
    "read": ("bytes",),
    "write": ("bytes",),
}


@attrs.frozen(eq=False)
class Program:
    """What every process does, at any number of processes or at one.

    A program read from source has its ``tree``. A recorded one has only ``recorded``, its
    operations at its own number of processes; one of several jobs is made of the workload's.
    """

    tree: Tree | None
    recorded: Unrolled | None = attrs.field(default=None, repr=False)
    offloads: bool = False  #: whether it may compute on accelerators; a recorded run does not

    @cached_property
    def attributes(self) -> Attributes:
        """What expressions of the tree depend on, where control is uniform, what loops carry."""
        assert self.tree is not None, "a recorded program has no tree"
        return attributes_of(self.tree)

    def at(self, query: Query) -> Unrolled:
        """Return the operations of all processes at the query's p and parameters.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; the line and the rank are named.
        """
        if self.tree is not None:
            names = {name: query.values[name] for name in self.tree.parameters}
            return unroll(self.tree, query.p, names)
        if query.workload.jobs:
            return together(query)
        if self.recorded is None:
            raise InvalidPointError(f"{query.workload.name}: the program has no operations")
        if query.p != self.recorded.size:
            raise InvalidPointError(
                f"{self.recorded.where or query.workload.name}: recorded with "
                f"{self.recorded.size} processes, so it has no prediction at p={query.p}; "
                f"give -p {self.recorded.size}"
            )
        return self.recorded

    def work(self, query: Query) -> dict[str, float]:
        """Return what all processes do together, the tasks of pools included."""
        native = matched_program(query, pools=True).native
        amounts: dict[str, float] = {}
        for part in (native, *(pool.work for pool in native.pools)):
            for block in part.blocks:
                count = part.size if block.ranks is None else len(block.ranks)
                for name in _AMOUNTS.get(block.op, ()):
                    column = np.broadcast_to(block.arguments[name], count)
                    key = f"{block.op} {name}"
                    amounts[key] = amounts.get(key, 0.0) + float(column.sum())
        return amounts

    def uses(self, query: Query) -> dict[str, bool]:
        """Return what of a machine's the operations need that not every solver obeys."""
        native = matched_program(query, pools=True).native
        blocks = [b for part in (native, *(p.work for p in native.pools)) for b in part.blocks]
        moves = (b.op == "compute" and np.any(b.arguments["bytes"]) for b in blocks)
        return {"messages": "messages" in native.needs()} | ({"memory": True} if any(moves) else {})

    def costly_defaults(self, query: Query) -> tuple[str, ...]:
        """Return notes on what is taken since the machine names nothing, and takes longer."""
        network = query.machine.network
        native = matched_program(query, pools=True).native
        if network.collectives is not None or not any(b.op in COLLECTIVES for b in native.blocks):
            return ()
        from parcast.program.matching.collectives.unnamed import slower_than_libraries

        return tuple(slower_than_libraries(native, network))

    def may_be_uneven(self, query: Query) -> bool:
        """Return whether processes may compute for different times between two meetings.

        They do not where each statement gives all of them the same work, and the machine the same
        speed and memory; such a program need not be unrolled again to be balanced.
        """
        shared = query.machine.nodes.memory_bandwidth is not None
        if shared or self.offloads or not query.processes_alike:
            return True
        native = matched_program(query, pools=True).native
        blocks = {id(block): block for block in native.blocks if block.op in {"compute", "elapse"}}
        return any(
            block.ranks is not None or any(map(np.ndim, block.arguments.values()))
            for block in blocks.values()
        )

    def check(self, query: Query) -> None:
        """Check that every message at the query's point is matched and nobody waits for ever.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; ranks and lines are named.
        """
        for single in alone(query) if query.workload.jobs else ():
            single.workload.content.check(single)
        matched_program(query, pools=True, timed=query.machine.accelerator is not None)
