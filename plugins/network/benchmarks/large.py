"""Large runs whose messages share links of a tapered fat-tree: their CPU seconds and memory.

Needs parcast-emulator and parcast-petri. ``python benchmarks/large.py`` asks each question of a
process of its own, after a small one that compiles.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from parcast import Query, Registry
from parcast.program import read_source

HALO = """
def program(rank, size):
    along = dims(size, 2, 1)
    row = rank // along
    column = rank % along
    compute({work})
    isend((rank + along) % size, 1e6, tag=1)
    isend((rank - along) % size, 1e6, tag=2)
    isend(row * along + (column + 1) % along, 1e6, tag=3)
    isend(row * along + (column - 1) % along, 1e6, tag=4)
    irecv((rank - along) % size, tag=1)
    irecv((rank + along) % size, tag=2)
    irecv(row * along + (column - 1) % along, tag=3)
    irecv(row * along + (column + 1) % along, tag=4)
    waitall()
"""

RING = """
def program(rank, size):
    compute({work})
    allreduce(1e8)
"""

POOL = """
def program(rank, size):
    for task in pool(range(10000), bytes=1000{master}):
        compute(1e6 * (1 + task % 7))
"""

#: Where all ranks do the same, some stand for all; not where each has work of its own.
ALIKE, UNLIKE = "1e6", "1e6 + rank"

#: By name: a program, its processes and its solver.
QUESTIONS = {
    "a halo step of unlike ranks": (HALO.format(work=UNLIKE), 16384, "emulator.tc"),
    "a halo step of like ranks": (HALO.format(work=ALIKE), 16384, "emulator.tc"),
    "ring allreduce of like ranks": (RING.format(work=ALIKE), 4096, "emulator.tc"),
    "10,000 tasks": (POOL.format(master=""), 256, "petri.mean"),
    "10,000 tasks, a master": (POOL.format(master=", master=0"), 256, "petri.mean"),
}


def query(source: str, p: int) -> Query:
    """Return the question on a fat-tree with half of the cables up."""
    tree = {"kind": "fat-tree", "down": [32, p // 32], "up": [1, 16], "latency": 1e-7}
    network = {
        "startup": 1.9e-6, "bandwidth": 12.5e9, "contention": "fair",
        "collectives": "allreduce ring",
    }  # fmt: skip
    machine = {"name": "tree", "processor": {"rate": 1e9}, "network": network, "topology": tree}
    return Query(workload=read_source(source), machine=Registry().machine(machine), p=p, d=1)


def answer(name: str) -> None:
    """Print the time of a question, and what it took to find it."""
    source, p, solver = QUESTIONS[name]
    registry = Registry()
    asked = [query(source, processes) for processes in (64, p)]
    for each in asked:
        begun = time.process_time()
        results = registry.compare(
            each.workload, each.machine, p=each.p, solvers=solver, elasticities=False
        )
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (row,) = results.rows
    print(
        f"{name}, p = {p:,}, {solver}: {row.time or row.message} s, "
        f"in {seconds:.1f} CPU s and {peak:.2f} GiB",
        flush=True,
    )


def main() -> None:
    """Ask all questions."""
    for name in QUESTIONS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    answer(sys.argv[1]) if len(sys.argv) > 1 else main()
