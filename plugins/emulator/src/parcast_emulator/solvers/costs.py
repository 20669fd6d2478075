"""What simulations cost: seconds measured on one core of a server of 2023, rounded up."""

from __future__ import annotations

from parcast import Query
from parcast_emulator.hardware import cluster_of

#: Seconds for an operation by compiled kernels and one by one, and to load what is compiled.
COMPILED, INTERPRETED, LOADED = 5e-7, 8e-5, 0.1

#: More operations of emulated applications are not counted.
_COUNTED = 1_000_000


def count_operations(query: Query) -> int | None:
    """Return how many operations an application's blocks have; None where they are very many."""
    total = 0
    for blocks in query.workload.content.epochs(query, cluster_of(query)):
        total += blocks.operations()
        if total > _COUNTED:
            return None
    return total
