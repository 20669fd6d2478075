"""Machines beside each other: the same runs by one solver, and by how much one is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import attrs

from parcast.model.query import Status, is_lower_bound
from parcast.results.preference import preferred_solver
from parcast.results.row import Row
from parcast.results.texts import bottleneck_text, charged, price_text, spelled, time_text


@attrs.frozen
class SideBySide:
    """A table of machines for people."""

    solver: str  #: whose times they are
    first: str  #: the machine that the others are compared with
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(rows: Sequence[Row]) -> SideBySide | None:
    """Return machines beside each other, at least two, if all are asked about the same runs.

    One solver is shown, so that machines differ and not methods: that which gives an estimate of
    most runs on every machine, with the fewest caveats, the first of them. A lower bound is no
    estimate.
    """
    machines = list(dict.fromkeys(row.machine for row in rows))
    by_disks = _same_disks(rows)
    runs = {
        name: _runs([row for row in rows if row.solver == name], machines, by_disks)
        for name in dict.fromkeys(row.solver for row in rows)
    }
    solver = preferred_solver({name: [*chain.from_iterable(runs[name])] for name in runs})
    if not runs[solver]:
        return None
    several = len({row.workload for row in rows}) > 1
    header, cells = _cells(runs[solver], several_workloads=several, by_disks=by_disks)
    return SideBySide(solver, machines[0], header, cells)


def _same_disks(rows: Sequence[Row]) -> bool:
    """Return whether every machine is asked with the same disks, and not each with its own."""
    disks: dict[str, set[int]] = {}
    for row in rows:
        disks.setdefault(row.machine, set()).add(row.d)
    return len({frozenset(numbers) for numbers in disks.values()}) == 1


def _runs(rows: Sequence[Row], machines: Sequence[str], by_disks: bool) -> list[list[Row]]:
    """Return the runs that have an estimate on every machine, each in the machines' order."""
    runs: dict[Any, dict[str, Row]] = {}
    for row in rows:
        if row.status is Status.OK and row.time and not is_lower_bound(row):
            runs.setdefault(_run(row, by_disks), {})[row.machine] = row
    return [
        [row_of[machine] for machine in machines]
        for row_of in runs.values()
        if len(row_of) == len(machines)
    ]


def _run(row: Row, by_disks: bool) -> Any:
    """Return what tells a run from others on the same machine."""
    settings = tuple(sorted((name, spelled(value)) for name, value in row.params.items()))
    return row.workload, row.p, row.d if by_disks else None, str(row.mapping), row.seed, settings


def _cells(
    runs: Sequence[Sequence[Row]], *, several_workloads: bool, by_disks: bool
) -> tuple[Any, Any]:
    """Return header and cells, a line for each run on each machine."""
    lines = [(run[0], row) for run in runs for row in run]
    rows = [row for _, row in lines]
    settings = {
        name: _varying(rows, lambda row, of=name: spelled(row.params.get(of)))  # type: ignore[misc]
        for name in dict.fromkeys(name for row in rows for name in row.params)
    }
    columns: dict[str, list[str]] = {
        "workload": [row.workload for row in rows] if several_workloads else [],
        "p": [str(row.p) for row in rows],
        "d": _varying(rows, lambda row: str(row.d)) if by_disks else [],
        "mapping": _varying(rows, lambda row: spelled(row.mapping)),
        **settings,
        "seed": _varying(rows, lambda row: str(row.seed)),
        "machine": [row.machine for row in rows],
        "time": [time_text(row.time) for row in rows],
        "times as fast": [_ratio(first.time, row.time) for first, row in lines],
        "price": [price_text(row) for row in rows],
        "times as dear": [_dearer(first, row) for first, row in lines],
        "bottleneck": [bottleneck_text(row) for row in rows],
    }
    visible = {head: cells for head, cells in columns.items() if any(cells)}
    return tuple(visible), tuple(zip(*visible.values(), strict=True))


def _varying(rows: Sequence[Row], text: Callable[[Row], str]) -> list[str]:
    cells = [text(row) for row in rows]
    return cells if len(set(cells)) > 1 else []


def _ratio(numerator: float | None, denominator: float | None) -> str:
    if not numerator or not denominator:
        return ""
    return f"{numerator / denominator:.3g}"


def _dearer(first: Row, row: Row) -> str:
    """Return a price over the first machine's, where both are in one currency."""
    if charged(first).get("currency") != charged(row).get("currency"):
        return ""
    return _ratio(charged(row).get("price"), charged(first).get("price"))
