"""Slowdowns: what each of several jobs takes among the others, beside what it takes alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Question
from parcast.comparison.solving import resolve, solve_all
from parcast.comparison.tasks import Outcome, Tell
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


def with_each_alone(
    registry: Catalog, questions: Sequence[Question], rows: Sequence[Row], tell: Tell
) -> list[Row]:
    """Return the rows with the time of each job alone, on its nodes, and how much slower it is.

    A job that takes no time alone has no slowdown.
    """
    from parcast.program.jobs import alone

    several = [
        "jobs" in row.details and bool(question.query.workload.jobs)
        for question, row in zip(questions, rows, strict=True)
    ]
    tasks = [
        resolve(registry, row.solver, single, question.settings)
        for question, row, jobs in zip(questions, rows, several, strict=True)
        if jobs
        for single in alone(question.query)
    ]
    outcomes = iter(solve_all(registry, tasks, tell))
    return [
        _completed(row, outcomes) if jobs else row for row, jobs in zip(rows, several, strict=True)
    ]


def _completed(row: Row, outcomes: Iterator[Outcome]) -> Row:
    jobs: dict[str, dict[str, Any]] = {}
    first = 0
    for name, job in row.details["jobs"].items():
        last = first + job["processes"]
        prediction = next(outcomes).prediction
        completed = {**job, "nodes": sorted(set(row.mapping[first:last])), "alone": prediction.time}
        if prediction.time is None:
            completed["message"] = prediction.message
        completed["slowdown"] = job["time"] / prediction.time if prediction.time else None
        jobs[name], first = completed, last
    return attrs.evolve(row, details={**row.details, "jobs": jobs})
