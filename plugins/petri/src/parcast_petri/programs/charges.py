"""What operations take of their processes, in seconds."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program.matching import Columns
from parcast.program.source import SENDS

Seconds = NDArray[np.float64]


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
        cpu, seconds = charged(table, costs, rank)
        memory_bytes = None if table.memory is None else table.memory.tolist()
        return cls(table, cpu.tolist(), seconds.tolist(), memory_bytes)


def charged(table: Columns, costs: Costs, rank: Any) -> tuple[Seconds, Seconds]:
    """Return what each operation takes of its process, without regard to memory, and with it."""
    rank = np.broadcast_to(rank, len(table.op))
    cpu, seconds = np.zeros((2, len(table.op)))
    at = np.flatnonzero(table.among(("compute",)))
    if len(at):
        memory = 0.0 if table.memory is None else table.memory[at]
        cpu[at] = table.amount[at] / (costs.rate * costs.placement.speed[rank[at]])
        seconds[at] = costs.compute(rank[at], table.amount[at], memory)
    at = np.flatnonzero(table.among(("elapse",)))
    seconds[at] = costs.elapse(rank[at], table.amount[at])  # takes no processor
    at = np.flatnonzero(table.among(SENDS))
    seconds[at] = costs.sending(table.amount[at])
    return cpu, seconds
