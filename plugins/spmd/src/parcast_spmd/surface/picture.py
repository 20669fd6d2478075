"""A surface in text: the map of what binds, and a small table of speedups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from parcast import Row

LETTERS: Mapping[str, str] = {
    "processor": "P",
    "synchronization": "S",
    "network": "N",
    "storage": "D",
}
#: No answer at this point.
_NONE = "."
_WORDS = ("P processor", "S synchronization", "N network", "D disk", ". no answer")


def sample(values: Iterable[int], most: int, answers: Mapping[int, int] | None = None) -> list[int]:
    """Return about ``most`` of the values, evenly spaced on a log scale, with both ends.

    Parameters
    ----------
    values
        What was asked.
    most
        How many fit.
    answers
        How many answers each value has: of neighbors a power of two is taken, or else the
        one with the most.
    """
    ordered = sorted(set(values))
    if len(ordered) <= most:
        return ordered
    octaves = math.log2(ordered[-1] / ordered[0])
    steps = max(1, int((most - 1) / octaves)) if octaves < most else (most - 1) / octaves
    half = 2 ** (0.5 / steps)
    known = answers or {}
    chosen = {ordered[-1]}
    for index in range(int(octaves * steps) + 1):
        wanted = ordered[0] * 2 ** (index / steps)
        near = [one for one in ordered if wanted / half <= one < wanted * half] or ordered
        rank = {one: (one & (one - 1) != 0, -known.get(one, 0), abs(one - wanted)) for one in near}
        chosen.add(min(near, key=rank.__getitem__))
    return sorted(chosen)


def bottleneck_map(rows: Sequence[Row], width: int = 80, height: int = 16) -> list[str]:
    """Return the lines of a map of what binds: p to the right, d upwards, both on a log scale."""
    found = {(row.p, row.d): LETTERS.get(row.binding or "", _NONE) for row in rows}
    known = [place for place, letter in found.items() if letter != _NONE]
    disks = sample((row.d for row in rows), height, Counter(d for _, d in known))
    margin = len(f"d = {disks[-1]}") + 1
    room = width - margin - len(str(max(row.p for row in rows)))
    processes = sample((row.p for row in rows), room, Counter(p for p, _ in known))
    wide = max(map(len, map(str, processes))) + 2
    wide = wide if wide * len(processes) <= room else 1
    lines = [
        f"{f'd = {d}' if d == disks[-1] else d:>{margin - 1}} "
        + "".join(found.get((p, d), _NONE) * wide for p in processes)
        for d in reversed(disks)
    ]
    letters = set("".join(line[margin:] for line in lines))
    legend = [words for words in _WORDS if words[0] in letters]
    return [*lines, _ticks(processes, margin, wide), "", "  ".join(legend)]


def _ticks(values: Sequence[int], margin: int, wide: int) -> str:
    """Return the line below the map: some of the values, each below its column."""
    line = "p =".ljust(margin)
    powers = [index for index, value in enumerate(values) if value & (value - 1) == 0]
    shown = range(len(values)) if wide > 1 else sorted({0, *powers, len(values) - 1})
    for index in shown:
        place = margin + index * wide
        if place > len(line) or index == 0:
            line = line.ljust(place) + str(values[index])
    return line


def speedup_table(rows: Sequence[Row], most_p: int = 11, most_d: int = 8) -> list[tuple[str, ...]]:
    """Return the cells of a table of speedups, a row for each p and a column for each d."""
    found = {(row.p, row.d): row for row in rows}
    known = [place for place, row in found.items() if row.time is not None]
    disks = sample((row.d for row in rows), most_d, Counter(d for _, d in known))
    processes = sample((row.p for row in rows), most_p, Counter(p for p, _ in known))
    table = [(str(p), *(_speedup(found.get((p, d))) for d in disks)) for p in processes]
    return [("p \\ d", *map(str, disks)), *table]


def _speedup(row: Row | None) -> str:
    return "-" if row is None or row.speedup is None else f"{row.speedup:.3g}"
