"""Tasks for whoever is free: a counter on rank 0 that every rank adds to by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

#: The calls of a task, and what the time of each counts as.
Task = Sequence[tuple[Callable[..., object], Any, int]]

#: When some of a call began and ended, and what it counts as.
Interval = tuple[float, float, int]


class Pools:
    """The counters of all pools, and bytes to fetch, in a window of rank 0's memory.

    Parameters
    ----------
    world
        All ranks, which make the window together.
    fetched
        Of each pool the bytes of each of its tasks.
    """

    def __init__(self, world: MPI.Intracomm, fetched: Sequence[Sequence[int]]) -> None:
        self._fetched = fetched
        self.spent: list[Interval] = []  #: on tasks, in this repetition
        if not fetched:
            return
        largest = max((amount for pool in fetched for amount in pool), default=0)
        window_size = 8 * len(fetched) + largest if world.rank == 0 else 0
        self._window = MPI.Win.Allocate(window_size, 1, comm=world)
        memory: Any = self._window.tomemory()
        self._counters = np.frombuffer(memory, np.uint8)[: 8 * len(fetched)].view(np.int64)
        self._one, self._task = np.ones(1, np.int64), np.zeros(1, np.int64)
        self._data = np.empty(max(largest, 1), np.uint8)
        self._window.Lock_all()

    def restart(self) -> None:
        """Put all tasks back, before all ranks begin together."""
        self.spent.clear()
        if self._fetched:
            self._counters[:] = 0
            self._window.Sync()

    def work(self, number: int, tasks: Sequence[Task]) -> None:
        """Take tasks of a pool until there are none, and do each one's calls."""
        clock, spent = time.perf_counter, self.spent
        while (task := self._next(number)) < len(tasks):
            for call, arguments, kind in tasks[task]:
                begin = clock()
                call(*arguments)
                spent.append((begin, clock(), kind))

    def _next(self, number: int) -> int:
        window = self._window
        window.Fetch_and_op(self._one, self._task, 0, 8 * number, MPI.SUM)
        window.Flush(0)
        task, amounts = int(self._task[0]), self._fetched[number]
        if task < len(amounts) and amounts[task]:
            at = (8 * len(self._fetched), amounts[task], MPI.BYTE)
            window.Get([self._data, amounts[task], MPI.BYTE], 0, at)
            window.Flush(0)
        return task
