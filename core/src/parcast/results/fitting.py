"""Tables of rows as people read them: what has no time below, and no wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.model.query import Status, is_lower_bound

if TYPE_CHECKING:
    from parcast.results.results import Results
    from parcast.results.row import Row

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


@attrs.frozen
class FittedTable:
    """A table for people."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]  #: columns for which there is no room
    unanswered: tuple[str, ...]  #: sentences on rows without a time


def fitted(results: Results, width: int | None = None) -> FittedTable:
    """Return the rows that have a time as a table, and sentences on the others.

    Parameters
    ----------
    results
        Rows of any solvers.
    width
        How many characters a line has; None: as many as it takes.
    """
    from parcast.results.results import Results

    timed = [row for row in results.rows if row.status is Status.OK]
    unanswered = tuple(_unanswered(results.rows))
    if not timed:
        return FittedTable((), (), (), unanswered)
    header, cells = Results(tuple(timed)).table()
    columns = {head: [line[index] for line in cells] for index, head in enumerate(header)}
    marked = [
        f">= {cell}" if is_lower_bound(row) else cell
        for cell, row in zip(columns["time"], timed, strict=True)
    ]
    ranged = any("range" in row.details for row in timed)
    left_out = _without_room({**columns, "time": marked}, width, ranged=ranged)
    if "between" in left_out:
        columns["time"] = marked
    columns = {head: column for head, column in columns.items() if head not in left_out}
    rows = tuple(zip(*columns.values(), strict=True))
    return FittedTable(tuple(columns), rows, left_out, unanswered)


def _without_room(
    columns: Mapping[str, Sequence[str]], width: int | None, *, ranged: bool
) -> tuple[str, ...]:
    """Return the least important columns, as few as need be for the others to fit.

    Where a time is ``ranged``, from where to where matters most.
    """
    if width is None:
        return ()
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


def _unanswered(rows: Sequence[Row]) -> list[str]:
    """Return who has no time, where and why: each reason once."""
    points: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row.status is not Status.OK:
            solvers = points.setdefault((row.status.value, row.message), {})
            solvers.setdefault(row.solver, []).append(row)
    sentences = []
    for (status, message), solvers in points.items():
        places: dict[str, list[str]] = {}
        for solver, without in solvers.items():
            places.setdefault(_places(without, rows), []).append(solver)
        sentences += [
            f"{', '.join(names)} {status}{where}: {message}" for where, names in places.items()
        ]
    return sentences


def _places(without: Sequence[Row], rows: Sequence[Row]) -> str:
    """Return where a solver has no answer, in words; nothing where it has none at all."""
    if len(set(map(_point, without))) == len(set(map(_point, rows))):
        return ""
    places = [
        f" {word} {', '.join(dict.fromkeys(getattr(row, axis) for row in without))}"
        for word, axis in (("for", "workload"), ("on", "machine"))
        if {getattr(row, axis) for row in without} != {getattr(row, axis) for row in rows}
    ]
    processes = dict.fromkeys(str(row.p) for row in without)
    if {*processes} != {str(row.p) for row in rows}:
        places.append(f" at p = {', '.join(processes)}")
    return "".join(places)


def _point(row: Row) -> tuple[object, ...]:
    return (row.workload, row.machine, row.p, row.d, row.mapping, row.seed, str(row.params))
