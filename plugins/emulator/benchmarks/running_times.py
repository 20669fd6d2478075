"""Print Table 2's running times beside ours: both of the paper's simulators, and both engines.

    python benchmarks/running_times.py [most processes of emulator.tc]

The paper ran on Alphas of 275 MHz in 1998, so that most of its ratio to ours is the hardware; the
ratio of tightly to loosely coupled simulation is not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.paper import ROWS, Entry

from parcast import Query, Registry
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import Engine, simulate

#: Seconds of the paper's TC-SIM and LC-SIM.
TIMES = {
    ("titan", 32): (3426, 6),
    ("titan", 64): (13154, 14),
    ("titan", 128): (116224, 28),
    ("pathfinder", 32): (11595, 22),
    ("pathfinder", 64): (30446, 57),
    ("pathfinder", 128): (97992, 126),
    ("virtual-microscope", 32): (7155, 4),
    ("virtual-microscope", 64): (14097, 8),
    ("virtual-microscope", 128): (37534, 17),
}


def main(most: int) -> None:
    """Print a row for each of Table 2's."""
    registry = Registry()
    print("| application | p | operations | TC-SIM [s] | LC-SIM [s] | tc [s] | lc [s] | tc/lc |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [entry for entry in ROWS if entry.table == 2]
    played(registry, rows[0], "auto")  # compiles
    for entry in rows:
        lc, operations = played(registry, entry, "auto")
        tc, _ = played(registry, entry, "tc") if entry.p <= most else (float("nan"), 0)
        theirs = TIMES[entry.workload, entry.p]
        print(
            f"| {entry.workload} | {entry.p} | {operations:,} | {theirs[0]:,} | {theirs[1]} "
            f"| {tc:.1f} | {lc:.2f} | {tc / lc:.0f} |",
            flush=True,
        )


def played(registry: Registry, entry: Entry, engine: Engine) -> tuple[float, int]:
    """Return how many CPU seconds a row takes, and its reads and computations."""
    settings = {name: value for name, value in entry.settings.items() if "." not in name}
    machine = registry.machine(entry.machine)
    parameters = {
        name: eval(str(value), {"p": entry.p})  # noqa: S307  (texts of our own)
        for name, value in settings.items()
    }
    query = Query(
        workload=registry.workload(entry.workload),
        machine=machine,
        p=entry.p,
        d=1,
        parameters=parameters,
    )
    begun = time.process_time()
    cluster = cluster_of(query)
    epochs = query.workload.content.epochs(query, cluster)
    operations = simulate(cluster, epochs, engine=engine).operations
    return time.process_time() - begun, operations


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 128)
