"""Measured times set beside predictions: each beside the rows that it was measured for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from parcast.comparison.measurements import COUNTS, TEXTS, Measurement, Measurements, point_key
from parcast.errors import UnitError, UnknownNameError, did_you_mean, shorten
from parcast.model.workload import Workload
from parcast.quantities.formulas import is_uncertain, parse_quantity
from parcast.results.row import Row


def join(
    rows: Sequence[Row], measured: Measurements, workloads: Sequence[Workload]
) -> tuple[tuple[Row, ...], list[str]]:
    """Return the rows with their measured times and errors, and the places no row belongs to.

    The error is relative, positive where the prediction is longer. Rows of one measured time may
    differ in solver, its options and seed alone: not in what a column is missing for.

    Raises
    ------
    UnknownNameError
        If a column is no parameter of any workload, or one is missing to tell rows apart.
    """
    parameters = {workload.name: workload.parameters for workload in workloads}
    points = [{**parameters.get(row.workload, {}), **_point(row)} for row in rows]
    _check_columns(points, measured)
    index = {
        point_key(measurement.at, measured.columns): measurement for measurement in measured.items
    }
    first: dict[str, Mapping[str, Any]] = {}
    joined = []
    for row, at in zip(rows, points, strict=True):
        measurement = index.get(point_key(at, measured.columns))
        if measurement is None:
            joined.append(row)
            continue
        _check_same(first.setdefault(measurement.place, at), at, measurement, measured)
        error = None if row.time is None else row.time / measurement.value - 1
        joined.append(attrs.evolve(row, measured=measurement.value, error=error))
    return tuple(joined), [
        measurement.place for measurement in measured.items if measurement.place not in first
    ]


def _point(row: Row) -> dict[str, Any]:
    """Return all that a measured time may depend on, thus no options of the solver and no seed."""
    options = f"{row.solver.partition('.')[0]}."
    params = {name: value for name, value in row.params.items() if not name.startswith(options)}
    return {
        **{name: _exact(value) for name, value in params.items()},
        "workload": row.workload,
        "machine": row.machine,
        "p": row.p,
        "d": row.d,
        "mapping": row.mapping,
    }


def _exact(value: Any) -> Any:
    """Return the number that a text such as ``5 MB/s`` stands for, as the columns have it."""
    if not isinstance(value, str) or is_uncertain(value):
        return value
    try:
        return parse_quantity(value).value
    except UnitError:
        return value


def _check_same(
    first: Mapping[str, Any],
    at: Mapping[str, Any],
    measurement: Measurement,
    measured: Measurements,
) -> None:
    """Refuse rows of one measured time that differ in what it does not state."""
    for name in dict.fromkeys((*first, *at)):
        if name in measured.columns or point_key(first, [name]) == point_key(at, [name]):
            continue
        lacks, fix = f"there is no column {name!r}", "add it, or predict one alone"
        if name == "mapping":
            lacks, fix = "it cannot state the mapping", "predict one alone"
        raise UnknownNameError(
            f"{measured.where}: {lacks}, but {measurement.place} belongs to rows "
            f"with {shorten(first.get(name))} and with {shorten(at.get(name))}; {fix}"
        )


def _check_columns(points: Sequence[Mapping[str, Any]], measured: Measurements) -> None:
    names = {*TEXTS, *COUNTS}.union(*points) - {"mapping"}
    for name in measured.columns:
        if name not in names:
            hint = did_you_mean(str(name), names)
            raise UnknownNameError(
                f"{measured.where}: column {name!r} is neither a parameter of the workload nor a "
                f"value that is set; set it, rename it or remove it.{hint}"
            )
    for name in TEXTS:
        several = {at[name] for at in points}
        if name not in measured.columns and len(several) > 1:
            raise UnknownNameError(
                f"{measured.where}: there is no column {name!r}, but there are results "
                f"for {len(several)}; add it"
            )
