"""Rows as columns, and which of the columns tell points apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from parcast.errors import ParcastError
from parcast.html import flatten
from parcast.results import Results

Flat = dict[str, Any]

#: What every point has; results are a grid over these.
GRID = ("workload", "machine", "solver", "p", "d")


def flat(results: Results) -> tuple[list[str], list[Flat]]:
    """Return the names of all columns, and the rows by column.

    Nested values get dotted columns, lists are joined by ``; ``; a row may lack columns.
    """
    rows = [{key: _cell(value) for key, value in flatten(row.to_dict())} for row in results.rows]
    names = list(dict.fromkeys(key for row in rows for key in row))
    said = {key for row in rows for key, value in row.items() if value is not None}
    return [name for name in names if name in said or not _is_table(name, names)], rows


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def _is_table(name: str, names: Iterable[str]) -> bool:
    return any(one.startswith(f"{name}.") for one in names)


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
    kept = {name: len(distinct(rows, [name])) for name in settings(names)}
    twice = _first_twice(rows, [*GRID, *kept])
    if twice is not None:
        place = ", ".join(f"{name} {twice[name]}" for name in GRID)
        raise ParcastError(
            f"Two rows fall on one place: {place}, with the same parameters, mapping and seed; "
            "keep one of them"
        )
    # What takes most values is most likely computed from the rest: try to do without it first.
    order = list(reversed(kept))
    for name in sorted(order, key=kept.__getitem__, reverse=True):
        rest = [*GRID, *(other for other in kept if other != name)]
        if len(distinct(rows, rest)) == len(rows):
            del kept[name]
    return (*GRID, *kept)


def distinct(rows: Iterable[Flat], names: Iterable[str]) -> dict[tuple[Any, ...], Flat]:
    """Return the different values of these columns, in the order of the rows, each with a row."""
    names = tuple(names)
    return {tuple(row.get(name) for name in names): row for row in rows}


def _first_twice(rows: Iterable[Flat], names: Iterable[str]) -> Flat | None:
    seen: set[tuple[Any, ...]] = set()
    names = tuple(names)
    for row in rows:
        place = tuple(row.get(name) for name in names)
        if place in seen:
            return row
        seen.add(place)
    return None


def is_number(value: object) -> bool:
    """Return whether a value is a number, True and False being none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def short(name: str) -> str:
    """Return a parameter's own name."""
    return name.removeprefix("params.")
