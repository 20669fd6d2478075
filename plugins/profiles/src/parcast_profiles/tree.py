"""Trees of calls: what regions took by themselves, from what they took with all they called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from parcast_profiles.profile import Region, communicates

#: A path of names from the outermost region to the innermost.
Path = tuple[str, ...]

#: Of the time of a region, by how much its parts may exceed it before that is said.
_ROUNDING = 1e-3


def exclusive(inclusive: Iterable[tuple[Path, float]]) -> Iterator[tuple[Path, float]]:
    """Yield what paths took by themselves; what parts took beyond their whole is negative."""
    totals: dict[Path, float] = defaultdict(float)
    for path, seconds in inclusive:
        totals[path] += seconds
    themselves = dict(totals)
    for path, seconds in totals.items():
        for length in range(len(path) - 1, 0, -1):
            if path[:length] in themselves:
                themselves[path[:length]] -= seconds
                break
    yield from themselves.items()


def regions_of(exclusive_times: Iterable[tuple[Path, float]]) -> tuple[list[Region], float]:
    """Return regions by the name of the innermost, and the seconds that were below 0.

    What a call of MPI calls communicates as well, under its name.
    """
    regions, below = [], 0.0
    for path, seconds in exclusive_times:
        below += max(-seconds, 0.0)
        outer = next((name for name in path if communicates(name)), None)
        name = outer or path[-1]
        regions.append(Region(name, max(seconds, 0.0), outer is not None))
    return regions, below


def overlap_note(below: float, total: float) -> Iterator[str]:
    """Yield a note where parts took longer than what they are parts of."""
    if below > _ROUNDING * total:
        yield (
            f"parts took {below:.4g} s more than the regions that they are in, which overlap or "
            "were averaged: the sum of all is that much too long"
        )


def beside_note(threads: int, seconds: float) -> Iterator[str]:
    """Yield a note where processes had further threads, which run beside the first."""
    if threads > 0:
        yield (
            f"{threads:,} further threads, {seconds:.4g} s together, run beside the first one of "
            "their process, whose seconds these are"
        )
