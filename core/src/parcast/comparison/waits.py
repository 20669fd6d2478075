"""Kinds of wait: which part of a time goes where nobody else is on the machine, and work is even.

No number of the machine is such a wait, and to make a number better makes the wait shorter as
well. So these parts are beside the elasticities, not among them: a time is what is left of it
without either, and what each of them adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.elasticities import LEAST, REST, Resolve, Solved
from parcast.comparison.solving import Tell, silent, solve_all
from parcast.model.query import Query

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: The kinds, in the order in which they are taken away.
BACKGROUND, IMBALANCE = "background", "imbalance"


def without_waits(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield the question without each kind of wait that there is, one after the other.

    Parts of a machine that are the doing of others say so by ``of_others``.
    """
    if query.machine.is_shared:
        parts = query.machine.parts.items()
        own = {name: part for name, part in parts if not getattr(part, "of_others", False)}
        query = attrs.evolve(query, machine=attrs.evolve(query.machine, parts=own))
        yield BACKGROUND, query
    if query.workload.kind != "program":
        return
    from parcast.program.balancing import balanced

    if (even := balanced(query)) is not None:
        yield IMBALANCE, even


def waits(
    registry: Catalog, answers: Sequence[Solved], resolve_task: Resolve, tell: Tell = silent
) -> list[Mapping[str, float]]:
    """Return the parts of each answer's time that kinds of wait take, with what is left.

    They sum to 1; nothing where there is no such wait, or its answer is none.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    answers
        What was answered; all that ask one solver are solved together.
    resolve_task
        Brings a query to a solver.
    tell
        Hears what is being done.
    """
    # several solvers are asked about the same query, which is evened once for all
    queries = {id(solved.question.query): solved.question.query for solved in answers}
    without = {key: tuple(without_waits(query)) for key, query in queries.items()}
    asked = [without[id(solved.question.query)] for solved in answers]
    tasks = [
        resolve_task(solved.task.entry.name, query, solved.question.settings)
        for solved, queries in zip(answers, asked, strict=True)
        for _, query in queries
    ]
    outcomes = iter(solve_all(registry, tasks, tell))
    return [
        _parts(
            solved.outcome.prediction.time,
            {kind: next(outcomes).prediction.time for kind, _ in queries},
        )
        for solved, queries in zip(answers, asked, strict=True)
    ]


def _parts(time: float | None, without: Mapping[str, float | None]) -> Mapping[str, float]:
    parts: dict[str, float] = {}
    left = time
    for kind, seconds in without.items():
        if not time or left is None or seconds is None:
            return {}
        if abs(left - seconds) > LEAST * time:
            parts[kind] = (left - seconds) / time
        left = seconds
    return parts | {REST: 1 - sum(parts.values())} if parts else {}
