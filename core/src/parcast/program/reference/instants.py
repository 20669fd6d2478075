"""What is simultaneous: the one rule by which every engine puts requests in order.

Sums of the same numbers in another order differ in their last bits, so two times that are equal
in exact arithmetic need not be in floats. Times that differ by less than `SAME_INSTANT`, relative
to the earlier, are one instant; what asks at one instant is served in the order of ranks and
places (``docs/program.md``). Fractions are compared exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

#: Relative to a time, how much later another one may be and still be the same: 1.2e-10. A million
#: additions keep below it.
SAME_INSTANT = 2.0**-33


def end_of_instant(time: Any) -> Any:
    """Return the latest time that is the same as this one."""
    return time * (1.0 + SAME_INSTANT) if isinstance(time, float) else time


def latest_end(ends: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the last end, and the smallest beginning of those that end at that instant."""
    last, _ = max(ends)
    return last, min(begin for end, begin in ends if end_of_instant(end) >= last)


def by_arrival(ends: list[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield what has an end and a beginning by its end; of one instant, by its beginning."""
    left = list(ends)
    while left:
        until = end_of_instant(min(left)[0])
        first = min((entry for entry in left if entry[0] <= until), key=lambda entry: entry[1])
        left.remove(first)
        yield first


class Requests:
    """What asks to be served, in the order in which it is.

    The requests of one instant are by rank and place, of one place as they came up; those that
    come up while it lasts go among them.
    """

    def __init__(self) -> None:
        self._later: list[tuple[Any, int, int, int, Callable[[Any], None]]] = []
        self._now: list[tuple[int, int, int, Any, Callable[[Any], None]]] = []
        self._until: Any = 0  #: the end of the instant of what is in ``_now``
        self._count = count()

    def add(self, time: Any, rank: int, order: int, serve: Callable[[Any], None]) -> None:
        """Ask to be served at a time or after it."""
        number = next(self._count)
        if self._now and time <= self._until:
            heapq.heappush(self._now, (rank, order, number, time, serve))
        else:
            heapq.heappush(self._later, (time, rank, order, number, serve))

    def time(self) -> Any:
        """Return when the first of all asks, or None if there is none."""
        if self._now:
            return self._now[0][3]
        return self._later[0][0] if self._later else None

    def serve(self) -> None:
        """Serve the first."""
        if not self._now:
            self._until = end_of_instant(self._later[0][0])
            while self._later and self._later[0][0] <= self._until:
                time, rank, order, number, serve = heapq.heappop(self._later)
                heapq.heappush(self._now, (rank, order, number, time, serve))
        *_, time, serve = heapq.heappop(self._now)
        serve(time)
