"""Tables of rows that are no wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from parcast.model.query import is_lower_bound

if TYPE_CHECKING:
    from parcast.results.results import Results

#: Columns that are left out where a table is too wide, the least important first, and those
#: that say something together alone.
_LEAST_IMPORTANT = (
    ("compute", "communication", "io", "synchronization"),
    ("energy",),
    ("between",),
    ("price",),
    ("d",),
    ("speedup",),
    ("efficiency",),
    ("mostly from",),
    ("95 % of samples",),
    ("with record",),
    ("measured",),
    ("bottleneck",),
)

#: Between columns.
_GAP = 2


class FittedTable(NamedTuple):
    """A table for people."""

    header: list[str]
    rows: list[list[str]]
    left_out: tuple[str, ...]  #: columns for which there is no room


def fitted(results: Results, width: int) -> FittedTable:
    """Return rows, all of which have a time, as a table.

    Parameters
    ----------
    results
        Rows of any solvers.
    width
        How many characters a line has.
    """
    header, cells = results.table()
    columns = {head: [line[index] for line in cells] for index, head in enumerate(header)}
    marked = [
        f">= {cell}" if is_lower_bound(row) else cell
        for cell, row in zip(columns["time"], results.rows, strict=True)
    ]
    ranged = any("range" in row.details for row in results.rows)
    left_out = _without_room({**columns, "time": marked}, width, ranged=ranged)
    if "between" in left_out:
        columns["time"] = marked
    columns = {head: column for head, column in columns.items() if head not in left_out}
    rows = [list(cells) for cells in zip(*columns.values(), strict=True)]
    return FittedTable(list(columns), rows, left_out)


def _without_room(
    columns: Mapping[str, Sequence[str]], width: int, *, ranged: bool
) -> tuple[str, ...]:
    """Return the least important columns, as few as need be for the others to fit.

    Where a time is ``ranged``, from where to where matters most.
    """
    least_important = sorted(_LEAST_IMPORTANT, key=lambda heads: ranged and heads == ("between",))
    optional = [
        {head: columns[head] for head in heads if head in columns}
        for heads in least_important
        if heads != ("d",) or len(set(columns["d"])) == 1
    ]
    needed = {
        head: cells
        for head, cells in columns.items()
        if not any(head in group for group in optional)
    }
    room = width - _width(needed)
    shown = {*needed}
    for group in reversed(optional):
        if group and _GAP + _width(group) <= room:
            room -= _GAP + _width(group)
            shown |= {*group}
    return tuple(head for head in columns if head not in shown)


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    widths = (max(map(len, (head, *cells))) for head, cells in columns.items())
    return sum(widths) + _GAP * (len(columns) - 1)
