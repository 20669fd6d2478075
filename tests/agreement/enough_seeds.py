"""Seeds until there was enough of what a test is for, which some days have little of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parcast.testing import seeds

#: So many times the seeds of most days are gone through on the rarest.
_MOST = 10


def seeds_until(count: int, is_enough: Callable[[], bool]) -> Iterator[int]:
    """Yield ``count`` seeds, and up to ten times as many while there is not enough."""
    for index, seed in enumerate(seeds(_MOST * count)):
        if index >= count and is_enough():
            return
        yield seed
