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
#: How large pictures are at most, in characters and cells.
_MAP_ROWS, _TABLE_ROWS, _TABLE_COLUMNS = 16, 11, 8
#: No answer at this point.
_NONE = "."
_WORDS = ("P processor", "S synchronization", "N network", "D disk", ". no answer")


def sample(
    values: Iterable[int], count: int, answers: Mapping[int, int] | None = None
) -> list[int]:
    """Return about ``count`` of the values, evenly spaced on a log scale, with both ends.

    Parameters
    ----------
    values
        What was asked.
    count
        How many fit.
    answers
        How many answers each value has: of neighbors a power of two is taken, or else the
        one with the most.
    """
    ordered = sorted(set(values))
    if len(ordered) <= count:
        return ordered
    octaves = math.log2(ordered[-1] / ordered[0])
    steps = max(1, int((count - 1) / octaves)) if octaves < count else (count - 1) / octaves
    half = 2 ** (0.5 / steps)
    counts = answers or {}
    chosen = {ordered[-1]}
    for index in range(int(octaves * steps) + 1):
        wanted = ordered[0] * 2 ** (index / steps)
        near = [value for value in ordered if wanted / half <= value < wanted * half] or ordered
        rank = {
            value: (value & (value - 1) != 0, -counts.get(value, 0), abs(value - wanted))
            for value in near
        }
        chosen.add(min(near, key=rank.__getitem__))
    return sorted(chosen)


def bottleneck_map(rows: Sequence[Row], width: int = 80) -> list[str]:
    """Return the lines of a map of what binds: p to the right, d upwards, both on a log scale."""
    letter_at = {(row.p, row.d): LETTERS.get(row.binding or "", _NONE) for row in rows}
    answered = [point for point, letter in letter_at.items() if letter != _NONE]
    disks = sample((row.d for row in rows), _MAP_ROWS, Counter(d for _, d in answered))
    margin = len(f"d = {disks[-1]}") + 1
    room = width - margin - len(str(max(row.p for row in rows)))
    processes = sample((row.p for row in rows), room, Counter(p for p, _ in answered))
    wide = max(map(len, map(str, processes))) + 2
    wide = wide if wide * len(processes) <= room else 1
    lines = [
        f"{f'd = {d}' if d == disks[-1] else d:>{margin - 1}} "
        + "".join(letter_at.get((p, d), _NONE) * wide for p in processes)
        for d in reversed(disks)
    ]
    letters = set("".join(line[margin:] for line in lines))
    legend = [words for words in _WORDS if words[0] in letters]
    return [*lines, _ticks(processes, margin, wide), "", "  ".join(legend)]


def _ticks(values: Sequence[int], margin: int, wide: int) -> str:
    """Return the line below the map: some of the values, each below its column."""
    line = "p =".ljust(margin)
    powers = [index for index, value in enumerate(values) if value & (value - 1) == 0]
    marked = range(len(values)) if wide > 1 else sorted({0, *powers, len(values) - 1})
    for index in marked:
        column = margin + index * wide
        if column > len(line) or index == 0:
            line = line.ljust(column) + str(values[index])
    return line


def speedup_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of a table of speedups, a row for each p and a column for each d."""
    row_at = {(row.p, row.d): row for row in rows}
    answered = [point for point, row in row_at.items() if row.time is not None]
    disks = sample((row.d for row in rows), _TABLE_COLUMNS, Counter(d for _, d in answered))
    processes = sample((row.p for row in rows), _TABLE_ROWS, Counter(p for p, _ in answered))
    table = [(str(p), *(_speedup(row_at.get((p, d))) for d in disks)) for p in processes]
    return [("p \\ d", *map(str, disks)), *table]


def _speedup(row: Row | None) -> str:
    return "-" if row is None or row.speedup is None else f"{row.speedup:.3g}"
