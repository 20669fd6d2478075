"""What simulations cost: seconds measured on one core by ``core/benchmarks/costs.py``."""

from __future__ import annotations

from parcast import Query
from parcast_emulator.hardware import cluster_of

#: Seconds for an operation of a program by compiled kernels, where messages share links, and by
#: processes; for one of an application, compiled and by processes; and for any answer.
RANKS, FLOWS, PROCESSES, BLOCKS, CALLS, ANSWER = 8e-8, 2e-7, 7e-6, 5e-7, 8e-5, 1e-3
#: So many processes that share links take twice as long for an operation as few do.
BESIDE = 256
#: Seconds for a task of a pool.
TASK = 3e-4

#: More operations of emulated applications are not counted.
_COUNTED = 1_000_000


def count_operations(query: Query) -> int | None:
    """Return how many operations an application's blocks have; None where they are very many.

    Blocks of one epoch are all laid out to be counted, unless their number says it already.
    """
    fewest = query.workload.content.fewest_operations(query)
    if fewest > _COUNTED:
        return None
    total = 0
    for blocks in query.workload.content.epochs(query, cluster_of(query)):
        total += blocks.operations()
        if total > _COUNTED:
            return None
    return total
