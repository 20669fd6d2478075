"""What operations take of their processes, in seconds."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from parcast.model import Costs
from parcast.program.matching import Columns


@attrs.frozen(eq=False)
class Charges:
    """What each operation of a table takes of its process.

    Lists, which are faster to look up one by one than arrays.
    """

    table: Columns
    cpu: list[float]  #: without regard to memory
    seconds: list[float]  #: with it
    memory: list[float] | None  #: bytes

    @classmethod
    def of(cls, table: Columns, costs: Costs, rank: Any) -> Charges:
        """Return the charges of operations; ``rank`` is who does each, or all."""
        at = np.flatnonzero(table.among({"compute"}))
        cpu, ranks = np.zeros(len(table.op)), np.broadcast_to(rank, len(table.op))
        if len(at):
            cpu[at] = table.amount[at] / (costs.rate * costs.placement.speed[ranks[at]])
        memory_bytes = None if table.memory is None else table.memory.tolist()
        return cls(table, cpu.tolist(), table.own_seconds(costs, rank).tolist(), memory_bytes)
