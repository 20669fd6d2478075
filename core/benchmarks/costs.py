"""Compare what solvers state as cost with the processor time of a solve, question by question.

python core/benchmarks/costs.py [SECONDS]

Conversions of the workload, and what is loaded once, are left out: of two solves the second is
timed. Questions with a stated cost over SECONDS (5) are left out. The last lines have, for each
solver, the geometric mean of measured over stated and the range of it, from which its constants
are taken, and over all questions the rank correlation of both.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from parcast import Registry
from parcast.comparison import Scenario, Settings, Task, resolve

#: Programs of all kinds of traffic, machines of all kinds of network, and others' own workloads.
PROGRAMS = (
    "stencil2d", "ring-matmul", "allreduce-steps", "transpose", "token-ring", "pipeline",
    "master-worker", "checkpointing-stencil", "tree-reduction",
)  # fmt: skip
MACHINES = ("ibm-sp2", "fat-tree-hdr", "loggp-cluster")
PROCESSES = (4, 16, 64, 256)
OTHERS = (
    ("btio", "ibm-sp2"), ("qcrd-like", "intel-paragon"), ("titan", "table3-machine"),
    ("shuffle", "nvme-100g"), ("object-store", "s3-store"), ("psrs", "das1"),
)  # fmt: skip
SOLVERS = (
    "emulator.tc", "emulator.lc", "pamela.bound", "pamela.path", "pamela.sim", "perturb.clocked",
    "petri.mean", "petri.sampled", "spmd.sio", "spmd.sim",
)  # fmt: skip


def tasks(registry: Registry) -> Iterator[tuple[str, Task]]:
    """Yield all questions that a solver takes, with what they are called."""
    pairs = [(program, machine) for program in PROGRAMS for machine in MACHINES]
    for workload, machine in (*pairs, *OTHERS):
        scenario = Scenario(
            workload=registry.workload(workload),
            machine=registry.machine(machine),
            settings=Settings.sort({}, registry, []),
            mapping="block",
            seed=0,
        )
        for p in PROCESSES:
            try:
                query = scenario.query(registry, p, scenario.machine.storage.disks or 1)
            except Exception as error:  # noqa: BLE001  (a point that is none is not asked)
                print(f"{workload} on {machine} at {p}: {error}", file=sys.stderr)
                continue
            for name in SOLVERS:
                task = resolve(registry, name, query, scenario.settings)
                if isinstance(task, Task):
                    yield f"{workload} {machine} {p}", task


def measured(registry: Registry, task: Task) -> float:
    """Return the processor seconds of a second solve, the mean of as many as take a tenth."""
    solver = registry.solver(task.entry.name)
    solver.solve(task.query)
    begun, count = time.process_time(), 0
    while True:
        solver.solve(task.query)
        count += 1
        if (spent := time.process_time() - begun) > 0.1:
            return spent / count


def ranks(values: list[float]) -> np.ndarray:
    """Return the place of each value among all of them."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def main(most: float) -> None:
    """Print a line for each question, and what they come to."""
    registry = Registry()
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for label, task in tasks(registry):
        solver = registry.solver(task.entry.name)
        stated = solver.cost(task.query) if hasattr(solver, "cost") else None
        if not stated or stated > most:
            continue
        seconds = measured(registry, task)
        pairs[task.entry.name].append((stated, seconds))
        print(f"{task.entry.name:16} {label:36} {stated:10.5f} {seconds:10.5f}", flush=True)
    for name, both in pairs.items():
        logs = [math.log(seconds / stated) for stated, seconds in both]
        print(
            f"{name:16} {len(both):4} questions: measured / stated {math.exp(np.mean(logs)):6.2f}, "
            f"from {math.exp(min(logs)):6.2f} to {math.exp(max(logs)):6.2f}"
        )
    stated, seconds = zip(*(pair for both in pairs.values() for pair in both), strict=True)
    correlation = np.corrcoef(ranks(list(stated)), ranks(list(seconds)))[0, 1]
    print(f"rank correlation of {len(stated)} questions: {correlation:.3f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
