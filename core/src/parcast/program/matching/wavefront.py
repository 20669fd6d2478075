"""The wavefront: how far all processes of a program come when each waits for what it needs."""

from __future__ import annotations

from heapq import heappop, heappush

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching.columns import Ids


@attrs.frozen(eq=False)
class Needs:
    """What must have started before an operation can end: one operation of some rank each."""

    waiting: Ids
    needed: Ids
    rendezvous: NDArray[np.bool_]  #: the message waits for its receive

    def sorted(self) -> Needs:
        """Return the needs in the order of the operations that wait."""
        order = np.argsort(self.waiting, kind="stable")
        return Needs(self.waiting[order], self.needed[order], self.rendezvous[order])


def stuck_in(needs: Needs, offsets: Ids) -> Ids:
    """Return which needs, of sorted ones, make a cycle of processes; none if all end.

    All processes advance together, a need at a time; where that moves few of them (a
    pipeline, a ping-pong) they take turns instead, for a while.
    """
    front = _Front(needs, offsets)
    front.together()
    while front.in_turns(max(1 << 16, 8 * len(offsets))):
        front.together()
    return front.cycle()


class _Front:
    """How far each process is: its next need, and the operations that it has started."""

    def __init__(self, needs: Needs, offsets: Ids) -> None:
        self.needed = needs.needed
        self.owner = (np.searchsorted(offsets, needs.needed, side="right") - 1).astype(np.int32)
        self.waiting = np.append(needs.waiting, offsets[-1])  # the last, of no process
        bounds = np.searchsorted(needs.waiting, offsets)
        self.next, self.ends, self.over = bounds[:-1].copy(), bounds[1:], offsets[1:]
        self.started = np.minimum(self.waiting[self.next], self.over)  #: none later has

    def together(self) -> None:
        """Let all processes advance at once, as long as a good part of them can."""
        ranks = np.flatnonzero(self.next < self.ends)
        while True:
            nexts = self.next[ranks]
            movers = ranks[self.needed[nexts] <= self.started[self.owner[nexts]]]
            if len(movers) < 32 + len(ranks) // 64:
                return
            self.next[movers] += 1
            self.started[movers] = np.minimum(self.waiting[self.next[movers]], self.over[movers])
            left = self.next[ranks] < self.ends[ranks]
            ranks = ranks if left.all() else ranks[left]

    def in_turns(self, budget: int) -> bool:
        """Let one process at a time go as far as it can; return whether more is left to do."""
        needed, owner, waiting = self.needed.data, self.owner.data, self.waiting.data
        nexts, ends, over = self.next.tolist(), self.ends.tolist(), self.over.tolist()
        started = self.started.tolist()
        sleepers: list[list[tuple[int, int]]] = [[] for _ in nexts]  # by what they wait for
        ready = [rank for rank, end in enumerate(ends) if nexts[rank] < end]
        while ready and budget > 0:
            rank = ready.pop()
            at, end = nexts[rank], ends[rank]
            while at < end and needed[at] <= started[owner[at]]:
                at += 1
                started[rank] = min(waiting[at], over[rank])
            budget -= at - nexts[rank]
            nexts[rank] = at
            if at < end:
                heappush(sleepers[owner[at]], (needed[at], rank))
            mine = sleepers[rank]
            while mine and mine[0][0] <= started[rank]:
                ready.append(heappop(mine)[1])
        self.next[:], self.started[:] = nexts, started
        return bool(ready)

    def cycle(self) -> Ids:
        """Return the needs of processes that wait for each other."""
        stuck = np.flatnonzero(self.next < self.ends)
        path: dict[int, int] = {}
        rank = int(stuck[0]) if len(stuck) else -1
        while rank >= 0 and rank not in path:  # who is waited for is stuck as well
            path[rank] = len(path)
            rank = int(self.owner[self.next[rank]])
        ranks = list(path)[path.get(rank, 0) :]
        return self.next[np.array(ranks, np.int64)]
