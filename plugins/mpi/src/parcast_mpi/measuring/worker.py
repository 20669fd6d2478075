"""One rank of a measurement: ``python -m parcast_mpi.measuring.worker FOLDER``, under mpiexec.

All ranks go through the same stages together; those with nothing to do in a stage sleep.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from parcast_mpi.jobs import Job
from parcast_mpi.measuring import kernels
from parcast_mpi.measuring.sampling import (
    EAGER_SIZES,
    FILE_SIZES,
    LATE,
    MEMORY,
    QUANTUM,
    SIZES,
    WINDOW,
    WINDOW_SIZES,
    Effort,
)
from parcast_mpi.running.files import Files

WORLD = MPI.COMM_WORLD
clock = time.perf_counter

#: Elements of POLY1's two vectors: they stay in the first-level cache.
_POLY1 = 1024


def timed(call: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds that a call takes."""
    start = clock()
    call(*arguments)
    return clock() - start


def rendezvous() -> None:
    """Wait for all ranks without keeping a processor busy."""
    request = WORLD.Ibarrier()
    while not request.Test():
        time.sleep(1e-3)


def rates(effort: Effort, run: Callable[[int], float], *, together: bool) -> list[float]:
    """Return what ``run`` does in a second, on all ranks at once or on the first alone.

    ``run(n)`` does n passes, and returns how much is done in one.
    """
    work, passes = run(1), 1
    while timed(run, passes) < effort.seconds and passes < 1 << 30:
        passes *= 2
    rendezvous()
    if not together and WORLD.rank:
        return []
    run(passes)
    return [passes * work / timed(run, passes) for _ in range(effort.rounds)]


def _poly1() -> Callable[[int], float]:
    x = np.linspace(0.1, 0.9, _POLY1)
    y = x.copy()

    def run(passes: int) -> float:
        kernels.poly1(x, y, passes)
        return float(kernels.POLY1_FLOPS * x.size)

    return run


def _users(name: str) -> Callable[[int], float]:
    """Return a kernel of the user's: a function that returns how many operations it did."""
    module, _, attribute = name.partition(":")
    function = getattr(importlib.import_module(module), attribute)

    def run(passes: int) -> float:
        operations = 0.0
        for _ in range(passes):
            operations = float(function())
        return operations

    return run


