"""Servers of requests: one after another, or all at once in equal shares."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

from parcast_emulator.processes.clock import RUN, SERVE, Clock, Key

Done = Callable[[], Any]


class Line:
    """First come, first served; ask for it in the clock's phase ``SERVE``."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.free = 0.0
        self.busy = self.waited = 0.0
        self.served = 0

    def hold(self, seconds: float) -> float:
        """Be busy for so long from now on, or from when it is free; return that time."""
        begin = max(self.clock.now, self.free)
        self.free = begin + seconds
        self.busy += seconds
        self.waited += begin - self.clock.now
        self.served += 1
        return begin

    def serve(self, key: Key, seconds: float, finish: Done) -> float:
        """Serve a request, and tell when it is done; return its beginning."""
        begin = self.hold(seconds)
        self.clock.at(self.free, RUN, key, finish)
        return begin


class FairLine(Line):
    """All requests at once, each with an equal share (processor sharing)."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._work = 0.0  # that each request present since the beginning would have got
        self._since = 0.0
        self._open: list[tuple[float, int, float, float, Done]] = []
        self._counter = count()
        self._version = 0

    def serve(self, key: Key, seconds: float, finish: Done) -> float:
        """Serve a request from now on, and tell when it is done."""
        del key
        now = self.clock.now
        self._move_on()
        item = (self._work + seconds, next(self._counter), now, seconds, finish)
        heapq.heappush(self._open, item)
        self._plan()
        return now

    def _move_on(self) -> None:
        if self._open:
            self._work += (self.clock.now - self._since) / len(self._open)
        self._since = self.clock.now

    def _plan(self) -> None:
        """Look again when the first request should be done, unless another comes before."""
        self._version += 1
        if self._open:
            version = self._version
            end = self.clock.now + (self._open[0][0] - self._work) * len(self._open)
            self.clock.at(max(end, self.clock.now), SERVE, (), lambda: self._end(version))

    def _end(self, version: int) -> None:
        if version != self._version:
            return
        self._move_on()
        self._work = max(self._work, self._open[0][0])  # but for rounding
        while self._open and self._open[0][0] <= self._work:
            *_, begin, seconds, finish = heapq.heappop(self._open)
            self.busy += seconds
            self.waited += self.clock.now - begin - seconds
            self.served += 1
            self.free = self.clock.now
            self.clock.at(self.clock.now, RUN, (), finish)
        self._plan()
