"""Benchmarks that no number of the machine's file is from, to check it with.

``python -m parcast_mpi.measuring.benchmarks FOLDER``, under mpiexec.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from mpi4py import MPI

from parcast_mpi.jobs import Job
from parcast_mpi.measuring import kernels
from parcast_mpi.measuring.sampling import BENCHMARK_SIZES, WINDOW, BenchmarkEffort
from parcast_mpi.running.files import Files

WORLD = MPI.COMM_WORLD
rank, count = WORLD.rank, WORLD.size
right, left = (rank + 1) % count, (rank - 1) % count

#: Repetitions whose median leaves out one from cold caches.
_FEWEST = 3


@attrs.frozen
class Benchmark:
    """What is repeated, and what its time says."""

    name: str
    run: Callable[[], object]
    size: int = 0  #: bytes of a message
    rate: float = 0.0  #: what is done in a repetition, by all ranks; 0: the time itself counts
    steps: float = 1.0  #: of a repetition, where the time counts


def benchmarks(folder: Path, effort: BenchmarkEffort) -> Iterator[Benchmark]:
    """Yield all benchmarks; of messages where there are two ranks or more.

    Files are last: what is written back takes processors for a while.
    """
    yield from _node(effort.memory // 24)
    if count > 1:
        yield from _messages()
    yield from _files(folder, effort.file)


def _messages() -> Iterator[Benchmark]:
    room = max(BENCHMARK_SIZES) * max(count, 2)
    sent, received = np.zeros(room, np.uint8), np.zeros(room, np.uint8)
    for size in BENCHMARK_SIZES:
        yield from _pairs(size, [sent, size, MPI.BYTE], [received, size, MPI.BYTE])
        yield from _collectives(size, sent, received)
    yield Benchmark("barrier", WORLD.Barrier)


def _node(elements: int) -> Iterator[Benchmark]:
    a, b, c = (np.full(elements, value) for value in (0.0, 1.0, 2.0))
    moved = kernels.ADD_BYTES * elements * count
    yield Benchmark("triad", lambda: kernels.triad(a, b, c, 0.5), rate=moved)
    yield Benchmark("gemm", kernels.product, rate=kernels.product() * count)


def _files(folder: Path, size: int) -> Iterator[Benchmark]:
    files = Files(folder, rank, count)
    for name, file in (("write", "own"), ("write-shared", "shared")):
        yield Benchmark(name, partial(files.write, size, file), rate=float(size * count))


def _pairs(size: int, message: list[Any], place: list[Any]) -> Iterator[Benchmark]:
    def bandwidth(pairs: int) -> None:
        answer = [np.zeros(4, np.uint8), 4, MPI.BYTE]
        if rank < pairs:
            MPI.Request.Waitall([WORLD.Isend(message, rank + pairs) for _ in range(WINDOW)])
            WORLD.Recv(answer, rank + pairs)
        elif rank < 2 * pairs:
            MPI.Request.Waitall([WORLD.Irecv(place, rank - pairs) for _ in range(WINDOW)])
            WORLD.Send(answer, rank - pairs)

    def ping_pong() -> None:
        if rank == 0:
            WORLD.Send(message, 1)
            WORLD.Recv(place, 1)
        elif rank == 1:
            WORLD.Recv(place, 0)
            WORLD.Send(message, 0)

    def exchange() -> None:
        receives = [WORLD.Irecv(place, near) for near in (right, left)]
        sends = [WORLD.Isend(message, near) for near in (left, right)]
        MPI.Request.Waitall(receives + sends)

    yield Benchmark("latency", ping_pong, size, steps=2)
    yield Benchmark("bandwidth", lambda: bandwidth(1), size, rate=float(WINDOW * size))
    if count >= 4:
        yield Benchmark(
            "pairs", lambda: bandwidth(count // 2), size, rate=float(WINDOW * size * (count // 2))
        )
    yield Benchmark("sendrecv", lambda: WORLD.Sendrecv(message, right, 0, place, left, 0), size)
    yield Benchmark("exchange", exchange, size)


def _collectives(size: int, sent: Any, received: Any) -> Iterator[Benchmark]:
    bytes_, place = [sent, size, MPI.BYTE], [received, size, MPI.BYTE]
    doubles, sums = [sent, size // 8, MPI.DOUBLE], [received, size // 8, MPI.DOUBLE]
    yield Benchmark("allreduce", lambda: WORLD.Allreduce(doubles, sums), size)
    yield Benchmark("reduce", lambda: WORLD.Reduce(doubles, sums), size)
    yield Benchmark("bcast", lambda: WORLD.Bcast(bytes_), size)
    yield Benchmark("alltoall", lambda: WORLD.Alltoall(bytes_, place), size)
    yield Benchmark("allgather", lambda: WORLD.Allgather(bytes_, place), size)


def timed(benchmark: Benchmark, repetitions: int) -> float:
    """Return the median seconds of a repetition after one that warms up, the slowest rank's."""
    seconds = np.empty(repetitions + 1)
    benchmark.run()
    WORLD.Barrier()
    seconds[0] = time.perf_counter()
    for number in range(1, repetitions + 1):
        benchmark.run()
        seconds[number] = time.perf_counter()
    return float(WORLD.allreduce(float(np.median(np.diff(seconds))), op=MPI.MAX))


def measured(folder: Path, effort: BenchmarkEffort) -> list[dict[str, Any]]:
    """Return each benchmark's values, one for each round; a round goes over all of them."""
    every = list(benchmarks(folder, effort))
    counts = []
    for benchmark in every:
        shortest = min(timed(benchmark, 3) for _ in range(effort.trials))
        counts.append(max(_FEWEST, round(effort.seconds / shortest)))
    counts = WORLD.bcast(counts)
    rounds = [
        [timed(benchmark, number) for benchmark, number in zip(every, counts, strict=True)]
        for _ in range(effort.rounds)
    ]
    return [
        {
            "name": benchmark.name,
            "size": benchmark.size,
            "unit": "per_s" if benchmark.rate else "s",
            "values": [benchmark.rate / time if benchmark.rate else time / benchmark.steps
                       for time in times],
        }
        for benchmark, times in zip(every, zip(*rounds, strict=True), strict=True)
    ]  # fmt: skip


def main(folder: str) -> None:
    """Measure all benchmarks, and leave their values in ``folder``."""
    job = Job(Path(folder))
    request = job.told()
    try:
        job.answer(rank, measured(Path(request["directory"]), BenchmarkEffort(**request["effort"])))
    except Exception as error:  # noqa: BLE001  (the launcher says it)
        job.answer(rank, {"error": f"failed: {type(error).__name__}: {error}"})
        WORLD.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1])
