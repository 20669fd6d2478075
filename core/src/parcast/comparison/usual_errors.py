"""How far a solver usually was off where times were measured: beside a prediction, and in it.

Who keeps such a record is a plugin (`parcast_usual_error`); the core asks it by what the user named
and by how far the point is beyond what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Question
from parcast.model.dataset import ErrorRecord
from parcast.model.query import Status, is_lower_bound
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: A solver is calibrated where its times are as the measured ones to this, in the geometric mean.
_CALIBRATED = 0.02


@attrs.frozen
class _Measured:
    """What the measured times of a workload say of a solver."""

    largest: int  #: the largest measured p
    bias: float  #: the mean logarithm of predicted over measured

    def distance(self, p: int) -> float | None:
        """Return how many times as large a point is; None where nothing was calibrated."""
        return p / self.largest if abs(self.bias) <= _CALIBRATED else None


def with_usual_errors(
    registry: Catalog, questions: Sequence[Question], rows: Sequence[Row], *, always: bool
) -> tuple[Row, ...]:
    """Return the rows with what the record says of their solvers.

    Parameters
    ----------
    registry
        Whose plugins keep records.
    questions
        What was asked, in the order of the rows.
    rows
        The answers, with their measured times.
    always
        Whether rows are asked about where nothing was measured, and not those beyond the largest
        measured p alone.
    """
    series: dict[Any, list[Row]] = {}
    for question, row in zip(questions, rows, strict=True):
        if row.time and row.measured:
            series.setdefault(_series(question, row), []).append(row)
    measured = {key: _measured(points) for key, points in series.items()}
    return tuple(
        _with_record(registry, question, row, measured.get(_series(question, row)), always=always)
        for question, row in zip(questions, rows, strict=True)
    )


def _series(question: Question, row: Row) -> tuple[Any, ...]:
    """Return what points that differ in size alone have in common."""
    setting = str(question.settings)  # as it was set: formulas of p, not what they come to
    return question.solver, row.workload, row.machine, row.d, str(row.mapping), setting


def _measured(rows: Sequence[Row]) -> _Measured:
    logs = [math.log(row.time / row.measured) for row in rows if row.time and row.measured]
    return _Measured(max(row.p for row in rows), math.fsum(logs) / len(logs))


def _with_record(
    registry: Catalog, question: Question, row: Row, measured: _Measured | None, *, always: bool
) -> Row:
    asked = always if measured is None else row.p > measured.largest
    if not asked or not row.time or row.status is not Status.OK or is_lower_bound(row):
        return row
    distance = measured.distance(row.p) if measured else None
    usual = registry.usual_error(question.solver, distance)
    note = _sentence(usual, distance, measured)
    if usual is None:
        return attrs.evolve(row, notes=(*row.notes, note))
    record: dict[str, Any] = {**attrs.asdict(usual), "distance": distance}
    if not usual.simulated:
        low, high = row.details.get("uncertainty", {}).get("interval") or (row.time, row.time)
        record["interval"] = [low / usual.factor, high * usual.factor]
    return attrs.evolve(row, notes=(*row.notes, note), details={**row.details, "record": record})


def _sentence(usual: ErrorRecord | None, distance: float | None, measured: _Measured | None) -> str:
    if distance is not None:
        where = f"at {distance:.3g} times the largest measured p"
    elif measured is None:
        where = "where nothing of the workload is measured"
    else:
        off = f"{100 * math.expm1(measured.bias):+.2g} %"
        where = f"where it is {off} off at the measured points (parcast fit calibrates)"
    if usual is None:
        return f"no record of how far it usually is off {where}"
    often = f"in {100 * usual.level:.0f} % of cases"
    points = f"({usual.points} points of {', '.join(usual.datasets)})"
    if usual.simulated:
        return (
            f"no record against measured times {where}; within {_range(usual.factor)} of simulated "
            f"ones {often} {points}"
        )
    return f"measured times are within {_range(usual.factor)} of it {often} {where} {points}"


def _range(factor: float) -> str:
    """Return what part measured times are from a prediction by which they are a factor off."""
    longer, shorter = 100 * (factor - 1), 100 * (1 - 1 / factor)
    return f"±{longer:.2g} %" if longer < 10 else f"-{shorter:.0f} % .. +{longer:.0f} %"
