"""Rows as columns, and which of the columns tell points apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from parcast.errors import ParcastError
from parcast.results.packing import packs, values
from parcast.results.row import Row

Flat = dict[str, Any]

#: What every point has; results are a grid over these.
GRID = ("workload", "machine", "solver", "p", "d")


@attrs.define
class Kind:
    """What the values of one column are, over all rows."""

    types: set[type] = attrs.field(factory=set)  #: without that of None
    wide: bool = False  #: there are integers of more than 64 bits


def kinds(rows: Sequence[Row]) -> dict[str, Kind]:
    """Return the names of all columns and what they hold, without keeping the rows.

    Nested values get dotted columns, lists are joined by ``; ``; a row may lack columns.
    """
    kind_of: dict[str, Kind] = {}
    for pack in packs(rows):
        columns = pack.flat()
        for name, column in columns.items():
            cells = column.get("each", [column.get("same")])
            types = set(map(type, cells))
            kind = kind_of.setdefault(name, Kind())
            kind.types |= types - {type(None)}
            kind.wide |= int in types and any(map(_is_wide, cells))
    return {name: k for name, k in kind_of.items() if k.types or not _is_table(name, kind_of)}


def _is_wide(value: object) -> bool:
    return type(value) is int and not -(2**63) <= value < 2**63


def _is_table(name: str, names: Iterable[str]) -> bool:
    return any(column.startswith(f"{name}.") for column in names)


def flat(rows: Sequence[Row]) -> tuple[list[str], list[Flat]]:
    """Return the names of all columns (see `kinds`), and the rows by column."""
    cells: list[Flat] = []
    for pack in packs(rows):
        columns = {name: values(column, pack.count) for name, column in pack.flat().items()}
        cells += (
            dict(zip(columns, record, strict=True))
            for record in zip(*columns.values(), strict=True)
        )
    return list(kinds(rows)), cells


def settings(names: Iterable[str]) -> list[str]:
    """Return the columns that may tell two points of one place in the grid apart."""
    return [name for name in names if name.startswith("params.") or name in {"mapping", "seed"}]


def axes(names: Sequence[str], rows: Sequence[Flat]) -> tuple[str, ...]:
    """Return the fewest columns that tell all points apart, those of the grid first.

    A parameter that follows from the others, as a formula of p does, is none of them.

    Raises
    ------
    ParcastError
        If two rows are alike in every parameter, in mapping and in seed.
    """
    counts = {name: len(distinct(rows, [name])) for name in settings(names)}
    twice = _first_twice(rows, [*GRID, *counts])
    if twice is not None:
        point = ", ".join(f"{name} {twice[name]}" for name in GRID)
        raise ParcastError(
            f"Two rows fall on one place: {point}, with the same parameters, mapping and seed; "
            "keep one of them"
        )
    # What takes most values is most likely computed from the rest: try to do without it first.
    order = list(reversed(counts))
    for name in sorted(order, key=counts.__getitem__, reverse=True):
        remaining = [*GRID, *(axis for axis in counts if axis != name)]
        if len(distinct(rows, remaining)) == len(rows):
            del counts[name]
    return (*GRID, *counts)


def distinct(rows: Iterable[Flat], names: Iterable[str]) -> dict[tuple[Any, ...], Flat]:
    """Return the different values of these columns, in the order of the rows, each with a row."""
    names = tuple(names)
    return {tuple(row.get(name) for name in names): row for row in rows}


def _first_twice(rows: Iterable[Flat], names: Iterable[str]) -> Flat | None:
    seen: set[tuple[Any, ...]] = set()
    names = tuple(names)
    for row in rows:
        point = tuple(row.get(name) for name in names)
        if point in seen:
            return row
        seen.add(point)
    return None


def short(name: str) -> str:
    """Return a parameter's own name."""
    return name.removeprefix("params.")
