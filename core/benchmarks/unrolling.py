"""How long unrolling takes, beside plain Python calling the program on recording stubs.

Both are measured in one run: ``python core/benchmarks/unrolling.py``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from parcast.program import OPERATIONS
from parcast.program.reader import read_source
from parcast.program.unroll.unrolling import unroll
from parcast.quantities.expressions import FUNCTIONS

STENCIL = """
def program(rank, size, steps=100, n=4000):
    w = dims(size, 2, 0)
    h = size // w
    x = rank % w
    y = rank // w
    edge = 8 * n / w
    for step in range(steps):
        if x > 0:
            isend(rank - 1, edge)
            irecv(rank - 1)
        if x < w - 1:
            isend(rank + 1, edge)
            irecv(rank + 1)
        if y > 0:
            isend(rank - w, edge)
            irecv(rank - w)
        if y < h - 1:
            isend(rank + w, edge)
            irecv(rank + w)
        waitall()
        compute(5 * (n // w) * (n // h))
        allreduce(8)
"""
MASTER_WORKER = """
def program(rank, size, rounds=4):
    if rank == 0:
        for r in range(rounds):
            for worker in range(1, size):
                send(worker, 1000, r)
            for worker in range(1, size):
                recv(worker, r)
    else:
        for r in range(rounds):
            recv(0, r)
            compute(10**6 * (1 + rank % 3))
            send(0, 8, r)
"""
PIPELINE = """
def program(rank, size, items=100):
    for item in range(items):
        if rank > 0:
            recv(rank - 1)
        compute(10**6)
        if rank < size - 1:
            send(rank + 1, 4096)
"""


def called(source: str, ranks: range, size: int) -> int:
    """Return how many operations plain Python records for these ranks."""
    listed: list[object] = []
    names: dict[str, object] = {name: function for name, (_, _, function) in FUNCTIONS.items()}
    for name in OPERATIONS:
        names[name] = lambda *args, _name=name: listed.append((_name, args))
    exec(source, names)  # noqa: S102  (its own source, above)
    for rank in ranks:
        names["program"](rank, size)  # type: ignore[operator]
    return len(listed)


def best(run: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of some runs in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print seconds, operations, blocks and peak memory for each program."""
    size = 10_000
    for name, source in {"stencil": STENCIL, "pipeline": PIPELINE, "master": MASTER_WORKER}.items():
        program = read_source(source).content.tree
        found = unroll(program, size, program.parameters)
        seconds = best(lambda program=program: unroll(program, size, program.parameters))
        ranks = range(100)
        start = time.perf_counter()
        count = called(source, ranks, size)
        plain = (time.perf_counter() - start) / count * found.count()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:9} p={size}: {found.count():11,} operations in {len(found.blocks):7,} blocks, "
            f"{seconds:.4f} s; called {plain:.2f} s ({plain / seconds:.0f} x); "
            f"peak memory so far {peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
