"""Rows whose uncertain numbers were drawn: what they make of each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.grid import Question
from parcast.comparison.tasks import PASSING, Tell
from parcast.comparison.uncertainty import spread
from parcast.errors import ParcastError, is_passing
from parcast.model.query import Status
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


def with_uncertainty(
    registry: Catalog, questions: Sequence[Question], rows: Sequence[Row], samples: int, tell: Tell
) -> list[Row]:
    """Return the rows with the spread of their times over samples of their uncertain numbers.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    questions, rows
        What was asked, and the answers.
    samples
        How often the numbers of each point are drawn.
    tell
        Hears what is being done.
    """
    return [
        _uncertain(registry, question, row, samples, tell)
        for question, row in zip(questions, rows, strict=True)
    ]


def _uncertain(registry: Catalog, question: Question, row: Row, samples: int, tell: Tell) -> Row:
    """Return the row with what its uncertain numbers make of its time."""
    if row.status is not Status.OK:
        return row
    tell(f"{row.solver}: {samples:,} samples of p={row.p}, d={row.d}")
    try:
        uncertainty = spread(registry, question, samples)
    except ParcastError as error:
        passing = {PASSING: type(error).__name__} if is_passing(error) else {}
        details = {**row.details, **passing}
        return attrs.evolve(row, status=Status.FAILED, message=str(error), details=details)
    if uncertainty is None:
        return row
    details, notes = {**row.details, "uncertainty": uncertainty}, row.notes
    if PASSING in uncertainty:
        details[PASSING] = uncertainty[PASSING]
    if lost := uncertainty.get("unanswered"):
        count = f"{lost['count']} of {samples} samples of the uncertain numbers have no answer"
        left = "the interval is without them" if uncertainty["interval"] else "there is no interval"
        notes = (*notes, f"{count}, mostly because: {lost['reason']}; {left}")
    return attrs.evolve(row, details=details, notes=notes)
