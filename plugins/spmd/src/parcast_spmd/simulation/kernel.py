"""The events of the three models: jobs between processors, the network and the disks.

A job computes and is away for a constant time (the delay), passes the network, and so on for
each burst of a cycle; then it visits its disk, and the next cycle begins. Jobs queue first come
first served. Everyone comes to a disk from the network, so disks see them in the network's
order, and one event a burst is enough: the arrival at the network. Jobs that share processors
have a second one, the arrival at their node.

Random numbers are drawn ahead, in columns of bounded length; the kernel returns when one is
used up and goes on where it was with the next.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from parcast.plugins import kernel
from parcast.quantities import Distribution
from parcast_spmd.mva.mva_kernels import Floats, Integers

#: Bursts whose random numbers are drawn at once.
AHEAD = 1 << 14

#: Steps of the plain form, in 0.1 us, that a burst takes.
_BURST_STEPS = 40


@kernel("parcast-spmd", plain_steps=6_000_000, uncached_steps=15_000_000)
def event_kernel(  # noqa: PLR0912, PLR0915  (a kernel calls no other function of its file)
    when: Any,
    who: Any,
    state: Any,
    free: Any,
    first: Any,
    idle: Any,
    pace: Any,
    constant: Any,
    draws: Any,
    services: Any,
    accesses: Any,
    rounds: Any,
    count: Any,
    total: Any,
    marks: Any,
    interval: Any,
) -> None:
    """Play events until a column is used up, all jobs have left, or ``marks`` is full.

    ``when`` is a heap of next arrivals (first ``count[0]`` entries) of jobs ``who``;
    ``state[job]`` holds bursts left in the cycle, cycles left, run, network, disk, node (-1: one
    of its own), and whether it comes to the node next. ``free`` says from when networks and
    disks are, ``idle`` the processors, of which ``first`` delimits those of each node.
    ``count`` has jobs left, bursts and cycles drawn, and cycles done; ``total[run]`` the end,
    and time at network, at disks, and in wait for processors. Every ``interval`` cycles the time
    and ``total[0]`` are written to ``marks``.
    """
    last = len(marks) * interval
    while count[0] > 0 and count[1] < len(draws) and count[2] < len(rounds) and count[3] < last:
        ready, job = when[0], who[0]
        burst = count[1]
        count[1] += 1
        run = state[job, 2]
        if state[job, 6] == 0:
            network = state[job, 3]
            leaves = max(ready, free[network]) + services[burst]
            free[network] = leaves
            total[run, 1] += leaves - ready
            ready = leaves
            state[job, 0] -= 1
            if state[job, 0] == 0:
                disk = state[job, 4]
                free[disk] = max(ready, free[disk]) + accesses[count[2]]
                total[run, 2] += free[disk] - ready
                ready = free[disk]
                total[run, 0] = max(total[run, 0], ready)
                state[job, 0] = rounds[count[2]]
                state[job, 1] -= 1
                count[2] += 1
                count[3] += 1
                if count[3] % interval == 0:
                    mark = count[3] // interval - 1
                    marks[mark, 0] = leaves
                    for column in range(1, total.shape[1]):  # slices take longer to compile
                        marks[mark, column] = total[0, column]
        if state[job, 1] > 0:
            node = state[job, 5]
            if node >= 0 and state[job, 6] == 0:
                state[job, 6] = 1
            else:
                state[job, 6] = 0
                work = 0.0
                for member in range(draws.shape[1]):
                    work = max(work, pace[job, member] * draws[burst, member])
                if node >= 0:
                    core = first[node]
                    for candidate in range(first[node] + 1, first[node + 1]):
                        if idle[candidate] < idle[core]:
                            core = candidate
                    begins = max(ready, idle[core])
                    total[run, 3] += begins - ready
                    ready = begins
                    idle[core] = begins + work
                ready += work + constant
        else:
            count[0] -= 1
            ready, job = when[count[0]], who[count[0]]
        size, hole = count[0], 0
        while 2 * hole + 1 < size:
            below = 2 * hole + 1
            if below + 1 < size and when[below + 1] < when[below]:
                below += 1
            if when[below] >= ready:
                break
            when[hole], who[hole] = when[below], who[below]
            hole = below
        when[hole], who[hole] = ready, job


@attrs.frozen(eq=False, kw_only=True)
class Stations:
    """What jobs, the synchronization groups, do; times in seconds."""

    pace: Floats  #: mean computation of a burst, shape (jobs, processes in the group)
    shape: Distribution  #: of a computation, of mean 1
    constant: float  #: that a burst takes besides, startup and the free part of the transfer
    network: Distribution  #: one passage
    storage: Distribution  #: one access
    bursts: float  #: per cycle
    geometric: bool = False  #: ``bursts`` is the mean of a geometric number, at least 1
    disks: Integers  #: of each job
    nodes: Integers  #: of each job; -1: processors of its own
    cores: Integers  #: of each node

    @property
    def jobs(self) -> int:
        """How many there are."""
        return len(self.pace)


class Runs:
    """Some runs side by side, which share nothing but the random numbers."""

    def __init__(
        self, stations: Stations, generator: np.random.Generator, *, cycles: int, runs: int = 1
    ) -> None:
        """Begin ``runs`` runs, in which every job does ``cycles`` cycles."""
        self.stations, self.generator = stations, generator
        #: Of each run: end, time of all jobs at network and disks, and waiting for processors
        self.total = np.zeros((runs, 4))
        self._pace = np.tile(stations.pace, (runs, 1))
        self._state = self._initial(cycles, runs)
        self._free = np.zeros(int(self._state[:, 4].max()) + 1)
        self._first = np.concatenate([[0], np.cumsum(np.tile(stations.cores, runs))])
        self._idle = np.zeros(int(self._first[-1]))
        begin = (self._pace * self._draws(len(self._pace))).max(axis=1) + stations.constant
        begin[self._state[:, 5] >= 0] = 0.0
        self._who = np.argsort(begin, kind="stable")
        self._when = begin[self._who]
        self._count = np.array([len(begin), 0, 0, 0], dtype=np.int64)
        self._ahead = int(min(AHEAD, len(begin) * stations.bursts * cycles))
        self._bursts: tuple[Floats, Floats] = (self._draws(0), np.empty(0))
        self._cycles: tuple[Floats, Integers] = (np.empty(0), np.empty(0, dtype=np.int64))

    def _initial(self, cycles: int, runs: int) -> Integers:
        stations = self.stations
        run = np.repeat(np.arange(runs), stations.jobs)
        network = run * (2 + int(stations.disks.max()))
        disk = network + 1 + np.tile(stations.disks, runs)
        crowded = np.tile(stations.nodes >= 0, runs)
        node = np.where(crowded, np.tile(stations.nodes, runs) + run * len(stations.cores), -1)
        left = self._rounds(len(run))
        columns = (left, np.full(len(run), cycles), run, network, disk, node, crowded)
        return np.column_stack(columns).astype(np.int64)

    def to_the_end(self) -> None:
        """Play until all jobs have done their cycles."""
        self.marks(1, 1 << 62)

    def marks(self, number: int, interval: int, form: Any = None) -> Floats:
        """Return the time, and the rest of the first run's `total`, each ``interval`` cycles on.

        Parameters
        ----------
        number, interval
            How many marks, and the cycles, of all jobs together, from one to the next.
        form
            The form of the kernel; where not given, that which is sooner done.
        """
        marks = np.zeros((number, 4))
        self._count[3] = 0
        while self._count[0] and self._count[3] < number * interval:
            self._draw_ahead()
            run = form or event_kernel.form(_BURST_STEPS * self._ahead)
            run(
                *(self._when, self._who, self._state, self._free, self._first, self._idle),
                *(self._pace, self.stations.constant, *self._bursts, *self._cycles),
                *(self._count, self.total, marks, interval),
            )
        return marks

    def _draw_ahead(self) -> None:
        """Replace the columns that are used up."""
        if self._count[1] == len(self._bursts[0]):
            services = self.stations.network.sample(self.generator, self._ahead)
            self._bursts, self._count[1] = (self._draws(self._ahead), services), 0
        if self._count[2] == len(self._cycles[0]):
            size = 1 + int(self._ahead / self.stations.bursts)
            accesses = self.stations.storage.sample(self.generator, size)
            self._cycles, self._count[2] = (accesses, self._rounds(size)), 0

    def _draws(self, size: int) -> Floats:
        members = self.stations.pace.shape[1]
        return self.stations.shape.sample(self.generator, size * members).reshape(size, members)

    def _rounds(self, size: int) -> Integers:
        if not self.stations.geometric:
            return np.full(size, int(self.stations.bursts), dtype=np.int64)
        return self.generator.geometric(1 / self.stations.bursts, size)
