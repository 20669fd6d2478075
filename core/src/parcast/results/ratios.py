"""What rows give beside their times: efficiencies over the fewest processes, and throughputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parcast.model.query import is_lower_bound
from parcast.results.row import Row
from parcast.results.texts import spelled


def efficiencies(rows: Sequence[Row]) -> list[float | None]:
    """Return each row's efficiency over the fewest processes of the same solver and settings.

    With T(p) seconds on p processes, and q the fewest, that is q T(q) / (p T(p)): 1 where twice
    the processes take half the time. None where there is no such row, or only one p.
    """
    fewest: dict[Any, Row] = {}
    answered: dict[Any, set[int]] = {}
    for row in rows:
        if row.time:
            answered.setdefault(_series(row), set()).add(row.p)
        first = fewest.setdefault(_series(row), row)
        if row.time and (row.p < first.p or not first.time):
            fewest[_series(row)] = row
    return [
        _efficiency(fewest[_series(row)], row) if len(answered.get(_series(row), ())) > 1 else None
        for row in rows
    ]


def _efficiency(first: Row, row: Row) -> float | None:
    if not row.time or not first.time or is_lower_bound(row):
        return None
    return first.p * first.time / (row.p * row.time)


def _series(row: Row) -> Any:
    settings = tuple(sorted((name, spelled(value)) for name, value in row.params.items()))
    return row.workload, row.machine, row.solver, row.d, str(row.mapping), row.seed, settings


def throughputs(rows: Sequence[Row]) -> dict[str, list[float | None]]:
    """Return how much rows finish in a second, by what is counted."""
    counted = [row.details.get("throughput") for row in rows]
    names = dict.fromkeys(item["items"] for item in counted if item)
    return {
        name: [item["per_second"] if item and item["items"] == name else None for item in counted]
        for name in names
    }
