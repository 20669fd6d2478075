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

import attrs
import numpy as np
from mpi4py import MPI

from parcast_mpi.jobs import Job
from parcast_mpi.measuring import kernels
from parcast_mpi.measuring.sampling import (
    EAGER_SIZES,
    FILE_SIZES,
    HANDLED_SIZES,
    LATE,
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


@attrs.define
class Rate:
    """What a kernel does in a second; ``run(n)`` does n passes, and returns what is done in one.

    The first repeat of a round is from cold caches, as a program's computation is at times.
    """

    effort: Effort
    run: Callable[[int], float]
    passes: int = 0  #: that take long enough to be timed
    work: float = 0.0  #: of a pass

    def together(self) -> list[float]:
        """Return the rates of repeats on all ranks at once."""
        rendezvous()
        return self._repeats()

    def alone(self) -> list[float]:
        """Return those on the first rank, while the others idle."""
        rendezvous()
        return [] if WORLD.rank else self._repeats()

    def _repeats(self) -> list[float]:
        if not self.passes:
            self.work, self.passes = self.run(1), self._enough()
        done = self.passes * self.work
        return [done / timed(self.run, self.passes) for _ in range(self.effort.repeats)]

    def _enough(self) -> int:
        passes = 1
        while timed(self.run, passes) < self.effort.seconds and passes < 1 << 30:
            passes *= 2
        return passes


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


def _in_place(x: Any) -> Callable[[int], float]:
    def run(passes: int) -> float:
        for _ in range(passes):
            kernels.scale(x, 1.0)
        return float(x.size * kernels.SCALE_BYTES)

    return run


def _added(vector: Any) -> Callable[[int], float]:
    third = len(vector) // 3
    a, b, c = (vector[k * third : (k + 1) * third] for k in range(3))

    def run(passes: int) -> float:
        for _ in range(passes):
            kernels.add(a, b, c)
        return float(a.size * kernels.ADD_BYTES)

    return run


def ping_pong(effort: Effort) -> dict[str, Any]:
    """Return half round trips: repeats of a median for each size, and all of 8 bytes."""
    if WORLD.rank > 1:
        return {}
    peer = 1 - WORLD.rank
    outgoing, incoming = np.zeros((2, max(SIZES)), np.uint8)
    rows, short = [], []
    for repeat in range(effort.repeats + 1):
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
            if size == 8 and repeat:
                short += halves
        rows.append(row)
    return {"halves": rows[1:], "short": short}  # the first one warms up


def windows(effort: Effort) -> list[list[float]]:
    """Return seconds of each message of a window: repeats over `WINDOW_SIZES`."""
    if WORLD.rank > 1:
        return []
    buffer, answer = np.zeros(max(WINDOW_SIZES), np.uint8), [np.zeros(4, np.uint8), 4, MPI.BYTE]
    rows = []
    for _ in range(effort.repeats + 1):
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
    for _ in range(4 * effort.repeats):
        if WORLD.rank == 0:
            sending += [timed(WORLD.Send, message, 1) for _ in range(few)]
            WORLD.Recv(message, 1)
        else:
            time.sleep(1e-3)  # all have arrived
            WORLD.Probe(0)
            receiving += [timed(WORLD.Recv, message, 0) for _ in range(few)]
            WORLD.Send(message, 0)
    return {"sending": sending, "receiving": receiving}


def late_receiver() -> list[float]:
    """Return seconds of sends whose receiver comes late, by `EAGER_SIZES`."""
    if WORLD.rank > 1:
        return []
    buffer = np.zeros(max(EAGER_SIZES), np.uint8)
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
    return row


def exchange(effort: Effort) -> list[float]:
    """Return bytes per second of all ranks together while each sends and receives (COMMS3)."""
    size = 1 << 20
    sent, received = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    right, left = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    throughputs = []
    for _ in range(effort.repeats + 1):
        WORLD.Barrier()
        start = clock()
        for _ in range(10):
            WORLD.Sendrecv(sent, right, 0, received, left, 0)
        throughputs.append(10 * size * WORLD.size / (clock() - start))
    return throughputs[1:]


def handled(effort: Effort) -> dict[str, list[list[float]]]:
    """Return seconds of sums, of exchanges, and of exchanges and copies.

    A sum is that of ``MPI_Reduce_local``. Before an exchange each process copies what it sends, or
    a block that it keeps. Repeats over `HANDLED_SIZES`; all ranks at once, as in a collective.
    """
    own, kept, sent, received = np.zeros((4, max(HANDLED_SIZES)), np.uint8)
    right, left = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size

    def add(size: int) -> None:
        MPI.SUM.Reduce_local([sent, size // 8, MPI.DOUBLE], [received, size // 8, MPI.DOUBLE])

    def exchange(size: int) -> None:
        WORLD.Sendrecv([sent, size, MPI.BYTE], right, 0, [received, size, MPI.BYTE], left, 0)

    def copy(size: int) -> None:
        sent[:size] = own[:size]
        exchange(size)

    def keep(size: int) -> None:
        kept[:size] = own[:size]
        exchange(size)

    rows: dict[str, list[list[float]]] = {"add": [], "exchange": [], "copy": [], "keep": []}
    count = max(effort.calls // 10, 2)
    for _ in range(effort.repeats):
        for call, repeats in zip((add, exchange, copy, keep), rows.values(), strict=True):
            rendezvous()
            repeats.append([
                float(np.median([timed(call, size) for _ in range(count)]))
                for size in HANDLED_SIZES
            ])  # fmt: skip
    return rows


def storage(effort: Effort, files: Files, compute: Callable[[int], float]) -> dict[str, Any]:
    """Return seconds of the first rank's writes, reads, and copies of what was just read.

    By `FILE_SIZES`, each after a computation; and ``together``, of the largest writes while all
    ranks write.
    """
    together = []
    for _ in range(effort.repeats):
        rendezvous()
        together.append(timed(files.write, FILE_SIZES[-1], "own"))
    samples: dict[str, Any] = {"write": [], "read": [], "copy": []}
    if WORLD.rank:
        return {"together": together}
    for word, row in samples.items():
        for size in FILE_SIZES:
            compute(effort.passes_between)
            row.append(timed(getattr(files, word), size, "own"))
    return {**samples, "together": together}


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


def stages(request: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what to sample in a round, in order; messages only where there are two ranks."""
    kernel, effort = request["kernel"], Effort(**request["effort"])
    vector = np.full(effort.memory // 8, 0.5)
    kernels_by_name = {
        "rate": _poly1(),
        **({"rate of the kernel": _users(kernel)} if kernel else {}),
        "memory in place": _in_place(vector),
        "memory added": _added(vector),
    }
    files = Files(Path(request["directory"]), WORLD.rank, WORLD.size)
    files.prepare(max(FILE_SIZES), "own")
    by_name: dict[str, Callable[[], Any]] = {}
    for name, run in kernels_by_name.items():
        rate = Rate(effort, run)
        by_name |= {name: rate.together, f"{name} alone": rate.alone}
    by_name |= {
        "noise": lambda: quanta(effort),
        "storage": lambda: storage(effort, files, kernels_by_name["rate"]),
    }
    if WORLD.size > 1:
        by_name |= {
            "messages": lambda: ping_pong(effort),
            "windows": lambda: windows(effort),
            "calls": lambda: calls(effort),
            "eager limit": late_receiver,
            "saturation": lambda: exchange(effort),
            "handled": lambda: handled(effort),
        }
    return by_name


def main(folder: str) -> None:
    """Go over all stages in every round, and leave the samples in ``folder``."""
    job = Job(Path(folder))
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  (where the user's kernel may be)
    request = job.told()
    rounds = Effort(**request["effort"]).rounds
    try:
        by_name = stages(request)
        samples: dict[str, list[Any]] = {name: [] for name in by_name}
        for number, (name, stage) in enumerate(list(by_name.items()) * rounds):
            rendezvous()
            if not WORLD.rank:
                (job.folder / "stage").write_text(f"{number} {rounds * len(by_name)} {name}")
            samples[name].append(stage())
        rendezvous()
        job.answer(WORLD.rank, samples)
    except Exception as error:  # noqa: BLE001  (the launcher says it)
        job.answer(WORLD.rank, {"error": f"failed: {type(error).__name__}: {error}"})
        WORLD.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1])
