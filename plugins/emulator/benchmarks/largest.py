"""Time the largest row of Table 3 end to end after compilation, and its memory.

python benchmarks/largest.py [processes]
"""

from __future__ import annotations

import resource
import sys
import time

from parcast import Query, Registry
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import Outcome, simulate


def ask(registry: Registry, p: int) -> tuple[Outcome, float]:
    """Return the answer, and the CPU seconds that making the blocks took."""
    query = Query(
        workload=registry.workload("titan"),
        machine=registry.machine("table3-machine"),
        p=p,
        d=4,
    )
    cluster, begun = cluster_of(query), time.process_time()
    epochs = list(query.workload.content.epochs(query, cluster))
    made = time.process_time() - begun
    return simulate(cluster, epochs), made


def main(p: int) -> None:
    """Print times and memory."""
    registry = Registry()
    ask(registry, 64)  # compiles, or loads what has been compiled
    wall, cpu = time.perf_counter(), time.process_time()
    outcome, made = ask(registry, p)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"p={p}: {outcome.time:.1f} s simulated, {outcome.operations:,} reads and computations")
    print(f"{wall:.1f} s, {cpu:.1f} CPU s ({made:.1f} of them to make blocks), {peak:.2f} GiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8192)
