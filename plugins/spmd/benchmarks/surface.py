"""A surface of 1000 x 64 points, and a sample of its points asked one by one, in CPU seconds.

Run: python plugins/spmd/benchmarks/surface.py [WORKLOAD MACHINE]
"""

from __future__ import annotations

import sys
import time

from parcast import Registry
from parcast_spmd.surface.survey import survey

P, D = range(1, 1001), range(1, 65)


def main() -> None:
    """Print both times and their ratio."""
    workload, machine = sys.argv[1:] or ("btio", "ibm-sp2")
    registry = Registry()
    work, mach = registry.workload(workload), registry.machine(machine)
    survey(registry, work, mach, p=[1, 1000], d=[1])  # loads and compiles
    start = time.process_time()
    rows = survey(registry, work, mach, p=P, d=D).rows
    together = time.process_time() - start
    print(f"{workload} on {machine}: {len(rows):,} points in {together:.2f} CPU s")
    sample = [(row.p, row.d) for row in rows[:: len(rows) // 500]]
    start = time.process_time()
    for p, d in sample:
        registry.compare(work, mach, p=p, d=d, solvers="spmd", elasticities=False)
    alone = time.process_time() - start
    each, single = together / len(rows), alone / len(sample)
    print(
        f"a point: {1e6 * each:.0f} us together, {1e6 * single:.0f} us alone: {single / each:.1f} x"
    )


if __name__ == "__main__":
    main()
