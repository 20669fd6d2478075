"""How much of two processes a study uses for solving, and how many points a second it streams.

Run as ``python core/benchmarks/studies.py [POINTS]``. The first part needs nothing but the core,
the second, of four times as many points, parcast-spmd and parcast[frames]. The cache starts empty
and is on.
"""

from __future__ import annotations

import importlib
import resource
import sys
import tempfile
import time
from pathlib import Path

from parcast import Registry
from parcast.results.packing import packs, values

WORKERS = 2
#: A QCRD-like surface: p = 1,000, d and network speed vary.
SURFACE = {"workload": "qcrd-like", "machine": "ibm-sp2", "solver": "spmd.bus", "p": 1000}


def memory() -> str:
    """Return the most memory that this process and any worker had."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ours, theirs = (resource.getrusage(who).ru_maxrss / 1024 for who in both)
    return f"{ours:.0f} MB here, at most {theirs:.0f} MB in a worker"


def solving(points: int, folder: Path) -> None:
    """Print what part of the workers' time is spent in a solver of exactly 1 ms."""
    registry = Registry([importlib.import_module("paced")])
    study = {
        "workload": {"name": "w", "phase": [{"parallel": 1}]},
        "machine": {"name": "m", "processor": {"rate": 1}},
        "p": f"1..{points}",
    }
    start = time.perf_counter()
    results = registry.study(study, executor=f"processes:{WORKERS}", cache=folder / "solving")
    seconds = time.perf_counter() - start
    solved = sum(
        sum(values(pack.columns["solve_seconds"], pack.count)) for pack in packs(results.rows)
    )
    part = solved / (WORKERS * seconds)
    print(
        f"solving: {points:,} points of 1 ms in {seconds:.1f} s; {100 * part:.1f} % of the time of"
    )
    print(f"  {WORKERS} processes is spent in the solver (asked: 80 %); {memory()}")


def streaming(points: int, folder: Path) -> None:
    """Print how fast a surface is solved by spmd.bus and written to Parquet."""
    registry = Registry()
    speeds = [f"{27 + index} MB/s" for index in range(points // 1000)]
    study = {**SURFACE, "d": "1..1000", "set": {"network.bandwidth": speeds}}
    start = time.perf_counter()
    results = registry.study(study, executor=f"processes:{WORKERS}", cache=folder / "streaming")
    solved = time.perf_counter()
    registry.write(results, folder / "surface.parquet")
    end = time.perf_counter()
    size = (folder / "surface.parquet").stat().st_size / len(results)
    rate = len(results) / (end - start)
    print(f"streaming: {len(results):,} points in {solved - start:.1f} + {end - solved:.1f} s")
    print(f"  {rate:,.0f} a second (asked: 20,000), {size:.0f} bytes each; {memory()}")


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as made:
        solving(asked, Path(made))
        streaming(4 * asked, Path(made))
