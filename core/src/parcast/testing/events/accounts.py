"""What each process spends its time on, from the latest ``start()`` on."""

from __future__ import annotations

from collections import defaultdict

from parcast.model.query import Parts
from parcast.testing.events.agenda import end_of
from parcast.testing.events.letters import Letter

_PARTS = ("compute", "communication", "io", "synchronization")


class Accounts:
    """The times of all processes, by part."""

    def __init__(self, size: int) -> None:
        self.start: float = 0
        self._spent: list[dict[str, float]] = [defaultdict(int) for _ in range(size)]

    def restart(self, now: float) -> None:
        """Forget what lies before a ``start()`` that happens now."""
        self.start = max(self.start, now)
        for spent in self._spent:
            spent.clear()

    def parts(self) -> tuple[Parts, ...]:
        """Return the parts of each process."""
        return tuple(Parts(*(spent[name] for name in _PARTS)) for spent in self._spent)

    def charge(self, rank: int, part: str, since: float, until: float) -> None:
        """Add a time to a part, without what lies before the latest ``start()``."""
        self._spent[rank][part] += max(until, self.start) - max(since, self.start)

    def wait(self, rank: int, since: float, ends: list[tuple[float, float]], now: float) -> None:
        """Charge a wait until now by the letter that ended it: its end and when it left."""
        last = max((end for end, _ in ends), default=since)
        left = min((left for end, left in ends if last <= end_of(end)), default=since)
        gone = min(max(since, left), now)
        self.charge(rank, "synchronization", since, gone)
        self.charge(rank, "communication", gone, now)

    def takings(self, rank: int, begun: float, taken: list[tuple[Letter, float]]) -> None:
        """Charge a wait that took these; of those of one instant, first what left first."""
        now = begun
        while taken:
            until = end_of(min(letter.arrival or 0 for letter, _ in taken))
            together = [entry for entry in taken if (entry[0].arrival or 0) <= until]
            first = min(together, key=lambda entry: entry[0].left)
            taken = [entry for entry in taken if entry is not first]
            letter, seconds = first
            since, now = now, max(now, letter.arrival or 0)
            gone = min(max(since, letter.left), now)
            self.charge(rank, "synchronization", since, gone)
            self.charge(rank, "communication", gone, now + seconds)
            now += seconds
