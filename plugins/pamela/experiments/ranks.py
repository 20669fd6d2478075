"""One rank of the paper's programs: kernels by numba, messages by mpi4py.

Run by measured.py under mpiexec, as ``ranks.py FOLDER``; ``job.json`` there says what to run.
Each rank has whole arrays, in the layout of one processor, and works on its own part of them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import kernels
import numpy as np
from mpi4py import MPI

from parcast_mpi.jobs import Job

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()


def own(n):
    """Return first and end of this rank's block."""
    return n // SIZE * RANK, n // SIZE * (RANK + 1)


def square(n, seed=1):
    """Return a well-conditioned matrix."""
    return np.random.default_rng(seed).random((n, n)) + n * np.eye(n)


def matmul(n):
    """C = A B, rows of A broadcast."""
    a, b, c = square(n), square(n, 2), np.zeros((n, n))
    row = np.empty(n)
    first, end = own(n)

    def run():
        for i in range(n):
            root = i // (n // SIZE)
            if root == RANK:
                row[:] = a[i]
            WORLD.Bcast(row, root)
            kernels.matmul_row(c, b, row, i, first, end)

    def right():
        product = a[:4] @ b[:, first:end]
        return np.allclose(c[:4, first:end] / c[0, first], product / product[0, 0])

    return run, right


def adi(n, kind):
    """The vertical phase, on whole columns or whole rows."""
    a = square(n)
    first, end = own(n)
    if kind == "vertical":
        return lambda: kernels.adi(a, 1, n - 1, first, end), lambda: bool(np.all(a >= 0))

    def run():
        if RANK:
            WORLD.Recv(a[first - 1], RANK - 1)
        if RANK + 1 < SIZE:  # the old values of the row below
            WORLD.Recv(a[end], RANK + 1, tag=1)
        kernels.adi(a, max(1, first), min(n - 1, end), 0, n)
        if RANK + 1 < SIZE:
            WORLD.Send(a[end - 1], RANK + 1)

    def whole():
        if RANK:
            WORLD.Send(a[first], RANK - 1, tag=1)
        run()

    return whole, lambda: bool(np.all(a >= 0))


def gauss(n, kind, order):
    """Elimination, columns cyclic or in blocks."""
    given = square(n)
    a, pivot = given.copy(), np.zeros(n)
    first, end = own(n)
    update = kernels.gauss_ji if order == "ji" else kernels.gauss_ij

    def run():
        a[:] = given
        for k in range(n - 1):
            root = k % SIZE if kind == "cyclic" else k // (n // SIZE)
            if root == RANK:
                kernels.scale(pivot, a, k)
            WORLD.Bcast(pivot[k + 1 :], root)
            if kind == "cyclic":
                update(a, pivot, k, k + 1 + (RANK - k - 1) % SIZE, n, SIZE)
            else:
                update(a, pivot, k, max(k + 1, first), end, 1)

    def right():
        mine = range(RANK, n, SIZE) if kind == "cyclic" else range(first, end)
        rest = given.copy()
        for k in range(n - 1):
            rest[k + 1 :, k + 1 :] -= np.outer(rest[k + 1 :, k] / rest[k, k], rest[k, k + 1 :])
        return np.allclose(a[:, mine], rest[:, mine])

    return run, right


