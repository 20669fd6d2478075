"""One rank of a real run: ``python -m parcast_mpi.running.worker FOLDER``, under mpiexec."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from parcast_mpi.jobs import Job
from parcast_mpi.running.calls import COMMUNICATION, START, SYNCHRONIZATION, Calls

#: Seconds between agreeing on an instant and beginning at it, and how long of it to spin.
_AHEAD, _SPIN = 2e-3, 2e-4

#: Seconds that all ranks have to say where they stand: the first that ends takes them along.
_LAST_WORDS = 10.0


class Rank:
    """What one rank does in all repetitions; `ends` tells another thread how far it is."""

    def __init__(self, mine: dict[str, Any], folder: Path) -> None:
        self.lines = mine["lines"]
        self.prepared = Calls(mine, folder)
        self.ends: list[float] = []

    def repeat(self) -> tuple[float, list[float]]:
        """Run the program once; return its time, the same on all ranks, and this rank's parts."""
        world, calls = self.prepared.world, self.prepared.calls
        pools = self.prepared.pools
        pools.restart()
        begin = world.bcast(time.perf_counter() + _AHEAD)
        world.Barrier()
        ends: list[float] = []
        self.ends = ends
        append, clock = ends.append, time.perf_counter
        _wait_until(begin)
        for call, arguments in calls:
            call(*arguments)
            append(clock())
        end_times = np.maximum(np.array(ends), begin)
        kinds = np.array(self.prepared.kinds, np.int64)
        starts = end_times[kinds == START]
        start = world.allreduce(float(starts[-1]) if starts.size else begin, MPI.MAX)
        end = world.allreduce(float(end_times[-1]) if end_times.size else begin, MPI.MAX)
        end = max(end, start)
        parts = _parts(begin, end_times, kinds, start, end)
        for since, until, kind in pools.spent:
            spent = max(until, start) - max(since, start)  # within a call that counted as another
            parts[kind] += spent
            parts[COMMUNICATION] -= spent
        return end - start, parts

    def standing(self) -> str:
        """Say which step it is in."""
        finished = len(self.ends)
        if finished >= len(self.prepared.step_indices):
            return "waits for the others to end"
        op, site, _ = self.prepared.steps[self.prepared.step_indices[finished]]
        return f"stands in {op} at {self.lines[site]}"


def _wait_until(instant: float) -> None:
    if (left := instant - time.perf_counter() - _SPIN) > 0:
        time.sleep(left)
    while time.perf_counter() < instant:
        pass


def _parts(begin: float, ends: Any, kinds: Any, start: float, end: float) -> list[float]:
    """Return what a rank's time from ``start`` to ``end`` was spent on, idling included."""
    edges = np.maximum(np.concatenate([[begin], ends]), start)
    spent = np.bincount(kinds, np.diff(edges), START + 1)
    parts: list[float] = spent[:START].tolist()
    parts[SYNCHRONIZATION] += end - float(edges[-1])
    return parts


def _watch(job: Job, rank: Rank, limit: float, finished: threading.Event) -> None:
    """Say where the rank stands when the limit is over, and end it."""
    if not finished.wait(limit):
        text = f"{rank.standing()} when the limit of {limit:g} s was over"
        world = MPI.COMM_WORLD
        job.answer(world.rank, {"error": text})
        until = time.monotonic() + _LAST_WORDS
        while None in job.answers(world.size) and time.monotonic() < until:
            time.sleep(0.01)
        os._exit(3)


def main(folder: str) -> None:
    """Follow the plan in ``folder``, and leave the times and parts of each repetition there."""
    job = Job(Path(folder))
    instructions = job.told()
    world = MPI.COMM_WORLD
    if world.size != instructions["size"]:
        text = (
            f"is one of {world.size}, not of {instructions['size']}: mpiexec is not of mpi4py's MPI"
        )
        job.answer(world.rank, {"error": text})
        return
    try:
        rank = Rank(instructions["ranks"][world.rank], Path(instructions["directory"]))
        finished = threading.Event()
        watch = threading.Thread(
            target=_watch, args=(job, rank, instructions["limit"], finished), daemon=True
        )
        world.Barrier()  # so that the limit is over for all at once
        watch.start()
        gc.collect()
        gc.disable()
        times = [rank.repeat() for _ in range(instructions["warmup"] + instructions["repetitions"])]
        finished.set()
        job.answer(world.rank, {"repetitions": times[instructions["warmup"] :]})
    except Exception as error:  # noqa: BLE001  (the launcher says it)
        job.answer(world.rank, {"error": f"failed: {type(error).__name__}: {error}"})
        world.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1])
