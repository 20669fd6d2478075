"""Closed networks against LINE, in one run: speed as ratios, and accuracy.

    uv run --with line-solver python plugins/spmd/benchmarks/closed_networks.py

Times are CPU seconds, the best of several, compilation apart. Without ``line-solver`` the
comparison is left out and said to be.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from parcast.plugins.kernels import compiling
from parcast_spmd.models.fork_join import fork_join_sums
from parcast_spmd.mva import mva_kernels as kernels
from parcast_spmd.mva.exact_integral import symmetric_clusters
from parcast_spmd.mva.mva_kernels import delay_two_queues

JOBS, Z, X, Y = 100_000, 1e6, 10.0, 9.0
CLUSTERS = (100, 1000, 1000.0, 0.0101, 1.0)
KERNELS = "import numpy as np\nfrom parcast_spmd.mva.mva_kernels import *"
INTEGRAL = "from parcast_spmd.mva.exact_integral import symmetric_clusters"
GRID = "100 p (1..1e5, log) x 20"


def best(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the least CPU seconds of a call."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
    return least


def row(what: str, seconds: float, peer: float | None = None, note: str = "") -> None:
    """Print one line of the table."""
    ratio = f"{peer / seconds:8.0f} x" if peer else " " * 10
    print(f"{what:<46}{seconds * 1e3:10.2f} ms {ratio}  {note}")


def child(setup: str, call: str) -> float:
    """Return the CPU seconds of a first call in a new process, after the imports of ``setup``."""
    clock = "import time\nstart = time.process_time()\n"
    code = f"{setup}\n{clock}{call}\nprint(time.process_time() - start)"
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def line_seconds() -> float | None:
    """Return LINE's time for the two-queue network, or None where it is not installed."""
    try:
        from line_solver.api.pfqn import pfqn_mva
    except ImportError:
        print("line-solver is not installed: no comparison (uv run --with line-solver ...)\n")
        return None
    demands, jobs, think = np.array([[X], [Y]]), np.array([float(JOBS)]), np.array([Z])
    found = pfqn_mva(demands, jobs, think)
    ours = float(delay_two_queues(JOBS, Z, X, Y)[0])
    difference = abs(float(np.ravel(found[0])[0]) / ours - 1)
    print(f"LINE pfqn_mva agrees on the throughput to {difference:.1e}\n")
    return best(lambda: pfqn_mva(demands, jobs, think), 3)


def two_queues(peer: float | None) -> None:
    """Time exact mean value analysis at 1e5 jobs."""
    if peer:
        row("LINE pfqn_mva, delay + 2 queues, N=1e5", peer)
    lists = [[JOBS], [Z], [X], [Y]]
    plain = best(lambda: kernels.two_queues_kernel.plain(*lists, [0.0], [0.0], [0.0]))
    row("plain Python, the same", plain, peer)
    given = [np.array([JOBS]), *(np.array([value]) for value in (Z, X, Y))]
    results, compiled = (
        [np.zeros(1) for _ in range(3)],
        kernels.two_queues_kernel.compiled,
    )
    compiled(*given, *results)
    row("compiled, the same", best(lambda: compiled(*given, *results)), peer)
    fresh = child(KERNELS, f"delay_two_queues({JOBS}, {Z}, {X}, {Y})")
    row("first call in a new process", fresh, peer, "numba not needed at this size")


def clusters() -> None:
    """Time the CLU model at 1e5 processes."""
    arguments = ", ".join(map(str, CLUSTERS))
    with compiling():
        symmetric_clusters(*CLUSTERS)
        row("CLU d=100, k=1000 (p=1e5), warm", best(lambda: symmetric_clusters(*CLUSTERS)))
    row(
        "CLU the same, first call in a new process",
        child(INTEGRAL, f"symmetric_clusters({arguments})"),
    )


def grids() -> None:
    """Time surfaces of 2000 points."""
    sizes = np.geomspace(1, 1e5, 100).round().astype(int)
    linear = np.linspace(1000, 100_000, 100).round().astype(int)
    for name, p in ((GRID, sizes), ("100 p (1e3..1e5, linear) x 20", linear)):
        points, other = np.meshgrid(p, np.geomspace(0.01, 100, 20), indexing="ij")
        delay, queue = 100.0 / points + 1.0, other / points
        listed = [column.ravel().tolist() for column in (points, delay, queue)]
        with compiling():
            sio = best(lambda columns=listed: fork_join_sums(zip(*columns, strict=True)), 3)
        bus = best(lambda p=points, z=delay, x=queue: delay_two_queues(p, z, x, x * 0.9), 2)
        steps = points.sum()
        row(f"SIO, {name}", sio, note=f"{steps:.2g} steps, {sio / steps * 1e9:.1f} ns each")
        row(f"BUS, {name}", bus, note=f"{bus / steps * 1e9:.1f} ns each")


def compile_times() -> None:
    """Time compiling from nothing, and loading from the cache."""
    given = "(*[np.ones(1, int)], *[np.ones(1)] * 6)"
    cached = f"two_queues_kernel.compiled{given}"
    row("load numba and one kernel from the cache", child(KERNELS, cached))
    fresh = f"import numba\nnumba.njit(two_queues_kernel.plain){given}"
    row("load numba and compile one kernel", child(KERNELS, fresh))


def main() -> None:
    """Run everything and print a table."""
    peer = line_seconds()
    two_queues(peer)
    clusters()
    grids()
    compile_times()


if __name__ == "__main__":
    main()