def psrs(n, kind):
    """Sorting by regular sampling; the index vector is replicated or partitioned."""
    block = n // SIZE
    given = np.random.default_rng(RANK).random(block)
    result: list[np.ndarray] = []

    def run():
        x = given.copy()
        kernels.quicksort(x)
        sample = np.empty(SIZE * SIZE)
        WORLD.Allgather(x[:: block // SIZE][:SIZE].copy(), sample)
        sample.sort()
        pivot = sample[SIZE // 2 + SIZE :: SIZE][: SIZE - 1].copy()
        index = np.empty(block, np.int64)
        kernels.place(index, x, pivot)
        if kind == "replicated":
            whole = np.empty(n, np.int64)
            for root in range(SIZE):
                part = whole[root * block : (root + 1) * block]
                if root == RANK:
                    part[:] = index
                WORLD.Bcast(part, root)
        counts = np.bincount(index, minlength=SIZE)
        received = np.array(WORLD.alltoall(counts.tolist()))
        y = np.empty(received.sum())
        WORLD.Alltoallv([x, counts], [y, received])
        kernels.merge(y, received)
        result[:] = [y]

    return run, lambda: bool(np.all(np.diff(result[0]) >= 0))


def apsp(n):
    """All pairs shortest path: rank 0 hands out nodes and collects rows; the others work."""
    graph = np.random.default_rng(3).random((n, n))
    rows = np.empty((n, n))

    def farmer():
        row, sent, done = np.empty(n), 0, 0
        status = MPI.Status()
        while done < n:
            while not WORLD.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
                time.sleep(2e-5)  # the workers need the cores
            WORLD.Recv(row, status.source, status.tag)
            if status.tag < n:
                rows[status.tag] = row
                done += 1
            WORLD.send(sent if sent < n else -1, status.source)
            sent += 1

    def run():
        if RANK == 0:
            farmer()
            return
        row, task = np.zeros(n), n  # the tag n asks without a result
        while True:
            WORLD.Send(row, 0, task)
            task = WORLD.recv(source=0)
            if task < 0:
                return
            kernels.dijkstra(graph, task, row)

    return run, lambda: bool(RANK or np.all(rows[0] <= graph[0]))


PROGRAMS = {
    "matmul": matmul,
    **{f"adi-{one}": lambda n, one=one: adi(n, one) for one in ("vertical", "horizontal")},
    **{
        f"gauss-{middle}{kind}": lambda n, kind=kind, order=order: gauss(n, kind, order)
        for middle, order in (("", "ji"), ("ij-", "ij"))
        for kind in ("cyclic", "block")
    },
    "psrs": lambda n: psrs(n, "replicated"),
    "psrs-improved": lambda n: psrs(n, "partitioned"),
    "apsp": apsp,
}


def bcast(n):
    """V[i] = A[i, j] with V replicated, by rows: a broadcast of n elements."""
    v = np.zeros(n)
    return lambda: WORLD.Bcast(v, 0)


def move(n):
    """V[i] = A[i, j] on different processors: n elements sent and received."""
    v = np.zeros(n)

    def run():
        if RANK == 0 and SIZE > 1:
            WORLD.Send(v, 1)
            WORLD.Recv(v, 1)
        elif RANK == 1:
            WORLD.Recv(v, 0)
            WORLD.Send(v, 0)

    return run


def timed(run, times, inner=1):
    """Return the seconds of each run, from all ranks' start to the last one's end."""
    found = []
    for _ in range(times):
        WORLD.Barrier()
        start = time.perf_counter()
        for _ in range(inner):
            run()
        found.append(WORLD.allreduce(time.perf_counter() - start, MPI.MAX) / inner)
    return found


def main():
    """Run what the job says, and answer with all times."""
    job = Job(Path(sys.argv[1]))
    answer = {}
    told = job.told()
    for name, n in told.get("programs", []):
        run, right = PROGRAMS[name](n)
        run()  # compiles
        inner = 30 if name.startswith("adi") else 1
        answer[f"{name} {n}"] = timed(run, told["times"], inner)
        if not WORLD.allreduce(right(), MPI.LAND):
            answer["error"] = f"{name} has a wrong result"
    for n in told.get("moves", []):
        answer[f"bcast {n}"] = timed(bcast(n), 200, 20)
        answer[f"move {n}"] = [one / 2 for one in timed(move(n), 200, 20)]
    if told.get("loops"):  # on all ranks at once, as they run the programs
        WORLD.Barrier()
        answer |= kernels.loops(told["loops"], told["nodes"], told["times"])
    job.answer(RANK, answer)


if __name__ == "__main__":
    main()
