"""What happens when: events in the order of time, and within an instant by turns."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from parcast.program.reference.instants import SAME_INSTANT

#: What happens first among the events of one instant: processes run and messages arrive, then
#: resources are served, then wildcards are decided.
RUN, SERVE, DECIDE = range(3)

#: Of one instant: what kind of event, a rank and a place there; then as they were asked for.
_Turn = tuple[int, int, int, int]


def end_of(time: float) -> float:
    """Return the end of the instant that begins at a time; fractions are exact."""
    return time * (1 + SAME_INSTANT) if isinstance(time, float) else time


class Agenda:
    """The events that are to come, and what is now."""

    def __init__(self) -> None:
        self.now: float = 0
        self._until: float = 0  # the end of this instant
        self._events: list[tuple[float, _Turn, Callable[[], None]]] = []
        self._instant: list[tuple[_Turn, float, Callable[[], None]]] = []  # of what is now
        self._counter = count()

    def __bool__(self) -> bool:
        return bool(self._events or self._instant)

    def number(self) -> int:
        """Return a number that rises from call to call."""
        return next(self._counter)

    def at(self, time: float, kind: int, rank: int, order: int, do: Callable[[], None]) -> None:
        """Have something done at a time, in its turn."""
        turn = kind, rank, order, self.number()
        if self._instant and time <= self._until:
            heapq.heappush(self._instant, (turn, time, do))
        else:
            heapq.heappush(self._events, (time, turn, do))

    def happen(self) -> None:
        """Let the first event happen: of one instant by its turn, whatever the last bits say."""
        if not self._instant:
            self._until = end_of(self._events[0][0])
            while self._events and self._events[0][0] <= self._until:
                time, turn, do = heapq.heappop(self._events)
                heapq.heappush(self._instant, (turn, time, do))
        _, self.now, do = heapq.heappop(self._instant)
        do()
