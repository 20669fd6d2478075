"""The clock of a tightly coupled simulation: events in the order of time, and processes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from itertools import count
from typing import Any, TypeAlias

from parcast.plugins import without_collection
from parcast_emulator.engines.usage import Progress

#: What happens first of one time: processes run and things end, then messages on shared links
#: begin and end, then requests are served, then receives of any message are decided.
RUN, CHANGE, SERVE, DECIDE = range(4)

#: Orders what happens at one time in one of these ways.
Key: TypeAlias = tuple[int, ...]

#: What a process yields: when it goes on, or whether what it waits for is there, to sleep until it
#: is woken and that is so.
Steps: TypeAlias = Generator[float | Callable[[], bool], None, None]

#: Events between two looks at the progress bar.
_EVENTS = 50_000


class Clock:
    """Simulated time, in seconds, and what is to happen.

    Parameters
    ----------
    same
        How much later than a time another may be, relative to it, and still be the same one
        (`parcast.program.reference.instants`). What happens then has its own time nevertheless.
    """

    def __init__(self, same: float = 0.0) -> None:
        self.now = 0.0
        self.handled = 0
        self._same = same
        self._events: list[tuple[float, int, Key, int, Callable[[], Any]]] = []
        self._instant: list[tuple[int, Key, int, float, Callable[[], Any]]] = []
        self._until = 0.0
        self._counter = count()

    def at(self, time: float, phase: int, key: Key, do: Callable[[], Any]) -> None:
        """Let something happen; at one time by phase, then by key, then as it was asked for."""
        number = next(self._counter)
        if self._instant and time <= self._until:
            heapq.heappush(self._instant, (phase, key, number, time, do))
        else:
            heapq.heappush(self._events, (time, phase, key, number, do))

    @without_collection()
    def run(self, progress: Progress = lambda _time, _done: None) -> None:
        """Let everything happen."""
        while self._events or self._instant:
            if self._instant:
                _, _, _, self.now, do = heapq.heappop(self._instant)
            else:
                self.now, _, _, _, do = self._first()
            do()
            self.handled += 1
            if self.handled % _EVENTS == 0:
                progress(self.now, self.handled)

    def _first(self) -> tuple[float, int, Key, int, Callable[[], Any]]:
        """Return what happens next, which begins an instant; note what else is in it."""
        first = heapq.heappop(self._events)
        self._until = first[0] * (1.0 + self._same)
        if not (self._same and self._events and self._events[0][0] <= self._until):
            return first
        instant = [first]
        while self._events and self._events[0][0] <= self._until:
            instant.append(heapq.heappop(self._events))
        self._instant = sorted(
            (phase, key, number, time, do) for time, phase, key, number, do in instant
        )
        phase, key, number, time, do = heapq.heappop(self._instant)
        return time, phase, key, number, do


class Process:
    """A generator that runs on the clock; a subclass or its owner says what it does."""

    def __init__(self, clock: Clock, steps: Steps, ended: Callable[[], None]) -> None:
        self.clock = clock
        self._steps, self._ended = steps, ended
        self._awaited: Callable[[], bool] | None = None
        self._reached = 0.0

    def go(self) -> None:
        """Run until it sleeps, or to its end; never back behind where it was.

        What wakes it may be behind by last bits, within one instant.
        """
        now = self.clock.now
        self.reach(self._reached)
        try:
            until = next(self._steps)
            while callable(until) and until():
                until = next(self._steps)
        except StopIteration:
            self._ended()
        else:
            if callable(until):
                self._awaited = until
            else:
                self.clock.at(until, RUN, (), self.go)
        self._reached, self.clock.now = self.clock.now, now

    def reach(self, time: float) -> None:
        """Go on no earlier than at a time that the clock may be behind by last bits."""
        self.clock.now = max(self.clock.now, time)

    def wake(self) -> None:
        """Run on, if what it sleeps for is there."""
        if self._awaited is not None and self._awaited():
            self._awaited = None
            self.go()


def detection(since: float, completed: float, round_time: float) -> float:
    """Return when rounds of checking that begin at ``since`` find what is ``completed`` by then.

    A round takes ``round_time`` seconds and finds what is done at its end; there is one at least.
    """
    if round_time == 0:
        return max(since, completed)
    rounds = max(1, -int(-(completed - since) // round_time))
    end = since + rounds * round_time
    return end if end >= completed else end + round_time