def _in_place() -> Callable[[int], float]:
    x = np.full(MEMORY // 8, 0.5)

    def run(passes: int) -> float:
        for _ in range(passes):
            kernels.scale(x, 1.0)
        return float(x.size * kernels.SCALE_BYTES)

    return run


def _added() -> Callable[[int], float]:
    a, b, c = (np.full(MEMORY // 24, 0.5) for _ in range(3))

    def run(passes: int) -> float:
        for _ in range(passes):
            kernels.add(a, b, c)
        return float(a.size * kernels.ADD_BYTES)

    return run


def ping_pong(effort: Effort) -> dict[str, Any]:
    """Return half round trips: rounds of a median for each size, and all of 8 bytes."""
    if WORLD.rank > 1:
        return {}
    peer = 1 - WORLD.rank
    outgoing, incoming = np.zeros((2, max(SIZES)), np.uint8)
    rows, short = [], []
    for round_ in range(effort.rounds + 1):
        row = []
        for size in SIZES:
            message, place = [outgoing, size, MPI.BYTE], [incoming, size, MPI.BYTE]
            halves = []
            for _ in range(effort.calls if size <= 65536 else effort.calls // 10):
                start = clock()
                if WORLD.rank:
                    WORLD.Recv(place, peer)
                    WORLD.Send(message, peer)
                else:
                    WORLD.Send(message, peer)
                    WORLD.Recv(place, peer)
                halves.append((clock() - start) / 2)
            row.append(float(np.median(halves)))
            if size == 8 and round_:
                short += halves
        rows.append(row)
    return {"halves": rows[1:], "short": short}  # the first round warms up


def windows(effort: Effort) -> list[list[float]]:
    """Return seconds of each message of a window: rounds over `WINDOW_SIZES`."""
    if WORLD.rank > 1:
        return []
    buffer, answer = np.zeros(max(WINDOW_SIZES), np.uint8), [np.zeros(4, np.uint8), 4, MPI.BYTE]
    rows = []
    for _ in range(effort.rounds + 1):
        row = []
        for size in WINDOW_SIZES:
            message, start = [buffer, size, MPI.BYTE], clock()
            if WORLD.rank == 0:
                MPI.Request.Waitall([WORLD.Isend(message, 1) for _ in range(WINDOW)])
                WORLD.Recv(answer, 1)
            else:
                MPI.Request.Waitall([WORLD.Irecv(message, 0) for _ in range(WINDOW)])
                WORLD.Send(answer, 0)
            row.append((clock() - start) / WINDOW)
        rows.append(row)
    return rows[1:]


def calls(effort: Effort) -> dict[str, list[float]]:
    """Return seconds of a short send whose message is taken later, and of a receive of one."""
    if WORLD.rank > 1:
        return {}
    message = [np.zeros(8, np.uint8), 8, MPI.BYTE]
    sending, receiving = [], []
    few = 10  # fewer than any library's queue of short messages holds
    for _ in range(4 * effort.rounds):
        if WORLD.rank == 0:
            sending += [timed(WORLD.Send, message, 1) for _ in range(few)]
            WORLD.Recv(message, 1)
        else:
            time.sleep(1e-3)  # all have arrived
            WORLD.Probe(0)
            receiving += [timed(WORLD.Recv, message, 0) for _ in range(few)]
            WORLD.Send(message, 0)
    return {"sending": sending, "receiving": receiving}


def late_receiver() -> list[list[float]]:
    """Return seconds of sends whose receiver comes late, rounds over `EAGER_SIZES`."""
    if WORLD.rank > 1:
        return []
    buffer = np.zeros(max(EAGER_SIZES), np.uint8)
    rows = []
    for _ in range(3):
        row = []
        for size in EAGER_SIZES:
            message = [buffer, size, MPI.BYTE]
            if WORLD.rank == 0:
                row.append(timed(WORLD.Send, message, 1))
                WORLD.Recv(message, 1)
            else:
                time.sleep(LATE)
                WORLD.Recv(message, 0)
                WORLD.Send(message, 0)
        rows.append(row)
    return rows


def exchange(effort: Effort) -> list[float]:
    """Return bytes per second of all ranks together while each sends and receives (COMMS3)."""
    size = 1 << 20
    sent, received = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    right, left = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    throughputs = []
    for _ in range(effort.rounds + 1):
        WORLD.Barrier()
        start = clock()
        for _ in range(10):
            WORLD.Sendrecv(sent, right, 0, received, left, 0)
        throughputs.append(10 * size * WORLD.size / (clock() - start))
    return throughputs[1:]


def storage(effort: Effort, folder: Path) -> dict[str, Any]:
    """Return seconds of writes, reads and copies of what was just read, each after a computation.

    A row for each round, a column for each of `FILE_SIZES`.
    """
    if WORLD.rank:
        return {}
    files, compute = Files(folder, 0, 1), _poly1()
    files.prepare(max(FILE_SIZES), "own")
    samples: dict[str, Any] = {"write": [], "read": [], "copy": []}
    for _ in range(effort.rounds // 3):
        for word, rows in samples.items():
            rows.append([])
            for size in FILE_SIZES:
                compute(effort.passes_between)
                rows[-1].append(timed(getattr(files, word), size, "own"))
    return samples


def quanta(effort: Effort) -> list[int]:
    """Return how often a short piece of work was done in each quantum of time (FTQ)."""
    x = np.linspace(0.1, 0.9, 64)
    y = x.copy()
    work, counts = kernels.poly1, []
    work(x, y, 1)
    WORLD.Barrier()
    edge = clock()
    for _ in range(effort.quanta):
        edge, count = edge + QUANTUM, 0
        while clock() < edge:
            work(x, y, 2)
            count += 1
        counts.append(count)
    return counts


def _rates(
    name: str, effort: Effort, make: Callable[[], Callable[[int], float]]
) -> dict[str, Callable[[], Any]]:
    """Return two stages: all ranks at once, and the first alone."""
    return {
        name: lambda: rates(effort, make(), together=True),
        f"{name} alone": lambda: rates(effort, make(), together=False),
    }


def stages(request: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what to sample, in order; messages only where there are two ranks."""
    kernel, effort = request["kernel"], Effort(**request["effort"])
    by_name: dict[str, Callable[[], Any]] = {
        **_rates("rate", effort, _poly1),
        **(_rates("rate of the kernel", effort, lambda: _users(kernel)) if kernel else {}),
        **_rates("memory in place", effort, _in_place),
        **_rates("memory added", effort, _added),
        "noise": lambda: quanta(effort),
        "storage": lambda: storage(effort, Path(request["directory"])),
    }
    if WORLD.size > 1:
        by_name |= {
            "messages": lambda: ping_pong(effort),
            "windows": lambda: windows(effort),
            "calls": lambda: calls(effort),
            "eager limit": late_receiver,
            "saturation": lambda: exchange(effort),
        }
    return by_name


def main(folder: str) -> None:
    """Go through all stages, and leave the samples in ``folder``."""
    job = Job(Path(folder))
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  (where the user's kernel may be)
    to_sample, samples = stages(job.told()), {}
    try:
        for number, (name, stage) in enumerate(to_sample.items()):
            rendezvous()
            if not WORLD.rank:
                (job.folder / "stage").write_text(f"{number} {len(to_sample)} {name}")
            samples[name] = stage()
        rendezvous()
        job.answer(WORLD.rank, samples)
    except Exception as error:  # noqa: BLE001  (the launcher says it)
        job.answer(WORLD.rank, {"error": f"failed: {type(error).__name__}: {error}"})
        WORLD.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1])
