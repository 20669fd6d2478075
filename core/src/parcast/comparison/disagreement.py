"""Where a time is far from what other families agree on: said, with which way and how far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median

import attrs

from parcast.comparison.grid import Question
from parcast.model.query import Status
from parcast.results.row import Row

#: Times agree up to this share, and one is far from them from the other on.
ALIKE, FAR = 0.01, 0.2

#: How far, the farthest first.
_BELOW = ((0.1, "a tenth"), (0.25, "a quarter"), (0.5, "half"), (1 - FAR, "four fifths"))
_ABOVE = (10.0, 4.0, 2.0, 1.5, 1 + FAR)


def with_disagreement(questions: Sequence[Question], rows: Sequence[Row]) -> list[Row]:
    """Return the rows; those far from what solvers of two other families agree on say so.

    Bounds neither agree nor are far from anything, and a row whose own interval holds what others
    agree on is not far from it.

    Parameters
    ----------
    questions, rows
        What was asked and answered, those of one point one after the other.
    """
    judged: list[Row] = []
    pairs = zip(questions, rows, strict=True)
    for _, point in groupby(pairs, key=lambda pair: _point(pair[0])):
        judged += _at_a_point([row for _, row in point])
    return judged


def _point(question: Question) -> tuple[object, ...]:
    query = question.query
    return query.workload.name, query.machine.name, id(question.settings), query.p, query.d


def _at_a_point(rows: Sequence[Row]) -> list[Row]:
    agreed = max((_alike(row, rows) for row in rows), key=_families)
    outside = [row for row in rows if _is_time(row) and row not in agreed]
    if _families(agreed) < max(2, 1 + _families(outside)):
        return list(rows)
    seconds = median(row.time or 0.0 for row in agreed)
    *first, last = (row.solver for row in agreed)
    names = f"{', '.join(first)} and {last}"
    return [
        attrs.evolve(row, notes=(*row.notes, f"{far} what {names} agree on"))
        if row in outside and (far := _distance(row, seconds))
        else row
        for row in rows
    ]


def _families(rows: Sequence[Row]) -> int:
    """Return how many families the rows are of: the first words of their solvers' names."""
    return len({row.solver.partition(".")[0] for row in rows})


def _is_time(row: Row) -> bool:
    """Return whether a row has a time that is no bound."""
    is_bound = row.time in (row.lower, row.upper)
    return row.status is Status.OK and bool(row.time) and not is_bound


def _alike(row: Row, rows: Sequence[Row]) -> list[Row]:
    if not _is_time(row):
        return []
    times = [(rival, rival.time or 0.0) for rival in rows if _is_time(rival)]
    seconds_of_row = row.time or 0.0
    return [
        rival for rival, seconds in times if abs(seconds - seconds_of_row) <= ALIKE * seconds_of_row
    ]


def _distance(row: Row, seconds: float) -> str:
    """Return how a row's time is far from others' seconds, nothing where it is not."""
    lower, upper = row.lower, row.upper
    if lower is not None and upper is not None and lower <= seconds <= upper:
        return ""
    ratio = (row.time or 0.0) / seconds
    for share, words in _BELOW:
        if ratio < share:
            return f"too short here: less than {words} of"
    for times in _ABOVE:
        if ratio > times:
            return f"too long here: more than {times:g} times"
    return ""
